//! Cameras and players that others wrote, with a pair of gateways between: what is shown is what a direct connection
//! shows.

use std::time::Duration;

use sealcast::source;
use sealcast_proto::rtsp::Method;
use sealcast_testkit::capture::Capture;
use sealcast_testkit::capture::rtp::{assert_carried, sent_by};
use sealcast_testkit::gateways::{self, Pair, camera_gateway, pair, viewer_gateway};
use sealcast_testkit::media::{BUNNY, STREET, clip, ffmpeg, path, pictures, tool};
use sealcast_testkit::program::{PATIENCE, Program, beginning, free_port, home, run_of, sealcast};
use sealcast_testkit::servers::{Server, gstreamer, jpeg_clip, vlc};

/// Pictures that are compared: two seconds.
const PICTURES: &str = "50";

/// What ffmpeg shows of a camera.
fn by_ffmpeg(url: &str, transport: &str) -> Vec<String> {
    pictures(&["-rtsp_transport", transport, "-i", url, "-frames:v", PICTURES])
}

/// Most comparisons until a player shows the same packets in the same way.
const MOST_TRIES: usize = 3;

/// What is received through gateways, where what leaves for the player is what entered.
fn received_through<T>(camera: &Server, pair: &Pair, receive: impl Fn(&str) -> T) -> T {
    let dir = home();
    let filter = format!("udp or tcp port {} or tcp port {}", camera.port, pair.port);
    let capture = Capture::of(&filter, dir.path().join("plain.pcap"));
    let shown = receive(&pair.url());
    let captured = capture.stop();
    let (entered, left) = (sent_by(camera.port, &captured), sent_by(pair.port, &captured));
    let datagrams = pair.camera.ticket.contains("transport=");
    assert_carried(&left, &entered, !datagrams);
    shown
}

/// What a player shows of a camera and through gateways is the same. Once more where it is not: of the very same
/// packets players on a busy machine leave out what they take for late, and over UDP they lose some.
fn assert_same<T: PartialEq>(camera: &Server, pair: &Pair, receive: impl Fn(&str) -> Vec<T>) {
    let same = |_| {
        let (direct, through) = (receive(&camera.url()), received_through(camera, pair, &receive));
        println!(
            "{} things shown directly, {} through gateways",
            direct.len(),
            through.len()
        );
        direct == through
    };
    assert!(
        (0..MOST_TRIES).any(same),
        "{} shows other things than {}",
        pair.url(),
        camera.url()
    );
}

/// Compare what ffmpeg shows of a camera with what it shows through each of these gateways.
fn ffmpeg_sees_the_same(camera: &Server, gateways: &[Pair]) {
    for transport in ["tcp", "udp"] {
        for pair in gateways {
            assert_same(camera, pair, |url| by_ffmpeg(url, transport));
        }
        assert_eq!(by_ffmpeg(&camera.url(), transport).len().to_string(), PICTURES);
    }
}

#[test]
fn ffmpeg_shows_of_an_h264_camera_what_it_shows_without_gateways() {
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
        assert!(!pair.said().contains("WARN"), "{}", pair.said());
    }
}

#[test]
fn ffmpeg_shows_of_a_motion_jpeg_camera_what_it_shows_without_gateways() {
    let dir = home();
    let camera = gstreamer(&jpeg_clip(dir.path()), &[]);
    let gateways = pair(&camera.url(), &[], &[]);
    ffmpeg_sees_the_same(&camera, &[gateways]);
}

#[test]
fn picture_and_sound_come_through_together() {
    let dir = home();
    let camera = gstreamer(&clip(BUNNY, dir.path()), &["--audio"]);
    let gateways = pair(&camera.url(), &[], &[]);
    let sound = |url: &str| {
        let input = ["-rtsp_transport", "tcp", "-i", url, "-t", "2"];
        let output = ["-map", "0:a:0", "-c", "copy", "-f", "framemd5", "-"];
        let text = String::from_utf8(ffmpeg(&[&input[..], &output].concat())).expect("text");
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        let digests = lines.filter_map(|line| line.rsplit(',').next()).map(str::to_owned);
        // Where two seconds end is a matter of when picture and sound began.
        digests.take(60).collect::<Vec<_>>()
    };
    assert_eq!(sound(&camera.url()).len(), 60);
    assert_same(&camera, &gateways, sound);
    assert_same(&camera, &gateways, |url| by_ffmpeg(url, "tcp"));
}

#[test]
fn vlc_as_a_camera_is_carried_as_well() {
    let dir = home();
    let file = clip(STREET, dir.path());
    let camera = vlc(&file);
    // It speaks UDP only, and the gateway finds out.
    let gateways = pair(&camera.url(), &[], &[]);
    let original = pictures(&["-i", path(&file)]);
    for transport in ["tcp", "udp"] {
        // It is live, and retina waits for a keyframe.
        let mut source = source::open(&format!("{}?transport={transport}", gateways.url())).expect("a camera");
        let mut stream = source.info().parameters;
        for _ in 0..50 {
            stream.extend_from_slice(&source.next().expect("a frame").expect("no end").data);
        }
        let received = dir.path().join("received.h264");
        std::fs::write(&received, stream).expect("written");
        run_of(&pictures(&["-f", "h264", "-i", path(&received)]), &original);
    }
}

#[test]
fn gstreamer_writes_the_same_stream_as_without_gateways() {
    let dir = home();
    let whole = dir.path().join("whole");
    std::fs::create_dir(&whole).expect("a directory");
    let camera = gstreamer(&beginning(&clip(STREET, &whole), 3, dir.path()), &[]);
    let gateways = pair(&camera.url(), &[], &[]);
    let record = |url: &str, protocol: &str| {
        let file = dir.path().join("recorded.h264");
        let location = format!("location={}", path(&file));
        let source = format!("location={url}");
        let protocols = format!("protocols={protocol}");
        let caps = "video/x-h264,stream-format=byte-stream,alignment=au";
        let chain = ["!", "rtph264depay", "!", "h264parse", "!", caps, "!", "filesink"];
        let mut gst = tool("gst-launch-1.0");
        gst.args(["-q", "rtspsrc", &source, &protocols])
            .args(chain)
            .arg(&location);
        let mut gst = Program::run("GStreamer", gst);
        gst.succeeds(PATIENCE);
        pictures(&["-f", "h264", "-i", path(&file)])
    };
    assert!(record(&camera.url(), "tcp").len() > 50);
    for protocol in ["tcp", "udp"] {
        assert_same(&camera, &gateways, |url| record(url, protocol));
    }
}

#[test]
fn retina_receives_the_same_frames_as_without_gateways() {
    let dir = home();
    let camera = gstreamer(&clip(STREET, dir.path()), &[]);
    let gateways = pair(&camera.url(), &[], &[]);
    for transport in ["tcp", "udp"] {
        let receive = |url: &str| {
            let mut source = source::open(&format!("{url}?transport={transport}")).expect("a camera");
            let next = |_| source.next().expect("a frame").expect("no end").data;
            (0..50).map(next).collect::<Vec<_>>()
        };
        assert_same(&camera, &gateways, receive);
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
        std::fs::write(&list, format!("# the street\n{url}\n")).expect("written");
        let owner = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        std::fs::set_permissions(&list, owner).expect("our file");
        let summary = dir.path().join(format!("{method}.json"));
        let options = ["--camera-file", path(&list), "--report", path(&summary), "-vv"];
        let mut gateways = pair("", &options, &["-vv"]);
        assert_eq!(by_ffmpeg(&gateways.url(), "tcp").len().to_string(), PICTURES);
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
    // A 401 would ask the player.
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
    let shown = by_ffmpeg(&format!("rtsp://guard:letmesee@127.0.0.1:{port}/"), "tcp");
    assert_eq!(shown.len().to_string(), PICTURES);
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
