//! The names of cameras (protocol.md §3).

use std::fmt;

use crate::words::is_unsafe;

/// The name of a publisher's camera: at most 64 bytes of UTF-8, of which no character [is unsafe](is_unsafe) to show.
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

    /// Returns the name, if it is at most 64 bytes long and fit to be shown as it is.
    pub fn new(name: &str) -> Option<Self> {
        let length = u8::try_from(name.len()).ok()?;
        let mut bytes = [0; Self::MAX];
        bytes.get_mut(..name.len())?.copy_from_slice(name.as_bytes());
        (!name.contains(is_unsafe)).then_some(Self { length, bytes })
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
    fn a_name_has_at_most_64_bytes_and_is_fit_to_be_shown() {
        let (longest, long) = ("é".repeat(32), "a".repeat(65));
        for name in ["", "front", "back yard", "שלום", longest.as_str()] {
            assert_eq!(CameraName::new(name).expect(name).as_str(), name);
        }
        let unsafe_ones = [
            "a\nb",
            "\0",
            "a\u{1b}[2J",
            "\u{7f}",
            "\u{85}",
            "a\u{202e}b",
            "\u{2066}",
            "\u{200f}",
            "\u{2028}",
        ];
        for name in unsafe_ones.into_iter().chain([long.as_str()]) {
            assert_eq!(CameraName::new(name), None, "{name:?}");
        }
    }
}
