//! Types shared by the readers of media files: the frame as stored in a file, and the errors of a file.

use std::io;
use std::time::Duration;

use bytes::Bytes;

use crate::media::{FrameRate, Track};

/// Maximum size of a frame from any source: it must fit into one record of the protocol. A longer one in a file or
/// from a camera is a sign of damage.
pub const MAX_FRAME_BYTES: usize = 8 << 20;

/// Frame rate assumed if the stream does not state one.
pub(super) const ASSUMED_RATE: FrameRate = FrameRate {
    numerator: 25,
    denominator: 1,
};

/// One frame as stored in a file, in decode order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodedFrame {
    /// Medium of the frame.
    pub track: Track,
    /// True if it can be decoded without earlier frames.
    pub keyframe: bool,
    /// Presentation time, relative to the first picture shown.
    pub presented: Duration,
    /// Decoding time, which is also the time of delivery, relative to the first frame.
    pub decoded: Duration,
    /// Time until the next frame is due.
    pub duration: Duration,
    /// The access unit in Annex B, the temporal unit, the JPEG image, or the packet of sound.
    pub data: Bytes,
}

/// Reason why a media file cannot be read further. The message continues a sentence that begins with the file's name.
#[derive(Debug, thiserror::Error)]
pub enum MediaError {
    /// An error of the operating system.
    #[error("cannot be read: {0}")]
    Io(#[from] io::Error),
    /// The file ends prematurely.
    #[error("breaks off: {0}")]
    Truncated(String),
    /// The file contradicts itself or its format.
    #[error("is damaged: {0}")]
    Damaged(String),
    /// The file is valid, but contains something that sealcast does not carry.
    #[error("holds {0}, not H.264, H.265, AV1 or Motion JPEG video")]
    Unsupported(String),
    /// The file is of a format that sealcast does not read, but may hold what it carries.
    #[error("is {0}, which is not read here")]
    Container(String),
    /// The file contains nothing to play.
    #[error("holds no frames: {0}")]
    Empty(&'static str),
}

impl MediaError {
    /// Advice for the user.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Io(_) => "check that the file exists and may be read",
            Self::Truncated(_) => "copy or record the file again; what came before the break was delivered",
            Self::Damaged(_) => {
                "play it with ffplay to see whether it is whole, or rewrap it: ffmpeg -i IN -c copy OUT.mp4"
            }
            Self::Unsupported(_) => "convert it: ffmpeg -i IN -c:v libx264 -an OUT.mp4",
            Self::Container(_) => "rewrap it, which leaves picture and sound as they are: ffmpeg -i IN -c copy OUT.mp4",
            Self::Empty(_) => "check with ffprobe that the file holds video that begins with a keyframe",
        }
    }
}

/// Result of reading a media file.
pub(super) type Result<T> = std::result::Result<T, MediaError>;

/// Converts `ticks` of a clock with `numerator / denominator` ticks per second to a duration; saturates at the
/// maximum.
pub(super) fn ticks(ticks: u64, numerator: u32, denominator: u32) -> Duration {
    let nanos = u128::from(ticks) * u128::from(denominator) * 1_000_000_000 / u128::from(numerator.max(1));
    u64::try_from(nanos).map_or(Duration::from_secs(u64::MAX / 1_000_000_000), Duration::from_nanos)
}

/// Time when frame `index` of a stream with the constant `rate` is due.
pub(super) fn at_rate(index: u64, rate: FrameRate) -> Duration {
    ticks(index, rate.numerator, rate.denominator)
}

/// Returns a rate in lowest terms if it is plausible for a camera (0.01 to 1000 frames per second).
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
