//! Every slice is parsed to its last bit, and every macroblock is of the kind that ffmpeg finds.

use sealcast_proto::unit::h264::{DataEnd, Macroblock, MacroblockKind, Refusal, SliceKind, SliceParser, slice_kind};

use crate::{REFUSED, STREAMS, is_slice, parse, units};

/// The letter that stands for a kind in `streams/*.types`. ffmpeg does not tell the two sizes of blocks apart.
fn letter(kind: MacroblockKind) -> char {
    match kind {
        MacroblockKind::Pcm => 'P',
        MacroblockKind::Intra4x4 | MacroblockKind::Intra8x8 => 'i',
        MacroblockKind::Intra16x16 => 'I',
        MacroblockKind::Skipped => 's',
        MacroblockKind::Inter => 'x',
    }
}

#[test]
fn every_slice_is_parsed_to_its_last_bit_and_every_picture_is_whole() {
    for (name, stream, types) in STREAMS {
        let (sets, slices) = parse(stream);
        let mut pictures = Vec::new();
        for (number, (header, macroblocks)) in slices.iter().enumerate() {
            let header = header.unwrap_or_else(|refusal| panic!("{name}, slice {number}: {refusal}"));
            let sps = sets.sps(header.sps).expect("its parameter set");
            if header.first_mb == 0 {
                pictures.push(String::new());
            }
            let picture = pictures.last_mut().expect("a picture begins with its first slice");
            let mut place = header.data_bit;
            for macroblock in macroblocks {
                assert_eq!(macroblock.address as usize, picture.len(), "{name}, slice {number}");
                assert!(macroblock.first_bit >= place && macroblock.end_bit >= macroblock.first_bit);
                place = macroblock.end_bit;
                picture.extend((0..macroblock.count).map(|_| letter(macroblock.kind)));
            }
            assert!(picture.len() <= (sps.width_mbs * sps.height_mbs) as usize);
        }
        // ffmpeg lists pictures in the order of presentation.
        let mut expected: Vec<&str> = types.lines().collect();
        expected.sort_unstable();
        pictures.sort_unstable();
        assert_eq!(pictures, expected, "{name}");
    }
}

#[test]
fn the_streams_have_every_kind_of_slice_and_macroblock() {
    let (mut kinds, mut slices) = (Vec::new(), Vec::new());
    for (_, stream, _) in STREAMS {
        for (header, macroblocks) in parse(stream).1 {
            slices.push(header.expect("parsed above").kind);
            kinds.extend(macroblocks.iter().map(|macroblock| macroblock.kind));
        }
    }
    for kind in [SliceKind::I, SliceKind::P, SliceKind::B] {
        assert!(slices.contains(&kind), "{kind:?}");
    }
    for kind in [
        MacroblockKind::Intra4x4,
        MacroblockKind::Intra8x8,
        MacroblockKind::Intra16x16,
        MacroblockKind::Pcm,
        MacroblockKind::Inter,
        MacroblockKind::Skipped,
    ] {
        assert!(kinds.contains(&kind), "{kind:?}");
    }
}

#[test]
fn headers_and_sizes_are_those_of_the_encoder() {
    let (sets, slices) = parse(STREAMS[0].1);
    let sps = sets.sps(0).expect("a parameter set");
    assert_eq!((sps.width, sps.height, sps.width_mbs, sps.height_mbs), (96, 64, 6, 4));
    for (number, (header, _)) in slices.into_iter().enumerate() {
        let header = header.expect("parsed above");
        let idr = number % 4 == 0;
        let expected = (idr, if idr { SliceKind::I } else { SliceKind::P }, number as u32 % 4);
        assert_eq!((header.idr, header.kind, header.frame_num), expected);
        // The encoder was told 34; intra pictures get less (`ipratio`).
        assert_eq!(header.qp, if idr { 31 } else { 34 });
    }
    let noise = parse(STREAMS[5].1).0;
    assert_eq!(noise.sps(0).map(|sps| (sps.width, sps.height)), Some((64, 48)));
}

#[test]
fn what_cannot_be_split_is_refused_by_name() {
    for (stream, reason) in REFUSED {
        let slices = parse(stream).1;
        assert!(!slices.is_empty());
        for (header, macroblocks) in slices {
            assert_eq!((header, macroblocks), (Err(reason), vec![]));
        }
    }
}

#[test]
fn a_slice_without_its_parameter_sets_is_refused_but_its_kind_is_known() {
    for (_, stream, _) in STREAMS {
        for (_, unit) in units(stream).into_iter().filter(|(_, unit)| is_slice(unit)) {
            let mut out = Vec::new();
            let refused = SliceParser::default().parse(unit, &Default::default(), &mut out);
            assert_eq!(refused, Err(Refusal::NoParameterSets));
            assert!(slice_kind(unit).is_some());
        }
    }
}

#[test]
fn data_is_parsed_from_any_macroblock_without_the_header() {
    for (name, stream, _) in STREAMS {
        let (sets, _) = parse(stream);
        let mut parser = SliceParser::default();
        for (_, unit) in units(stream).into_iter().filter(|(_, unit)| is_slice(unit)) {
            let (mut whole, mut again) = (Vec::new(), Vec::new());
            let header = parser.parse(unit, &sets, &mut whole).expect("parsed above");
            let end = parser.parse_data(unit, header.data_bit, &header.context, &mut again);
            assert!(end.is_exact() && again == whole, "{name}");
            // From the first byte that holds nothing of the header.
            let from = header.data_bit / 8;
            let end = parser.parse_data(&unit[from..], header.data_bit % 8, &header.context, &mut again);
            let moved = |macroblock: &Macroblock| macroblock.first_bit + 8 * from;
            assert!(
                end.is_exact() && again.iter().map(moved).eq(whole.iter().map(|one| one.first_bit)),
                "{name}"
            );
            // A bit later the data means something else, which hardly ever ends as it should.
            let DataEnd { macroblocks, .. } = parser.parse_data(unit, header.data_bit + 1, &header.context, &mut again);
            let counted: u32 = again.iter().map(|macroblock| macroblock.count).sum();
            assert_eq!(macroblocks, counted);
        }
    }
}
