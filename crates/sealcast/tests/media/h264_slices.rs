//! The parser of H.264 slices, by which `level:3` finds intra macroblocks, on whole clips of several encoders.

use std::path::Path;
use std::time::Duration;

use sealcast::codec::{H264Encoder, H264Settings};
use sealcast::media::FrameRate;
use sealcast::source::test_card::{CardClock, CardPainter};
use sealcast_proto::unit::find_start_code;
use sealcast_proto::unit::h264::{ParameterSets, SliceParser};
use sealcast_testkit::media::{BUNNY, STREET, clip, ffmpeg, path};

/// Parses all slices of a stream to their last bit. Each picture must have all its macroblocks; returns the number of
/// slices.
fn parse(what: &str, stream: &[u8]) -> usize {
    let (mut sets, mut parser, mut macroblocks) = (ParameterSets::default(), SliceParser::default(), Vec::new());
    let (mut slices, mut next, mut size) = (0, 0, 0);
    let mut unit = find_start_code(stream, 0);
    while let Some(code) = unit {
        let after = find_start_code(stream, code + 3);
        let bytes = &stream[code + 3..after.unwrap_or(stream.len())];
        sets.take(bytes);
        if matches!(bytes[0] & 0x1F, 1 | 5) {
            let header = parser.parse(bytes, &sets, &mut macroblocks);
            let header = header.unwrap_or_else(|refusal| panic!("{what}, slice {slices}: {refusal}"));
            let sps = sets.sps(header.sps).expect("its parameter set");
            assert_eq!(
                header.first_mb,
                next % (sps.width_mbs * sps.height_mbs),
                "{what}, slice {slices}"
            );
            size = sps.width_mbs * sps.height_mbs;
            let count: u32 = macroblocks.iter().map(|macroblock| macroblock.count).sum();
            next = header.first_mb + count;
            slices += 1;
        }
        unit = after;
    }
    assert_eq!(next, size, "{what}: the last picture is whole");
    slices
}

#[test]
fn every_slice_of_our_own_encoder_is_parsed_to_its_last_bit() {
    let rate = FrameRate {
        numerator: 25,
        denominator: 1,
    };
    for bitrate in [150_000, 3_000_000] {
        let mut encoder = H264Encoder::new(H264Settings::new(640, 360, rate, bitrate)).expect("an encoder");
        let mut painter = CardPainter::new(640, 360).expect("a painter");
        let mut stream = Vec::new();
        for event in 0..60 {
            let clock = CardClock {
                event,
                wall_us: u64::from(event) * 40_000,
            };
            let picture = painter.paint(clock, Duration::from_millis(40) * event);
            stream.extend(encoder.encode(picture).expect("a frame").0);
        }
        assert!(parse("OpenH264", &stream) >= 50);
    }
}

#[test]
fn every_slice_of_a_camera_and_of_x264_is_parsed_to_its_last_bit() {
    let scratch = tempfile::tempdir().expect("a folder");
    let coded = |input: &Path, options: &[&str]| {
        let input = ["-i", path(input), "-an", "-t", "3"];
        ffmpeg(&[&input[..], options, &["-f", "h264", "-"]].concat())
    };
    let street = clip(STREET, scratch.path());
    let stream = coded(&street, &["-c", "copy", "-bsf:v", "h264_mp4toannexb"]);
    assert!(parse(STREET, &stream) >= 70);
    let bunny = clip(BUNNY, scratch.path());
    for parameters in [
        "cabac=0:bframes=3:b-pyramid=normal:ref=4:weightp=2:8x8dct=1:partitions=all",
        "cabac=0:bframes=2:8x8dct=0:slices=5:intra-refresh=1",
    ] {
        for quantiser in ["12", "36"] {
            let options = [
                "-c:v",
                "libx264",
                "-preset",
                "veryfast",
                "-qp",
                quantiser,
                "-x264-params",
                parameters,
            ];
            assert!(parse(parameters, &coded(&bunny, &options)) >= 70);
        }
    }
}
