//! Picture and sound with their times in one stream of bytes, as pipes and UDP ports carry them: Matroska (RFC 9559),
//! and the transport stream of MPEG (ISO/IEC 13818-1).
//!
//! Both readers take bytes as they come, in pieces of any length, and give [`Piece`]s. They hold no more than one
//! element or frame that is not whole, of a length that is bounded.

pub mod adts;
pub mod matroska;
pub mod ts;

pub use crate::timeline::Track;
use crate::unit::{Codec, SoundInfo};

/// Longest frame of a picture in bytes.
pub const MAX_PICTURE: usize = 8 << 20;

/// Something that was read from a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// From here on the stream has these tracks.
    Tracks(Tracks),
    /// The sound that follows is of this kind.
    Sound(SoundInfo),
    /// A frame.
    Frame(Frame),
}

/// The tracks of a stream that are read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tracks {
    /// The picture.
    pub picture: Option<Pictures>,
    /// True if there is sound, which is described by a [`Piece::Sound`].
    pub sound: bool,
    /// Names of what is not read, for people.
    pub left_out: Vec<String>,
}

/// Form of pictures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pictures {
    /// Their codec.
    pub codec: Codec,
    /// The content of the box `avcC`, `hvcC` or `av1C` of MP4, which says how the frames are written. `None` of byte
    /// streams and images.
    pub private: Option<Vec<u8>>,
}

/// A frame as it is written in a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Its medium.
    pub track: Track,
    /// Time of presentation in ns, on a clock that both tracks have in common.
    pub stamp: i64,
    /// True if the stream says that decoding can begin here.
    pub keyframe: bool,
    /// True if something before it is missing.
    pub lost: bool,
    /// The picture, in the form that its track has, or the packet of sound.
    pub data: Vec<u8>,
}

/// Most names of what is not read.
const MAX_LEFT_OUT: usize = 8;

impl Tracks {
    /// Something that is not read.
    fn leave_out(&mut self, name: String) {
        if self.left_out.len() < MAX_LEFT_OUT {
            self.left_out.push(name);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::unit::{SoundInfo, sound_headers};

    /// Opus of two channels with a beginning that is left out.
    pub(super) fn opus(samples_per_frame: u32) -> SoundInfo {
        let head = [b"OpusHead\x01\x02\x38\x01", &48_000_u32.to_le_bytes()[..], &[0; 3]].concat();
        sound_headers::opus_head(&head, samples_per_frame).expect("Opus")
    }

    /// A number below `end` that nobody chose.
    pub(super) fn draw(state: &mut u64, end: usize) -> usize {
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        (*state % end as u64) as usize
    }
}
