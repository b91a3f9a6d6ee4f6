//! An observer of the network sees nothing of the stream, of the keys and of the ends' identities.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::thread;

use data_encoding::{BASE32_NOPAD, Encoding};
use sealcast::keys::files::End;
use sealcast::source::Source;
use sealcast_testkit::capture::{Capture, RUN, may_capture, packets, seen};
use sealcast_testkit::media::{STREET, STREET_MJPEG, clip, unpaced};
use sealcast_testkit::program::{PATIENCE, beginning, file_url, home, invite, port, publish, watch};

const SECONDS: u32 = 2;

/// The stream without protection: the codec's parameter sets and every frame.
fn plaintext(clip: &Path) -> Vec<u8> {
    let mut source = unpaced(clip);
    let mut stream = source.info().parameters.to_vec();
    while let Some(frame) = source.next().expect("a frame") {
        stream.extend_from_slice(&frame.data);
    }
    stream
}

/// Sends the same bytes over plain TCP. Returns the capture, made in the same way.
fn plain_transfer(stream: &[u8], file: PathBuf) -> Vec<u8> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let address = listener.local_addr().expect("an address");
    let capture = Capture::start(address.port(), file);
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut sender = TcpStream::connect(address).expect("a connection");
            sender.write_all(stream).expect("sent");
        });
        let (mut receiver, _) = listener.accept().expect("a connection");
        let mut received = Vec::new();
        receiver.read_to_end(&mut received).expect("received");
        assert_eq!(received.len(), stream.len());
    });
    capture.stop()
}

fn base32(text: &str) -> Vec<u8> {
    let base32: &Encoding = &BASE32_NOPAD;
    base32.decode(text.to_uppercase().as_bytes()).expect("base32")
}

/// Other data that must not be visible: the invite, both ends' secret seeds, and the publisher's public identity.
fn secrets(ticket: &str, homes: [&Path; 2]) -> Vec<Vec<u8>> {
    let mut secrets = vec![invite(ticket).as_bytes().to_vec(), base32(invite(ticket))];
    for (home, end) in homes.into_iter().zip([End::Publisher, End::Viewer]) {
        let identity = std::fs::read_to_string(home.join("keys").join(end.file_name())).expect("an identity");
        let seed = identity.lines().flat_map(|line| line.split([' ', ':', '-'])).last();
        secrets.push(base32(seed.expect("a seed")));
    }
    let peer = ticket.rsplit_once('/').expect("a peer id").1;
    secrets.push(base32(&peer[..52]));
    secrets
}

fn nothing_shows(name: &str) {
    let (dir, publisher_home, viewer_home) = (home(), home(), home());
    let whole = dir.path().join("whole");
    std::fs::create_dir(&whole).expect("a directory");
    let clip = beginning(&clip(name, &whole), SECONDS, dir.path());
    let stream = plaintext(&clip);

    let mut publisher = publish(publisher_home.path(), &file_url(&clip), &[]);
    let capture = Capture::start(port(&publisher.ticket), dir.path().join("sealed.pcap"));
    let shown = dir
        .path()
        .join(if name == STREET { "shown.h264" } else { "shown.mjpeg" });
    let mut viewer = watch(viewer_home.path(), &publisher.ticket, &["--to", &file_url(&shown)]);
    viewer.succeeds(PATIENCE);
    publisher.program.succeeds(PATIENCE);
    let sealed = capture.stop();

    let shown = std::fs::metadata(shown).expect("a film").len();
    assert!(shown > 10_000, "only {shown} bytes were shown");
    assert!(sealed.len() as u64 > shown, "all of it was captured");
    let (found, all) = seen(&stream, &sealed);
    assert!(all > 10_000, "only {all} places were looked for");
    assert_eq!(
        found, 0,
        "of {all} runs of the stream, some are on the wire as they are"
    );
    for secret in secrets(&publisher.ticket, [publisher_home.path(), viewer_home.path()]) {
        assert!(secret.len() >= RUN);
        assert!(
            !sealed.windows(secret.len()).any(|seen| seen == secret),
            "a secret is on the wire"
        );
    }

    let open = plain_transfer(&stream, dir.path().join("open.pcap"));
    let (found, all) = seen(&stream, &open);
    // Only runs of bytes that are split between two packets are not found.
    assert!(
        found * 100 > all * 99,
        "the search finds {found} of {all} where nothing is hidden"
    );
}

#[test]
fn nothing_of_an_h264_stream_shows_on_the_network() {
    if !may_capture() {
        return;
    }
    nothing_shows(STREET);
}

#[test]
fn nothing_of_a_motion_jpeg_stream_shows_on_the_network() {
    if !may_capture() {
        return;
    }
    nothing_shows(STREET_MJPEG);
}

#[test]
fn no_datagram_is_a_fragment_or_may_become_one() {
    if !may_capture() {
        return;
    }
    let (dir, publisher_home, viewer_home) = (home(), home(), home());
    let whole = dir.path().join("whole");
    std::fs::create_dir(&whole).expect("a directory");
    let clip = beginning(&clip(STREET, &whole), SECONDS, dir.path());
    let options = ["--listen", "udp://127.0.0.1:0"];
    let mut publisher = publish(publisher_home.path(), &file_url(&clip), &options);
    let filter = format!("udp port {0} or (ip[6:2] & 0x1fff != 0)", port(&publisher.ticket));
    let capture = Capture::of(&filter, dir.path().join("udp.pcap"));
    let mut viewer = watch(viewer_home.path(), &publisher.ticket, &["--to", "null:"]);
    viewer.succeeds(PATIENCE);
    publisher.program.succeeds(PATIENCE);
    let captured = capture.stop();
    let packets = packets(&captured);
    // A machine that stands still may drop most of the stream.
    assert!(packets.len() > 10, "{} packets", packets.len());
    // Lengths say nothing here, since the loopback interface shows runs of datagrams before they are segmented.
    for packet in packets {
        let flags = u16::from_be_bytes([packet[6], packet[7]]);
        assert_eq!(flags & 0x3FFF, 0, "a fragment");
        assert_eq!(flags & 0x4000, 0x4000, "one that may be fragmented");
    }
}
