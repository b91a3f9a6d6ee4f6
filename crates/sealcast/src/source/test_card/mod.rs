//! A synthetic camera: shows a card with a clock in its picture, in real time.
//!
//! `docs/test-card.md` describes the card and how to read its clock without this program.

mod clock;
mod draw;
mod face;
pub(crate) mod font;
mod spec;

use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bytes::Bytes;

pub use self::clock::{CLOCK_BITS, CardClock, read_clock, read_clock_bits};
use self::draw::Card;
pub(crate) use self::face::EventFace;
use self::spec::Spec;
use crate::codec::{H264Encoder, JpegRate, jpeg};
use crate::failure::{Failure, FailureKind, Result};
use crate::media::{Codec, Frame, Picture, StampKind, StreamInfo, Track};
use crate::source::{Encoding, MIN_BITRATE, SKIP_PATIENCE, Skip, Source};

/// Open a test card from the text after `test:`, which has the form
/// `[WIDTHxHEIGHT][@FPS][?OPTIONS]`; the options are `codec=h264|mjpeg`, `bitrate=BITS`, `bitrate_max=BITS`,
/// `gop=FRAMES`, `quantizer=12..51`, `quality=1..100`, `frames=N` and `bars`, joined by `&`.
///
/// # Errors
/// The text is invalid (kind `Usage`), or the encoder does not start.
pub fn open(rest: &str) -> Result<Box<dyn Source>> {
    Ok(Box::new(TestCard::new(Spec::parse(rest)?)?))
}

/// Checks the text after `test:`.
///
/// # Errors
/// The text is invalid (kind `Usage`).
pub(super) fn check(rest: &str) -> Result<()> {
    Spec::parse(rest).map(drop)
}

/// Draws the cards of a test card source without encoding or timing, for previews and measurements.
pub struct CardPainter {
    card: Card,
}

impl CardPainter {
    /// A painter for pictures of that size; `None` if the clock does not fit or a side is odd.
    pub fn new(width: usize, height: usize) -> Option<Self> {
        let even = width.is_multiple_of(2) && height.is_multiple_of(2);
        even.then(|| Card::new(width, height, true))
            .flatten()
            .map(|card| Self { card })
    }

    /// Returns the card with that clock, `elapsed` after the start of the motion.
    pub fn paint(&mut self, clock: CardClock, elapsed: Duration) -> &Picture {
        self.paint_at_last(elapsed, || clock)
    }

    /// As [`paint`](Self::paint), with a clock that is read when everything else is drawn, as `test:` does.
    pub fn paint_at_last(&mut self, elapsed: Duration, clock: impl FnOnce() -> CardClock) -> &Picture {
        self.card.draw_scene(elapsed);
        self.card.draw_clock(clock())
    }
}

/// Pictures by which the lowest bit rate is measured.
const FLOOR_PICTURES: u64 = 12;

enum Coder {
    H264(Box<H264Encoder>),
    Mjpeg(JpegRate),
}

struct TestCard {
    spec: Spec,
    card: Card,
    coder: Coder,
    /// Time when frame 0 was due; set by the first call of `next`.
    start: Option<Instant>,
    /// Number of the next frame.
    number: u64,
    /// Number of frames made.
    made: u64,
    /// Says whether to leave out the next picture.
    skip: Option<Skip>,
    /// Bit/s that are never exceeded, for a constant rate.
    aim: Option<u64>,
}

impl TestCard {
    fn new(spec: Spec) -> Result<Self> {
        let card = Card::new(spec.width, spec.height, !spec.bars).ok_or_else(|| {
            Failure::new(
                FailureKind::Usage,
                format!(
                    "the clock of the test card does not fit into {}x{} pixels",
                    spec.width, spec.height
                ),
                "choose a larger picture",
            )
        })?;
        let coder = Self::coder(&spec, spec.encoding)?;
        Ok(Self {
            spec,
            card,
            coder,
            start: None,
            number: 0,
            made: 0,
            skip: None,
            aim: None,
        })
    }

    fn coder(spec: &Spec, encoding: Encoding) -> Result<Coder> {
        Ok(match spec.codec {
            Codec::H264 => {
                let settings = encoding.settings(spec.width, spec.height, spec.rate);
                Coder::H264(Box::new(H264Encoder::new(settings)?))
            }
            _ => Coder::Mjpeg(JpegRate::new(spec.rate, spec.quality)),
        })
    }

    /// Bit/s at the lowest quality, measured with the first pictures of this card. Keyframes, which come seldom, do not
    /// count. The clock begins at 0, so that the same card always has the same answer.
    fn floor(&mut self) -> Result<u64> {
        let mut lowest = Self::coder(&self.spec, self.spec.encoding.lowest())?;
        let (mut bytes, mut frames) = (0, 0);
        for number in 0..=FLOOR_PICTURES {
            let due = self.due(number);
            self.card.draw_scene(due);
            let picture = self.card.draw_clock(CardClock {
                event: number as u32,
                wall_us: due.as_micros() as u64,
            });
            let (data, keyframe) = match &mut lowest {
                Coder::H264(encoder) => encoder.encode(picture)?,
                Coder::Mjpeg(_) => (jpeg::encode(picture, JpegRate::lowest(self.spec.quality))?, false),
            };
            if !keyframe {
                bytes += data.len() as u64;
                frames += 1;
            }
        }
        let rate = self.spec.rate;
        let a_second = bytes * 8 * u64::from(rate.numerator) / u64::from(rate.denominator).max(1);
        Ok(a_second / frames.max(1))
    }

    /// Time from the start until a frame is due. Always computed from its number, so that errors do not accumulate.
    fn due(&self, number: u64) -> Duration {
        let nanos = u128::from(number) * 1_000_000_000 * u128::from(self.spec.rate.denominator);
        // A u64 holds half a millennium in nanoseconds.
        Duration::from_nanos(u64::try_from(nanos / u128::from(self.spec.rate.numerator)).unwrap_or(u64::MAX))
    }

    /// Wait until a picture is due. Returns its number and its time.
    fn wait_for_picture(&mut self) -> (u64, Duration) {
        let start = *self.start.get_or_insert_with(Instant::now);
        // Late by more than a frame: skip to the frame that is due; the gap in the event IDs shows the loss.
        let number = self.number.max(self.last_due(start.elapsed()));
        let media_time = self.due(number);
        thread::sleep((start + media_time).saturating_duration_since(Instant::now()));
        (number, media_time)
    }

    /// Draw and encode the picture of this number.
    fn picture(&mut self, number: u64, media_time: Duration) -> Result<Frame> {
        let began = Instant::now();
        self.card.draw_scene(media_time);
        // Draw the clock last, so that it shows when the picture was complete. The low bits of the number are enough.
        let clock = CardClock {
            event: number as u32,
            wall_us: wall_us(),
        };
        let picture = self.card.draw_clock(clock);
        let captured = Instant::now();
        let (data, keyframe) = match &mut self.coder {
            Coder::H264(encoder) => encoder.encode(picture)?,
            Coder::Mjpeg(rate) => {
                let data = jpeg::encode(picture, rate.quality())?;
                rate.made(data.len());
                (data, true)
            }
        };
        self.number = number + 1;
        self.made += 1;
        let data = Bytes::from(data);
        Ok(Frame {
            track: Track::Picture,
            number,
            keyframe,
            media_time,
            began,
            stamp: StampKind::ExposureStart,
            captured,
            encoded: Instant::now(),
            data,
        })
    }

    /// Number of the last frame that is due by now.
    fn last_due(&self, elapsed: Duration) -> u64 {
        let rate = self.spec.rate;
        let frames = elapsed.as_nanos() * u128::from(rate.numerator) / u128::from(rate.denominator) / 1_000_000_000;
        u64::try_from(frames).unwrap_or(u64::MAX)
    }
}

impl Source for TestCard {
    fn info(&self) -> StreamInfo {
        let parameters = match &self.coder {
            Coder::H264(encoder) => encoder.parameters().to_vec(),
            Coder::Mjpeg(_) => Vec::new(),
        };
        // The spec limits the sides to far less.
        let side = |pixels: usize| u16::try_from(pixels).unwrap_or(u16::MAX);
        StreamInfo {
            codec: self.spec.codec,
            width: side(self.spec.width),
            height: side(self.spec.height),
            rate: self.spec.rate,
            parameters,
        }
    }

    fn next(&mut self) -> Result<Option<Frame>> {
        if self.spec.frames.is_some_and(|frames| self.made >= frames) {
            return Ok(None);
        }
        let mut skips = 0;
        loop {
            let (number, media_time) = self.wait_for_picture();
            let skip = self.skip.as_ref().is_some_and(|skip| skip());
            if !skip || self.due(skips) >= SKIP_PATIENCE {
                return self.picture(number, media_time).map(Some);
            }
            skips += 1;
            self.number = number + 1;
        }
    }

    fn request_keyframe(&mut self) {
        if let Coder::H264(encoder) = &mut self.coder {
            encoder.request_keyframe();
        }
    }

    /// With Motion JPEG, every frame is one.
    fn makes_keyframes(&self) -> bool {
        true
    }

    fn set_bitrate(&mut self, bits_per_second: u64) -> bool {
        let bits_per_second = bits_per_second.min(self.aim.unwrap_or(u64::MAX));
        match &mut self.coder {
            Coder::H264(encoder) => {
                encoder.set_bitrate(self.spec.encoding.within(bits_per_second));
                self.spec.encoding.follows()
            }
            Coder::Mjpeg(rate) => {
                rate.set_bitrate(bits_per_second.max(MIN_BITRATE.into()));
                true
            }
        }
    }

    fn aim_at(&mut self, bits_per_second: u64) -> Result<Option<u64>> {
        self.aim = Some(bits_per_second);
        self.spec.encoding = Encoding::constant(bits_per_second);
        let floor = self.floor()?;
        self.coder = Self::coder(&self.spec, self.spec.encoding)?;
        self.set_bitrate(bits_per_second);
        Ok(Some(floor))
    }

    fn skip_if(&mut self, skip: Skip) {
        self.skip = Some(skip);
    }
}

/// The wall clock in microseconds since 1970; 0 if the clock is set to a time before that.
fn wall_us() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bits per second of the next `frames` frames, as if none had been skipped.
    fn made(card: &mut TestCard, frames: u32) -> f64 {
        let mut bytes = 0;
        for _ in 0..frames {
            bytes += card.next().expect("it works").expect("without end").data.len();
        }
        bytes as f64 * 8.0 * 240.0 / f64::from(frames)
    }

    #[test]
    fn the_card_follows_a_target_up_to_its_own_maximum() {
        for (query, most) in [("bitrate=1M", 1e6), ("bitrate=1M&bitrate_max=2M", 2e6)] {
            let spec = Spec::parse(&format!("320x240@240?{query}")).expect("a card");
            let mut card = TestCard::new(spec).expect("a card");
            for (target, expected) in [(500_000, 5e5), (u64::MAX, most)] {
                assert!(card.set_bitrate(target));
                made(&mut card, 480);
                let bits = made(&mut card, 240);
                assert!((bits / expected - 1.0).abs() < 0.25, "{query}, {target}: {bits}");
            }
        }
    }

    #[test]
    fn motion_jpeg_follows_too_and_comes_back_to_its_quality() {
        let spec = Spec::parse("320x240@240?codec=mjpeg&quality=80").expect("a card");
        let mut card = TestCard::new(spec).expect("a card");
        let best = made(&mut card, 60);
        assert!(card.set_bitrate((best / 2.0) as u64));
        made(&mut card, 30);
        let halved = made(&mut card, 120);
        assert!((halved / best - 0.5).abs() < 0.125, "{halved} of {best}");
        card.set_bitrate(u64::MAX);
        made(&mut card, 30);
        let again = made(&mut card, 120);
        assert!((again / best - 1.0).abs() < 0.1, "{again} of {best}");
    }
}
