//! RTP for players (RFC 3550): pictures and sound cut into packets, sender reports, and the description of both.

mod describe;
mod jpeg;
mod nal;
mod sound;
#[cfg(test)]
mod tests;

use std::time::Duration;

pub use describe::{describe, describe_at};

use crate::unit::{Codec, SoundInfo};
use sound::SoundForm;

/// Longest packet in bytes, RTP header included: it fits into one datagram of an Ethernet.
pub const MAX_PACKET: usize = 1400;
/// Random bytes that a packetizer needs: source, first timestamp and first sequence number, which are all unguessable
/// as RFC 3550 asks (section 5.1).
pub const RANDOM: usize = 10;

/// Length of the RTP header.
const HEADER: usize = 12;
/// Most bytes behind it.
const MAX_PAYLOAD: usize = MAX_PACKET - HEADER;
/// Room for the tables of a JPEG image and some of its scan.
const LEAST_PAYLOAD: usize = 200;
/// Ticks a second of pictures.
const PICTURE_CLOCK: u32 = 90_000;
/// Payload type of the pictures that have no fixed one.
const PICTURE_TYPE: u8 = 96;
const JPEG_TYPE: u8 = 26;
const SENDER_REPORT: u8 = 200;
const SOURCE_DESCRIPTION: u8 = 202;
/// The canonical name that ties picture and sound together (RFC 3550, section 6.5.1).
const CNAME: &[u8] = b"sealcast";

/// Coding of what is sent.
#[derive(Clone, Debug)]
enum Form {
    H264,
    H265,
    Jpeg,
    Sound(SoundForm),
}

/// Cuts the pictures or the sound of one track into packets.
#[derive(Clone, Debug)]
pub struct Packetizer {
    form: Form,
    payload_type: u8,
    clock_rate: u32,
    source: u32,
    sequence: u16,
    base: u32,
    /// Most bytes behind a header.
    longest: usize,
    /// Packets and payload bytes so far, for reports; they wrap.
    packets: u32,
    bytes: u32,
}

impl Packetizer {
    /// For pictures of this codec; `None` if players have no form for it (AV1).
    pub fn for_picture(codec: Codec, random: [u8; RANDOM]) -> Option<Self> {
        let (form, payload_type) = match codec {
            Codec::H264 => (Form::H264, PICTURE_TYPE),
            Codec::H265 => (Form::H265, PICTURE_TYPE),
            Codec::Mjpeg => (Form::Jpeg, JPEG_TYPE),
            Codec::Av1 => return None,
        };
        Some(Self::new(form, payload_type, PICTURE_CLOCK, random))
    }

    /// For sound of this description; `None` if players have no form for it (Opus of more than two channels).
    pub fn for_sound(info: &SoundInfo, random: [u8; RANDOM]) -> Option<Self> {
        let form = SoundForm::of(info)?;
        let (payload_type, clock_rate) = (form.payload_type(), form.clock_rate());
        Some(Self::new(Form::Sound(form), payload_type, clock_rate, random))
    }

    fn new(form: Form, payload_type: u8, clock_rate: u32, random: [u8; RANDOM]) -> Self {
        let [s0, s1, s2, s3, t0, t1, t2, t3, n0, n1] = random;
        Self {
            form,
            payload_type,
            clock_rate,
            source: u32::from_be_bytes([s0, s1, s2, s3]),
            sequence: u16::from_be_bytes([n0, n1]),
            base: u32::from_be_bytes([t0, t1, t2, t3]),
            longest: MAX_PAYLOAD,
            packets: 0,
            bytes: 0,
        }
    }

    /// The same in payloads of at most so many bytes, from 200 up to those that fit into [`MAX_PACKET`].
    #[must_use]
    pub fn in_payloads_of(mut self, longest: usize) -> Self {
        self.longest = longest.clamp(LEAST_PAYLOAD, MAX_PAYLOAD);
        self
    }

    /// Cuts a picture, or a packet of sound, and appends the RTP packets to `out`.
    ///
    /// # Errors
    /// It has no form in RTP, for this reason; nothing was appended.
    pub fn cut(&mut self, media_time: Duration, data: &[u8], out: &mut Vec<Vec<u8>>) -> Result<(), &'static str> {
        let mut payloads = Vec::new();
        match &self.form {
            Form::H264 => nal::H264.cut(data, self.longest, &mut payloads),
            Form::H265 => nal::H265.cut(data, self.longest, &mut payloads),
            Form::Jpeg => jpeg::cut(data, self.longest, &mut payloads)?,
            Form::Sound(form) => form.cut(data, self.longest, &mut payloads),
        }
        let timestamp = self.timestamp(media_time);
        let count = payloads.len();
        for (at, payload) in payloads.into_iter().enumerate() {
            let marker = u8::from(at + 1 == count) << 7;
            let mut packet = Vec::with_capacity(HEADER + payload.len());
            packet.extend_from_slice(&[0x80, marker | self.payload_type]);
            packet.extend_from_slice(&self.sequence.to_be_bytes());
            packet.extend_from_slice(&timestamp.to_be_bytes());
            packet.extend_from_slice(&self.source.to_be_bytes());
            packet.extend_from_slice(&payload);
            self.sequence = self.sequence.wrapping_add(1);
            self.packets = self.packets.wrapping_add(1);
            self.bytes = self.bytes.wrapping_add(payload.len() as u32);
            out.push(packet);
        }
        Ok(())
    }

    /// The timestamp of a media time. It wraps.
    fn timestamp(&self, media_time: Duration) -> u32 {
        let ticks = media_time.as_nanos() * u128::from(self.clock_rate) / 1_000_000_000;
        self.base.wrapping_add(ticks as u32)
    }

    /// A sender report with the sender's name (RFC 3550, sections 6.4.1 and 6.5): the picture or sound of this media
    /// time was captured at `captured`, since 1970.
    pub fn report(&self, media_time: Duration, captured: Duration) -> Vec<u8> {
        /// Seconds from 1900 to 1970.
        const TO_NTP: u64 = 2_208_988_800;
        let seconds = (captured.as_secs() + TO_NTP) as u32;
        let fraction = ((u64::from(captured.subsec_nanos()) << 32) / 1_000_000_000) as u32;
        let mut report = vec![0x80, SENDER_REPORT, 0, 6];
        for word in [
            self.source,
            seconds,
            fraction,
            self.timestamp(media_time),
            self.packets,
            self.bytes,
        ] {
            report.extend_from_slice(&word.to_be_bytes());
        }
        // Source, item, length and name, and at least one zero up to a multiple of four bytes.
        let words = (4 + 2 + CNAME.len()) / 4 + 1;
        report.extend_from_slice(&[0x81, SOURCE_DESCRIPTION, 0, words as u8]);
        let begin = report.len();
        report.extend_from_slice(&self.source.to_be_bytes());
        report.extend_from_slice(&[1, CNAME.len() as u8]);
        report.extend_from_slice(CNAME);
        report.resize(begin + 4 * words, 0);
        report
    }
}
