use super::base as base_of;
use super::*;
use crate::rtsp::auth::Credentials;

fn parse(text: &str) -> (CameraUrl, Option<Credentials>) {
    CameraUrl::parse(text).unwrap()
}

#[test]
fn a_cameras_url_is_kept_without_its_credentials() {
    let (url, credentials) = parse("rtsp://ad%6din:p@ss:w%2Frd@192.0.2.7/Streaming/Channels/101?a=b");
    assert_eq!(url.to_string(), "rtsp://192.0.2.7/Streaming/Channels/101?a=b");
    assert_eq!((url.host.as_str(), url.port, url.tls), ("192.0.2.7", 554, false));
    assert!(!format!("{url:?}").contains("p@ss"));
    assert!(credentials.unwrap() == Credentials::new("admin", "p@ss:w/rd".to_owned()));

    let (url, credentials) = parse("RTSPS://[2001:db8::1]:8554");
    assert_eq!((url.host.as_str(), url.port, url.tls), ("2001:db8::1", 8554, true));
    assert!(credentials.is_none());
    assert_eq!(parse("rtsps://cam?x@y").0.port, 322);
}

#[test]
fn what_is_no_url_of_a_camera_says_why_and_not_what() {
    for (text, reason) in [
        ("http://camera/", UrlError::Scheme),
        ("camera", UrlError::Scheme),
        ("rtsp:///x", UrlError::Host),
        ("rtsp://user:secret@/x", UrlError::Host),
        ("rtsp://[::1/x", UrlError::Host),
        ("rtsp://user:secret@camera:0/", UrlError::Port),
        ("rtsp://camera:+1/", UrlError::Port),
        ("rtsp://[::1]x/", UrlError::Port),
        ("rtsp://camera/a b", UrlError::Form),
    ] {
        let error = CameraUrl::parse(text).err().unwrap();
        assert_eq!(error, reason, "{text}");
        assert!(!error.to_string().contains("secret"));
    }
}

#[test]
fn control_urls_are_joined_as_cameras_mean_them() {
    let base = "rtsp://192.168.5.107:65534/videoMain/";
    for (base, control, joined) in [
        (base, "*", base),
        (base, "track1", "rtsp://192.168.5.107:65534/videoMain/track1"),
        ("rtsp://c/live?ch=1", "trackID=0", "rtsp://c/live?ch=1/trackID=0"),
        ("rtsp://c/live", "rtsp://u:p@c/other/video", "rtsp://c/other/video"),
    ] {
        assert_eq!(join(base, control), joined);
    }
}

#[test]
fn a_base_that_is_no_url_is_not_taken() {
    let asked = "rtsp://u:p@192.168.1.10/stream0";
    assert_eq!(
        base_of(["192.168.1.10:554/stream0/"].into_iter(), asked),
        "rtsp://192.168.1.10/stream0"
    );
    assert_eq!(base_of(["", " rtsp://u:p@b/x/ "].into_iter(), asked), "rtsp://b/x/");
}

#[test]
fn players_ask_for_cameras_and_tracks() {
    let asked = |url: &str| asked(url).map(|asked| (asked.path, asked.track.map(Track::index)));
    for (url, path, track) in [
        ("rtsp://127.0.0.1:9554/front", "front", None),
        ("rtsp://127.0.0.1:9554/front/", "front", None),
        ("rtsp://viewer:sesame@127.0.0.1:9554/front/track1", "front", Some(1)),
        ("rtsp://127.0.0.1/a/b?c=d/track15", "a/b?c=d", Some(15)),
        ("rtsp://127.0.0.1/track16", "track16", None),
        ("rtsp://127.0.0.1/x/track+1", "x/track+1", None),
        ("rtsp://127.0.0.1", "", None),
        ("rtsp://127.0.0.1/track0", "", Some(0)),
    ] {
        assert_eq!(asked(url), Some((path.to_owned(), track)), "{url}");
    }
    assert_eq!(asked("*"), None);
    assert_eq!(asked("http://127.0.0.1/front"), None);
}

#[test]
fn rtp_info_crosses_as_cameras_write_it() {
    let base = "rtsp://192.168.1.19:554/0/main/";
    let controls = ["trackID=1", "trackID=2"].map(|control| join(base, control));
    for (camera, crossing) in [
        (
            "url=trackID=1;seq=16852;rtptime=1070938629;ssrc=dcc4a0d8,url=trackID=2;seq=39409;rtptime=3075976528",
            "url=track0;seq=16852;rtptime=1070938629,url=track1;seq=39409;rtptime=3075976528",
        ),
        (
            "url=rtsp://192.168.1.19:554/0/main/trackID=2;seq=0;rtptime=0;",
            "url=track1;seq=0;rtptime=0",
        ),
        ("url=trackID=1;seq=0;rtptime=-1, url=other;seq=1", "url=track0;seq=0"),
        ("nonsense", ""),
    ] {
        assert_eq!(rtp_info_from_camera(camera, base, &controls), crossing);
    }
    // With a single track the URL does not matter.
    let wrong = "url=rtsp://192.168.1.110:5050/H264/video;seq=271;rtptime=1621990950";
    assert_eq!(
        rtp_info_from_camera(wrong, base, &controls[..1]),
        "url=track0;seq=271;rtptime=1621990950"
    );
}

#[test]
fn rtp_info_names_the_gateways_urls_to_the_player() {
    let crossing = "url=track0;seq=16852;rtptime=1070938629,url=track1";
    let presented =
        "url=rtsp://127.0.0.1:9554/a,b/track0;seq=16852;rtptime=1070938629,url=rtsp://127.0.0.1:9554/a,b/track1";
    assert_eq!(rtp_info_for_player(crossing, "rtsp://127.0.0.1:9554/a,b/"), presented);
}
