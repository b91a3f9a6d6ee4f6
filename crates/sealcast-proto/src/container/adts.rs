//! ADTS: the header before each frame of AAC where nothing else describes the sound (ISO/IEC 13818-7, 6.2).

use crate::unit::sound_headers::{self, Bits};
use crate::unit::{SoundCodec, SoundInfo};

/// Length of a header without a checksum.
const HEADER: usize = 7;
/// Length of one with a checksum.
const LONG_HEADER: usize = 9;
/// Longest frame in bytes with its header: its length has 13 bits.
pub const MAX_ADTS_FRAME: usize = 8191;

/// The header of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AdtsHeader {
    /// Audio object type, 1 to 4.
    kind: u8,
    /// Index of the rate (ISO/IEC 14496-3, table 1.18).
    rate: u8,
    /// Channel configuration.
    layout: u8,
    /// Length of the header in bytes.
    pub header: usize,
    /// Length of the whole frame in bytes.
    pub length: usize,
}

impl AdtsHeader {
    /// Reads the header of a frame of one block. `None` if these bytes begin with none, or with too little of one.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let [0xff, second, c, d, e, f, g, ..] = *bytes else {
            return None;
        };
        let header = if second & 1 == 1 { HEADER } else { LONG_HEADER };
        let length = usize::from(d & 3) << 11 | usize::from(e) << 3 | usize::from(f >> 5);
        let is_one = second & 0xf6 == 0xf0 && length > header && g & 3 == 0;
        is_one.then_some(Self {
            kind: (c >> 6) + 1,
            rate: c >> 2 & 0xf,
            layout: (c & 1) << 2 | d >> 6,
            header,
            length,
        })
    }

    /// Description of the sound. `None` if its channels are described in its frames, or its rate is none.
    pub fn describe(self) -> Option<SoundInfo> {
        let config = [self.kind << 3 | self.rate >> 1, (self.rate & 1) << 7 | self.layout << 3];
        sound_headers::aac(&config, 0)
    }

    /// The header for frames of this sound, but for their length. `None` if it is no AAC, or of a kind for which there
    /// is no header.
    pub fn of(info: &SoundInfo) -> Option<Self> {
        if info.codec != SoundCodec::Aac || info.samples_per_frame != 1024 {
            return None;
        }
        let config = sound_headers::aac_config(&mut Bits::new(&info.parameters))?;
        let kind = u8::try_from(config.core).ok().filter(|kind| (1..=4).contains(kind))?;
        let rates = &sound_headers::AAC_RATES;
        let rate = rates.iter().position(|rate| *rate == config.samples_per_second)?;
        let layout = u8::try_from(config.layout)
            .ok()
            .filter(|layout| (1..=7).contains(layout))?;
        Some(Self {
            kind,
            rate: u8::try_from(rate).ok()?,
            layout,
            header: HEADER,
            length: 0,
        })
    }

    /// Appends a frame with its header. False if it is too long for one.
    pub fn put(self, frame: &[u8], out: &mut Vec<u8>) -> bool {
        let length = frame.len() + HEADER;
        if length > MAX_ADTS_FRAME {
            return false;
        }
        let Self { kind, rate, layout, .. } = self;
        out.extend_from_slice(&[
            0xff,
            0xf1,
            (kind - 1) << 6 | rate << 2 | layout >> 2,
            (layout & 3) << 6 | (length >> 11) as u8,
            (length >> 3) as u8,
            // Fullness of the buffer is not told: all ones.
            ((length & 7) as u8) << 5 | 0x1f,
            0xfc,
        ]);
        out.extend_from_slice(frame);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_comes_back_with_the_sound_that_it_is_of() {
        // AAC-LC of 48 kHz and two channels; the same with spectral band replication is that of half the rate.
        for (config, back) in [
            (&[0x11, 0x90][..], &[0x11, 0x90][..]),
            (&[0x12, 0x08], &[0x12, 0x08]),
            (&[0x2d, 0x8c, 0x08, 0x00], &[0x15, 0x88]),
        ] {
            let info = sound_headers::aac(config, 0).expect("a description");
            let mut out = Vec::new();
            assert!(AdtsHeader::of(&info).expect("a header").put(&[7; 300], &mut out));
            let header = AdtsHeader::parse(&out).expect("a frame");
            assert_eq!((header.header, header.length), (7, 307));
            assert_eq!(header.describe().expect("sound").parameters, back);
        }
    }

    #[test]
    fn sound_that_no_header_describes_has_none() {
        for config in [&[0x11, 0x80][..], &[0x11, 0x94], &[0xf8, 0x40, 0x40]] {
            let info = sound_headers::aac(config, 2).expect("a description");
            assert_eq!(AdtsHeader::of(&info), None, "{config:?}");
        }
        let info = sound_headers::aac(&[0x11, 0x90], 2).expect("a description");
        let header = AdtsHeader::of(&info).expect("a header");
        assert!(!header.put(&[0; MAX_ADTS_FRAME], &mut Vec::new()));
        for wrong in [&[0xff, 0xf1][..], &[0xff, 0xf3, 0x4c, 0x80, 2, 0x1f, 0xfc], &[0; 9]] {
            assert_eq!(AdtsHeader::parse(wrong), None, "{wrong:?}");
        }
    }
}
