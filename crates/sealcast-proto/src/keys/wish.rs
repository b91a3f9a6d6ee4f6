//! What a viewer wants of a publisher (protocol.md §3).

use std::fmt;

/// Length of a wish in bytes, the same for all, so that it shows nothing of the camera's name.
pub(crate) const WISH_LEN: usize = 2 + CameraName::MAX;

/// What a viewer wants of a publisher. It says so in its sealed part of the handshake.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wish {
    /// What to send.
    pub media: WishedMedia,
    /// The camera; no name for the publisher's only one, or the one that it gives to who names none.
    pub camera: CameraName,
}

/// What a viewer wants to be sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WishedMedia {
    /// Pictures and sound, as frames.
    #[default]
    Frames,
    /// Packets of RTSP cameras, as a gateway wants them.
    Packets,
    /// Nothing before the viewer says more: frames come another way.
    NothingYet,
    /// The names of the cameras that it may watch, and nothing else.
    Cameras,
}

/// The name of a publisher's camera: at most 64 bytes of UTF-8 without control characters.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct CameraName {
    length: u8,
    bytes: [u8; Self::MAX],
}

impl Wish {
    /// The wish of a viewer that names no camera.
    pub const fn of(media: WishedMedia) -> Self {
        let camera = CameraName::NONE;
        Self { media, camera }
    }

    pub(crate) fn to_bytes(self) -> [u8; WISH_LEN] {
        let mut bytes = [0; WISH_LEN];
        bytes[0] = match self.media {
            WishedMedia::Frames => 1,
            WishedMedia::Packets => 2,
            WishedMedia::NothingYet => 3,
            WishedMedia::Cameras => 4,
        };
        bytes[1] = self.camera.length;
        bytes[2..].copy_from_slice(&self.camera.bytes);
        bytes
    }

    pub(crate) fn parse(bytes: &[u8; WISH_LEN]) -> Option<Self> {
        let media = match bytes[0] {
            1 => WishedMedia::Frames,
            2 => WishedMedia::Packets,
            3 => WishedMedia::NothingYet,
            4 => WishedMedia::Cameras,
            _ => return None,
        };
        let (name, padding) = bytes[2..].split_at_checked(bytes[1].into())?;
        let camera = CameraName::new(std::str::from_utf8(name).ok()?)?;
        let padded = padding.iter().all(|byte| *byte == 0);
        padded.then_some(Self { media, camera })
    }
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

    #[test]
    fn a_wish_is_parsed_as_it_was_written() {
        let media = [
            WishedMedia::Frames,
            WishedMedia::Packets,
            WishedMedia::NothingYet,
            WishedMedia::Cameras,
        ];
        for media in media {
            for name in ["", "front", &"a".repeat(64)] {
                let camera = CameraName::new(name).expect("a name");
                let wish = Wish { media, camera };
                assert_eq!(Wish::parse(&wish.to_bytes()), Some(wish));
            }
        }
    }
}
