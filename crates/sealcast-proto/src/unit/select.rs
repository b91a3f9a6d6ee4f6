//! Selects the parts of frames that a publisher encrypts (protocol.md §4, Selection). Whatever it leaves in clear is
//! still authenticated.

use std::fmt;
use std::str::FromStr;

use super::codec_headers;
use super::info::Codec;
use crate::wire::{Permille, Selection};

/// Maximum number of ranges of one frame. They are enough for a thousand slices, more than encoders make. Everything
/// after them is encrypted.
const MAX_RANGES: usize = 2048;

/// Minimum length in bytes of a range that is left in clear. A shorter one is not worth a record of its own, whose
/// header and tag are nearly as long, and is encrypted together with the range before it.
const MIN_CLEAR: usize = 64;

/// A range of an access unit. It begins where the one before it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlannedRange {
    /// Its end: the offset of the first byte after it.
    pub end: usize,
    /// True if it is to be encrypted.
    pub encrypt: bool,
}

impl Selection {
    /// Plans which bytes of one frame are encrypted. Clears `out` and writes the ranges to it, in order and up to the
    /// end of the frame; an empty frame has one empty range. Without a codec no headers can be found, and a selection
    /// by headers encrypts the whole frame. For [`Selection::Rate`] the plan only says that everything may be
    /// encrypted: the [`Cutter`](super::Cutter) draws. Takes time in proportion to the length of the frame, whatever
    /// its content, and allocates only while `out` grows to the size that the stream's frames need, 2048 ranges at
    /// most.
    pub fn plan(self, codec: Option<Codec>, keyframe: bool, data: &[u8], out: &mut Vec<PlannedRange>) {
        out.clear();
        let whole = match self {
            Self::All | Self::Rate(_) => true,
            Self::None => false,
            Self::Keyframes => keyframe,
            Self::HeadersAndKeyframes if keyframe => true,
            Self::Headers | Self::HeadersAndKeyframes => {
                let mut plan = Plan { data, out };
                match codec {
                    Some(Codec::H264) => codec_headers::h264(&mut plan),
                    Some(Codec::Mjpeg) => codec_headers::jpeg(&mut plan),
                    None => {}
                }
                plan.finish();
                return;
            }
        };
        out.push(PlannedRange {
            end: data.len(),
            encrypt: whole,
        });
    }

    /// True if the description of a stream, which holds the parameter sets, is encrypted too.
    pub fn encrypts_description(self) -> bool {
        self != Self::None
    }
}

impl fmt::Display for Selection {
    /// Writes it as a user types it: `all`, `rate:12.5`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("all"),
            Self::None => f.write_str("none"),
            Self::Rate(rate) if rate.get() % 10 == 0 => write!(f, "rate:{}", rate.get() / 10),
            Self::Rate(rate) => write!(f, "rate:{}.{}", rate.get() / 10, rate.get() % 10),
            Self::Keyframes => f.write_str("keyframes"),
            Self::Headers => f.write_str("headers"),
            Self::HeadersAndKeyframes => f.write_str("headers+keyframes"),
        }
    }
}

/// Error: the text is not a selection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "what to encrypt is all, none, rate:P with P from 0 to 100 percent and at most one decimal, keyframes, headers or \
     headers+keyframes"
)]
pub struct NoSelection;

impl FromStr for Selection {
    type Err = NoSelection;

    fn from_str(text: &str) -> Result<Self, NoSelection> {
        match text {
            "all" => Ok(Self::All),
            "none" => Ok(Self::None),
            "keyframes" => Ok(Self::Keyframes),
            "headers" => Ok(Self::Headers),
            "headers+keyframes" => Ok(Self::HeadersAndKeyframes),
            _ => {
                let percent = text.strip_prefix("rate:").ok_or(NoSelection)?;
                permille(percent).map(Self::Rate).ok_or(NoSelection)
            }
        }
    }
}

/// Parses a percentage with at most one decimal, without sign, space or exponent.
fn permille(percent: &str) -> Option<Permille> {
    let (whole, tenth) = percent.split_once('.').unwrap_or((percent, "0"));
    let digits = |text: &str, most: usize| {
        let fits = (1..=most).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
        fits.then(|| text.parse::<u16>().ok()).flatten()
    };
    Permille::new(digits(whole, 3)? * 10 + digits(tenth, 1)?)
}

/// A plan in the making, range by range.
pub(super) struct Plan<'a> {
    pub(super) data: &'a [u8],
    out: &'a mut Vec<PlannedRange>,
}

impl Plan<'_> {
    /// Encrypts up to `end`.
    pub(super) fn encrypt_to(&mut self, end: usize) {
        self.extend(end, true);
    }

    /// Leaves the bytes before `end` in clear, if they are enough and there is room for another range.
    pub(super) fn clear_to(&mut self, end: usize) {
        let from = self.out.last().map_or(0, |range| range.end);
        // The last place is kept for the range that encrypts the rest.
        let worth_it = end.saturating_sub(from) >= MIN_CLEAR && self.out.len() < MAX_RANGES - 1;
        self.extend(end, !worth_it);
    }

    fn extend(&mut self, end: usize, encrypt: bool) {
        let end = end.min(self.data.len());
        match self.out.last_mut() {
            Some(last) if last.end >= end => {}
            Some(last) if last.encrypt == encrypt => last.end = end,
            _ => self.out.push(PlannedRange { end, encrypt }),
        }
    }

    /// Encrypts the rest.
    fn finish(mut self) {
        let end = self.data.len();
        if self.out.is_empty() {
            self.out.push(PlannedRange { end, encrypt: true });
        }
        self.encrypt_to(end);
    }
}

#[cfg(test)]
#[path = "select_tests.rs"]
mod tests;
