//! What an observer of the network gets to see: nothing of the stream, of the keys or of who talks to whom.

mod gateways;
mod media;
mod program;
mod servers;

use std::collections::HashSet;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use data_encoding::{BASE32_NOPAD, Encoding};
use media::{STREET, STREET_MJPEG, clip, path, tool, unpaced};
use program::{PATIENCE, Program, beginning, file_url, home, invite, port, publish, watch};
use sealcast::source::Source;

/// So many bytes in a row are the same by chance never.
const RUN: usize = 16;
const SECONDS: u32 = 2;

/// A capture of everything on one port of the loopback interface.
struct Capture {
    tcpdump: Program,
    file: PathBuf,
}

impl Capture {
    fn start(port: u16, file: PathBuf) -> Self {
        Self::of(&format!("tcp port {port}"), file)
    }

    fn of(what: &str, file: PathBuf) -> Self {
        let mut command = Command::new("env");
        command.arg(tool("tcpdump").get_program());
        command.args([
            "-i",
            "lo",
            "-n",
            "-U",
            "--immediate-mode",
            "-s",
            "0",
            "-B",
            "32768",
            "-Z",
            "root",
        ]);
        command.args(["-w", path(&file), what]);
        let tcpdump = Program::run("tcpdump", command);
        let began = Instant::now();
        while !tcpdump.said().contains("listening on lo") {
            assert!(
                !tcpdump.said().contains("permission"),
                "tcpdump may not capture on the loopback interface: run this test as root"
            );
            assert!(began.elapsed() < PATIENCE, "tcpdump does not begin to capture");
            thread::sleep(Duration::from_millis(10));
        }
        Self { tcpdump, file }
    }

    /// Everything that was captured, complete.
    fn stop(mut self) -> Vec<u8> {
        // What was sent last is on its way through the kernel.
        thread::sleep(Duration::from_millis(300));
        self.tcpdump.signal("INT");
        self.tcpdump.succeeds(PATIENCE);
        let said = self.tcpdump.said();
        assert!(said.contains("\n0 packets dropped by kernel"), "{said}");
        std::fs::read(&self.file).expect("a capture")
    }
}

/// Every run of bytes that means something: one with several different values.
fn runs(bytes: &[u8]) -> impl Iterator<Item = [u8; RUN]> + '_ {
    let runs = bytes.windows(RUN).map(|run| run.try_into().expect("a run's length"));
    runs.filter(|run: &[u8; RUN]| run.iter().collect::<HashSet<_>>().len() >= 4)
}

/// How many of the plaintext's runs are in the capture, and how many there are.
fn seen(plaintext: &[u8], capture: &[u8]) -> (usize, usize) {
    let wanted: HashSet<[u8; RUN]> = runs(plaintext).collect();
    let found: HashSet<[u8; RUN]> = runs(capture).filter(|run| wanted.contains(run)).collect();
    (found.len(), wanted.len())
}

/// The stream as it would be without protection: the codec's parameters and every frame.
fn plaintext(clip: &Path) -> Vec<u8> {
    let mut source = unpaced(clip);
    let mut stream = source.info().parameters.to_vec();
    while let Some(frame) = source.next().expect("a frame") {
        stream.extend_from_slice(&frame.data);
    }
    stream
}

/// The same bytes over plain TCP, captured in the same way.
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

/// What else nobody may see: the invite, both identities, secret and public.
fn secrets(ticket: &str, homes: &[&Path]) -> Vec<Vec<u8>> {
    let mut secrets = vec![invite(ticket).as_bytes().to_vec(), base32(invite(ticket))];
    for home in homes {
        let identity = std::fs::read_to_string(home.join("keys/identity")).expect("an identity");
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
    let mut viewer = watch(viewer_home.path(), &publisher.ticket, &["--to", "null:"]);
    viewer.succeeds(PATIENCE);
    publisher.program.succeeds(PATIENCE);
    let sealed = capture.stop();

    assert!(sealed.len() > stream.len(), "the whole stream was captured");
    let (found, all) = seen(&stream, &sealed);
    assert!(all > 10_000, "only {all} places were looked for");
    assert_eq!(
        found, 0,
        "of {all} runs of the stream, some are on the wire as they are"
    );
    for secret in secrets(&publisher.ticket, &[publisher_home.path(), viewer_home.path()]) {
        assert!(secret.len() >= RUN);
        assert!(
            !sealed.windows(secret.len()).any(|seen| seen == secret),
            "a secret is on the wire"
        );
    }

    let open = plain_transfer(&stream, dir.path().join("open.pcap"));
    let (found, all) = seen(&stream, &open);
    // Only what lies across the border of two packets is not found.
    assert!(
        found * 100 > all * 99,
        "the search finds {found} of {all} where nothing is hidden"
    );
}

#[test]
fn nothing_of_an_h264_stream_shows_on_the_network() {
    nothing_shows(STREET);
}

#[test]
fn nothing_of_a_motion_jpeg_stream_shows_on_the_network() {
    nothing_shows(STREET_MJPEG);
}

/// What a plain RTSP connection shows of itself.
const RTSP_WORDS: [&str; 9] = [
    "RTSP/1.0",
    "DESCRIBE",
    "SETUP",
    "PLAY",
    "CSeq",
    "Transport",
    "v=0\r\n",
    "m=video",
    "a=control",
];

fn words_seen(capture: &[u8]) -> Vec<&'static str> {
    let shows = |word: &&str| capture.windows(word.len()).any(|seen| seen == word.as_bytes());
    RTSP_WORDS.into_iter().filter(shows).collect()
}

#[test]
fn nothing_of_rtsp_or_of_a_cameras_packets_shows_between_gateways() {
    let (dir, whole) = (home(), home());
    let clip = beginning(&clip(STREET, whole.path()), 3, dir.path());
    let stream = plaintext(&clip);
    let camera = servers::gstreamer(&clip, &[]);
    for scheme in ["tcp", "udp"] {
        let listen = format!("{scheme}://127.0.0.1:0");
        let camera_home = home();
        let gateway = gateways::camera_gateway(camera_home.path(), &camera.url(), &["--listen", &listen]);
        let filter = format!("{scheme} port {}", port(&gateway.ticket));
        let sealed = Capture::of(&filter, dir.path().join("between.pcap"));
        let viewer_home = home();
        let players = program::free_port();
        let _viewer = gateways::viewer_gateway(viewer_home.path(), &gateway.ticket, players, &[]);
        let plain = Capture::start(players, dir.path().join("beside.pcap"));
        let url = format!("rtsp://127.0.0.1:{players}/front");
        let shown = media::pictures(&["-rtsp_transport", "tcp", "-i", &url, "-frames:v", "50"]);
        assert_eq!(shown.len(), 50);
        let (sealed, plain) = (sealed.stop(), plain.stop());
        assert!(sealed.len() > plain.len() / 2, "the whole of it was captured");
        assert_eq!(words_seen(&sealed), [""; 0], "{scheme}");
        let (found, all) = seen(&stream, &sealed);
        assert_eq!(
            found, 0,
            "{scheme}: of {all} runs of the stream, some are on the wire as they are"
        );
        // The same search where nothing is hidden, for as much of the stream as was played.
        assert_eq!(words_seen(&plain), RTSP_WORDS);
        let (found, all) = seen(&stream, &plain);
        assert!(
            found * 5 > all,
            "the search finds {found} of {all} where nothing is hidden"
        );
    }
}

/// The IPv4 packets of a capture on Ethernet, as the loopback interface shows them.
fn packets(capture: &[u8]) -> Vec<&[u8]> {
    const FILE_HEADER: usize = 24;
    const PACKET_HEADER: usize = 16;
    const ETHERNET: usize = 14;
    let (mut rest, mut packets) = (&capture[FILE_HEADER..], Vec::new());
    while rest.len() >= PACKET_HEADER {
        let length = u32::from_le_bytes(rest[8..12].try_into().expect("four bytes")) as usize;
        let packet = &rest[PACKET_HEADER..PACKET_HEADER + length];
        packets.push(&packet[ETHERNET..]);
        rest = &rest[PACKET_HEADER + length..];
    }
    packets
}

#[test]
fn no_datagram_is_a_fragment_or_may_become_one() {
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
    assert!(packets.len() > 100, "{} packets", packets.len());
    // Lengths are no use here: the loopback interface shows runs of datagrams before they are cut up.
    for packet in packets {
        let flags = u16::from_be_bytes([packet[6], packet[7]]);
        assert_eq!(flags & 0x3FFF, 0, "a fragment");
        assert_eq!(flags & 0x4000, 0x4000, "one that may be fragmented");
    }
}
