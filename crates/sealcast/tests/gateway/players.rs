//! Third-party cameras and players with a pair of gateways between them: the player shows the same as over a direct
//! connection.

use std::time::Duration;

use sealcast::source;
use sealcast_proto::rtsp::Method;
use sealcast_testkit::capture::rtp::{carried_whole, sent_by};
use sealcast_testkit::capture::{Capture, may_capture};
use sealcast_testkit::gateways::{self, Pair, camera_gateway, digests_by_ffmpeg, pair, viewer_gateway};
use sealcast_testkit::media::{BUNNY, STREET, clip, path, pictures, tool};
use sealcast_testkit::program::{
    PATIENCE, Program, free_port, home, port, run_of, sealcast, succeeds_once, write_private,
};
use sealcast_testkit::servers::{Server, gstreamer, jpeg_clip, vlc};

/// Number of pictures that are compared: two seconds.
const PICTURES: usize = 50;

/// Digests of the pictures that ffmpeg receives from a camera.
fn by_ffmpeg(url: &str, transport: &str) -> Vec<String> {
    // A buffer for datagrams that arrive while ffmpeg is not scheduled on a busy machine.
    let buffer: &[&str] = if transport == "udp" {
        &["-buffer_size", "4194304"]
    } else {
        &[]
    };
    let input = [buffer, &["-rtsp_transport", transport, "-i", url]].concat();
    let pictures = PICTURES.to_string();
    let output = ["-map", "0:v:0", "-fps_mode", "passthrough", "-frames:v", &pictures];
    digests_by_ffmpeg(&[&input[..], &output].concat())
}

/// Receives through gateways, and checks that the packets that leave for the player are those that entered. Returns the
/// result, and whether all of the packets left.
fn received_through<T>(camera: &Server, pair: &Pair, receive: impl Fn(&str) -> T) -> (T, bool) {
    let dir = home();
    let (plain, link) = ([camera.port, pair.port], port(&pair.camera.ticket));
    let filter = format!(
        "tcp port {} or tcp port {} or (udp and not port {link})",
        plain[0], plain[1]
    );
    let capture = Capture::of(&filter, dir.path().join("plain.pcap"));
    let shown = receive(&pair.url());
    let captured = capture.stop();
    let (entered, left) = (sent_by(camera.port, &captured), sent_by(pair.port, &captured));
    (shown, carried_whole(&left, &entered))
}

/// Checks that a player receives the same `count` items from a camera directly and through gateways. It tries again if
/// they differ: on a busy machine players discard packets that they consider late, and lose some over UDP.
fn assert_same<T: PartialEq>(camera: &Server, pair: &Pair, count: usize, receive: impl Fn(&str) -> Vec<T>) {
    let datagrams = pair.camera.ticket.contains("transport=");
    let same = || {
        let (direct, (through, whole)) = (receive(&camera.url()), received_through(camera, pair, &receive));
        match direct == through && direct.len() == count && (whole || datagrams) {
            true => Ok(()),
            false => Err(format!(
                "{} things shown directly, {} through gateways, where all packets left: {whole}",
                direct.len(),
                through.len()
            )),
        }
    };
    let ways = format!("{} and {}", camera.url(), pair.url());
    assert!(succeeds_once(&ways, same), "{ways} show other things");
}

/// Checks that ffmpeg can show the camera at a URL.
fn assert_shown(url: &str) {
    let shows = || match by_ffmpeg(url, "tcp").len() {
        PICTURES => Ok(()),
        count => Err(format!("{count} pictures")),
    };
    assert!(succeeds_once(url, shows), "{url} is not shown");
}

/// Compares the pictures that ffmpeg receives from a camera directly with those through each of these gateways.
fn ffmpeg_sees_the_same(camera: &Server, gateways: &[Pair]) {
    for transport in ["tcp", "udp"] {
        for pair in gateways {
            assert_same(camera, pair, PICTURES, |url| by_ffmpeg(url, transport));
        }
    }
}

#[test]
fn ffmpeg_shows_of_an_h264_camera_what_it_shows_without_gateways() {
    if !may_capture() {
        return;
    }
    let dir = home();
    let camera = gstreamer(&clip(STREET, dir.path()), &[]);
    let ways = [("tcp", "tcp"), ("udp", "udp"), ("quic", "tcp")];
    let gateways = ways.map(|(listen, towards)| {
        let listen = format!("{listen}://127.0.0.1:0");
        let source = format!("{}?transport={towards}", camera.url());
        pair(&source, &["--listen", &listen], &[])
    });
    ffmpeg_sees_the_same(&camera, &gateways);
    for pair in &gateways {
        pair.assert_calm();
    }
}

#[test]
fn ffmpeg_shows_of_a_motion_jpeg_camera_what_it_shows_without_gateways() {
    if !may_capture() {
        return;
    }
    let dir = home();
    let camera = gstreamer(&jpeg_clip(dir.path()), &[]);
    let gateways = pair(&camera.url(), &[], &[]);
    ffmpeg_sees_the_same(&camera, &[gateways]);
}

#[test]
fn picture_and_sound_come_through_together() {
    if !may_capture() {
        return;
    }
    let dir = home();
    let camera = gstreamer(&clip(BUNNY, dir.path()), &["--audio"]);
    let gateways = pair(&camera.url(), &[], &[]);
    let sound = |url: &str| {
        let input = ["-rtsp_transport", "tcp", "-i", url, "-t", "2"];
        let mut digests = digests_by_ffmpeg(&[&input[..], &["-map", "0:a:0", "-c", "copy"]].concat());
        // The number of packets in two seconds depends on the beginnings of picture and sound.
        digests.truncate(60);
        digests
    };
    assert_same(&camera, &gateways, 60, sound);
    assert_same(&camera, &gateways, PICTURES, |url| by_ffmpeg(url, "tcp"));
}

#[test]
fn vlc_as_a_camera_is_carried_as_well() {
    let dir = home();
    let file = clip(STREET, dir.path());
    let camera = vlc(&file);
    // VLC supports only UDP, which the gateway must find out.
    let gateways = pair(&camera.url(), &[], &[]);
    let original = pictures(&["-i", path(&file)]);
    for transport in ["tcp", "udp"] {
        // The camera is live, and waits for a keyframe.
        let receive = || {
            let frames = by_sealcast(&gateways.url(), transport);
            let Some((parameters, frames)) = frames.filter(|(_, frames)| frames.len() == PICTURES) else {
                return Err("frames are missing".to_owned());
            };
            let received = dir.path().join("received.h264");
            std::fs::write(&received, [&[parameters], &frames[..]].concat().concat()).expect("written");
            run_of(&pictures(&["-f", "h264", "-i", path(&received)]), &original);
            Ok(())
        };
        assert!(succeeds_once(transport, receive), "frames are missing every time");
    }
}

#[test]
fn gstreamer_writes_the_same_stream_as_without_gateways() {
    if !may_capture() {
        return;
    }
    let dir = home();
    let camera = gstreamer(&clip(STREET, dir.path()), &[]);
    let gateways = pair(&camera.url(), &[], &[]);
    let record = |url: &str, protocol: &str| {
        let file = dir.path().join("recorded.h264");
        let location = format!("location={}", path(&file));
        let source = format!("location={url}");
        let protocols = format!("protocols={protocol}");
        let caps = "video/x-h264,stream-format=byte-stream,alignment=au";
        // End after a number of pictures and not at the camera's BYE: GStreamer ignores a BYE that arrives before it
        // has shown anything, which happens on a busy machine.
        let count = format!("eos-after={}", PICTURES + 1);
        let chain = [
            "!",
            "rtph264depay",
            "!",
            "h264parse",
            "!",
            caps,
            "!",
            "identity",
            &count,
            "!",
            "filesink",
        ];
        let mut gst = tool("timeout");
        gst.arg("120").arg(tool("gst-launch-1.0").get_program());
        gst.args(["-q", "rtspsrc", &source, &protocols, "udp-buffer-size=4194304"])
            .args(chain)
            .arg(&location);
        match Program::run("GStreamer", gst).ends(3 * PATIENCE) {
            0 => pictures(&["-f", "h264", "-i", path(&file)]),
            _ => Vec::new(),
        }
    };
    for protocol in ["tcp", "udp"] {
        assert_same(&camera, &gateways, PICTURES, |url| record(url, protocol));
    }
}

/// The parameter sets and the frames of the first two seconds, as `publish rtsp://` receives them: only the frames
/// before the first missing one, or `None` if the camera cannot be opened.
fn by_sealcast(url: &str, transport: &str) -> Option<(Vec<u8>, Vec<Vec<u8>>)> {
    let mut source = source::open(&format!("{url}?transport={transport}")).ok()?;
    let parameters = source.info().parameters.to_vec();
    let mut before = None;
    let mut whole = Vec::new();
    while whole.len() < PICTURES
        && let Ok(Some(frame)) = source.next()
    {
        // The interval is 40 ms, so a longer one means that a frame is missing.
        if before.is_some_and(|before| frame.media_time > before + Duration::from_millis(60)) {
            break;
        }
        before = Some(frame.media_time);
        whole.push(frame.data.to_vec());
    }
    Some((parameters, whole))
}

#[test]
fn sealcast_receives_the_same_frames_as_without_gateways() {
    if !may_capture() {
        return;
    }
    let dir = home();
    let camera = gstreamer(&clip(STREET, dir.path()), &[]);
    let gateways = pair(&camera.url(), &[], &[]);
    for transport in ["tcp", "udp"] {
        let receive = |url: &str| by_sealcast(url, transport).map_or_else(Vec::new, |(_, frames)| frames);
        assert_same(&camera, &gateways, PICTURES, receive);
    }
}

#[test]
fn a_cameras_password_stays_with_its_gateway() {
    const PASSWORD: &str = "v3ry-s3cret";
    let dir = home();
    for method in ["basic", "digest"] {
        let arguments = ["--user", "admin", "--password", PASSWORD, "--method", method];
        let camera = gstreamer(&clip(STREET, dir.path()), &arguments);
        let list = dir.path().join(method);
        let url = camera.url().replace("rtsp://", &format!("rtsp://admin:{PASSWORD}@"));
        write_private(&list, format!("# the street\n{url}\n"));
        let summary = dir.path().join(format!("{method}.json"));
        let options = ["--camera-file", path(&list), "--report", path(&summary), "-vv"];
        let mut gateways = pair("", &options, &["-vv"]);
        assert_shown(&gateways.url());
        let mut player = gateways::Player::connect(gateways.port, "front", gateways::Plain::Tcp);
        let described = player.ask(Method::Describe, "", &[]);
        assert_eq!(described.status, 200);
        gateways.camera.program.stop();
        let report = std::fs::read_to_string(&summary).expect("a report");
        let sdp = String::from_utf8(described.body).expect("text");
        for text in [&gateways.said(), &report, &sdp] {
            assert!(!text.contains(PASSWORD) && !text.contains("admin:"), "{text}");
        }
    }
}

#[test]
fn a_wrong_password_is_the_gateways_trouble_and_is_not_repeated() {
    let dir = home();
    let arguments = ["--user", "admin", "--password", "right", "--method", "digest"];
    let camera = gstreamer(&clip(STREET, dir.path()), &arguments);
    let url = camera.url().replace("rtsp://", "rtsp://admin:wr0ng@");
    let gateways = pair(&url, &[], &[]);
    let mut player = gateways::Player::connect(gateways.port, "front", gateways::Plain::Tcp);
    // A 401 would ask the player for a password.
    assert_eq!(player.ask(Method::Describe, "", &[]).status, 502);
    gateways
        .camera
        .program
        .says("the camera refuses the user name or the password", PATIENCE);
    assert!(!gateways.said().contains("wr0ng"), "{}", gateways.said());
}

#[test]
fn players_give_a_password_where_one_is_asked_for() {
    let dir = home();
    let camera = gstreamer(&clip(STREET, dir.path()), &[]);
    let (near, far) = (home(), home());
    let gateway = camera_gateway(near.path(), &camera.url(), &[]);
    let secret = dir.path().join("password");
    std::fs::write(&secret, "letmesee\n").expect("written");
    let viewer = |mode: u32| {
        let rights = std::os::unix::fs::PermissionsExt::from_mode(mode);
        std::fs::set_permissions(&secret, rights).expect("our file");
        ["--rtsp-user", "guard", "--rtsp-password-file", path(&secret)]
    };
    let mut refused = sealcast(far.path());
    let port = free_port();
    refused
        .args(["gateway", "viewer", "--peer", &gateway.ticket])
        .args(viewer(0o644));
    assert_eq!(
        refused.output().expect("it runs").status.code(),
        Some(7),
        "others can read the password"
    );
    let options = viewer(0o600);
    let viewer = viewer_gateway(far.path(), &gateway.ticket, port, &options);
    assert_shown(&format!("rtsp://guard:letmesee@127.0.0.1:{port}/"));
    for login in ["", "guard:letmein@"] {
        let url = format!("rtsp://{login}127.0.0.1:{port}/");
        let output = tool("ffmpeg")
            .args(["-nostdin", "-rtsp_transport", "tcp", "-i", &url, "-f", "null", "-"])
            .output();
        let said = String::from_utf8_lossy(&output.expect("ffmpeg runs").stderr).into_owned();
        assert!(said.contains("401 Unauthorized"), "{said}");
    }
    std::thread::sleep(Duration::from_millis(50));
    assert!(!viewer.said().contains("letme"), "{}", viewer.said());
}
