//! Wish of a viewer to a publisher (protocol.md §3).

use crate::wire::CameraName;

/// Length of a wish in bytes, the same for all, so that it shows nothing of the camera's name.
pub(crate) const WISH_LEN: usize = 2 + CameraName::MAX;

/// Wish of a viewer to a publisher. It says so in its sealed part of the handshake.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wish {
    /// Media to send.
    pub media: WishedMedia,
    /// The camera; no name for the publisher's only one, or the one that it gives to who names none.
    pub camera: CameraName,
}

/// Media that a viewer wants to be sent.
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
        let name = self.camera.as_str().as_bytes();
        bytes[1] = name.len() as u8;
        bytes[2..][..name.len()].copy_from_slice(name);
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

#[cfg(test)]
mod tests {
    use super::*;

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
