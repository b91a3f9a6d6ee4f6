//! Rate control for Motion JPEG: finds the quality that gives a target bit rate.

use crate::media::FrameRate;

/// Lowest quality used; below it a picture is hardly recognisable.
const MIN_QUALITY: f64 = 5.0;
/// The size of a JPEG falls approximately with this power of its quantizer.
const POWER: f64 = 0.7;
/// Fraction of the correction that is applied after each frame; less than 1, because pictures differ.
const STEP: f64 = 0.4;

/// Chooses the quality of each frame from the size of the previous one.
pub struct JpegRate {
    rate: FrameRate,
    /// The highest quality, 1 to 100.
    best: u8,
    target: Option<u64>,
    /// The current quantizer, in percent of the standard's tables.
    quantizer: f64,
}

impl JpegRate {
    /// All frames have quality `best`, 1 to 100, until a bit rate is set.
    pub fn new(rate: FrameRate, best: u8) -> Self {
        let best = best.clamp(1, 100);
        Self {
            rate,
            best,
            target: None,
            quantizer: quantizer(best.into()),
        }
    }

    /// The lowest quality used where `best` is the highest, 1 to 100.
    pub fn lowest(best: u8) -> u8 {
        best.clamp(1, MIN_QUALITY as u8)
    }

    /// Set the target to this many bits per second, with a quality between 5 and the initial one; if quality 5 is
    /// still too large, the target is exceeded. Changes of less than a tenth are ignored.
    pub fn set_bitrate(&mut self, bits_per_second: u64) {
        if self.target.is_none_or(|target| moved(target, bits_per_second)) {
            self.target = Some(bits_per_second);
        }
    }

    /// Quality for the next frame, 1 to 100.
    pub fn quality(&self) -> u8 {
        // In range: the quantizer is clamped.
        quality(self.quantizer).round() as u8
    }

    /// Report the size in bytes of a frame made with [`quality`](Self::quality).
    pub fn made(&mut self, bytes: usize) {
        let Some(target) = self.target else { return };
        let hz = f64::from(self.rate.numerator) / f64::from(self.rate.denominator.max(1));
        let wanted = (target as f64 / 8.0 / hz.max(0.01)).max(1.0);
        let factor = (bytes.max(1) as f64 / wanted).powf(STEP / POWER);
        let worst = quantizer(MIN_QUALITY.min(self.best.into()));
        // Quality 100 has the quantizer 0, and multiplying it would leave it at 0 for ever.
        let least = quantizer(self.best.into()).max(1.0);
        self.quantizer = (self.quantizer.max(least) * factor).clamp(least, worst.max(least));
    }
}

/// Scale of libjpeg: quality 50 means the standard's tables unchanged.
fn quantizer(quality: f64) -> f64 {
    if quality < 50.0 {
        5000.0 / quality
    } else {
        200.0 - 2.0 * quality
    }
}

fn quality(quantizer: f64) -> f64 {
    if quantizer > 100.0 {
        5000.0 / quantizer
    } else {
        (200.0 - quantizer) / 2.0
    }
}

/// True if a target bit rate changed enough, by more than a tenth, for the quality to follow.
fn moved(from: u64, to: u64) -> bool {
    u128::from(from.abs_diff(to)) * 10 > u128::from(from)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HZ25: FrameRate = FrameRate {
        numerator: 25,
        denominator: 1,
    };

    #[test]
    fn without_a_target_the_quality_stays() {
        for best in [1, 4, 50, 75, 100] {
            let mut rate = JpegRate::new(HZ25, best);
            rate.made(10_000_000);
            assert_eq!(rate.quality(), best);
        }
    }

    #[test]
    fn the_quality_stays_between_the_worst_and_the_best() {
        for best in [1, 4, 50, 75, 99, 100] {
            let mut rate = JpegRate::new(HZ25, best);
            rate.set_bitrate(1_000_000);
            (0..100).for_each(|_| rate.made(10_000_000));
            assert_eq!(rate.quality(), best.min(5));
            (0..100).for_each(|_| rate.made(1));
            assert!(best.abs_diff(rate.quality()) <= 1, "{best}: {}", rate.quality());
        }
    }

    #[test]
    fn small_changes_are_passed_over() {
        let mut rate = JpegRate::new(HZ25, 75);
        rate.set_bitrate(1_000_000);
        rate.set_bitrate(1_090_000);
        assert_eq!(rate.target, Some(1_000_000));
        rate.set_bitrate(880_000);
        assert_eq!(rate.target, Some(880_000));
    }
}
