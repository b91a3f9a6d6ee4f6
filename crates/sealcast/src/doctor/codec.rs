//! Whether pictures are encoded and decoded, and how fast the codec was built.

use super::finding::Finding;
use crate::codec::{BareDecoder, H264Encoder, H264Settings, asm_active, jpeg};
use crate::failure::{FailureKind, Result};
use crate::media::{Codec, FrameRate, Picture};

const CHECK: &str = "codec";
/// Sides of the picture, in pixels.
const SIDE: usize = 64;
/// Highest mean difference between the luma of a picture and of what is decoded, of 255. Both codecs stay below 3.
const TOLERANCE: u64 = 12;

/// Encodes a picture with each codec and decodes it again.
pub(super) fn check() -> Finding {
    judge(asm_active(), [("H.264", by_h264()), ("JPEG", by_jpeg())])
}

/// Judges the mean differences that the codecs left.
fn judge(assembly: Option<bool>, codecs: [(&str, Result<u64>); 2]) -> Finding {
    for (name, difference) in codecs {
        match difference {
            Ok(difference) if difference <= TOLERANCE => {}
            Ok(difference) => {
                let saw =
                    format!("{name} decodes another picture than was encoded (mean difference {difference} of 255)");
                let advice = "the build is broken: build sealcast again, and report this if it stays so";
                return Finding::wrong(CHECK, FailureKind::Internal, saw, advice);
            }
            Err(failure) => {
                let saw = format!("{name} does not work: {}", failure.what);
                return Finding::wrong(CHECK, FailureKind::Internal, saw, failure.hint);
            }
        }
    }
    let works = "H.264 and JPEG encode and decode";
    match assembly {
        Some(true) => Finding::ok(CHECK, format!("{works}, H.264 with assembly")),
        Some(false) => Finding::warning(
            CHECK,
            format!("{works}, H.264 without assembly: encoding takes about 2.5 times as long"),
            "run: sudo apt-get install nasm, and build sealcast again",
        ),
        None => Finding::unknown(
            CHECK,
            format!(
                "{works}; whether H.264 has its assembly is not known, because the program cannot read its own file"
            ),
            "see that /proc is there",
        ),
    }
}

/// A picture with a slope of brightness in both directions.
fn picture() -> Picture {
    let mut picture = Picture::black(SIDE, SIDE);
    for (at, luma) in picture.y.iter_mut().enumerate() {
        *luma = (32 + at % SIDE + at / SIDE) as u8;
    }
    picture
}

fn by_h264() -> Result<u64> {
    let rate = FrameRate {
        numerator: 25,
        denominator: 1,
    };
    let mut encoder = H264Encoder::new(H264Settings::new(SIDE, SIDE, rate, 500_000))?;
    let (frame, _) = encoder.encode(&picture())?;
    decoded(Codec::H264, &frame)
}

fn by_jpeg() -> Result<u64> {
    decoded(Codec::Mjpeg, &jpeg::encode(&picture(), 85)?)
}

/// The mean difference between the luma of [`picture`] and of the picture in a frame; the highest one if there is none.
fn decoded(codec: Codec, frame: &[u8]) -> Result<u64> {
    let picture = picture();
    let Some(found) = BareDecoder::new(codec)?.decode(frame)? else {
        return Ok(u64::from(u8::MAX));
    };
    if found.y.len() != picture.y.len() {
        return Ok(u64::from(u8::MAX));
    }
    let differences = found.y.iter().zip(&picture.y).map(|(a, b)| u64::from(a.abs_diff(*b)));
    Ok(differences.sum::<u64>() / picture.y.len() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Verdict;
    use crate::failure::Failure;

    #[test]
    fn this_programs_codecs_give_back_what_they_were_given() {
        assert!(by_h264().is_ok_and(|difference| difference < 4));
        assert!(by_jpeg().is_ok_and(|difference| difference < 4));
        assert_ne!(check().verdict, Verdict::Wrong, "{:?}", check());
    }

    #[test]
    fn a_codec_that_fails_or_lies_is_wrong_and_one_without_assembly_slow() {
        let broken = || Failure::new(FailureKind::Source, "no memory", "free some");
        let found = judge(Some(true), [("H.264", Err(broken())), ("JPEG", Ok(0))]);
        assert_eq!(
            (found.verdict, found.kind),
            (Verdict::Wrong, Some(FailureKind::Internal))
        );
        assert!(found.saw.contains("no memory"), "{found:?}");
        let found = judge(Some(true), [("H.264", Ok(0)), ("JPEG", Ok(100))]);
        assert!(
            found.verdict == Verdict::Wrong && found.saw.contains("JPEG"),
            "{found:?}"
        );
        let slow = judge(Some(false), [("H.264", Ok(0)), ("JPEG", Ok(0))]);
        assert!(slow.verdict == Verdict::Warning && slow.advice.is_some_and(|words| words.contains("nasm")));
        assert_eq!(
            judge(None, [("H.264", Ok(0)), ("JPEG", Ok(0))]).verdict,
            Verdict::Unknown
        );
        assert_eq!(
            judge(Some(true), [("H.264", Ok(0)), ("JPEG", Ok(0))]).verdict,
            Verdict::Ok
        );
    }
}
