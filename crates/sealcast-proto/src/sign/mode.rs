//! Modes in which a camera signs.

use std::fmt;
use std::str::FromStr;

/// Mode in which a camera signs; each signs what the one before does, and more. Printed and parsed as users type it:
/// `off`, `frame`, `both`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum SignMode {
    /// Nothing: enough while each viewer has a key of its own.
    #[default]
    Off = 0,
    /// Each frame, with Ed25519: verified before it is shown.
    Frame = 1,
    /// Each frame, and each group of pictures with ML-DSA-65: proven once more after it was shown.
    Both = 3,
}

/// The text or number is no mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoSignMode {
    /// It never was one.
    #[error("signatures are off, frame or both")]
    Unknown,
    /// It is the name of one that earlier versions had. Its number stays reserved.
    #[error("signing mode {0} is not supported any more: signatures are off, frame or both")]
    Retired(&'static str),
}

/// Names and numbers of modes that earlier versions had.
const RETIRED: [(&str, u8); 2] = [("gop", 2), ("tesla", 4)];

impl SignMode {
    const ALL: [Self; 3] = [Self::Off, Self::Frame, Self::Both];

    /// True if each frame is signed.
    pub fn frames(self) -> bool {
        self >= Self::Frame
    }

    /// True if each group of pictures is signed.
    pub fn gops(self) -> bool {
        self == Self::Both
    }

    /// Its number in messages (groups.md §10).
    pub fn byte(self) -> u8 {
        self as u8
    }

    /// Returns the mode with this number in messages.
    ///
    /// # Errors
    /// [`NoSignMode`].
    pub fn from_byte(byte: u8) -> Result<Self, NoSignMode> {
        let known = Self::ALL.into_iter().find(|mode| mode.byte() == byte);
        known.ok_or_else(|| retired(|(_, number)| number == byte))
    }

    fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Frame => "frame",
            Self::Both => "both",
        }
    }
}

fn retired(is: impl Fn((&str, u8)) -> bool) -> NoSignMode {
    let found = RETIRED.into_iter().find(|mode| is(*mode));
    found.map_or(NoSignMode::Unknown, |(name, _)| NoSignMode::Retired(name))
}

impl fmt::Display for SignMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for SignMode {
    type Err = NoSignMode;

    fn from_str(text: &str) -> Result<Self, NoSignMode> {
        let known = Self::ALL.into_iter().find(|mode| mode.name() == text);
        known.ok_or_else(|| retired(|(name, _)| name == text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mode_is_read_as_it_is_written_and_nothing_else_is() {
        for mode in SignMode::ALL {
            assert_eq!(mode.to_string().parse(), Ok(mode));
            assert_eq!(SignMode::from_byte(mode.byte()), Ok(mode));
        }
        for text in ["", "Off", "frames", "both ", "all"] {
            assert_eq!(text.parse::<SignMode>(), Err(NoSignMode::Unknown));
        }
        assert_eq!(SignMode::from_byte(5), Err(NoSignMode::Unknown));
        assert_eq!(SignMode::ALL.map(SignMode::frames), [false, true, true]);
        assert_eq!(SignMode::ALL.map(SignMode::gops), [false, false, true]);
    }

    #[test]
    fn modes_of_earlier_versions_are_refused_by_name_and_their_numbers_stay_reserved() {
        for (name, number) in [("gop", 2), ("tesla", 4)] {
            assert_eq!(name.parse::<SignMode>(), Err(NoSignMode::Retired(name)));
            let refused = SignMode::from_byte(number).expect_err("it is no mode any more");
            let said = format!("signing mode {name} is not supported any more");
            assert!(refused.to_string().starts_with(&said), "{refused}");
        }
    }
}
