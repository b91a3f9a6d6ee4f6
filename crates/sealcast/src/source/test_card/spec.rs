//! Parses the text after `test:` on the command line.

use crate::failure::{Failure, FailureKind, Result};
use crate::media::{Codec, FrameRate};
use crate::source::Encoding;

/// Largest picture: the maximum of the H.264 encoder.
const MAX_WIDTH: usize = 3840;
const MAX_HEIGHT: usize = 2160;
/// Smallest picture: the clock must fit.
const MIN_WIDTH: usize = 160;
const MIN_HEIGHT: usize = 120;
/// Highest frame rate, per second.
const MAX_HZ: u32 = 240;

/// Parsed description of a test card.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Spec {
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) rate: FrameRate,
    pub(super) codec: Codec,
    /// H.264: bit rate and keyframes.
    pub(super) encoding: Encoding,
    /// Motion JPEG: 1 to 100.
    pub(super) quality: u8,
    /// Number of frames until the end; `None`: endless.
    pub(super) frames: Option<u64>,
    /// True if nothing moves except the clock.
    pub(super) bars: bool,
}

impl Default for Spec {
    fn default() -> Self {
        Self {
            width: 640,
            height: 480,
            rate: FrameRate {
                numerator: 25,
                denominator: 1,
            },
            codec: Codec::H264,
            encoding: Encoding::default(),
            quality: 75,
            frames: None,
            bars: false,
        }
    }
}

fn usage(what: String, hint: impl Into<String>) -> Failure {
    Failure::new(FailureKind::Usage, what, hint)
}

impl Spec {
    /// Parse the text after `test:`.
    pub(super) fn parse(rest: &str) -> Result<Self> {
        let mut spec = Self::default();
        let (picture, query) = rest.split_once('?').unwrap_or((rest, ""));
        spec.parse_picture(picture)?;
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            spec.set(key, value)?;
        }
        Ok(spec)
    }

    fn parse_picture(&mut self, picture: &str) -> Result<()> {
        let (size, rate) = picture.split_once('@').unwrap_or((picture, ""));
        let hint = "write it as test:640x480@25; every part may be left out";
        if !size.is_empty() {
            let sides = size
                .split_once('x')
                .and_then(|(w, h)| Some((w.parse().ok()?, h.parse().ok()?)));
            let Some((width, height)) = sides else {
                return Err(usage(
                    format!("the test card's size '{size}' is not WIDTHxHEIGHT"),
                    hint,
                ));
            };
            let fits = (MIN_WIDTH..=MAX_WIDTH).contains(&width) && (MIN_HEIGHT..=MAX_HEIGHT).contains(&height);
            if !fits || width % 2 == 1 || height % 2 == 1 {
                return Err(usage(
                    format!("the test card cannot be {width}x{height}"),
                    format!("choose even sides from {MIN_WIDTH}x{MIN_HEIGHT} to {MAX_WIDTH}x{MAX_HEIGHT}"),
                ));
            }
            (self.width, self.height) = (width, height);
        }
        if !rate.is_empty() {
            self.rate = parse_rate(rate).ok_or_else(|| {
                usage(
                    format!("the test card's rate '{rate}' is not a number of frames per second"),
                    format!("write 25, 29.97 or 30000/1001; at most {MAX_HZ}"),
                )
            })?;
        }
        Ok(())
    }

    fn set(&mut self, key: &str, value: &str) -> Result<()> {
        let bad = |hint: &str| usage(format!("the test card's '{key}={value}' makes no sense"), hint);
        match key {
            "codec" => {
                self.codec = match value {
                    "h264" => Codec::H264,
                    "mjpeg" => Codec::Mjpeg,
                    _ => return Err(bad("write codec=h264 or codec=mjpeg")),
                }
            }
            name if Encoding::NAMES.contains(&name) => self.encoding.set(name, value).map_err(bad)?,
            "quality" => {
                let quality = value.parse().ok().filter(|q| (1..=100).contains(q));
                self.quality = quality.ok_or_else(|| bad("write a JPEG quality from 1 to 100, such as quality=75"))?;
            }
            "frames" => {
                let frames = value.parse().ok().filter(|&n| n > 0);
                self.frames = Some(frames.ok_or_else(|| bad("write a number of frames, such as frames=250"))?);
            }
            "bars" if value.is_empty() => self.bars = true,
            _ => {
                return Err(usage(
                    format!("the test card does not know '{key}'"),
                    "it knows codec, bitrate, bitrate_max, gop, quantizer, quality, frames and bars: test:?bars",
                ));
            }
        }
        Ok(())
    }
}

/// Parses `25`, `29.97` or `30000/1001`.
fn parse_rate(text: &str) -> Option<FrameRate> {
    let (numerator, denominator) = if let Some((n, d)) = text.split_once('/') {
        (n.parse().ok()?, d.parse().ok()?)
    } else if let Some((whole, part)) = text.split_once('.') {
        if part.len() > 4 || !part.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        (
            format!("{whole}{part}").parse().ok()?,
            10u32.pow(u32::try_from(part.len()).ok()?),
        )
    } else {
        (text.parse().ok()?, 1)
    };
    let sane = numerator > 0 && denominator > 0 && numerator / denominator <= MAX_HZ && denominator / numerator <= 60;
    sane.then_some(FrameRate { numerator, denominator })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_may_be_left_out() {
        assert_eq!(Spec::parse("").expect("defaults"), Spec::default());
        let spec = Spec::parse("1280x720").expect("a size");
        assert_eq!((spec.width, spec.height, spec.rate.numerator), (1280, 720, 25));
        assert_eq!(Spec::parse("@30").expect("a rate").rate.numerator, 30);
        let spec = Spec::parse("@29.97?codec=mjpeg&quality=40&frames=7&bars").expect("a query");
        assert_eq!(
            spec.rate,
            FrameRate {
                numerator: 2997,
                denominator: 100
            }
        );
        assert_eq!(
            (spec.codec, spec.quality, spec.frames, spec.bars),
            (Codec::Mjpeg, 40, Some(7), true)
        );
        let spec = Spec::parse("320x240@30000/1001?bitrate=300k&gop=0").expect("all of it");
        assert_eq!(
            (spec.encoding.bitrate, spec.encoding.gop, spec.rate.denominator),
            (300_000, Some(0), 1001)
        );
        let encoding = Spec::parse("?bitrate=1.5M&bitrate_max=6M").expect("bit rates").encoding;
        assert_eq!((encoding.bitrate, encoding.bitrate_max), (1_500_000, Some(6_000_000)));
    }

    #[test]
    fn nonsense_is_refused_in_words() {
        for (rest, word) in [
            ("640", "WIDTHxHEIGHT"),
            ("641x480", "even sides"),
            ("64x48", "160x120"),
            ("640x480@", ""),
            ("640x480@0", "frames per second"),
            ("@fast", "frames per second"),
            ("@1000", "240"),
            ("?codec=vp9", "codec=mjpeg"),
            ("?bitrate=fast", "1.5M"),
            ("?bitrate=1", "20k"),
            ("?bitrate_max=1G", "200M"),
            ("?gop=-1", "gop=50"),
            ("?quality=0", "1 to 100"),
            ("?frames=0", "frames=250"),
            ("?bars=5", "bars"),
            ("?colour=red", "colour"),
        ] {
            match Spec::parse(rest) {
                Ok(_) => assert_eq!(word, "", "{rest} was accepted"),
                Err(failure) => {
                    assert_eq!(failure.kind, FailureKind::Usage);
                    assert!(
                        !word.is_empty() && failure.to_string().contains(word),
                        "{rest}: {failure}"
                    );
                }
            }
        }
    }
}
