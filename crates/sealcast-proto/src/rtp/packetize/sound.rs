//! Sound into payloads: AAC (RFC 3640), Opus (RFC 7587) and G.711 (RFC 3551).

use crate::unit::{SoundCodec, SoundInfo};

/// Payload type of the sound that has no fixed one.
const SOUND_TYPE: u8 = 97;
/// Fixed payload types of G.711 with one channel of 8 kHz.
const ULAW_TYPE: u8 = 0;
const ALAW_TYPE: u8 = 8;
const TELEPHONE_RATE: u32 = 8_000;
/// Ticks a second of Opus, whatever it was recorded with.
const OPUS_CLOCK: u32 = 48_000;
/// Length of the header section of one access unit: its length in bits, and one header of two bytes.
const AU_HEADERS: usize = 4;
/// Longest access unit whose length fits into its header.
const MAX_ACCESS_UNIT: usize = (1 << 13) - 1;

/// Form in which one kind of sound is sent.
#[derive(Clone, Debug)]
pub(super) struct SoundForm {
    pub(super) info: SoundInfo,
}

impl SoundForm {
    /// The form for such sound; `None` if players have none for it.
    pub(super) fn of(info: &SoundInfo) -> Option<Self> {
        let known = info.codec != SoundCodec::Opus || info.channels <= 2;
        known.then(|| Self { info: info.clone() })
    }

    pub(super) fn payload_type(&self) -> u8 {
        let telephone = self.info.channels == 1 && self.info.samples_per_second == TELEPHONE_RATE;
        match self.info.codec {
            SoundCodec::Ulaw if telephone => ULAW_TYPE,
            SoundCodec::Alaw if telephone => ALAW_TYPE,
            _ => SOUND_TYPE,
        }
    }

    pub(super) fn clock_rate(&self) -> u32 {
        match self.info.codec {
            SoundCodec::Opus => OPUS_CLOCK,
            _ => self.info.samples_per_second,
        }
    }

    /// Name and further words of `a=rtpmap:`.
    pub(super) fn encoding(&self) -> String {
        let (rate, channels) = (self.info.samples_per_second, self.info.channels);
        match self.info.codec {
            SoundCodec::Aac => format!("mpeg4-generic/{rate}/{channels}"),
            // RFC 7587: always two channels, whatever there is.
            SoundCodec::Opus => "opus/48000/2".to_owned(),
            SoundCodec::Ulaw => format!("PCMU/{rate}/{channels}"),
            SoundCodec::Alaw => format!("PCMA/{rate}/{channels}"),
        }
    }

    /// Appends the payloads of one packet of sound, of so many bytes at most where it can be parted. An empty one, or
    /// an access unit of AAC that no header can describe, is left out.
    pub(super) fn cut(&self, data: &[u8], longest: usize, out: &mut Vec<Vec<u8>>) {
        match self.info.codec {
            SoundCodec::Aac if data.len() <= MAX_ACCESS_UNIT => access_unit(data, longest, out),
            SoundCodec::Aac => {}
            SoundCodec::Opus if !data.is_empty() => out.push(data.to_vec()),
            SoundCodec::Opus => {}
            // A packet of a source has some 20 ms; a longer one is one longer payload.
            SoundCodec::Ulaw | SoundCodec::Alaw if !data.is_empty() => out.push(data.to_vec()),
            SoundCodec::Ulaw | SoundCodec::Alaw => {}
        }
    }
}

/// Appends an access unit of AAC in the mode AAC-hbr, in fragments if it is long: each says the length of the whole.
fn access_unit(data: &[u8], longest: usize, out: &mut Vec<Vec<u8>>) {
    let [high, low] = ((data.len() as u16) << 3).to_be_bytes();
    for piece in data.chunks(longest - AU_HEADERS) {
        let mut payload = vec![0, 16, high, low];
        payload.extend_from_slice(piece);
        out.push(payload);
    }
}
