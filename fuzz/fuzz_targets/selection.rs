//! Frames of arbitrary bytes, split into units by every selection: the units together are the frame, and all parts
//! that must be encrypted are.
#![no_main]

use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use sealcast_fuzz::{selection, unit};
use sealcast_proto::unit::{Codec, Cutter, Layout, Planner, Room, Selection, Unit, join};

#[derive(Debug, Arbitrary)]
struct Plan {
    mode: u8,
    share: u8,
    unit: u16,
    seed: u64,
    jpeg: bool,
    keyframe: bool,
    room: (u16, u16),
    data: Vec<u8>,
}

fuzz_target!(|plan: Plan| {
    let codec = if plan.jpeg { Codec::Mjpeg } else { Codec::H264 };
    let (selection, data) = (selection(plan.mode, plan.share), &plan.data);
    let mut ranges = Vec::new();
    Planner::default().plan(selection, 1, Some(codec), plan.keyframe, data, &mut ranges);
    assert!(ranges.len() <= 2048 && ranges.is_sorted_by(|one, next| one.end < next.end));
    assert_eq!(ranges.last().map(|range| range.end), Some(data.len()));

    let room = Room {
        first: plan.room.0.into(),
        others: plan.room.1.into(),
    };
    let unit = unit(plan.unit);
    let mut cutter = Cutter::new(unit, plan.seed);
    let mut at = 0;
    let pieces = cutter.cut(selection, 1, Some(codec), plan.keyframe, data);
    let layout = pieces.layout();
    let pieces: Vec<_> = pieces.in_room(room).collect();
    if layout == Layout::SplitScan {
        let together: Vec<u8> = pieces.iter().flat_map(|piece| piece.data).copied().collect();
        assert_eq!(join(&together).as_ref(), Ok(data));
        return;
    }
    for (number, piece) in pieces.iter().enumerate() {
        let end = at + piece.data.len();
        assert_eq!(piece.data, &data[at..end]);
        assert_eq!((piece.first, piece.last), (number == 0, end == data.len()));
        let mut from = 0;
        let wanted = ranges.iter().any(|range| {
            let overlaps = range.encrypt && from < end && range.end > at;
            from = range.end;
            overlaps
        });
        let drawn = matches!(selection, Selection::Rate(_));
        assert!(
            drawn || piece.encrypt == wanted || data.is_empty(),
            "encrypted if any byte of it is to be"
        );
        assert!(!matches!(unit, Unit::Chunk(bytes) if piece.data.len() > usize::from(bytes.max(16))));
        at = end;
    }
    assert_eq!(at, data.len());
});
