//! Encryption of H.264 by the levels.

use sealcast_proto::unit::h264::{ParameterSets, Refusal, SliceKind, SliceParser, slice_kind};
use sealcast_proto::unit::{Codec, FrameRate, Level, PlannedRange, Planner, Selection, StreamInfo};

use crate::{REFUSED, STREAMS, is_slice, parse, units};

/// Plans a whole stream as if it were one frame.
fn plan(planner: &mut Planner, selection: Selection, data: &[u8]) -> Vec<PlannedRange> {
    let mut out = Vec::new();
    planner.plan(selection, 1, Some(Codec::H264), false, data, &mut out);
    assert_eq!(out.last().map(|range| range.end), Some(data.len()));
    out
}

fn level(level: Level, data: &[u8]) -> Vec<PlannedRange> {
    plan(&mut Planner::default(), Selection::Level(level), data)
}

/// For each byte whether it is encrypted.
fn bytes(ranges: &[PlannedRange]) -> Vec<bool> {
    let mut out = Vec::new();
    for range in ranges {
        out.resize(range.end, range.encrypt);
    }
    out
}

/// Number of bytes in clear.
fn clear(ranges: &[PlannedRange]) -> usize {
    bytes(ranges).iter().filter(|encrypt| !**encrypt).count()
}

#[test]
fn level_1_is_headers_and_level_4_is_all() {
    for (_, stream, _) in STREAMS {
        let mut planner = Planner::default();
        assert_eq!(
            level(Level::Headers, stream),
            plan(&mut planner, Selection::Headers, stream)
        );
        assert_eq!(level(Level::All, stream), plan(&mut planner, Selection::All, stream));
    }
}

#[test]
fn level_2_adds_the_begin_of_intra_slices_and_nothing_else() {
    let (mut shown_of_intra, mut shown_of_others) = (0, 0);
    for stream in STREAMS
        .iter()
        .map(|(_, stream, _)| *stream)
        .chain(REFUSED.iter().map(|(stream, _)| *stream))
    {
        let headers = bytes(&level(Level::Headers, stream));
        let planned = bytes(&level(Level::IntraBegin, stream));
        for (from, unit) in units(stream) {
            let range = from..from + unit.len();
            let intra = is_slice(unit) && slice_kind(unit).is_some_and(SliceKind::is_intra);
            if !intra {
                assert_eq!(planned[range.clone()], headers[range.clone()]);
                shown_of_others += planned[range].iter().filter(|encrypt| !**encrypt).count();
                continue;
            }
            let begin = (unit.len() / 4).max(512).min(unit.len());
            assert!(planned[from..from + begin].iter().all(|encrypt| *encrypt));
            let rest = &planned[from + begin..range.end];
            assert!(rest.iter().all(|encrypt| *encrypt == (rest.len() < 64)));
            shown_of_intra += rest.iter().filter(|encrypt| !**encrypt).count();
        }
    }
    assert!(
        shown_of_intra > 1000 && shown_of_others > 1000,
        "{shown_of_intra} {shown_of_others}"
    );
}

#[test]
fn at_level_3_no_byte_of_an_intra_macroblock_is_in_clear_and_inter_macroblocks_are() {
    for (name, stream, _) in STREAMS {
        let ranges = level(Level::Intra, stream);
        let planned = bytes(&ranges);
        let (mut sets, mut parser, mut macroblocks) = (ParameterSets::default(), SliceParser::default(), Vec::new());
        let (mut intra, mut shown) = (0, 0);
        for (from, unit) in units(stream) {
            sets.take(unit);
            let all = |range: std::ops::Range<usize>| planned[range].iter().all(|encrypt| *encrypt);
            if !is_slice(unit) || slice_kind(unit).is_some_and(SliceKind::is_intra) {
                assert!(all(from - 3..from + unit.len()), "{name}");
                continue;
            }
            assert!(all(from - 3..from + unit.len().min(65)), "{name}: a header");
            parser.parse(unit, &sets, &mut macroblocks).expect("it can be split");
            for macroblock in &macroblocks {
                let range = from + macroblock.first_bit / 8..from + macroblock.end_bit.div_ceil(8);
                if macroblock.kind.is_intra() {
                    assert!(all(range), "{name}: macroblock {}", macroblock.address);
                    intra += 1;
                } else {
                    shown += planned[range].iter().filter(|encrypt| !**encrypt).count();
                }
            }
        }
        println!("{name}: {intra} intra macroblocks between others, {shown} bytes of inter macroblocks in clear");
        assert!(shown > 0 || !["baseline", "bframes", "high"].contains(&name), "{name}");
        assert!(
            intra > 0 || !["baseline", "bframes", "high", "pcm", "noise"].contains(&name),
            "{name}"
        );
        assert!(ranges.windows(2).all(|pair| pair[0].encrypt != pair[1].encrypt));
        let mut from = 0;
        for range in &ranges {
            assert!(
                range.encrypt || range.end - from >= 64,
                "{name}: too short to be in clear"
            );
            from = range.end;
        }
    }
}

#[test]
fn at_level_3_slices_that_cannot_be_split_are_encrypted_whole_and_counted() {
    for (stream, reason) in REFUSED {
        let mut planner = Planner::default();
        let ranges = plan(&mut planner, Selection::Level(Level::Intra), stream);
        assert_eq!(clear(&ranges), 0);
        let unsplit = planner.unsplit().expect("slices that were not split");
        let slices = units(stream).into_iter().filter(|(_, unit)| is_slice(unit));
        let inter = slices
            .filter(|(_, unit)| !slice_kind(unit).is_some_and(SliceKind::is_intra))
            .count();
        assert_eq!((unsplit.count, unsplit.reason), (inter as u64, reason.into()));
    }
    let mut planner = Planner::default();
    plan(&mut planner, Selection::Level(Level::Intra), STREAMS[0].1);
    assert_eq!(planner.unsplit(), None);
}

#[test]
fn parameter_sets_may_come_with_an_earlier_frame_or_with_the_description_of_their_stream() {
    let stream = STREAMS[2].1;
    let (header, slices): (Vec<_>, Vec<_>) = units(stream).into_iter().partition(|(_, unit)| !is_slice(unit));
    let joined = |units: &[(usize, &[u8])]| {
        let units = units.iter().map(|(_, unit)| [&[0, 0, 0, 1], *unit].concat());
        units.collect::<Vec<_>>().concat()
    };
    let (parameters, slices) = (joined(&header), joined(&slices));
    let selection = Selection::Level(Level::Intra);
    let mut planner = Planner::default();
    assert_eq!(clear(&plan(&mut planner, selection, &slices)), 0);
    assert_eq!(
        planner.unsplit().map(|unsplit| unsplit.reason),
        Some(Refusal::NoParameterSets.into())
    );

    plan(&mut planner, selection, &parameters);
    let expected = clear(&plan(&mut planner, selection, &slices));
    assert!(expected > 0);

    let info = StreamInfo {
        codec: Codec::H264,
        width: 96,
        height: 64,
        rate: FrameRate {
            numerator: 25,
            denominator: 1,
        },
        parameters,
    };
    let mut planner = Planner::default();
    planner.describe(2, &info);
    assert_eq!(
        clear(&plan(&mut planner, selection, &slices)),
        0,
        "they are those of another stream"
    );
    planner.describe(1, &info);
    assert_eq!(clear(&plan(&mut planner, selection, &slices)), expected);
}

#[test]
fn of_jpeg_levels_above_the_first_encrypt_everything() {
    let image = [&[0xFF, 0xD8, 0xFF, 0xDA, 0, 4, 1, 2][..], &[0x55; 500], &[0xFF, 0xD9]].concat();
    for (level, shown) in Level::ALL.into_iter().zip([500, 0, 0, 0]) {
        let mut out = Vec::new();
        Planner::default().plan(Selection::Level(level), 1, Some(Codec::Mjpeg), true, &image, &mut out);
        assert_eq!(clear(&out), shown, "{level:?}");
    }
}

#[test]
fn the_other_selections_parse_nothing() {
    let mut planner = Planner::default();
    for (_, stream, _) in STREAMS {
        for selection in [
            "all",
            "none",
            "rate:50",
            "keyframes",
            "headers",
            "headers+keyframes",
            "level:1",
            "level:2",
        ] {
            plan(&mut planner, selection.parse().expect("a selection"), stream);
        }
    }
    // None of them saw the parameter sets.
    let slices: Vec<_> = parse(STREAMS[0].1).1;
    assert!(!slices.is_empty());
    let slice = units(STREAMS[0].1)
        .into_iter()
        .rfind(|(_, unit)| is_slice(unit))
        .expect("a slice");
    plan(
        &mut planner,
        Selection::Level(Level::Intra),
        &[&[0, 0, 1], slice.1].concat(),
    );
    assert_eq!(
        planner.unsplit().map(|unsplit| unsplit.reason),
        Some(Refusal::NoParameterSets.into())
    );
}

/// Lengths of the ranges; those in clear are negative.
fn signed(ranges: &[PlannedRange]) -> String {
    let mut from = 0;
    let lengths = ranges.iter().map(|range| {
        let length = (range.end - from) as i64;
        from = range.end;
        (if range.encrypt { length } else { -length }).to_string()
    });
    lengths.collect::<Vec<String>>().join(" ")
}

/// A checksum (FNV-1a) of the plans at level 3 of many streams in which one bit is another.
fn damaged_plans(stream: &[u8]) -> u32 {
    let mut sum = 0x811C_9DC5_u32;
    for bit in (0..8 * stream.len()).step_by(13) {
        let mut damaged = stream.to_vec();
        damaged[bit / 8] ^= 0x80 >> (bit % 8);
        for byte in format!("{}\n", signed(&level(Level::Intra, &damaged))).bytes() {
            sum = (sum ^ u32::from(byte)).wrapping_mul(0x0100_0193);
        }
    }
    sum
}

#[test]
fn plans_are_those_of_the_typescript_implementation_also_of_damaged_streams() {
    let split = STREAMS.map(|(name, stream, _)| (name, stream));
    let refused = ["cabac", "interlaced"]
        .into_iter()
        .zip(REFUSED.map(|(stream, _)| stream));
    let mut lines = Vec::new();
    for (name, stream) in split.into_iter().chain(refused) {
        for number in [Level::Headers, Level::IntraBegin, Level::Intra] {
            lines.push(format!(
                "{name} level:{} {}",
                number.get(),
                signed(&level(number, stream))
            ));
        }
        lines.push(format!("{name} damaged {}", damaged_plans(stream)));
    }
    assert_eq!(lines, include_str!("streams/plans.txt").lines().collect::<Vec<_>>());
}
