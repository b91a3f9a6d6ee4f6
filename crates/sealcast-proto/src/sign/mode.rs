//! What a camera signs.

use std::fmt;
use std::str::FromStr;

/// What a camera signs. Printed and parsed as users type it: `off`, `frame`, `gop`, `both`,
/// `tesla`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SignMode {
    /// Nothing: enough while each viewer has a key of its own.
    #[default]
    Off,
    /// Each frame, with Ed25519: verified before it is shown.
    Frame,
    /// Each group of pictures, with ML-DSA-65: proven after it was shown.
    Gop,
    /// Both.
    Both,
    /// Each frame, with a MAC of TESLA: proved after it was shown. A study mode.
    Tesla,
}

/// The text is no mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("signatures are off, frame, gop, both or tesla")]
pub struct NoSignMode;

impl SignMode {
    const ALL: [Self; 5] = [Self::Off, Self::Frame, Self::Gop, Self::Both, Self::Tesla];

    /// True if each frame is signed.
    pub fn frames(self) -> bool {
        matches!(self, Self::Frame | Self::Both)
    }

    /// True if each group of pictures is signed.
    pub fn gops(self) -> bool {
        matches!(self, Self::Gop | Self::Both)
    }

    /// True if each frame has a MAC under a key that is disclosed later.
    pub fn tesla(self) -> bool {
        self == Self::Tesla
    }

    /// True if whoever insists on `least` is content with this. A signature proves a frame before it is shown, and so
    /// is enough for who would wait for the key of a MAC.
    pub fn covers(self, least: Self) -> bool {
        let tesla = self.tesla() || self.frames() || !least.tesla();
        (self.frames() || !least.frames()) && (self.gops() || !least.gops()) && tesla
    }

    /// Its number in messages (groups.md §10).
    pub fn byte(self) -> u8 {
        self as u8
    }

    /// The mode with this number in messages.
    pub fn from_byte(byte: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.byte() == byte)
    }

    fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Frame => "frame",
            Self::Gop => "gop",
            Self::Both => "both",
            Self::Tesla => "tesla",
        }
    }
}

impl fmt::Display for SignMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for SignMode {
    type Err = NoSignMode;

    fn from_str(text: &str) -> Result<Self, NoSignMode> {
        Self::ALL.into_iter().find(|mode| mode.name() == text).ok_or(NoSignMode)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mode_is_read_as_it_is_written_and_nothing_else_is() {
        for mode in SignMode::ALL {
            assert_eq!(mode.to_string().parse(), Ok(mode));
        }
        for text in ["", "Off", "frames", "both ", "all"] {
            assert_eq!(text.parse::<SignMode>(), Err(NoSignMode));
        }
        assert_eq!(SignMode::ALL.map(SignMode::frames), [false, true, false, true, false]);
        assert_eq!(SignMode::ALL.map(SignMode::gops), [false, false, true, true, false]);
    }

    #[test]
    fn who_insists_on_a_mode_is_content_with_what_proves_no_less() {
        let content = |least: SignMode| SignMode::ALL.map(|mode| mode.covers(least));
        assert_eq!(content(SignMode::Off), [true; 5]);
        assert_eq!(content(SignMode::Frame), [false, true, false, true, false]);
        assert_eq!(content(SignMode::Gop), [false, false, true, true, false]);
        assert_eq!(content(SignMode::Both), [false, false, false, true, false]);
        assert_eq!(content(SignMode::Tesla), [false, true, false, true, true]);
    }
}
