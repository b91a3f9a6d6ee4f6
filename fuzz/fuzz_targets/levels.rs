//! Frames of arbitrary bytes planned at all levels, one after the other by the same planner, and parsed as slices from
//! the first byte and from any bit.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sealcast_proto::unit::h264::{ParameterSets, SliceContext, SliceKind, SliceParser};
use sealcast_proto::unit::{Codec, Level, Planner, Selection, find_start_code};

fuzz_target!(|data: &[u8]| {
    let (mut planner, mut ranges) = (Planner::default(), Vec::new());
    for level in Level::ALL {
        planner.plan(Selection::Level(level), 1, Some(Codec::H264), false, data, &mut ranges);
        assert!(ranges.len() <= 2048 && ranges.is_sorted_by(|one, next| one.end < next.end));
        assert_eq!(ranges.last().map(|range| range.end), Some(data.len()));
    }
    let (mut sets, mut parser, mut macroblocks) = (ParameterSets::default(), SliceParser::default(), Vec::new());
    sets.take_all(data);
    let from = find_start_code(data, 0).map_or(0, |code| code + 3);
    let unit = &data[from..];
    let header = parser.parse(unit, &sets, &mut macroblocks);
    let context = header.map(|header| header.context).or_else(|refusal| {
        let pps = sets.pps(0).ok_or(refusal)?;
        let sps = sets.sps(pps.sps).ok_or(refusal)?;
        SliceContext::new(sps, pps, SliceKind::P, None, 0)
    });
    let Ok(context) = context else { return };
    let bit = data.first().map_or(0, |byte| usize::from(*byte));
    let end = parser.parse_data(unit, bit, &context, &mut macroblocks);
    let counted: u32 = macroblocks.iter().map(|macroblock| macroblock.count).sum();
    assert_eq!(end.macroblocks, counted);
    let mut place = 0;
    for macroblock in &macroblocks {
        assert!(macroblock.first_bit >= place && macroblock.end_bit <= 8 * unit.len());
        place = macroblock.end_bit;
    }
});
