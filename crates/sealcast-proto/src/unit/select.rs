//! Selections as text, and the ranges into which they divide a frame (protocol.md §4, Selection).

use std::fmt;
use std::str::FromStr;

use crate::wire::{Level, Permille, Selection};

/// Maximum number of ranges of one frame. They are enough for a thousand slices, more than encoders make. Everything
/// after them is encrypted.
pub(super) const MAX_RANGES: usize = 2048;

/// Minimum length in bytes of a range that is left in clear. A shorter one is not worth a record of its own, whose
/// header and tag are nearly as long, and is encrypted together with the range before it.
pub(super) const MIN_CLEAR: usize = 64;

/// A range of an access unit. It begins where the one before it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlannedRange {
    /// Its end: the offset of the first byte after it.
    pub end: usize,
    /// True if it is to be encrypted.
    pub encrypt: bool,
}

impl From<(usize, bool)> for PlannedRange {
    fn from((end, encrypt): (usize, bool)) -> Self {
        Self { end, encrypt }
    }
}

impl Selection {
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
            Self::Level(level) => write!(f, "level:{}", level.get()),
        }
    }
}

/// Error: the text is not a selection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "what to encrypt is all, none, rate:P with P from 0 to 100 percent and at most one decimal, keyframes, headers, \
     headers+keyframes, or level:N with N from 1 to 4"
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
                if let Some(number) = text.strip_prefix("level:") {
                    let level = Level::ALL.into_iter().find(|level| level.get().to_string() == number);
                    return level.map(Self::Level).ok_or(NoSelection);
                }
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

impl<'a> Plan<'a> {
    /// A plan for a frame. Clears `out` and writes the ranges to it.
    pub(super) fn new(data: &'a [u8], out: &'a mut Vec<PlannedRange>) -> Self {
        out.clear();
        Self { data, out }
    }

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
    pub(super) fn finish(mut self) {
        let end = self.data.len();
        if self.out.is_empty() {
            self.out.push(PlannedRange { end, encrypt: true });
        }
        self.encrypt_to(end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_typed_is_what_is_shown() {
        for text in [
            "all",
            "none",
            "rate:0",
            "rate:25",
            "rate:12.5",
            "rate:0.1",
            "rate:100",
            "keyframes",
            "headers",
            "headers+keyframes",
            "level:1",
            "level:2",
            "level:3",
            "level:4",
        ] {
            let selection: Selection = text.parse().expect(text);
            assert_eq!(selection.to_string(), text);
            let (mode, argument) = selection.to_wire();
            assert_eq!(Selection::from_wire(mode, argument), Some(selection));
        }
        assert_eq!("rate:7.0".parse().ok(), Permille::new(70).map(Selection::Rate));
        for text in [
            "",
            "All",
            "rate",
            "rate:",
            "rate:-1",
            "rate:+5",
            "rate:100.1",
            "rate:101",
            "rate:1000",
            "rate:12.55",
            "rate:.5",
            "rate:5.",
            "rate: 5",
            "rate:5e1",
            "rate:99999999999",
            "keyframes+headers",
            "headers,keyframes",
            " all",
            "level",
            "level:",
            "level:0",
            "level:5",
            "level:x",
            "level:+1",
            "level:01",
            "level: 1",
            "level:1 ",
            "level:65537",
        ] {
            assert_eq!(text.parse::<Selection>(), Err(NoSelection), "{text}");
        }
    }

    #[test]
    fn a_message_that_means_no_selection_is_none() {
        for (mode, argument) in [
            (0, 1),
            (1, 1),
            (2, 1001),
            (2, 65_535),
            (3, 5),
            (4, 1000),
            (5, 1),
            (6, 0),
            (6, 5),
            (6, 257),
            (7, 0),
            (255, 0),
        ] {
            assert_eq!(Selection::from_wire(mode, argument), None, "{mode} {argument}");
        }
    }
}
