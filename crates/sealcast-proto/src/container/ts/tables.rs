//! The two tables of a transport stream: the programs, and what a program consists of.

use super::stream_type;
use crate::container::adts::AdtsHeader;
use crate::unit::{SoundCodec, SoundInfo};

/// The packets of the table of our program, its pictures, and its sound.
pub(super) const PMT_PID: u16 = 0x1000;
pub(super) const PICTURE_PID: u16 = 0x100;
pub(super) const SOUND_PID: u16 = 0x101;

/// Number of our program.
const PROGRAM: u16 = 1;
/// Numbers of the tables.
pub(super) const PAT: u8 = 0;
pub(super) const PMT: u8 = 2;
/// Tags of descriptors: whose private data a stream is, and an extension.
pub(super) const REGISTRATION: u8 = 5;
pub(super) const EXTENSION: u8 = 0x7f;
/// The name of Opus among private data, and its extension.
pub(super) const OPUS: &[u8; 4] = b"Opus";
pub(super) const OPUS_EXTENSION: u8 = 0x80;

/// Form of sound in a transport stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sounds {
    /// AAC behind headers like this one.
    Aac(AdtsHeader),
    /// Opus of so many channels.
    Opus(u8),
}

impl Sounds {
    /// The form of this sound; `None` if there is none that readers agree on.
    pub fn of(info: &SoundInfo) -> Option<Self> {
        match info.codec {
            SoundCodec::Aac => AdtsHeader::of(info).map(Self::Aac),
            SoundCodec::Opus => u8::try_from(info.channels).ok().map(Self::Opus),
            SoundCodec::Ulaw | SoundCodec::Alaw => None,
        }
    }

    /// The entry in the table of the program.
    fn entry(self) -> Vec<u8> {
        match self {
            Self::Aac(_) => entry(stream_type::ADTS, SOUND_PID, &[]),
            Self::Opus(channels) => {
                let registration = [&[REGISTRATION, 4][..], OPUS].concat();
                let extension = [EXTENSION, 2, OPUS_EXTENSION, channels];
                entry(
                    stream_type::PRIVATE,
                    SOUND_PID,
                    &[&registration[..], &extension].concat(),
                )
            }
        }
    }
}

fn entry(kind: u8, pid: u16, descriptors: &[u8]) -> Vec<u8> {
    let length = descriptors.len() as u16;
    let numbers = [0xe000 | pid, 0xf000 | length].map(u16::to_be_bytes);
    [&[kind][..], &numbers.concat(), descriptors].concat()
}

/// The section that names our program.
pub(super) fn programs() -> Vec<u8> {
    let body = [PROGRAM.to_be_bytes(), (0xe000 | PMT_PID).to_be_bytes()].concat();
    section(PAT, PROGRAM, 0, &body)
}

/// The section that says what our program consists of, in this version of it.
pub(super) fn program(version: u8, picture: u8, sound: Option<Sounds>) -> Vec<u8> {
    // The clock is in the packets of the picture, and nothing is said of the whole.
    let head = [0xe000 | PICTURE_PID, 0xf000].map(u16::to_be_bytes).concat();
    let sound = sound.map(Sounds::entry).unwrap_or_default();
    section(
        PMT,
        PROGRAM,
        version,
        &[head, entry(picture, PICTURE_PID, &[]), sound].concat(),
    )
}

fn section(table: u8, number: u16, version: u8, body: &[u8]) -> Vec<u8> {
    /// Bytes behind the length that are not of the body: a head, and the checksum.
    const AROUND: usize = 5 + 4;
    let length = 0xb000 | (body.len() + AROUND) as u16;
    let current = 0xc1 | (version & 0x1f) << 1;
    let mut out = vec![table];
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(&number.to_be_bytes());
    out.extend_from_slice(&[current, 0, 0]);
    out.extend_from_slice(body);
    let sum = checksum(&out);
    out.extend_from_slice(&sum.to_be_bytes());
    out
}

/// The checksum of a section (ISO/IEC 13818-1, annex A): that of a whole section with its own is 0.
pub(super) fn checksum(bytes: &[u8]) -> u32 {
    const POLYNOMIAL: u32 = 0x04c1_1db7;
    bytes.iter().fold(u32::MAX, |sum, byte| {
        (0..8).fold(sum ^ u32::from(*byte) << 24, |sum, _| {
            let shifted = sum << 1;
            if sum >> 31 == 1 { shifted ^ POLYNOMIAL } else { shifted }
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_with_its_checksum_has_the_checksum_0() {
        // As published for the polynomial.
        assert_eq!(checksum(b"123456789"), 0x0376_e6e7);
        for section in [programs(), program(3, stream_type::H264, Some(Sounds::Opus(2)))] {
            assert_eq!(checksum(&section), 0);
            let length = usize::from(section[1] & 0xf) << 8 | usize::from(section[2]);
            assert_eq!(length + 3, section.len());
        }
    }
}
