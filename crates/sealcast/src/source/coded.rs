//! What the readers of media files have in common: the frame as a file holds it, and how a file can be wrong.

use std::io;
use std::time::Duration;

use bytes::Bytes;

use crate::media::FrameRate;

/// The largest frame any source delivers: what fits into one record of the protocol. A longer one in a file or from a
/// camera is damage, not video.
pub const MAX_FRAME_BYTES: usize = 8 << 20;

/// The rate assumed where a stream does not name one.
pub(super) const ASSUMED_RATE: FrameRate = FrameRate {
    numerator: 25,
    denominator: 1,
};

/// One frame as a file holds it, in decode order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodedFrame {
    /// Whether it can be decoded without earlier frames.
    pub keyframe: bool,
    /// When it is to be shown, counted from the first picture shown.
    pub presented: Duration,
    /// When it is to be decoded, and so delivered, counted from the first frame.
    pub decoded: Duration,
    /// How long until the next frame is due.
    pub duration: Duration,
    /// The access unit in Annex B, or the JPEG image.
    pub data: Bytes,
}

/// Why a media file cannot be read further. The words continue a sentence that begins with the file's name.
#[derive(Debug, thiserror::Error)]
pub enum MediaError {
    /// The operating system refused.
    #[error("cannot be read: {0}")]
    Io(#[from] io::Error),
    /// The file ends where more was promised.
    #[error("breaks off: {0}")]
    Truncated(String),
    /// The file contradicts itself or its format.
    #[error("is damaged: {0}")]
    Damaged(String),
    /// The file is sound but holds what sealcast does not carry.
    #[error("holds {0}, not H.264 or Motion JPEG video")]
    Unsupported(String),
    /// There is nothing to play.
    #[error("holds no frames: {0}")]
    Empty(&'static str),
}

impl MediaError {
    /// What the user can do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Io(_) => "check that the file exists and may be read",
            Self::Truncated(_) => "copy or record the file again; what came before the break was delivered",
            Self::Damaged(_) => {
                "play it with ffplay to see whether it is whole, or rewrap it: ffmpeg -i IN -c copy OUT.mp4"
            }
            Self::Unsupported(_) => "convert it: ffmpeg -i IN -c:v libx264 -an OUT.mp4",
            Self::Empty(_) => "check with ffprobe that the file holds video that begins with a keyframe",
        }
    }
}

/// What reading a media file returns.
pub(super) type Result<T> = std::result::Result<T, MediaError>;

/// `ticks` of a clock that runs at `numerator / denominator` ticks per second, as a duration; the largest one where it
/// does not fit.
pub(super) fn ticks(ticks: u64, numerator: u32, denominator: u32) -> Duration {
    let nanos = u128::from(ticks) * u128::from(denominator) * 1_000_000_000 / u128::from(numerator.max(1));
    u64::try_from(nanos).map_or(Duration::from_secs(u64::MAX / 1_000_000_000), Duration::from_nanos)
}

/// When frame `index` of a stream of constant `rate` is due.
pub(super) fn at_rate(index: u64, rate: FrameRate) -> Duration {
    ticks(index, rate.numerator, rate.denominator)
}

/// A rate in lowest terms, where it is one that a camera can have (0.01 to 1000 frames per second).
pub(super) fn sane_rate(numerator: u32, denominator: u32) -> Option<FrameRate> {
    if numerator == 0 || denominator == 0 {
        return None;
    }
    let hertz = f64::from(numerator) / f64::from(denominator);
    let divisor = gcd(numerator, denominator);
    (0.01..=1000.0).contains(&hertz).then_some(FrameRate {
        numerator: numerator / divisor,
        denominator: denominator / divisor,
    })
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_reduced_and_an_absurd_one_refused() {
        assert_eq!(
            sane_rate(90_000, 3_600),
            Some(FrameRate {
                numerator: 25,
                denominator: 1
            })
        );
        assert_eq!(
            sane_rate(30_000, 1_001),
            Some(FrameRate {
                numerator: 30_000,
                denominator: 1_001
            })
        );
        assert_eq!(sane_rate(0, 1), None);
        assert_eq!(sane_rate(1, 0), None);
        assert_eq!(sane_rate(u32::MAX, 1), None);
    }

    #[test]
    fn ticks_do_not_overflow() {
        assert_eq!(ticks(90_000, 90_000, 1), Duration::from_secs(1));
        assert!(ticks(u64::MAX, 1, u32::MAX) > Duration::from_secs(1 << 30));
    }
}
