//! Turning of pictures before they are shown (protocol.md §4).

use super::{Malformed, Reader};

/// Turning of pictures before they are shown: mirrored first, left to right, and then turned clockwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Orientation {
    quarter_turns: u8,
    mirrored: bool,
}

impl Orientation {
    /// Turned clockwise by so many times 90 degrees.
    pub fn new(quarter_turns: u8, mirrored: bool) -> Self {
        Self {
            quarter_turns: quarter_turns % 4,
            mirrored,
        }
    }

    /// Quarter turns clockwise, 0 to 3.
    pub fn quarter_turns(self) -> u8 {
        self.quarter_turns
    }

    /// True if left and right are swapped before the picture is turned.
    pub fn mirrored(self) -> bool {
        self.mirrored
    }

    /// True if the picture is shown as it was coded.
    pub fn is_upright(self) -> bool {
        self == Self::default()
    }

    pub(crate) fn to_bytes(self) -> [u8; 2] {
        [self.quarter_turns, self.mirrored.into()]
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(bytes);
        let orientation = Self::parse(&mut reader)?;
        reader.finish()?;
        Ok(orientation)
    }

    pub(super) fn put(self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.to_bytes());
    }

    pub(super) fn parse(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        match (reader.u8()?, reader.u8()?) {
            (quarter_turns @ 0..=3, mirrored @ 0..=1) => Ok(Self {
                quarter_turns,
                mirrored: mirrored == 1,
            }),
            _ => Err(Malformed),
        }
    }
}

impl std::fmt::Display for Orientation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mirrored = if self.mirrored { "mirrored and " } else { "" };
        write!(
            f,
            "{mirrored}turned clockwise by {} degrees",
            u32::from(self.quarter_turns) * 90
        )
    }
}
