//! Damaged streams: no panic, no endless loop, and a reason.

use sealcast_proto::unit::h264::{ParameterSets, Refusal, SliceParser};
use sealcast_proto::unit::{Codec, Level, Planner, Selection};

use crate::{STREAMS, is_slice, parse, units};

/// The parameter sets and slices of a stream.
fn slices(stream: &[u8]) -> (ParameterSets, Vec<&[u8]>) {
    let slices = units(stream)
        .into_iter()
        .map(|(_, unit)| unit)
        .filter(|unit| is_slice(unit));
    (parse(stream).0, slices.collect())
}

/// Parses a slice, and checks what must hold however damaged it is.
fn parses(parser: &mut SliceParser, sets: &ParameterSets, unit: &[u8]) -> Result<(), Refusal> {
    let mut out = Vec::new();
    let parsed = parser.parse(unit, sets, &mut out).map(|_| ());
    let mut place = 0;
    for macroblock in &out {
        assert!(macroblock.first_bit >= place && macroblock.end_bit <= 8 * unit.len());
        assert!(macroblock.luma <= 16 * 16 + 16 && macroblock.chroma <= 2 * (4 + 4 * 15));
        place = macroblock.end_bit;
    }
    parsed
}

#[test]
fn a_slice_that_is_truncated_anywhere_is_refused_or_ends_by_chance() {
    let (mut cuts, mut accepted) = (0, 0);
    let mut parser = SliceParser::default();
    for (_, stream, _) in STREAMS {
        let (sets, slices) = slices(stream);
        for slice in slices {
            for length in 0..slice.len() {
                cuts += 1;
                accepted += usize::from(parses(&mut parser, &sets, &slice[..length]).is_ok());
            }
        }
    }
    // Every bit may look like the one that ends a slice, and a macroblock may end before it.
    println!("{accepted} of {cuts} cuts look like the end of a slice");
    assert!(accepted * 10 < cuts, "{accepted} of {cuts}");
}

#[test]
fn every_bit_of_a_stream_may_be_flipped() {
    let mut parser = SliceParser::default();
    for (_, stream, _) in STREAMS {
        let (sets, slices) = slices(stream);
        let mut refused = 0;
        for slice in slices {
            for bit in 0..8 * slice.len().min(600) {
                let mut damaged = slice.to_vec();
                damaged[bit / 8] ^= 0x80 >> (bit % 8);
                refused += usize::from(parses(&mut parser, &sets, &damaged).is_err());
            }
        }
        assert!(refused > 0);
    }
}

#[test]
fn damaged_parameter_sets_are_harmless() {
    for (_, stream, _) in STREAMS {
        let (_, slices) = slices(stream);
        let first = units(stream).into_iter().take_while(|(_, unit)| !is_slice(unit));
        let parameters: Vec<&[u8]> = first.map(|(_, unit)| unit).collect();
        for (index, unit) in parameters.iter().enumerate() {
            for bit in 0..8 * unit.len() {
                let mut sets = ParameterSets::default();
                for (other, unit) in parameters.iter().enumerate() {
                    let mut damaged = unit.to_vec();
                    if other == index {
                        damaged[bit / 8] ^= 0x80 >> (bit % 8);
                    }
                    sets.take(&damaged);
                }
                let mut parser = SliceParser::default();
                for slice in slices.iter().take(3) {
                    // What it says may be wrong, for the slice is not the damaged one.
                    let _ = parses(&mut parser, &sets, slice);
                }
            }
        }
    }
}

#[test]
fn a_run_of_macroblocks_longer_than_the_picture_is_refused() {
    let (sets, _) = parse(STREAMS[0].1);
    // A P slice whose data is a run of 2^31 - 1 skipped macroblocks; header as x264 writes it.
    let (_, slices) = slices(STREAMS[0].1);
    let mut parser = SliceParser::default();
    let header = parser.header(slices[1], &sets).expect("a header");
    let mut unit = slices[1][..header.data_bit / 8 + 1].to_vec();
    let last = unit.len() - 1;
    unit[last] &= !(0xFF >> (header.data_bit % 8));
    unit.extend([0, 0, 3, 0, 0, 3, 1, 0xFF, 0xFF, 0xFF, 0xFF]);
    assert_eq!(parses(&mut parser, &sets, &unit), Err(Refusal::Broken));
}

#[test]
fn damaged_frames_are_planned_to_their_end_at_every_level() {
    for (_, stream, _) in STREAMS {
        for step in 1..60 {
            let mut damaged = stream.to_vec();
            for byte in damaged.iter_mut().skip(40).step_by(step * 7) {
                *byte = byte.wrapping_mul(31).wrapping_add(step as u8);
            }
            for level in Level::ALL {
                let mut planner = Planner::default();
                let mut out = Vec::new();
                planner.plan(Selection::Level(level), 1, Some(Codec::H264), false, &damaged, &mut out);
                assert!(out.is_sorted_by(|one, next| one.end < next.end) && out.len() <= 2048);
                assert_eq!(out.last().map(|range| range.end), Some(damaged.len()));
            }
        }
    }
}
