use super::*;
use crate::rtsp::tracks::Track;

fn camera() -> CameraNumber {
    CameraNumber::new(3).unwrap()
}

fn track(number: usize) -> Track {
    Track::new(number).unwrap()
}

fn examples() -> Vec<(GatewayMessage, Vec<u8>)> {
    let mut tracks = TrackSet::default();
    tracks.insert(track(0));
    tracks.insert(track(9));
    let mut with = Parameters::of_body(b"ab".to_vec());
    with.set(CarriedHeader::Scale, "2".into());
    with.set(CarriedHeader::Range, "npt=0-".into());
    let channel = Channel {
        track: track(2),
        rtcp: true,
    };
    let details = [&[2, 1, 0, 6][..], b"npt=0-", &[2, 0, 1, b'2', 0, 2], b"ab"].concat();
    vec![
        (
            GatewayMessage::Describe {
                request: 7,
                path: "front".into(),
            },
            [&[1, 0, 0, 0, 7, 5][..], b"front"].concat(),
        ),
        (
            GatewayMessage::Command {
                request: 8,
                camera: camera(),
                verb: Verb::Play(tracks),
                with: with.clone(),
            },
            [&[2, 0, 0, 0, 8, 3, 1, 0x02, 0x01][..], &details].concat(),
        ),
        (
            GatewayMessage::Answer {
                request: 9,
                camera: None,
                status: CarriedStatus::of_camera(404),
                with: Parameters::default(),
            },
            vec![3, 0, 0, 0, 9, 0, 0x01, 0x94, 0, 0, 0],
        ),
        (
            GatewayMessage::Packet {
                camera: camera(),
                channel,
                bytes: vec![0x81, 0xc9],
            },
            vec![4, 3, 5, 0x81, 0xc9],
        ),
        (
            GatewayMessage::Ended {
                camera: camera(),
                status: CarriedStatus::TIMEOUT,
            },
            vec![5, 3, 0x01, 0xf8],
        ),
        (
            GatewayMessage::InOrder {
                camera: camera(),
                tracks,
            },
            vec![7, 3, 0x02, 0x01],
        ),
    ]
}

#[test]
fn messages_have_the_bytes_that_the_page_gives_them() {
    for (message, bytes) in examples() {
        assert_eq!(message.to_bytes().unwrap(), bytes);
        assert_eq!(GatewayMessage::parse(&bytes).unwrap(), message);
    }
}

#[test]
fn a_message_that_is_cut_short_or_has_something_left_over_is_malformed() {
    for (message, bytes) in examples() {
        // A packet may have any length.
        let least = if matches!(message, GatewayMessage::Packet { .. }) {
            4
        } else {
            bytes.len()
        };
        for cut in 0..least {
            assert_eq!(
                GatewayMessage::parse(&bytes[..cut]),
                Err(Malformed),
                "{message:?} at {cut}"
            );
        }
        if least == bytes.len() {
            assert_eq!(GatewayMessage::parse(&[&bytes[..], &[0]].concat()), Err(Malformed));
        }
    }
}

#[test]
fn fields_out_of_range_are_malformed_and_unknown_types_are_ignored() {
    let refused: [&[u8]; 11] = [
        &[1, 0, 0, 0, 1, 2, b'/', b'a'],
        &[1, 0, 0, 0, 1, 1, b'\n'],
        &[1, 0, 0, 0, 1, 1, 0xff],
        &[2, 0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0],
        &[2, 0, 0, 0, 1, 1, 2, 0, 1, 0, 0, 0],
        &[2, 0, 0, 0, 1, 16, 2, 0, 0, 0, 0, 0],
        &[2, 0, 0, 0, 1, 1, 2, 0, 0, 2, 2, 0, 1, b'1', 1, 0, 1, b'1', 0, 0],
        &[2, 0, 0, 0, 1, 1, 2, 0, 0, 1, 1, 0, 1, b'\r', 0, 0],
        &[3, 0, 0, 0, 1, 0, 0, 200, 0, 0, 0],
        &[3, 0, 0, 0, 1, 1, 0, 199, 0, 0, 0],
        &[4, 1, 32, 0],
    ];
    for bytes in refused {
        assert_eq!(GatewayMessage::parse(bytes), Err(Malformed), "{bytes:?}");
    }
    assert_eq!(GatewayMessage::parse(&[99, 1, 2]), Ok(GatewayMessage::Unknown));
    assert_eq!(
        GatewayMessage::parse(&vec![99; MAX_GATEWAY_MESSAGE + 1]),
        Err(Malformed)
    );
}

#[test]
fn what_does_not_fit_is_refused_by_its_sender() {
    let answer = |body: usize| GatewayMessage::Answer {
        request: 1,
        camera: Some(camera()),
        status: CarriedStatus::OK,
        with: Parameters::of_body(vec![b'v'; body]),
    };
    let overhead = answer(0).to_bytes().unwrap().len();
    assert_eq!(
        answer(MAX_GATEWAY_MESSAGE - overhead).to_bytes().unwrap().len(),
        MAX_GATEWAY_MESSAGE
    );
    assert_eq!(answer(MAX_GATEWAY_MESSAGE - overhead + 1).to_bytes(), Err(TooLong));
    assert_eq!(answer(1 << 20).to_bytes(), Err(TooLong));
    let path = "p".repeat(256);
    assert_eq!(GatewayMessage::Describe { request: 1, path }.to_bytes(), Err(TooLong));
}

#[test]
fn a_value_that_would_break_a_header_does_not_cross() {
    let mut with = Parameters::default();
    with.set(CarriedHeader::Range, "npt=0-\r\nSession: 1".into());
    with.set(CarriedHeader::Scale, String::new());
    with.set(CarriedHeader::Speed, "1".repeat(MAX_CARRIED_VALUE + 1));
    assert_eq!(with, Parameters::default());
}

#[test]
fn what_the_camera_asks_of_its_gateway_is_no_business_of_the_player() {
    assert_eq!(CarriedStatus::of_camera(302), CarriedStatus::BAD_GATEWAY);
    assert_eq!(CarriedStatus::of_camera(401), CarriedStatus::BAD_GATEWAY);
    assert_eq!(CarriedStatus::of_camera(407), CarriedStatus::BAD_GATEWAY);
    assert_eq!(CarriedStatus::of_camera(100), CarriedStatus::BAD_GATEWAY);
    assert_eq!(CarriedStatus::of_camera(454).code(), 454);
}

#[test]
fn packets_come_out_of_a_frame_as_they_went_in() {
    let mut frame = Vec::new();
    let sent: Vec<(Channel, Vec<u8>)> = [(0, 1), (31, 65_535), (4, 188)]
        .map(|(number, length)| (Channel::from_number(number).unwrap(), vec![number ^ 0x80; length]))
        .into();
    for (channel, packet) in &sent {
        put_packet(&mut frame, *channel, packet).unwrap();
    }
    put_packet(&mut frame, sent[0].0, &[]).unwrap();
    assert_eq!(put_packet(&mut frame, sent[0].0, &vec![0; 65_536]), Err(TooLong));
    let came: Vec<(Channel, Vec<u8>)> = packets(&frame)
        .map(|packet| packet.unwrap())
        .map(|(c, p)| (c, p.to_vec()))
        .collect();
    assert_eq!(came, sent);
}

#[test]
fn a_frame_that_holds_no_whole_packets_ends_with_an_error() {
    let whole = [0, 0, 1, 7];
    for (tail, sound) in [(&[][..], 0), (&[32, 0, 1, 7], 0), (&[0, 0, 0], 0), (&[0, 0, 2, 7], 0)] {
        assert_eq!(packets(tail).filter(Result::is_ok).count(), sound);
        assert_eq!(packets(tail).last(), Some(Err(Malformed)));
    }
    let broken = [&whole[..], &[1]].concat();
    let read: Vec<_> = packets(&broken).collect();
    assert!(read.len() == 2 && read[0].is_ok() && read[1].is_err());
}

#[test]
fn a_picture_ends_with_the_marker_of_a_frame_s_last_packet() {
    let (rtp, rtcp) = (Channel::from_number(0).unwrap(), Channel::from_number(1).unwrap());
    let (inner, last, report) = ([0x80, 96, 0, 1], [0x80, 96 | 0x80, 0, 2], [0x81, 0xc9, 0, 7]);
    let ends = |packets: &[(Channel, &[u8])]| {
        let mut frame = Vec::new();
        for (channel, packet) in packets {
            put_packet(&mut frame, *channel, packet).unwrap();
        }
        ends_picture(&frame)
    };
    assert!(ends(&[(rtp, &inner), (rtp, &last)]));
    assert!(!ends(&[(rtp, &last), (rtp, &inner)]));
    assert!(
        !ends(&[(rtp, &last), (rtcp, &report)]),
        "no bit of a report is a marker"
    );
    assert!(!ends(&[(rtp, &[0x80])]) && !ends_picture(&[0, 0, 9, 0x80]));
}
