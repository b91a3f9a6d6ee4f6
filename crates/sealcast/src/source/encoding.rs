//! Encoding as H.264 of pictures that a source has raw.

use std::num::NonZeroU32;

use super::url::Options;
use crate::codec::H264Settings;
use crate::failure::{Failure, FailureKind, Result};
use crate::media::FrameRate;

/// Lowest and highest bit rate, per second.
pub(super) const MIN_BITRATE: u32 = 20_000;
const MAX_BITRATE: u32 = 200_000_000;

/// Quantisation parameters that the encoder keeps to: below 12 it does not go.
const QUANTIZERS: std::ops::RangeInclusive<u8> = 12..=COARSEST;
/// The highest of H.264 (ITU-T H.264, 7.4.2.2).
const COARSEST: u8 = 51;

/// Bit rate unless the user names another, per second.
const USUAL_BITRATE: u32 = 1_500_000;

/// Options of sources that encode, as in `?bitrate=2M&gop=50`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Encoding {
    /// Bits per second.
    pub bitrate: u32,
    /// Maximum that the bit rate may rise to if the path allows it; `None`: no more than `bitrate`.
    pub bitrate_max: Option<u32>,
    /// Frames from keyframe to keyframe; 0: only on request; `None`: two seconds.
    pub gop: Option<u32>,
    /// Quantisation parameter of every picture, in place of rate control: quality is constant, and sizes follow what
    /// happens in the picture.
    pub quantizer: Option<u8>,
}

impl Default for Encoding {
    fn default() -> Self {
        Self {
            bitrate: USUAL_BITRATE,
            bitrate_max: None,
            gop: None,
            quantizer: None,
        }
    }
}

impl Encoding {
    /// The names of the options, for messages.
    pub(super) const NAMES: [&'static str; 4] = ["bitrate", "bitrate_max", "gop", "quantizer"];

    /// Takes its options out of those of a URL; `None` if there is none of them.
    ///
    /// # Errors
    /// Kind `Usage`: a value makes no sense.
    pub(super) fn take(options: &mut Options) -> Result<Option<Self>> {
        let mut taken = None;
        for name in Self::NAMES {
            if let Some(value) = options.take(name) {
                let encoding: &mut Self = taken.get_or_insert_default();
                encoding.set(name, &value).map_err(|hint| {
                    Failure::new(FailureKind::Usage, format!("\"{name}={value}\" makes no sense"), hint)
                })?;
            }
        }
        Ok(taken)
    }

    /// Sets one of [`NAMES`](Self::NAMES).
    ///
    /// # Errors
    /// The value makes no sense; a hint says what does.
    pub(super) fn set(&mut self, name: &str, value: &str) -> std::result::Result<(), &'static str> {
        if name == "gop" {
            let hint = "write the frames from keyframe to keyframe, such as gop=50; 0 for keyframes on demand only";
            self.gop = Some(value.parse().map_err(|_| hint)?);
            return Ok(());
        }
        if name == "quantizer" {
            let quantizer = value.parse().ok().filter(|quantizer| QUANTIZERS.contains(quantizer));
            self.quantizer = Some(quantizer.ok_or("write 12, which is best, to 51, such as quantizer=28")?);
            return Ok(());
        }
        let bits = parse_bits(value)
            .filter(|bits| (MIN_BITRATE..=MAX_BITRATE).contains(bits))
            .ok_or("write bits per second from 20k to 200M, such as bitrate=1.5M")?;
        match name {
            "bitrate" => self.bitrate = bits,
            _ => self.bitrate_max = Some(bits),
        }
        Ok(())
    }

    /// Settings of the encoder for pictures of that size and rate.
    pub(super) fn settings(&self, width: usize, height: usize, rate: FrameRate) -> H264Settings {
        let mut settings = H264Settings::new(width, height, rate, self.bitrate);
        if let Some(gop) = self.gop {
            settings.keyframe_interval = NonZeroU32::new(gop);
        }
        settings.bitrate_max = self.most();
        settings.quantizer = self.quantizer;
        settings
    }

    /// For a stream whose traffic is constant: `bits_per_second` all the time, and keyframes only on request.
    pub(super) fn constant(bits_per_second: u64) -> Self {
        Self {
            // Less is below what any picture takes, and the caller refuses it.
            bitrate: u32::try_from(bits_per_second).unwrap_or(u32::MAX).max(MIN_BITRATE),
            bitrate_max: None,
            gop: Some(0),
            quantizer: None,
        }
    }

    /// The same at the lowest quality, to measure what pictures take at least.
    pub(super) fn lowest(self) -> Self {
        Self {
            quantizer: Some(COARSEST),
            ..self
        }
    }

    /// True if the encoder follows what the paths to the viewers carry.
    pub(super) fn follows(&self) -> bool {
        self.quantizer.is_none()
    }

    /// The bit rate that the encoder gets if the paths to the viewers carry `bits_per_second`.
    pub(super) fn within(&self, bits_per_second: u64) -> u32 {
        let wanted = u32::try_from(bits_per_second).unwrap_or(u32::MAX);
        wanted.clamp(MIN_BITRATE, self.most())
    }

    /// The highest bit rate of the encoder.
    fn most(&self) -> u32 {
        self.bitrate.max(self.bitrate_max.unwrap_or(0))
    }
}

/// Parses `1500000`, `300k` or `1.5M`.
fn parse_bits(text: &str) -> Option<u32> {
    let (number, unit) = match text.as_bytes().last()? {
        b'k' => (&text[..text.len() - 1], 1e3),
        b'M' => (&text[..text.len() - 1], 1e6),
        _ => (text, 1.0),
    };
    let bits = number.parse::<f64>().ok()? * unit;
    // Finite and in range after this check, so the cast only drops a fraction of a bit.
    (1.0..=f64::from(u32::MAX)).contains(&bits).then_some(bits as u32)
}
