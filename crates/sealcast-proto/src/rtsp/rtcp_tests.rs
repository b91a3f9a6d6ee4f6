//! Compound packets of players: sound ones, ones with packets that are removed, and malformed ones.

use super::*;

/// An RTCP packet with this first five-bit field, type and content.
fn packet(count: u8, kind: u8, content: &[u8]) -> Vec<u8> {
    let words = u16::try_from(content.len() / 4).expect("short");
    [&[0x80 | count, kind][..], &words.to_be_bytes(), content].concat()
}

fn receiver_report(blocks: u8) -> Vec<u8> {
    packet(blocks, 201, &vec![7; 4 + 24 * usize::from(blocks)])
}

fn description() -> Vec<u8> {
    packet(1, 202, &[0, 0, 0, 1, 1, 2, b'p', b'l', 0, 0, 0, 0])
}

fn picture_loss() -> Vec<u8> {
    packet(1, 206, &[0, 0, 0, 1, 0, 0, 0, 2])
}

fn full_intra() -> Vec<u8> {
    packet(4, 206, &[0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2, 9, 0, 0, 0])
}

fn nack() -> Vec<u8> {
    packet(1, 205, &[0, 0, 0, 1, 0, 0, 0, 2, 0, 5, 0, 0])
}

#[test]
fn reports_descriptions_and_feedback_pass_as_they_are() {
    let compound = [receiver_report(2), description(), nack(), picture_loss()].concat();
    let passed = rtcp_for_camera(&compound, true).unwrap();
    assert_eq!(passed.bytes, compound);
    assert_eq!((passed.removed, passed.keyframe), (0, true));
    assert_eq!(rtcp_for_camera(&nack(), false).unwrap().bytes, nack());
}

#[test]
fn what_acts_on_the_stream_of_all_is_removed_and_the_reports_beside_it_stay() {
    let sender_report = packet(0, 200, &[1; 24]);
    let bye = packet(1, 203, &[0, 0, 0, 1]);
    let app = packet(0, 204, b"\0\0\0\x01evil");
    let extended = packet(0, 207, &[0, 0, 0, 1]);
    let unknown = packet(0, 255, &[]);
    for other in [&sender_report, &bye, &app, &extended, &unknown] {
        let passed = rtcp_for_camera(&[receiver_report(1), other.clone(), description()].concat(), true).unwrap();
        assert_eq!(passed.bytes, [receiver_report(1), description()].concat());
        assert_eq!(passed.removed, 1);
        let alone = rtcp_for_camera(other, true).unwrap();
        assert_eq!((alone.bytes.is_empty(), alone.removed), (true, 1));
    }
}

#[test]
fn one_request_for_a_keyframe_passes_where_one_is_due_and_none_otherwise() {
    let compound = [picture_loss(), nack(), full_intra(), picture_loss()].concat();
    let due = rtcp_for_camera(&compound, true).unwrap();
    assert_eq!(due.bytes, [picture_loss(), nack()].concat());
    assert_eq!((due.keyframe, due.keyframes_removed, due.removed), (true, 2, 0));
    let early = rtcp_for_camera(&compound, false).unwrap();
    assert_eq!(early.bytes, nack());
    assert_eq!((early.keyframe, early.keyframes_removed), (false, 3));
}

#[test]
fn what_is_no_compound_packet_is_malformed() {
    let report = receiver_report(1);
    let mut padded = [report.clone(), vec![0, 0, 0, 4]].concat();
    padded[0] |= 0x20;
    padded[3] += 1;
    assert_eq!(rtcp_for_camera(&padded, true).unwrap().bytes, padded);
    let too_padded = [&padded[..padded.len() - 1], &[5]].concat();
    let unpadded = [&padded[..padded.len() - 1], &[0]].concat();
    for malformed in [
        vec![],
        vec![0x81, 201, 0],
        b"what a receiver reports".to_vec(),
        [&[0x41][..], &report[1..]].concat(),
        report[..report.len() - 1].to_vec(),
        [report.clone(), vec![0x80]].concat(),
        // A report with one block that claims two.
        [&[0x82][..], &report[1..]].concat(),
        packet(2, 202, &[0; 12]),
        packet(1, 206, &[0, 0, 0, 1]),
        [padded.clone(), report.clone()].concat(),
        too_padded,
        unpadded,
    ] {
        assert_eq!(rtcp_for_camera(&malformed, true), Err(Malformed), "{malformed:02x?}");
    }
}

#[test]
fn a_compound_packet_has_a_bounded_number_of_packets() {
    let reports = |count: usize| receiver_report(0).repeat(count);
    assert!(rtcp_for_camera(&reports(MAX_COMPOUND), true).is_ok());
    assert_eq!(rtcp_for_camera(&reports(MAX_COMPOUND + 1), true), Err(Malformed));
}
