use super::*;

const PIN: &str = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

fn parse(text: &str) -> RtspOptions {
    RtspOptions::parse(text).unwrap_or_else(|e| panic!("{e}"))
}

fn has_login(options: &RtspOptions, user: &str, password: &str) -> bool {
    options.credentials == Some(Credentials::new(user, password.to_owned()))
}

#[test]
fn user_and_password_leave_the_url() {
    let options = parse("rtsp://admin:p%40ss%3aword@10.0.0.7:8554/Streaming/Channels/101");
    assert_eq!(options.shown(), "rtsp://10.0.0.7:8554/Streaming/Channels/101");
    assert!(has_login(&options, "admin", "p@ss:word"));
    assert!(!format!("{options:?}").contains("p@ss"));
    for without in ["rtsp://camera/", "rtsp://:secret@camera/"] {
        assert!(parse(without).credentials.is_none(), "{without}");
    }
}

#[test]
fn our_options_are_taken_and_the_cameras_stay_as_they_are() {
    let options = parse("rtsp://camera/realmonitor?channel=1&transport=udp&subtype=%30&reconnect=no");
    assert_eq!(options.shown(), "rtsp://camera/realmonitor?channel=1&subtype=%30");
    assert_eq!((options.transport, options.reconnect), (Transport::Udp, false));
    assert!(parse("RTSP://camera/live").shown().ends_with("://camera/live"));
    let plain = parse("rtsp://camera/live?transport=tcp");
    assert_eq!(
        (plain.shown(), plain.transport, plain.reconnect),
        ("rtsp://camera/live", Transport::Tcp, true)
    );
}

#[test]
fn a_camera_within_tls_has_a_fingerprint_and_its_own_beside_the_url_holds() {
    let options = parse(&format!("rtsps://camera/live?fingerprint={PIN}&x=y"));
    assert_eq!(options.shown(), "rtsps://camera/live?x=y");
    assert_eq!(options.fingerprint.map(|pin| pin.to_string()).as_deref(), Some(PIN));
    let other = Fingerprint::of(b"another");
    assert_eq!(
        options.clone().with(None, Some(other)).expect("fits").fingerprint,
        Some(other)
    );
    assert!(options.with(Some(Transport::Udp), None).is_err());
    assert_eq!(
        parse("rtsps://camera/").fingerprint,
        None,
        "it is asked for when the camera shows one"
    );
}

#[test]
fn the_password_may_come_from_elsewhere_unless_the_url_has_one() {
    let elsewhere = |url: &str| {
        let login = parse(url).credentials.expect("a user");
        login.or_password("secret".to_owned())
    };
    assert!(elsewhere("rtsp://admin@camera/") == Credentials::new("admin", "secret".to_owned()));
    assert!(elsewhere("rtsp://admin:typed@camera/") == Credentials::new("admin", "typed".to_owned()));
}

#[test]
fn wrong_urls_are_refused_without_repeating_them() {
    for wrong in [
        "rtsp:///hunter2",
        "rtsp://",
        "rtsps://admin:hunter2@camera/?transport=udp",
        "rtsps://admin:hunter2@camera/?fingerprint=sha256:12",
        "rtsp://admin:hunter2@camera/?fingerprint=PIN",
        "rtsp://admin:hunter2@camera/?transport=pigeon",
        "rtsp://admin:hunter2@camera:99999/",
        "rtsp://admin:hunter2#@camera/",
    ] {
        let failure = RtspOptions::parse(&wrong.replace("PIN", PIN)).expect_err(wrong);
        assert_eq!(failure.kind, FailureKind::Usage, "{wrong}");
        assert!(!failure.to_string().contains("hunter2"), "{failure}");
    }
    let missing = RtspOptions::parse("rtsp://camera/?credentials=@/nowhere/at/all").expect_err("no file");
    assert_eq!(missing.kind, FailureKind::Keys);
}
