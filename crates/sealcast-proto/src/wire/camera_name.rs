//! The names of cameras (protocol.md §3).

use std::fmt;

/// The name of a publisher's camera: at most 64 bytes of UTF-8 without control characters.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct CameraName {
    length: u8,
    bytes: [u8; Self::MAX],
}

impl CameraName {
    /// Maximum length in bytes.
    pub const MAX: usize = 64;
    /// No name.
    pub const NONE: Self = Self {
        length: 0,
        bytes: [0; Self::MAX],
    };

    /// Returns the name, if it is at most 64 bytes long and has no control characters.
    pub fn new(name: &str) -> Option<Self> {
        let length = u8::try_from(name.len()).ok()?;
        let mut bytes = [0; Self::MAX];
        bytes.get_mut(..name.len())?.copy_from_slice(name.as_bytes());
        (!name.contains(char::is_control)).then_some(Self { length, bytes })
    }

    /// Returns the name, empty for none.
    pub fn as_str(&self) -> &str {
        // A name is made of UTF-8 alone.
        std::str::from_utf8(&self.bytes[..usize::from(self.length)]).unwrap_or_default()
    }
}

impl Default for CameraName {
    fn default() -> Self {
        Self::NONE
    }
}

impl fmt::Debug for CameraName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_at_most_64_bytes_and_no_control_characters() {
        let (longest, long) = ("é".repeat(32), "a".repeat(65));
        for name in ["", "front", "back yard", longest.as_str()] {
            assert_eq!(CameraName::new(name).expect(name).as_str(), name);
        }
        for name in [long.as_str(), "a\nb", "\0", "a\u{1b}[2J", "\u{7f}", "\u{85}"] {
            assert_eq!(CameraName::new(name), None, "{name:?}");
        }
    }
}
