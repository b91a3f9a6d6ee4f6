//! Packets between RTSP messages, and packets in frames: they come out exactly as they went in, and a third-party
//! frame gives complete packets or an error. What passes of a player's RTCP is made of whole packets that may pass.
#![no_main]

use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use sealcast_proto::rtsp::{
    Channel, ForCamera, GatewayMessage, Message, MessageReader, packets, put_data, put_packet, rtcp_for_camera,
};

#[derive(Debug, Arbitrary)]
struct Plan {
    packets: Vec<(u8, Vec<u8>, bool)>,
    piece: u8,
    frame: Vec<u8>,
}

fuzz_target!(|plan: Plan| {
    let mut stream = Vec::new();
    let mut frame = Vec::new();
    for (number, packet, text) in &plan.packets {
        put_data(&mut stream, *number, packet);
        if *text {
            stream.extend_from_slice(b"RTSP/1.0 200 OK\r\nCSeq: 1\r\n\r\n");
        }
        let channel = Channel::from_number(*number % 32).expect("32 channels");
        put_packet(&mut frame, channel, packet).expect("not that long");
    }
    let mut reader = MessageReader::default();
    let mut came = Vec::new();
    for piece in stream.chunks(usize::from(plan.piece).max(1)) {
        reader.push(piece).expect("it is read at once");
        while let Some(message) = reader.next_message().expect("this is RTSP") {
            if let Message::Data { channel, bytes } = message {
                came.push((channel, bytes));
            }
        }
    }
    let sent: Vec<(u8, Vec<u8>)> = plan
        .packets
        .iter()
        .map(|(number, packet, _)| (*number, packet.clone()))
        .collect();
    assert_eq!(came, sent);
    let sent = sent.into_iter().filter(|(_, packet)| !packet.is_empty());
    let sent: Vec<(u8, Vec<u8>)> = sent.map(|(number, packet)| (number % 32, packet)).collect();
    let came = packets(&frame).filter_map(Result::ok);
    let came: Vec<(u8, Vec<u8>)> = came
        .map(|(channel, packet)| (channel.number(), packet.to_vec()))
        .collect();
    assert_eq!(came, sent);

    check_rtcp(&plan.frame);
    let mut again = Vec::new();
    let mut sound = !plan.frame.is_empty();
    for packet in packets(&plan.frame) {
        match packet {
            Ok((channel, packet)) => put_packet(&mut again, channel, packet).expect("it came so"),
            Err(_) => sound = false,
        }
    }
    assert!(plan.frame.starts_with(&again));
    assert!(!sound || again == plan.frame);
    if let Ok(message) = GatewayMessage::parse(&plan.frame)
        && message != GatewayMessage::Unknown
    {
        assert_eq!(message.to_bytes().as_deref(), Ok(&plan.frame[..]));
    }
});

/// Checks that filtering is stable: what passed once passes again unchanged, and only the request for a keyframe
/// depends on whether one is due.
fn check_rtcp(compound: &[u8]) {
    let Ok(due) = rtcp_for_camera(compound, true) else {
        assert!(rtcp_for_camera(compound, false).is_err());
        return;
    };
    assert!(due.bytes.len() <= compound.len());
    for passed in [&due, &rtcp_for_camera(compound, false).expect("it is sound")] {
        if passed.bytes.is_empty() {
            continue;
        }
        let again = rtcp_for_camera(&passed.bytes, true).expect("whole packets");
        let whole = ForCamera {
            bytes: passed.bytes.clone(),
            keyframe: passed.keyframe,
            ..ForCamera::default()
        };
        assert_eq!(again, whole);
    }
}
