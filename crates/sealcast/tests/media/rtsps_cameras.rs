//! The RTSP source against a third-party server within TLS.

use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rcgen::{CertificateParams, KeyPair, date_time_ymd};
use sealcast::failure::FailureKind;
use sealcast::keys::fingerprint::Fingerprint;
use sealcast_testkit::media::{STREET, clip, path};
use sealcast_testkit::program::{PATIENCE, write_private};
use sealcast_testkit::servers::{Server, gstreamer};

use super::rtsp_cameras::{assert_a_run_of, failure, file_frames, open, receive, receive_all, scratch};

/// A self-signed certificate that no authority vouches for and that is valid until this year: a file with it and its
/// key, and its fingerprint.
fn certificate(dir: &Path, name: &str, until: i32) -> (PathBuf, Fingerprint) {
    let key = KeyPair::generate().expect("a key");
    let mut params = CertificateParams::new(vec!["camera".to_owned()]).expect("a name");
    params.not_before = date_time_ymd(2001, 1, 1);
    params.not_after = date_time_ymd(until, 1, 1);
    let certificate = params.self_signed(&key).expect("a certificate");
    let file = dir.join(name);
    write_private(&file, certificate.pem() + &key.serialize_pem());
    (file, Fingerprint::of(certificate.der()))
}

/// The URL of a server within TLS.
fn url(server: &Server, login: &str) -> String {
    server.url().replace("rtsp://", &format!("rtsps://{login}"))
}

#[test]
fn a_camera_within_tls_comes_bit_for_bit_with_either_login_even_if_its_certificate_has_expired() {
    let dir = scratch();
    let file = clip(STREET, dir.path());
    let expected = file_frames(&file);
    for (method, until) in [("digest", 2002), ("basic", 2090)] {
        let (pem, pin) = certificate(dir.path(), method, until);
        let login = ["--user", "admin", "--password", "secret", "--method", method];
        let server = gstreamer(&file, &[&login[..], &["--tls", path(&pem)]].concat());
        let url = format!("{}?fingerprint={pin}", url(&server, "admin:secret@"));
        let (camera, frames) = receive_all(&url, 60);
        assert_a_run_of(&frames, &expected);
        drop(camera);
        server.expect_line("TEARDOWN");
    }
}

#[test]
fn a_camera_that_is_not_pinned_or_is_another_is_no_source() {
    let dir = scratch();
    let (pem, pin) = certificate(dir.path(), "camera", 2090);
    let (_, other) = certificate(dir.path(), "other", 2090);
    let login = ["--user", "admin", "--password", "secret"];
    let server = gstreamer(
        &clip(STREET, dir.path()),
        &[&login[..], &["--tls", path(&pem)]].concat(),
    );
    let camera = url(&server, "admin:secret@");
    for (url, words) in [
        (camera.clone(), format!("then add fingerprint={pin} to its URL")),
        (
            format!("{camera}?fingerprint={other}"),
            format!("shows the certificate {pin} and not {other}, which is pinned"),
        ),
    ] {
        let failure = failure(&url);
        assert_eq!(failure.kind, FailureKind::Refused, "{failure}");
        assert!(failure.to_string().contains(&words), "{failure}");
        assert!(!failure.to_string().contains("secret"), "{failure}");
    }
    let wrong = url(&server, "admin:guess@");
    let failure = failure(&format!("{wrong}?fingerprint={pin}"));
    assert_eq!(failure.kind, FailureKind::Refused, "{failure}");
    assert!(
        failure.what.contains("rtsps://127.0.0.1") && failure.what.contains("does not accept"),
        "{failure}"
    );
}

#[test]
fn a_camera_without_tls_and_one_that_is_off_are_failures_in_words() {
    let dir = scratch();
    let (_, pin) = certificate(dir.path(), "camera", 2090);
    let server = gstreamer(&clip(STREET, dir.path()), &[]);
    let camera = format!("{}?fingerprint={pin}", url(&server, ""));
    let plain = failure(&camera);
    assert_eq!(plain.kind, FailureKind::Source, "{plain}");
    assert!(plain.to_string().contains("nothing was sent in plain"), "{plain}");
    drop(server);
    let off = failure(&camera);
    assert_eq!(off.kind, FailureKind::Source, "{off}");
    assert!(off.what.contains("cannot reach"), "{off}");
}

#[test]
fn a_camera_that_is_cut_off_is_called_again_and_one_with_another_certificate_is_not_taken_for_it() {
    let dir = scratch();
    let file = clip(STREET, dir.path());
    let (pem, pin) = certificate(dir.path(), "camera", 2090);
    let (other, _) = certificate(dir.path(), "other", 2090);
    let server = gstreamer(&file, &["--tls", path(&pem)]);
    let port = server.port.to_string();
    let mut camera = open(&format!("{}?fingerprint={pin}", url(&server, "")));
    let frames = receive(&mut *camera, 10);
    let mut last = frames[frames.len() - 1].media_time;
    drop(server);
    let server = gstreamer(&file, &["--port", &port, "--tls", path(&pem)]);
    let began = Instant::now();
    // The pause is longer than the interval of frames, 40 ms.
    loop {
        assert!(began.elapsed() < PATIENCE, "the camera did not come back");
        let Ok(Some(frame)) = camera.next() else {
            thread::sleep(Duration::from_millis(10));
            continue;
        };
        let step = frame.media_time - std::mem::replace(&mut last, frame.media_time);
        if step > Duration::from_millis(100) {
            assert!(frame.keyframe);
            break;
        }
    }
    receive(&mut *camera, 5);
    drop(server);
    let _impostor = gstreamer(&file, &["--port", &port, "--tls", path(&other)]);
    let began = Instant::now();
    let refused = loop {
        assert!(began.elapsed() < PATIENCE, "the impostor was not noticed");
        match camera.next() {
            Err(failure) if failure.kind == FailureKind::Refused => break failure,
            _ => {}
        }
    };
    assert!(refused.what.contains(&pin.to_string()), "{refused}");
}
