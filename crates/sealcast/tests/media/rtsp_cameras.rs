//! The RTSP source against third-party servers, GStreamer's and VLC's, over TCP and UDP, with and without passwords.

use std::collections::HashMap;
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use sealcast::failure::{Failure, FailureKind};
use sealcast::media::{Codec, Frame, Track};
use sealcast::source::{self, Lost, SOURCE_PATIENCE, Source};
use sealcast_proto::unit::nal_units;
use sealcast_testkit::gateways::clip::Codec as Sent;
use sealcast_testkit::gateways::{Camera, Clip, Deviation, Rtp};
use sealcast_testkit::media::{BUNNY, STREET, clip, path, pictures, unpaced};
use sealcast_testkit::program::{PATIENCE, beginning, write_private};
use sealcast_testkit::servers::{ffmpeg_camera, ffmpeg_clip, gstreamer, jpeg_clip, mediamtx, vlc};

/// The NAL units of an access unit that contain the picture. Parameter sets and supplemental information are left out,
/// since servers may send them differently.
pub(super) fn slices(data: &[u8]) -> Vec<Vec<u8>> {
    nal_units(data)
        .filter(|nal| matches!(nal[0] & 0x1f, 1..=5))
        .map(<[u8]>::to_vec)
        .collect()
}

pub(super) fn file_frames(file: &Path) -> Vec<Frame> {
    let mut source = unpaced(file);
    let frames = std::iter::from_fn(|| source.next().expect("a frame"));
    frames.filter(|frame| frame.track == Track::Picture).collect()
}

pub(super) fn receive(source: &mut dyn Source, count: usize) -> Vec<Frame> {
    (0..count)
        .map(|_| source.next().expect("a frame").expect("no end"))
        .collect()
}

/// Opens a camera, with repeated attempts, since it may not answer in time on a busy machine.
pub(super) fn open(url: &str) -> Box<dyn Source> {
    let began = Instant::now();
    loop {
        match source::open(url) {
            Ok(source) => return source,
            Err(failure) if began.elapsed() > PATIENCE => panic!("{failure}"),
            Err(failure) => println!("{failure}"),
        }
    }
}

/// Opens a camera and receives frames without a gap, with repeated attempts: on a busy machine datagrams may be lost,
/// and a camera may be silent for so long that it is called again.
pub(super) fn receive_all(url: &str, count: usize) -> (Box<dyn Source>, Vec<Frame>) {
    let began = Instant::now();
    loop {
        let mut camera = open(url);
        let frames: Vec<Frame> = (0..count).map_while(|_| camera.next().ok().flatten()).collect();
        // The interval between frames is 40 ms.
        let whole = |pair: &[Frame]| pair[1].media_time - pair[0].media_time < Duration::from_millis(60);
        if frames.len() == count && frames.windows(2).all(whole) {
            return (camera, frames);
        }
        println!("{url}: a frame was lost after {}", frames.len());
        assert!(began.elapsed() < PATIENCE, "{url} lost frames every time");
    }
}

pub(super) fn failure(url: &str) -> Failure {
    match source::open(url) {
        Err(failure) => failure,
        Ok(_) => panic!("{url} should not open"),
    }
}

pub(super) fn assert_a_run_of(received: &[Frame], file: &[Frame]) {
    let first = slices(&received[0].data);
    let positions: HashMap<_, _> = file
        .iter()
        .enumerate()
        .map(|(at, frame)| (slices(&frame.data), at))
        .collect();
    let begin = *positions.get(&first).expect("the first frame is one of the file's");
    for (at, frame) in received.iter().enumerate() {
        let expected = &file[(begin + at) % file.len()];
        assert_eq!(
            slices(&frame.data),
            slices(&expected.data),
            "frame {at} of the run from {begin}"
        );
        assert_eq!(frame.keyframe, expected.keyframe);
    }
}

fn assert_steady(frames: &[Frame]) {
    for pair in frames.windows(2) {
        let step = pair[1].media_time.saturating_sub(pair[0].media_time).as_millis();
        assert!(
            (38..=42).contains(&step),
            "{step} ms from {:?} to {:?}",
            pair[0].media_time,
            pair[1].media_time
        );
        assert!(pair[1].captured >= pair[0].captured);
    }
}

pub(super) fn scratch() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary directory")
}

#[test]
fn gstreamer_h264_comes_bit_for_bit_over_tcp_and_udp() {
    let dir = scratch();
    for (name, size) in [(STREET, (640, 480)), (BUNNY, (1280, 720))] {
        let file = clip(name, dir.path());
        let expected = file_frames(&file);
        let server = gstreamer(&file, &[]);
        for transport in ["tcp", "udp"] {
            let (camera, frames) = receive_all(&format!("{}?transport={transport}", server.url()), 60);
            let info = camera.info();
            assert_eq!((info.codec, info.width, info.height), (Codec::H264, size.0, size.1));
            assert!(!info.parameters.is_empty());
            assert!(frames[0].keyframe);
            assert_a_run_of(&frames, &expected);
            if name == STREET {
                assert_steady(&frames);
            }
            drop(camera);
            server.expect_line("TEARDOWN");
        }
    }
}

#[test]
fn vlc_h264_comes_bit_for_bit_by_the_transport_it_has() {
    let dir = scratch();
    let file = dir.path().join("clip.mp4");
    std::fs::copy(clip(STREET, dir.path()), &file).expect("a copy");
    let open_to_all = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(dir.path(), open_to_all).expect("VLC may look into it");
    let expected = file_frames(&file);
    let server = vlc(&file);
    // It has UDP alone, whatever is asked for first.
    for query in ["", "?transport=tcp", "?transport=udp"] {
        let (_camera, frames) = receive_all(&format!("{}{query}", server.url()), 40);
        assert!(frames[0].keyframe, "the frames before the first keyframe are dropped");
        assert_a_run_of(&frames, &expected);
    }
}

/// As fast as a camera is.
const LIVE: Deviation = Deviation::Pause(|_| 40);
const BY_CONNECTION: &[Deviation] = &[LIVE];
const BY_DATAGRAMS: &[Deviation] = &[LIVE, Deviation::OverUdp];

#[test]
fn ffmpeg_h264_comes_bit_for_bit_over_tcp_and_udp() {
    let dir = scratch();
    let whole = dir.path().join("whole");
    std::fs::create_dir(&whole).expect("a directory");
    let file = beginning(&clip(STREET, &whole), 3, dir.path());
    let expected = file_frames(&file);
    let sent = ffmpeg_clip(&file, dir.path());
    for (transport, way) in [("tcp", BY_CONNECTION), ("udp", BY_DATAGRAMS)] {
        let camera = ffmpeg_camera(&sent, way);
        // Its last picture is whole only when another begins.
        let url = format!("{}?transport={transport}", camera.url());
        let (_source, frames) = receive_all(&url, expected.len() - 1);
        assert_eq!(slices(&frames[0].data), slices(&expected[0].data), "{transport}");
        assert_a_run_of(&frames, &expected);
    }
}

#[test]
fn what_ffmpeg_sends_through_mediamtx_comes_bit_for_bit_over_tcp_and_udp() {
    let dir = scratch();
    let file = clip(STREET, dir.path());
    let expected = file_frames(&file);
    let Some(mediamtx) = mediamtx(&file, dir.path()) else {
        return;
    };
    for transport in ["tcp", "udp"] {
        let url = format!("{}?transport={transport}", mediamtx.server.url());
        let (_source, frames) = receive_all(&url, 60);
        assert!(frames[0].keyframe);
        assert_a_run_of(&frames, &expected);
    }
}

#[test]
fn gstreamer_motion_jpeg_has_the_same_pictures() {
    let dir = scratch();
    let file = jpeg_clip(dir.path());
    let expected = pictures(&["-i", path(&file)]);
    let server = gstreamer(&file, &[]);
    for transport in ["tcp", "udp"] {
        let (camera, frames) = receive_all(&format!("{}?transport={transport}", server.url()), 50);
        let info = camera.info();
        assert_eq!(
            (info.codec, frames.iter().all(|frame| frame.keyframe)),
            (Codec::Mjpeg, true)
        );
        assert_eq!((camera.info().width, camera.info().height), (640, 480));
        let joined = dir.path().join("received.mjpeg");
        std::fs::write(
            &joined,
            frames.iter().flat_map(|frame| frame.data.to_vec()).collect::<Vec<_>>(),
        )
        .expect("space");
        let received = pictures(&["-i", path(&joined)]);
        let begin = expected
            .iter()
            .position(|picture| *picture == received[0])
            .expect("a picture of the file");
        assert_eq!(received, expected[begin..begin + 50]);
        assert_steady(&frames);
    }
}

#[test]
fn a_password_lets_us_in_and_is_never_shown() {
    let dir = scratch();
    let file = clip(STREET, dir.path());
    for method in ["digest", "basic"] {
        let server = gstreamer(
            &file,
            &["--user", "admin", "--password", "s3cr#t@1", "--method", method],
        );
        let host = format!("127.0.0.1:{}/cam", server.port);
        let mut camera = open(&format!("rtsp://admin:s3cr%23t%401@{host}"));
        receive(&mut *camera, 2);

        let secrets = dir.path().join("camera.secret");
        write_private(&secrets, "admin:s3cr#t@1\n");
        receive(
            &mut *open(&format!("rtsp://{host}?credentials=@{}", secrets.display())),
            2,
        );

        let nobody = failure(&format!("rtsp://{host}"));
        assert_eq!(nobody.kind, FailureKind::Refused);
        assert!(nobody.what.contains("wants a user and a password"), "{nobody}");
        let wrong = failure(&format!("rtsp://admin:wr0ng@{host}"));
        assert_eq!(wrong.kind, FailureKind::Refused);
        assert!(
            wrong.what.contains("does not accept") && !wrong.to_string().contains("wr0ng"),
            "{wrong}"
        );
    }
}

#[test]
fn a_camera_that_is_not_there_is_a_clear_failure() {
    let dir = scratch();
    let server = gstreamer(&clip(STREET, dir.path()), &[]);
    let missing = failure(&format!("rtsp://127.0.0.1:{}/nowhere", server.port));
    assert_eq!(missing.kind, FailureKind::Source);
    assert!(missing.what.contains("has no such stream"), "{missing}");
    let port = server.port;
    drop(server);
    let refused = failure(&format!("rtsp://user:hunter2@127.0.0.1:{port}/cam"));
    assert_eq!(refused.kind, FailureKind::Source);
    assert!(
        refused.what.contains("refused") && !refused.to_string().contains("hunter2"),
        "{refused}"
    );
}

/// A camera for behaviour that the real servers do not show. It offers `media` and, when asked to play, sends `packets`
/// (sequence number, time stamp, marker, payload).
fn scripted(media: &str, packets: Vec<(u16, u32, bool, Vec<u8>)>) -> Camera {
    let packets = packets.into_iter().map(|(number, stamp, marker, payload)| Rtp {
        payload_type: 96,
        marker,
        number,
        stamp,
        payload,
        ..Rtp::default()
    });
    let clip = Clip {
        codec: Sent::H264,
        description: format!("v=0\r\na=control:*\r\n{media}\r\na=control:track1\r\n"),
        packets: packets.collect(),
        pictures: Vec::new(),
    };
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    Camera::odd(listener, &clip, &[])
}

#[test]
fn joining_in_the_middle_and_losing_packets_leaves_only_whole_frames_behind_a_keyframe() {
    const SPS: &str = "Z0LAHtkAoD2hAAADAAEAAAMAMg8WLkg=";
    const PPS: &str = "aMuDyyA=";
    let media = format!(
        "m=video 0 RTP/AVP 96\r\na=rtpmap:96 H264/90000\r\n\
         a=fmtp:96 packetization-mode=1;sprop-parameter-sets={SPS},{PPS}"
    );
    let (idr, p) = (vec![0x65, 0x88, 0x84, 1], vec![0x41, 0x9a, 0x11, 1]);
    // A fragment of type FU-A without its beginning.
    let middle = vec![0x7c, 0x01, 9, 9, 9];
    let packets = vec![
        (10, 0, false, middle.clone()),
        (11, 0, true, middle),
        (12, 3600, true, p.clone()),
        (13, 7200, true, idr.clone()),
        (14, 10_800, true, p.clone()),
        // 15 is lost.
        (16, 18_000, true, p.clone()),
        (17, 21_600, true, idr),
        (18, 25_200, true, p),
    ];
    let scripted = scripted(&media, packets);
    let mut camera = open(&format!("{}?transport=tcp", scripted.url()));
    assert_eq!((camera.info().width, camera.info().height), (640, 480));
    let frames = receive(&mut *camera, 4);
    assert_eq!(
        frames.iter().map(|frame| frame.keyframe).collect::<Vec<_>>(),
        [true, false, true, false]
    );
    assert_eq!(
        frames
            .iter()
            .map(|frame| frame.media_time.as_millis())
            .collect::<Vec<_>>(),
        [0, 40, 160, 200]
    );
    let lost = Lost {
        dropped: 0,
        damaged: 1,
        left_out: 1,
    };
    assert_eq!(camera.take_lost(), lost, "15 and what follows it up to a keyframe");
}

/// A packet of a picture: the first of one if `at` is 0, else the part with this offset (RFC 2435, section 3.1).
fn jpeg_packet(at: u8, part: &[u8]) -> Vec<u8> {
    [&[0, 0, 0, at, 0, 50, 2, 2][..], part].concat()
}

#[test]
fn a_motion_jpeg_picture_that_lacks_packets_is_not_handed_on() {
    let first = |number: u8| jpeg_packet(0, &[number; 8]);
    let (middle, last) = (jpeg_packet(8, &[0x11; 8]), jpeg_packet(16, &[0x22; 8]));
    let packets = vec![
        // The first packet that comes may be of the middle of a picture.
        (9, 0, true, last.clone()),
        (10, 3600, false, first(1)),
        (11, 3600, false, middle.clone()),
        (12, 3600, true, last.clone()),
        // 14 is lost, of the middle.
        (13, 7200, false, first(2)),
        (15, 7200, true, last.clone()),
        // 18 is lost, the last.
        (16, 10_800, false, first(3)),
        (17, 10_800, false, middle.clone()),
        (19, 14_400, false, first(4)),
        (20, 14_400, false, middle.clone()),
        (21, 14_400, true, last.clone()),
        // 22 is lost, the first.
        (23, 18_000, false, middle.clone()),
        (24, 18_000, true, last.clone()),
        // 27 is lost, the last but one.
        (25, 21_600, false, first(5)),
        (26, 21_600, false, middle.clone()),
        (28, 21_600, true, jpeg_packet(24, &[0x33; 8])),
        (29, 25_200, false, first(6)),
        (30, 25_200, false, middle),
        (31, 25_200, true, last),
    ];
    let scripted = scripted("m=video 0 RTP/AVP 96\r\na=rtpmap:96 JPEG/90000", packets);
    let mut camera = open(&format!("{}?transport=tcp", scripted.url()));
    let frames = receive(&mut *camera, 3);
    let came: Vec<_> = frames
        .iter()
        .map(|frame| {
            (
                frame.media_time.as_millis(),
                frame.data[frame.data.len() - 26..].to_vec(),
            )
        })
        .collect();
    let whole = |number: u8| [&[number; 8][..], &[0x11; 8], &[0x22; 8], &[0xff, 0xd9]].concat();
    assert_eq!(came, [(0, whole(1)), (120, whole(4)), (240, whole(6))]);
    let damaged = Lost {
        damaged: 4,
        ..Lost::default()
    };
    assert_eq!(camera.take_lost(), damaged, "one each: 14, 18, 22 and 27");
}

#[test]
fn a_camera_that_hangs_up_is_called_again_and_goes_on_with_a_keyframe() {
    let dir = scratch();
    let file = clip(STREET, dir.path());
    let server = gstreamer(&file, &[]);
    let (port, url) = (server.port.to_string(), server.url());
    let mut camera = open(&url);
    let before = receive(&mut *camera, 10);
    drop(server);
    let restarting = thread::spawn(move || {
        thread::sleep(Duration::from_millis(500));
        gstreamer(&file, &["--port", &port])
    });
    // Some more frames from before the restart may still arrive.
    let mut frames = before;
    let deadline = Instant::now() + PATIENCE;
    let again = loop {
        assert!(Instant::now() < deadline, "the camera did not come back");
        let frame = match camera.next() {
            Ok(frame) => frame.expect("no end"),
            // The restart may take longer than the timeout of a call.
            Err(failure) => {
                println!("{failure}");
                continue;
            }
        };
        // Within a call the camera's clock counts 40 ms from frame to frame.
        let step = frame.media_time - frames[frames.len() - 1].media_time;
        frames.push(frame);
        if step > Duration::from_millis(100) {
            break frames.len() - 1;
        }
    };
    let _server = restarting.join().expect("a server");
    frames.extend(receive(&mut *camera, 5));
    assert!(frames[again].keyframe);
    let (pause, step) = (
        frames[again].captured.duration_since(frames[again - 1].captured),
        frames[again].media_time - frames[again - 1].media_time,
    );
    // How late pictures come is another matter after each start.
    let off = pause.abs_diff(step);
    assert!(
        off < Duration::from_secs(1),
        "media time goes on with the clock: {pause:?}, {step:?}"
    );
}

#[test]
fn a_camera_that_hangs_up_for_good_is_a_failure() {
    let dir = scratch();
    let server = gstreamer(&clip(STREET, dir.path()), &[]);
    let mut camera = open(&format!("{}?reconnect=no", server.url()));
    receive(&mut *camera, 5);
    drop(server);
    let begin = Instant::now();
    let failure = loop {
        match camera.next() {
            Ok(_) => assert!(begin.elapsed() < PATIENCE),
            Err(failure) => break failure,
        }
    };
    assert_eq!(failure.kind, FailureKind::Source);
    assert!(failure.what.contains("rtsp://127.0.0.1"), "{failure}");
}

#[test]
fn a_camera_that_falls_silent_is_a_failure_and_not_before_its_time() {
    let dir = scratch();
    let server = gstreamer(&clip(STREET, dir.path()), &[]);
    let mut camera = open(&server.url());
    receive(&mut *camera, 5);
    let stop = Command::new("kill").args(["-STOP", &server.id().to_string()]).status();
    assert!(stop.is_ok_and(|status| status.success()));
    let begin = Instant::now();
    let (last, failure) = loop {
        let asked = Instant::now();
        match camera.next() {
            Ok(_) => assert!(begin.elapsed() < PATIENCE),
            Err(failure) => break (asked.elapsed(), failure),
        }
    };
    assert!(last > SOURCE_PATIENCE / 3, "it took {last:?}");
    assert!(failure.what.contains("sends nothing any more"), "{failure}");
}
