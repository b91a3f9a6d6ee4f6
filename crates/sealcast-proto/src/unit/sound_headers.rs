//! Descriptions of sound from what the headers of files and cameras say of it.

use super::{SoundCodec, SoundInfo};

/// Longest packet of sound in bytes. Codecs make some hundred, or few thousand with many channels.
pub const MAX_SOUND_BYTES: usize = 64 << 10;

/// Samples a second by the index in an AudioSpecificConfig (ISO/IEC 14496-3, table 1.18).
pub(crate) const AAC_RATES: [u32; 13] = [
    96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8_000, 7_350,
];
/// The index after which the rate itself follows, in 24 bits.
const AAC_EXPLICIT_RATE: u32 = 15;
/// The audio object type after which six more bits follow.
const AAC_ESCAPE: u32 = 31;
/// Longest duration of an Opus packet in samples: 120 ms (RFC 6716).
const LONGEST_OPUS: u64 = 5760;
/// The magic before an OpusHead (RFC 7845, section 5.1).
pub const OPUS_MAGIC: &[u8] = b"OpusHead";
/// Audio object types with spectral band replication, behind which the type that it builds on follows.
const AAC_EXTENDED: [u32; 2] = [5, 29];

/// Reads bits, most significant first.
pub(crate) struct Bits<'a> {
    data: &'a [u8],
    at: usize,
}

impl<'a> Bits<'a> {
    pub(crate) fn new(data: &'a [u8]) -> Self {
        Self { data, at: 0 }
    }

    /// Takes so many bits, at most 32.
    pub(crate) fn take(&mut self, count: u32) -> Option<u32> {
        (0..count).try_fold(0, |value, _| {
            let byte = *self.data.get(self.at / 8)?;
            let bit = byte >> (7 - self.at % 8) & 1;
            self.at += 1;
            Some(value << 1 | u32::from(bit))
        })
    }
}

/// The beginning of an AudioSpecificConfig (ISO/IEC 14496-3, 1.6.2.1).
pub(crate) struct AacConfig {
    /// Audio object type; where it is one with spectral band replication, of what that builds on.
    pub(crate) core: u32,
    pub(crate) samples_per_second: u32,
    /// Channel configuration.
    pub(crate) layout: u32,
}

/// Reads the beginning of an AudioSpecificConfig, up to what is the type's own.
pub(crate) fn aac_config(bits: &mut Bits<'_>) -> Option<AacConfig> {
    let kind = object_type(bits)?;
    let samples_per_second = sample_rate(bits)?;
    let layout = bits.take(4)?;
    let mut core = kind;
    if AAC_EXTENDED.contains(&kind) {
        sample_rate(bits)?;
        core = object_type(bits)?;
    }
    Some(AacConfig {
        core,
        samples_per_second,
        layout,
    })
}

/// Describes AAC with this AudioSpecificConfig. `channels` is what the container says, for configurations that define
/// their channels by themselves. `None` if no decoder would understand it.
pub fn aac(config: &[u8], channels: u16) -> Option<SoundInfo> {
    let mut bits = Bits::new(config);
    let AacConfig {
        samples_per_second,
        layout,
        ..
    } = aac_config(&mut bits)?;
    let channels = match layout {
        0 => channels,
        7 => 8,
        layout => u16::try_from(layout).ok()?,
    };
    // Of AAC-LC, the first bit after these says which of two lengths a frame has.
    let short = bits.take(1) == Some(1);
    valid(SoundInfo {
        codec: SoundCodec::Aac,
        channels,
        samples_per_second,
        samples_per_frame: if short { 960 } else { 1024 },
        parameters: config.to_vec(),
    })
}

fn object_type(bits: &mut Bits<'_>) -> Option<u32> {
    match bits.take(5)? {
        AAC_ESCAPE => Some(32 + bits.take(6)?),
        kind => Some(kind),
    }
}

fn sample_rate(bits: &mut Bits<'_>) -> Option<u32> {
    match bits.take(4)? {
        AAC_EXPLICIT_RATE => bits.take(24),
        index => AAC_RATES.get(index as usize).copied(),
    }
}

/// Describes Opus with this `dOps` box (without the box's header), whose numbers are big-endian.
pub fn opus(dops: &[u8], samples_per_frame: u32) -> Option<SoundInfo> {
    let [0, channels, pre_skip @ ..] = dops else {
        return None;
    };
    let [
        skip_a,
        skip_b,
        rate_a,
        rate_b,
        rate_c,
        rate_d,
        gain_a,
        gain_b,
        rest @ ..,
    ] = pre_skip
    else {
        return None;
    };
    let head = [
        1, *channels, *skip_b, *skip_a, *rate_d, *rate_c, *rate_b, *rate_a, *gain_b, *gain_a,
    ];
    valid(SoundInfo {
        codec: SoundCodec::Opus,
        channels: (*channels).into(),
        samples_per_second: 48_000,
        samples_per_frame,
        parameters: [&head, rest].concat(),
    })
}

/// Describes Opus with this OpusHead, whose numbers are little-endian, behind its magic.
pub fn opus_head(head: &[u8], samples_per_frame: u32) -> Option<SoundInfo> {
    let parameters = head.strip_prefix(OPUS_MAGIC)?;
    valid(SoundInfo {
        codec: SoundCodec::Opus,
        channels: (*parameters.get(1)?).into(),
        samples_per_second: 48_000,
        samples_per_frame,
        parameters: parameters.to_vec(),
    })
}

/// Samples of an Opus stream that are left out at its beginning, by its OpusHead without its magic.
pub fn opus_pre_skip(head: &[u8]) -> u16 {
    head.get(2..4).map_or(0, |skip| u16::from_le_bytes([skip[0], skip[1]]))
}

/// The `dOps` box (without the box's header) of an OpusHead without its magic.
pub fn dops(head: &[u8]) -> Vec<u8> {
    let mut out = head.to_vec();
    if let [version, _, numbers @ ..] = &mut out[..]
        && numbers.len() >= 8
    {
        *version = 0;
        numbers[..2].reverse();
        numbers[2..6].reverse();
        numbers[6..8].reverse();
    }
    out
}

/// Samples of each channel in a packet, by its codec; 0 if it does not say.
pub fn samples(info: &SoundInfo, packet: &[u8]) -> u64 {
    match info.codec {
        SoundCodec::Aac => info.samples_per_frame.into(),
        SoundCodec::Opus => opus_samples(packet),
        SoundCodec::Ulaw | SoundCodec::Alaw => packet.len() as u64 / u64::from(info.channels.max(1)),
    }
}

/// Samples at 48 kHz in an Opus packet (RFC 6716, section 3); 0 if it is none.
fn opus_samples(packet: &[u8]) -> u64 {
    let Some(&toc) = packet.first() else { return 0 };
    let frame = match toc >> 3 {
        config @ 0..12 => [480, 960, 1920, 2880][usize::from(config % 4)],
        config @ 12..16 => [480, 960][usize::from(config % 2)],
        config => [120, 240, 480, 960][usize::from(config % 4)],
    };
    let frames = match toc & 3 {
        0 => 1,
        1 | 2 => 2,
        _ => u64::from(packet.get(1).map_or(0, |count| count & 0x3f)),
    };
    Some(frame * frames)
        .filter(|samples| *samples <= LONGEST_OPUS)
        .unwrap_or(0)
}

/// Describes G.711.
pub fn g711(codec: SoundCodec, channels: u16, samples_per_second: u32) -> Option<SoundInfo> {
    valid(SoundInfo {
        codec,
        channels,
        samples_per_second,
        samples_per_frame: 0,
        parameters: Vec::new(),
    })
}

fn valid(info: SoundInfo) -> Option<SoundInfo> {
    Some(info).filter(SoundInfo::is_valid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_audio_specific_config_says_rate_channels_and_length() {
        let lc = aac(&[0x11, 0x90], 1).expect("AAC-LC, 48 kHz, stereo");
        assert_eq!(
            (lc.channels, lc.samples_per_second, lc.samples_per_frame),
            (2, 48_000, 1024)
        );
        let six = aac(&[0x11, 0xb0], 2).expect("six channels");
        assert_eq!(six.channels, 6);
        let short = aac(&[0x11, 0x94], 2).expect("960 samples");
        assert_eq!(short.samples_per_frame, 960);
        // Type 2, index 15, 44 100 Hz in 24 bits, mono.
        let explicit = aac(&[0x17, 0x80, 0x56, 0x22, 0x08], 2).expect("a rate of its own");
        assert_eq!((explicit.samples_per_second, explicit.channels), (44_100, 1));
        assert_eq!(aac(&[0x11, 0x80], 5).expect("the container says").channels, 5);
        // With spectral band replication: 8 kHz, which becomes 16 kHz.
        let extended = aac(&[0x2d, 0x8c, 0x08, 0x00], 1).expect("HE-AAC");
        assert_eq!((extended.samples_per_second, extended.samples_per_frame), (8_000, 1024));
        for wrong in [&[][..], &[0x11], &[0x16, 0x90], &[0x17, 0x80]] {
            assert_eq!(aac(wrong, 2), None, "{wrong:?}");
        }
    }

    #[test]
    fn an_opus_head_is_that_of_its_box_in_the_other_byte_order() {
        let boxed = [0, 2, 0x01, 0x38, 0, 0, 0xbb, 0x80, 0xff, 0x00, 0];
        let info = opus(&boxed, 960).expect("stereo");
        assert_eq!(info.parameters, [1, 2, 0x38, 0x01, 0x80, 0xbb, 0, 0, 0x00, 0xff, 0]);
        assert_eq!(dops(&info.parameters), boxed);
        let surround = [&[0, 6, 0, 0, 0, 0, 0xbb, 0x80, 0, 0, 1, 4, 2][..], &[0, 4, 1, 2, 3, 5]].concat();
        assert_eq!(dops(&opus(&surround, 0).expect("six channels").parameters), surround);
        assert_eq!(opus(&boxed[..9], 0), None);
        assert_eq!(opus(&[&[1][..], &boxed[1..]].concat(), 0), None);
    }

    #[test]
    fn opus_says_how_long_a_packet_is() {
        for (packet, samples) in [
            (&[0xfc, 1][..], 960),
            (&[0x78 | 1, 1], 1920),
            (&[0xe0, 1], 120),
            (&[0x1b, 3, 1], 8640),
            (&[0x0b, 3, 1], 2880),
            (&[], 0),
        ] {
            let known = if samples > LONGEST_OPUS { 0 } else { samples };
            assert_eq!(opus_samples(packet), known, "{packet:?}");
        }
    }
}
