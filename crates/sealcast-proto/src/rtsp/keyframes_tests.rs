use super::*;

const SDP: &[u8] = b"v=0\r\no=- 1 1 IN IP4 0.0.0.0\r\ns=-\r\n\
    m=video 0 RTP/AVP 96 97\r\na=rtpmap:97 rtx/90000\r\na=rtpmap:96 H264/90000\r\na=control:track0\r\n\
    m=audio 0 RTP/AVP 0\r\n\
    m=video 0 RTP/AVPF 98\r\na=rtpmap:98 h265/90000\r\n\
    m=video 0 RTP/AVP 26\r\n\
    m=video 0 RTP/AVP 99\r\na=rtpmap:99 VP8/90000\r\n\
    m=video 0 RTP/SAVP 96\r\na=rtpmap:96 H264/90000\r\n";

fn rtp(track: usize, rtcp: bool) -> Channel {
    let track = Track::new(track).expect("a track");
    Channel { track, rtcp }
}

/// An RTP packet with this payload type.
fn packet(format: u8, payload: &[u8]) -> Vec<u8> {
    [&[0x80, format | 0x80, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3], payload].concat()
}

fn begins(track: usize, format: u8, payload: &[u8]) -> bool {
    Keyframes::of_description(SDP).begins(rtp(track, false), &packet(format, payload))
}

#[test]
fn only_plain_video_of_a_known_codec_waits_for_keyframes() {
    let known = Keyframes::of_description(SDP);
    assert_eq!(known.tracks(), TrackSet::from_bits(0b00_1101));
    assert!(
        Keyframes::of_description(b"\xff\nm=\nm=video\na=rtpmap:x\na=rtpmap:96 H264/90000")
            .tracks()
            .is_empty()
    );
    let many = b"m=video 0 RTP/AVP 26\n".repeat(17);
    assert_eq!(Keyframes::of_description(&many).tracks(), TrackSet::from_bits(0xffff));
}

#[test]
fn an_h264_keyframe_begins_with_its_parameters_or_its_first_slice() {
    for (payload, expected) in [
        (&[0x67, 0x42][..], true),
        (&[0x65, 0x88], true),
        (&[0x65, 0x40], false),
        (&[0x65], false),
        (&[0x41, 0x9a], false),
        (&[0x68, 0xce], false),
        // STAP-A: AUD and SPS; SEI and a slice; a length beyond the end; one cut short.
        (&[0x18, 0, 2, 0x09, 0xf0, 0, 2, 0x67, 0x42], true),
        (&[0x18, 0, 1, 0x06, 0, 2, 0x41, 0x9a], false),
        (&[0x18, 0, 9, 0x67, 0x42], false),
        (&[0x18, 0], false),
        // FU-A: start of the first and of a later IDR slice, middle of one, start of another slice, one cut short.
        (&[0x7c, 0x85, 0x88], true),
        (&[0x7c, 0x85, 0x40], false),
        (&[0x7c, 0x05, 0x88], false),
        (&[0x7c, 0x81, 0x9a], false),
        (&[0x7c, 0x85], false),
        (&[], false),
    ] {
        assert_eq!(begins(0, 96, payload), expected, "{payload:02x?}");
    }
}

#[test]
fn an_h265_keyframe_begins_with_its_parameters_or_its_first_slice_segment() {
    for (payload, expected) in [
        (&[0x40, 0x01, 0x0c][..], true),
        (&[0x42, 0x01, 0x01], true),
        (&[0x44, 0x01, 0xc1], false),
        (&[0x26, 0x01, 0xaf], true),
        (&[0x2a, 0x01, 0xaf], true),
        (&[0x26, 0x01, 0x2f], false),
        (&[0x02, 0x01, 0xd0], false),
        // AP: VPS first; only a trailing picture.
        (&[0x60, 0x01, 0, 3, 0x40, 0x01, 0x0c, 0, 3, 0x42, 0x01, 0x01], true),
        (&[0x60, 0x01, 0, 3, 0x02, 0x01, 0xd0], false),
        (&[0x60], false),
        // FU: start and middle of an IDR picture, start of a trailing picture, a fragment cut short.
        (&[0x62, 0x01, 0x93, 0xaf], true),
        (&[0x62, 0x01, 0x13, 0xaf], false),
        (&[0x62, 0x01, 0x81, 0xd0], false),
        (&[0x62, 0x01, 0x93], false),
    ] {
        assert_eq!(begins(2, 98, payload), expected, "{payload:02x?}");
    }
}

#[test]
fn every_jpeg_picture_begins_with_the_fragment_at_its_beginning() {
    assert!(begins(3, 26, &[0, 0, 0, 0, 1, 80, 80, 60]));
    assert!(!begins(3, 26, &[0, 0, 5, 0x78, 1, 80, 80, 60]));
    assert!(!begins(3, 26, &[0, 0, 0]));
}

#[test]
fn the_payload_is_found_behind_sources_and_an_extension() {
    let known = Keyframes::of_description(SDP);
    let long = [
        &[0xb1, 96][..],
        &[0; 10],
        &[7; 4],
        &[0xbe, 0xde, 0, 2],
        &[9; 8],
        &[0x67],
    ]
    .concat();
    assert!(known.begins(rtp(0, false), &long));
    for length in 0..long.len() {
        assert!(!known.begins(rtp(0, false), &long[..length]), "cut to {length} bytes");
    }
}

#[test]
fn reports_other_tracks_and_other_payload_types_are_no_keyframes() {
    let known = Keyframes::of_description(SDP);
    let sps = packet(96, &[0x67, 0x42]);
    assert!(known.begins(rtp(0, false), &sps));
    assert!(!known.begins(rtp(0, true), &sps));
    for track in [1, 2, 4, 5, 15] {
        assert!(!known.begins(rtp(track, false), &sps), "track {track}");
    }
    assert!(!begins(0, 97, &[0x67, 0x42]));
    assert!(
        !known.begins(rtp(0, false), &[&[0x40], &sps[1..]].concat()),
        "another version of RTP"
    );
}
