use super::*;

/// A real parameter set pair: 640x480, baseline, 25 frames per second.
const SPS: &[u8] = &[
    0x67, 0x42, 0xc0, 0x1e, 0xd9, 0x00, 0xa0, 0x3d, 0xa1, 0x00, 0x00, 0x03, 0x00, 0x01, 0x00, 0x00, 0x03, 0x00, 0x32,
    0x0f, 0x16, 0x2e, 0x48,
];
/// 320x240, 30 frames per second.
const SMALL_SPS: &[u8] = &[
    0x67, 0x42, 0xc0, 0x0d, 0xd9, 0x01, 0x41, 0xfb, 0x01, 0x10, 0x00, 0x00, 0x03, 0x00, 0x10, 0x00, 0x00, 0x03, 0x03,
    0xc0, 0xf1, 0x42, 0xa4, 0x80,
];
const PPS: &[u8] = &[0x68, 0xcb, 0x83, 0xcb, 0x20];
const AUD: &[u8] = &[0x09, 0x10];
const IDR: &[u8] = &[0x65, 0x88, 0x84];
/// `first_mb_in_slice` 0 and slice type 5: P.
const P_SLICE: &[u8] = &[0x41, 0x9a, 0x11];
/// Slice type 7: I.
const I_SLICE: &[u8] = &[0x41, 0x88, 0x11];

fn annex_b(nals: &[&[u8]]) -> Bytes {
    nals.iter()
        .flat_map(|nal| [&START_CODE[..], nal].concat())
        .collect::<Vec<_>>()
        .into()
}

fn kinds(unit: &[u8]) -> Vec<u8> {
    nal_units(unit).map(kind).collect()
}

fn ready() -> Stream {
    let mut stream = Stream::default();
    stream.learn(SPS).expect("a good SPS");
    stream.learn(PPS).expect("a good PPS");
    stream
}

#[test]
fn a_parameter_set_tells_size_and_rate() {
    let sequence = read_sps(SPS).expect("a good SPS");
    assert_eq!((sequence.width, sequence.height), (640, 480));
    assert_eq!(
        sequence.rate,
        Some(FrameRate {
            numerator: 25,
            denominator: 1
        })
    );
    assert_eq!((sequence.fields, sequence.reorder), (false, 0));
    assert_eq!(
        sequence.chroma,
        Some(Chroma {
            format: 1,
            luma_bits: 8,
            chroma_bits: 8
        })
    );
}

#[test]
fn a_broken_parameter_set_is_an_error_and_not_a_panic() {
    for length in 0..SPS.len() {
        let _ = read_sps(&SPS[..length]);
        for byte in 0..=255 {
            let mut broken = SPS.to_vec();
            broken[length] = byte;
            if let Ok(sequence) = read_sps(&broken) {
                assert!(sequence.width > 0 && sequence.height > 0);
            }
        }
    }
}

#[test]
fn a_keyframe_without_parameter_sets_gets_them_once() {
    let (unit, keyframe) = ready().finish(annex_b(&[IDR]), false).expect("a frame");
    assert!(keyframe);
    assert_eq!(unit, annex_b(&[SPS, PPS, IDR]));
    let complete = annex_b(&[SPS, PPS, IDR]);
    assert_eq!(
        ready().finish(complete.clone(), false).expect("a frame"),
        (complete, true)
    );
}

#[test]
fn a_delimiter_stays_in_front() {
    let (unit, _) = ready().finish(annex_b(&[AUD, IDR]), false).expect("a frame");
    assert_eq!(unit, annex_b(&[AUD, SPS, PPS, IDR]));
    let (unit, _) = ready().finish(annex_b(&[AUD, PPS, IDR]), false).expect("a frame");
    assert_eq!(unit, annex_b(&[AUD, SPS, PPS, IDR]));
    let (unit, _) = ready().finish(annex_b(&[AUD, SPS, IDR]), false).expect("a frame");
    assert_eq!(unit, annex_b(&[AUD, SPS, PPS, IDR]));
}

#[test]
fn other_frames_stay_as_they_are() {
    let unit = annex_b(&[P_SLICE]);
    assert_eq!(ready().finish(unit.clone(), false).expect("a frame"), (unit, false));
}

#[test]
fn a_container_that_calls_every_frame_a_keyframe_is_not_believed() {
    assert!(!ready().finish(annex_b(&[P_SLICE]), true).expect("a frame").1);
    assert!(ready().finish(annex_b(&[I_SLICE]), true).expect("a frame").1);
    assert!(!ready().finish(annex_b(&[I_SLICE, P_SLICE]), true).expect("a frame").1);
    assert!(!ready().finish(annex_b(&[I_SLICE]), false).expect("a frame").1);
}

#[test]
fn a_recovery_point_marks_a_keyframe_where_recovery_is_immediate() {
    let (exact, slow) = ([0x06, 0x06, 0x01, 0xc4, 0x80], [0x06, 0x06, 0x01, 0x40, 0x80]);
    assert!(ready().finish(annex_b(&[&exact, I_SLICE]), false).expect("a frame").1);
    assert!(!ready().finish(annex_b(&[&slow, P_SLICE]), false).expect("a frame").1);
}

#[test]
fn a_changed_size_shows_in_the_description() {
    let mut stream = ready();
    assert_eq!(stream.info(None).width, 640);
    let (unit, _) = stream.finish(annex_b(&[SMALL_SPS, PPS, IDR]), false).expect("a frame");
    assert_eq!(unit, annex_b(&[SMALL_SPS, PPS, IDR]));
    let info = stream.info(None);
    assert_eq!(
        (info.width, info.height, info.rate),
        (
            320,
            240,
            FrameRate {
                numerator: 30,
                denominator: 1
            }
        )
    );
    assert_eq!(kinds(&info.parameters), [7, 8], "one of each number is kept");
}

#[test]
fn parameter_sets_are_bounded() {
    let mut sets = ParameterSets::default();
    assert!(!sets.learn(&[0x67]));
    assert!(!sets.learn(&[0x68]));
    assert!(!sets.learn(&[&[0x68, 0xff][..], &[1; MAX_PARAMETER_SET_BYTES]].concat()));
    assert!(sets.learn(PPS));
    assert!(!sets.learn(PPS), "nothing new");
}
