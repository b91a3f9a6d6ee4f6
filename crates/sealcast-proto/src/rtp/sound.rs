//! Sound out of RTP packets: AAC, Opus (RFC 7587) and G.711 (RFC 3551).

use super::aac::Aac;
use super::ready_sound::ReadySound;
use super::{Damage, Format, RtpPacket, Unit};
use crate::unit::sound_headers;
use crate::unit::{SoundCodec, SoundInfo};

/// Samples a second of Opus, whatever was recorded.
const OPUS_RATE: u32 = 48_000;

/// Puts the sound of one track together.
#[derive(Debug)]
pub struct SoundDepacketizer {
    info: SoundInfo,
    /// For AAC; a packet of other sound is a packet as it is.
    aac: Option<Aac>,
    ready: ReadySound,
}

impl SoundDepacketizer {
    /// Prepares for sound of this format.
    ///
    /// # Errors
    /// Why it is left out, in words that follow the name of its encoding and a comma: `which is not carried`.
    pub fn new(format: &Format) -> Result<Self, &'static str> {
        let channels = format.channels.into();
        let (info, aac) = match format.encoding.as_str() {
            "mpeg4-generic" => {
                let (aac, info) = Aac::new(format)?;
                (Some(info), Some(aac))
            }
            "opus" => (opus(format), None),
            "pcmu" => (sound_headers::g711(SoundCodec::Ulaw, channels, format.clock_rate), None),
            "pcma" => (sound_headers::g711(SoundCodec::Alaw, channels, format.clock_rate), None),
            "mp4a-latm" => return Err("which is AAC in LATM, and is not carried"),
            _ => return Err("which is not carried"),
        };
        Ok(Self {
            info: info.ok_or("which has a rate or channels that no viewer could play")?,
            aac,
            ready: ReadySound::default(),
        })
    }

    /// Description of the sound.
    pub fn info(&self) -> &SoundInfo {
        &self.info
    }

    /// Takes a packet, in order. `lost` is true if packets before it are missing.
    pub fn push(&mut self, packet: &RtpPacket<'_>, lost: bool) {
        self.ready.lost |= lost;
        match &mut self.aac {
            Some(aac) => aac.push(packet, lost, &mut self.ready),
            None => self.ready.unit(packet.timestamp, packet.payload),
        }
    }

    /// Returns the next packet of sound. To be called until it returns `None`.
    pub fn poll(&mut self) -> Option<Unit> {
        self.ready.units.pop_front()
    }

    /// Returns what was left out since the last call.
    pub fn take_damage(&mut self) -> Damage {
        std::mem::take(&mut self.ready.damage)
    }
}

/// Describes Opus (RFC 7587, section 6.1). All of it says that it has two channels, and `sprop-stereo` whether it has.
fn opus(format: &Format) -> Option<SoundInfo> {
    let stereo = format.parameter("sprop-stereo") == Some("1");
    // Who joins has no beginning of the stream, of which samples would have to be left out.
    let pre_skip = [0, 0];
    let rate = OPUS_RATE.to_be_bytes();
    let dops = [&[0, 1 + u8::from(stereo)][..], &pre_skip, &rate, &[0; 3]].concat();
    sound_headers::opus(&dops, 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rtp::MediaDescription;
    use crate::rtp::bounds::MAX_READY_SOUND;
    use crate::unit::sound_headers::MAX_SOUND_BYTES;

    fn depacketizer(sdp: &str) -> Result<SoundDepacketizer, &'static str> {
        let media = MediaDescription::parse(sdp.as_bytes()).media;
        SoundDepacketizer::new(media[0].format().expect("a format"))
    }

    fn packet(timestamp: u32, payload: &[u8]) -> RtpPacket<'_> {
        RtpPacket {
            payload_type: 0,
            marker: true,
            sequence: 0,
            timestamp,
            source: 1,
            extension: None,
            payload,
        }
    }

    #[test]
    fn a_packet_of_opus_or_g711_is_one_of_sound() {
        for (sdp, codec, channels, rate) in [
            ("m=audio 0 RTP/AVP 0", SoundCodec::Ulaw, 1, 8_000),
            (
                "m=audio 0 RTP/AVP 8\na=rtpmap:8 pcma/16000/2\n",
                SoundCodec::Alaw,
                2,
                16_000,
            ),
            (
                "m=audio 0 RTP/AVP 97\na=rtpmap:97 OPUS/48000/2\n",
                SoundCodec::Opus,
                1,
                48_000,
            ),
            (
                "m=audio 0 RTP/AVP 97\na=rtpmap:97 opus/48000/2\na=fmtp:97 useinbandfec=1; Sprop-Stereo=1",
                SoundCodec::Opus,
                2,
                48_000,
            ),
        ] {
            let mut sound = depacketizer(sdp).expect(sdp);
            let info = sound.info();
            assert_eq!(
                (info.codec, info.channels, info.samples_per_second),
                (codec, channels, rate),
                "{sdp}"
            );
            sound.push(&packet(7, b"odd"), false);
            sound.push(&packet(8, b""), true);
            sound.push(&packet(9, b"length"), false);
            let unit = |timestamp, lost, data: &[u8]| Unit {
                timestamp,
                lost,
                data: data.to_vec(),
            };
            assert_eq!(sound.poll(), Some(unit(7, false, b"odd")));
            assert_eq!(
                sound.poll(),
                Some(unit(9, true, b"length")),
                "the loss before the empty packet"
            );
            assert_eq!(sound.poll(), None);
            assert_eq!(sound.take_damage(), Damage::default());
        }
    }

    #[test]
    fn sound_that_cannot_be_carried_is_left_out_with_a_reason() {
        for (sdp, reason) in [
            ("m=audio 0 RTP/AVP 9", "which is not carried"),
            (
                "m=audio 0 RTP/AVP 97\na=rtpmap:97 G726-32/8000\n",
                "which is not carried",
            ),
            (
                "m=audio 0 RTP/AVP 97\na=rtpmap:97 L16/48000/2\n",
                "which is not carried",
            ),
            ("m=audio 0 RTP/AVP 97\na=rtpmap:97 AMR/8000\n", "which is not carried"),
            ("m=audio 0 RTP/AVP 97\n", "which is not carried"),
            (
                "m=audio 0 RTP/AVP 97\na=rtpmap:97 MP4A-LATM/90000\n",
                "which is AAC in LATM, and is not carried",
            ),
            (
                "m=audio 0 RTP/AVP 0\na=rtpmap:0 PCMU/1\n",
                "which has a rate or channels that no viewer could play",
            ),
            (
                "m=audio 0 RTP/AVP 0\na=rtpmap:0 PCMU/8000/9\n",
                "which has a rate or channels that no viewer could play",
            ),
        ] {
            assert_eq!(depacketizer(sdp).err(), Some(reason), "{sdp}");
        }
    }

    #[test]
    fn what_is_not_taken_does_not_grow() {
        let mut sound = depacketizer("m=audio 0 RTP/AVP 0").expect("G.711");
        for timestamp in 0..300 {
            sound.push(&packet(timestamp, b"x"), false);
        }
        sound.push(&packet(300, &vec![0; MAX_SOUND_BYTES + 1]), false);
        let taken: Vec<_> = std::iter::from_fn(|| sound.poll()).collect();
        assert_eq!((taken.len(), taken[0].timestamp), (MAX_READY_SOUND, 44));
        assert_eq!(sound.take_damage().units, 45);
        assert_eq!(sound.take_damage(), Damage::default());
    }
}
