//! Streams of any source served to RTSP players by `watch --to rtsp:`.

use std::path::Path;

use sealcast::source::Source;
use sealcast_proto::rtp::RtpPacket;
use sealcast_proto::rtsp::Method;
use sealcast_testkit::gateways::{Plain, Player, digests_by_ffmpeg};
use sealcast_testkit::media::{BUNNY, STREET, clip, ffmpeg, h265_clip, path, pictures, unpaced};
use sealcast_testkit::program::{
    PATIENCE, Program, Publisher, file_url, free_port, home, publish, sealcast, succeeds_once, until, watch,
    write_private,
};
use sealcast_testkit::servers::jpeg_clip;
use tempfile::TempDir;

/// Number of pictures that players show.
const PICTURES: usize = 50;

/// A publisher, and a viewer that serves its stream.
struct Served {
    _publisher: Publisher,
    viewer: Program,
    port: u16,
    _homes: [TempDir; 2],
}

impl Served {
    fn start(source: &str, options: &str) -> Self {
        let (homes, port) = ([home(), home()], free_port());
        let publisher = publish(homes[0].path(), source, &[]);
        let to = format!("rtsp://127.0.0.1:{port}/front{options}");
        let viewer = watch(homes[1].path(), &publisher.ticket, &["--to", &to, "-v"]);
        viewer.says("players open this", PATIENCE);
        Self {
            _publisher: publisher,
            viewer,
            port,
            _homes: homes,
        }
    }

    fn url(&self) -> String {
        format!("rtsp://127.0.0.1:{}/front", self.port)
    }
}

/// Checks that ffmpeg shows pictures of the clip, and no others.
fn shows_the_clip(served: &Served, clip: &Path, transport: &str) {
    let original = pictures(&["-i", path(clip)]);
    let (url, count) = (served.url(), PICTURES.to_string());
    let shows = || {
        let input = ["-buffer_size", "4194304", "-rtsp_transport", transport, "-i", &url];
        let input = if transport == "tcp" { &input[2..] } else { &input[..] };
        let output = ["-map", "0:v:0", "-fps_mode", "passthrough", "-frames:v", &count];
        let shown = digests_by_ffmpeg(&[input, &output].concat());
        let others = shown.iter().filter(|digest| !original.contains(digest)).count();
        match (shown.len(), others) {
            (PICTURES, 0) => Ok(()),
            (count, others) => Err(format!("{count} pictures, {others} of them are none of the clip's")),
        }
    };
    let what = format!("{} over {transport}", clip.display());
    assert!(succeeds_once(&what, shows), "{what}: {}", served.viewer.said());
}

#[test]
fn ffmpeg_shows_every_codec_that_has_a_form_over_tcp_and_udp() {
    let dir = home();
    for clip in [clip(STREET, dir.path()), h265_clip(dir.path()), jpeg_clip(dir.path())] {
        let served = Served::start(&format!("{}?loop", file_url(&clip)), "");
        for transport in ["tcp", "udp"] {
            shows_the_clip(&served, &clip, transport);
        }
    }
}

#[test]
fn sound_is_that_of_the_source_packet_by_packet() {
    let dir = home();
    let clip = clip(BUNNY, dir.path());
    let served = Served::start(&format!("{}?loop", file_url(&clip)), "");
    let track = ["-map", "0:a:0", "-c", "copy"];
    let original = digests_by_ffmpeg(&[&["-i", path(&clip)][..], &track].concat());
    let url = served.url();
    let heard = || {
        let input = ["-rtsp_transport", "tcp", "-i", &url, "-t", "3"];
        let heard = digests_by_ffmpeg(&[&input[..], &track].concat());
        let others = heard.iter().filter(|digest| !original.contains(digest)).count();
        match heard.len() >= 60 && others == 0 {
            true => Ok(()),
            false => Err(format!("{} packets of sound, {others} of them others", heard.len())),
        }
    };
    assert!(succeeds_once("the sound", heard), "{}", served.viewer.said());
}

#[test]
fn a_second_publisher_reads_the_frames_as_the_first_sent_them() {
    let dir = home();
    let clip = clip(STREET, dir.path());
    let served = Served::start(&format!("{}?loop", file_url(&clip)), "");
    let [again, viewers] = [home(), home()];
    let second = publish(again.path(), &served.url(), &[]);
    let out = dir.path().join("out.h264");
    let to = file_url(&out);
    watch(viewers.path(), &second.ticket, &["--to", &to, "--seconds", "4s"]).succeeds(PATIENCE);
    let frames = |file: &Path| -> Vec<Vec<u8>> {
        let mut source = unpaced(file);
        std::iter::from_fn(|| source.next().expect("a frame"))
            .map(|frame| frame.data.to_vec())
            .collect()
    };
    let (original, received) = (frames(&clip), frames(&out));
    assert!(!received.is_empty() && received.iter().all(|frame| original.contains(frame)));
}

/// The type of the first NAL unit of an RTP packet of H.264, or of the first in an aggregate.
fn first_unit(packet: &[u8]) -> u8 {
    const STAP_A: u8 = 24;
    let payload = RtpPacket::parse(packet).expect("RTP").payload;
    match payload[0] & 0x1f {
        STAP_A => payload[3] & 0x1f,
        kind => kind,
    }
}

#[test]
fn whoever_comes_begins_with_a_keyframe_and_with_one_description_of_both_tracks() {
    let dir = home();
    let clip = clip(BUNNY, dir.path());
    let served = Served::start(&format!("{}?loop", file_url(&clip)), "");
    let mut others = Vec::new();
    for _ in 0..3 {
        let mut player = Player::connect(served.port, "front", Plain::Tcp);
        let description = player.play();
        assert!(
            description.contains("sprop-parameter-sets=") && description.contains("m=audio"),
            "{description}"
        );
        let mut pictures = std::iter::repeat_with(|| player.packets(1).remove(0)).filter(|(channel, _)| *channel == 0);
        let (_, first) = pictures.next().expect("it goes on");
        assert_eq!(first_unit(&first), 7, "a sequence parameter set");
        // The next one comes in the middle.
        pictures.take(40).for_each(drop);
        others.push(player);
    }
    assert!(others.iter().all(Player::receives));
}

#[test]
fn another_path_and_a_player_without_the_password_get_nothing() {
    let dir = home();
    let secret = dir.path().join("password");
    write_private(&secret, "letmesee\n");
    let open = Served::start("test:160x120@25", "");
    let asks = |port: u16, path: &str| {
        Player::connect(port, path, Plain::Tcp)
            .ask(Method::Describe, "", &[])
            .status
    };
    assert_eq!((asks(open.port, "yard"), asks(open.port, "front")), (404, 200));
    let guarded = Served::start("test:160x120@25", &format!("?user=vlc&password=@{}", secret.display()));
    assert_eq!(asks(guarded.port, "front"), 401);
    assert!(!guarded.viewer.said().contains("letmesee"));
    let shown = |login: &str| {
        let url = format!("rtsp://{login}127.0.0.1:{}/front", guarded.port);
        digests_by_ffmpeg(&["-rtsp_transport", "tcp", "-i", &url, "-frames:v", "1", "-map", "0:v:0"]).len()
    };
    let with = || match shown("vlc:letmesee@") {
        1 => Ok(()),
        count => Err(format!("{count} pictures")),
    };
    assert!(succeeds_once("with the password", with), "{}", guarded.viewer.said());
    assert_eq!(shown("vlc:wrong@"), 0);
}

#[test]
fn what_has_no_form_for_players_is_refused_in_words() {
    let [camera, viewer] = [home(), home()];
    let dir = home();
    // ffmpeg's own Huffman tables, which the format for players cannot carry.
    let own_tables = dir.path().join("own.avi");
    let from = clip(STREET, dir.path());
    ffmpeg(&[
        "-i",
        path(&from),
        "-t",
        "2",
        "-c:v",
        "mjpeg",
        "-huffman",
        "optimal",
        "-an",
        path(&own_tables),
    ]);
    let publisher = publish(camera.path(), &format!("{}?loop", file_url(&own_tables)), &[]);
    let to = format!("rtsp://127.0.0.1:{}/", free_port());
    let mut watching = watch(viewer.path(), &publisher.ticket, &["--to", &to]);
    assert_eq!(watching.ends(PATIENCE), 4);
    let said = watching.said();
    assert!(
        said.contains("Huffman tables are its own") && said.contains("publish H.264"),
        "{said}"
    );
    let mut command = sealcast(viewer.path());
    let output = command
        .args(["watch", &publisher.ticket, "--to", "rtsp://0.0.0.0/front"])
        .output()
        .expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2));
    assert!(
        said.contains("whoever reaches this address") && said.contains("password=@FILE"),
        "{said}"
    );
}

#[test]
fn a_player_goes_on_when_the_publisher_has_started_again() {
    let [camera, viewer] = [home(), home()];
    let (listen, port) = (format!("tcp://127.0.0.1:{}", free_port()), free_port());
    let begun = || publish(camera.path(), "test:160x120@25", &["--listen", &listen]);
    let publisher = begun();
    let to = format!("rtsp://127.0.0.1:{port}/front");
    let watching = watch(viewer.path(), &publisher.ticket, &["--to", &to, "-v"]);
    watching.says("watching", PATIENCE);
    let mut player = Player::connect(port, "front", Plain::Tcp);
    assert_eq!(player.ask(Method::Describe, "", &[]).status, 200);
    assert_eq!((player.set_up(0), player.begin()), (200, 200));
    player.packets(20);
    drop(publisher);
    let _publisher = begun();
    watching.says_times("watching", 2, PATIENCE);
    until("packets come again", || player.receives());
}
