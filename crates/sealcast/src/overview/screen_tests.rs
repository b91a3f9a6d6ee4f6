//! Tests of what the pages show, in a terminal of 80 columns and in none.

use super::*;

fn now() -> Timestamp {
    "2026-11-29T12:00:00Z".parse().expect("a time")
}

fn page(columns: Option<usize>) -> Page {
    Page {
        columns,
        now: now(),
        zone: TimeZone::UTC,
    }
}

fn session(number: usize, label: &str) -> SessionRow {
    SessionRow {
        peer: format!("{number:02}mfrggzdfmztwq2lkmfrggzdfmztwq2lkmfrggzdfmztwq2lk"),
        label: label.to_owned(),
        camera: String::new(),
        since: "2026-11-29T11:48:00Z".to_owned(),
        address: Some(format!("192.0.2.{number}:51234")),
        relay: None,
        carrier: "udp".to_owned(),
        bit_rate: Some(4_100_000),
        loss: Some(0.002),
        round_trip_ms: Some(12.6),
        keys_since: "2026-11-29T11:56:00Z".to_owned(),
    }
}

fn peer(number: usize, label: &str, here: bool) -> PeerRow {
    let session = session(number, label);
    PeerRow {
        id: session.peer.clone(),
        label: label.to_owned(),
        admitted: AdmittedBy::Invite,
        invite: Some("0123456789abcdef".to_owned()),
        listed: Some("2026-11-20".to_owned()),
        cameras: None,
        last_seen: Some("2026-11-27T12:00:00Z".to_owned()),
        sessions: here.then_some(session).into_iter().collect(),
    }
}

fn status(viewers: usize) -> StatusOverview {
    let long = "grandma's phone in the house by the lake";
    let session = |number| match number % 3 {
        0 => session(number, ""),
        1 => session(number, long),
        _ => SessionRow {
            address: Some("[2001:db8:1111:2222:3333:4444:5555:6666]:51234".to_owned()),
            loss: None,
            ..session(number, "\u{202e}evil\u{7}")
        },
    };
    StatusOverview {
        name: Some("camera".to_owned()),
        kind: "publisher".to_owned(),
        process: 4711,
        encrypt: Some("all".to_owned()),
        cameras: vec![CameraRow {
            state: Some("on".to_owned()),
            since: Some("2026-11-29T11:00:00Z".to_owned()),
            codec: Some("h264".to_owned()),
            width: Some(1920),
            height: Some(1080),
            frame_rate: Some(29.97),
            frames: 90_000,
            viewers,
            ..CameraRow::default()
        }],
        sessions: (0..viewers).map(session).collect(),
        epoch: 6,
        oldest_keys_since: (viewers > 0).then(|| "2026-11-29T11:56:00Z".to_owned()),
        records_out: 100,
        records_in_clear: 0,
    }
}

#[test]
fn a_screen_of_80_columns_and_24_lines_holds_the_status_of_however_many_viewers() {
    for viewers in [0, 1, 3, 20] {
        let text = page(Some(80)).status(&status(viewers), Some(23));
        for line in text.lines() {
            assert!(line.chars().count() <= 80, "{line}");
        }
        assert!(text.lines().count() <= 23, "{text}");
        assert!(!text.contains(['\u{202e}', '\u{7}']), "{text}");
        let whole = page(None).status(&status(viewers), None);
        assert_eq!(whole.matches(" min  ").count(), viewers, "{whole}");
    }
    assert!(
        page(Some(80))
            .status(&status(20), Some(23))
            .contains("\nand 6 lines more\n")
    );
}

#[test]
fn a_status_says_what_a_camera_gives_and_who_gets_it() {
    let lines = [
        "camera: publisher, process 4711, encrypt all",
        "",
        "state                 picture                 frames  viewers",
        "on since 11:00 (1 h)  h264 1920x1080 29.97/s  90000   1",
        "",
        "here now    for     from             by   rate        loss   delay",
        "00mfrggzdf  12 min  192.0.2.0:51234  udp  4.1 Mbit/s  0.2 %  13 ms",
        "",
        "keys: the oldest in use are 4 min old; the last epoch is 6",
    ];
    assert_eq!(page(Some(80)).status(&status(1), None), lines.join("\n"));
}

#[test]
fn cameras_of_which_other_units_are_encrypted_say_so_each() {
    let mut status = status(0);
    let camera = |name: &str, encrypt: &str| CameraRow {
        name: name.to_owned(),
        encrypt: Some(encrypt.to_owned()),
        ..CameraRow::default()
    };
    status.cameras = vec![camera("front", "all"), camera("yard", "none")];
    status.encrypt = None;
    let text = page(Some(80)).status(&status, None);
    assert!(
        text.starts_with("camera: publisher, process 4711, encrypt front all, yard none\n"),
        "{text}"
    );
}

#[test]
fn a_camera_that_is_off_says_since_when_and_why() {
    let mut status = status(0);
    let camera = &mut status.cameras[0];
    (camera.state, camera.codec) = (Some("off".to_owned()), None);
    camera.why = Some("rtsp://192.0.2.9/front cannot be reached".to_owned());
    let text = page(Some(80)).status(&status, None);
    let words = "camera off since 11:00 (1 h), because rtsp://192.0.2.9/front cannot be reached";
    assert!(text.contains(words) && text.ends_with("nobody watches"), "{text}");
    status.cameras[0].name = "yard".to_owned();
    status.cameras.push(status.cameras[0].clone());
    let text = page(Some(80)).status(&status, None);
    assert!(text.contains("camera yard off since"), "{text}");
}

#[test]
fn a_list_says_who_is_admitted_who_is_here_and_what_is_open() {
    let hand = PeerRow {
        admitted: AdmittedBy::Hand,
        last_seen: None,
        cameras: Some(vec!["front".to_owned(), "yard".to_owned()]),
        ..peer(2, "", false)
    };
    let invite = |label: &str, made_by: &str, expires: &str| InviteRow {
        name: "fedcba9876543210".to_owned(),
        label: label.to_owned(),
        made_by: made_by.to_owned(),
        uses_left: 4,
        uses: 5,
        expires: expires.to_owned(),
        expired: expires < "2026-11-29T12:00:00Z",
    };
    let overview = PeersOverview {
        running: true,
        peers: vec![peer(0, "grandma", true), peer(1, "the garage", false), hand],
        more_by_hand: 7,
        invites: vec![
            invite("the club", "user", "2026-11-30T13:30:00Z"),
            invite("", "start (tcp)", "2026-11-29T11:00:00Z"),
            InviteRow {
                uses_left: 0,
                ..invite("grandma", "user", "2026-11-30T13:30:00Z")
            },
        ],
        ..PeersOverview::default()
    };
    let lines = [
        "peer        id          admitted             cameras      last seen",
        "grandma     00mfrggzdf  by 0123456789abcdef  all          now",
        "the garage  01mfrggzdf  by 0123456789abcdef  all          2 d ago",
        "-           02mfrggzdf  by hand              front, yard  -",
        "(the allow list has 7 more)",
        "",
        "here now  for     from             by   rate        loss   delay",
        "grandma   12 min  192.0.2.0:51234  udp  4.1 Mbit/s  0.2 %  13 ms",
        "",
        "invite            for                             uses left  expires",
        "fedcba9876543210  the club                        4 of 5     in 1 d 1 h, 2026-11-30 13:30",
        "fedcba9876543210  the ticket of each start (tcp)  4 of 5     has expired",
    ];
    assert_eq!(page(None).peers(&overview), lines.join("\n"));
    let narrow = page(Some(80)).peers(&overview);
    assert!(narrow.lines().all(|line| line.chars().count() <= 80), "{narrow}");
    let nobody = page(None).peers(&PeersOverview::default());
    assert!(nobody.starts_with("nobody is listed yet"), "{nobody}");
}

#[test]
fn what_a_program_says_in_json_is_read_again() {
    let status = status(3);
    let text = serde_json::to_string(&status).expect("it is JSON");
    assert_eq!(serde_json::from_str::<StatusOverview>(&text).expect("the same"), status);
}
