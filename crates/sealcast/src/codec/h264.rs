//! H.264 by openh264: each picture gives one frame at once, without delay in either direction.

use std::num::NonZeroU32;

use openh264::OpenH264API;
use openh264::decoder::{Decoder, DecoderConfig, Flush};
use openh264::encoder::{
    BitRate, Complexity, Encoder, EncoderConfig, FrameRate as MaxRate, FrameType, IntraFramePeriod, Level, Profile,
    QpRange, RateControlMode, UsageType, VuiConfig,
};
use openh264::formats::YUVSource;

use crate::codec::openh264_options;
use crate::codec::size::check_size;
use crate::failure::{Failure, FailureKind, Result};
use crate::media::{FrameRate, Picture};

/// Maximum size that the encoder accepts for landscape pictures; for portrait ones the sides are swapped.
const MAX_ENCODED: (usize, usize) = (3840, 2160);

/// Highest frame rate that the encoder's rate control supports, per second.
const MAX_CONTROLLED_HZ: f32 = 60.0;

/// Smallest side that the encoder accepts: one macroblock.
const MIN_ENCODED: usize = 16;

/// Default keyframe interval in seconds: the longest wait of a viewer who joins, and the precision of cutting a file.
const KEYFRAME_SECONDS: u32 = 2;

/// Levels by their number in a sequence parameter set (`level_idc`, H.264 table A-1).
const LEVELS: [(u8, Level); 16] = [
    (10, Level::Level_1_0),
    (11, Level::Level_1_1),
    (12, Level::Level_1_2),
    (13, Level::Level_1_3),
    (20, Level::Level_2_0),
    (21, Level::Level_2_1),
    (22, Level::Level_2_2),
    (30, Level::Level_3_0),
    (31, Level::Level_3_1),
    (32, Level::Level_3_2),
    (40, Level::Level_4_0),
    (41, Level::Level_4_1),
    (42, Level::Level_4_2),
    (50, Level::Level_5_0),
    (51, Level::Level_5_1),
    (52, Level::Level_5_2),
];

/// Settings of the encoder.
#[derive(Clone, Copy, Debug)]
pub struct H264Settings {
    /// Width in pixels, even.
    pub width: usize,
    /// Height in pixels, even.
    pub height: usize,
    /// Frames per second, for the rate control.
    pub rate: FrameRate,
    /// Target bit rate per second. A keyframe takes about ten times the share of another frame.
    pub bitrate: u32,
    /// Highest target that [`H264Encoder::set_bitrate`] will set, bits per second: the stream's level is chosen for it.
    pub bitrate_max: u32,
    /// Number of frames from keyframe to keyframe; `None`: keyframes only on request.
    pub keyframe_interval: Option<NonZeroU32>,
    /// Quantisation parameter of every picture, from 12 (best) to 51, in place of rate control; `None`: rate control.
    pub quantizer: Option<u8>,
}

impl H264Settings {
    /// Settings with a keyframe every two seconds.
    pub fn new(width: usize, height: usize, rate: FrameRate, bitrate: u32) -> Self {
        let frames = rate
            .numerator
            .saturating_mul(KEYFRAME_SECONDS)
            .div_ceil(rate.denominator.max(1));
        Self {
            width,
            height,
            rate,
            bitrate,
            bitrate_max: bitrate,
            keyframe_interval: NonZeroU32::new(frames),
            quantizer: None,
        }
    }

    fn check(&self) -> Result<()> {
        check_size(self.width, self.height)?;
        let (long, short) = (self.width.max(self.height), self.width.min(self.height));
        if long > MAX_ENCODED.0 || short > MAX_ENCODED.1 || short < MIN_ENCODED {
            return Err(Failure::new(
                FailureKind::Source,
                format!(
                    "the H.264 encoder cannot encode pictures of {}x{} pixels",
                    self.width, self.height
                ),
                format!(
                    "choose a size from {MIN_ENCODED}x{MIN_ENCODED} to {}x{}",
                    MAX_ENCODED.0, MAX_ENCODED.1
                ),
            ));
        }
        Ok(())
    }

    /// Frames per second. f32 is precise enough: the rate is only a hint to the rate control.
    fn hz(&self) -> f32 {
        self.rate.numerator as f32 / self.rate.denominator.max(1) as f32
    }

    /// Bit rate that the library is told for `bits_per_second`. It clamps the frame rate to its limit and would give
    /// each picture too many bits, so lower the bit rate in proportion.
    fn controlled(&self, bits_per_second: u32) -> u32 {
        (bits_per_second as f32 * (MAX_CONTROLLED_HZ / self.hz()).min(1.0)) as u32
    }

    /// An encoder for this bit rate, whose streams have that level; `None`: the lowest that carries the rate.
    fn start(&self, bits_per_second: u32, level: Option<Level>, control: RateControlMode) -> Result<Encoder> {
        let quality = match self.quantizer {
            Some(quantizer) => QpRange::new(quantizer, quantizer),
            None => QpRange::default(),
        };
        let mut config = EncoderConfig::new()
            .qp(quality)
            .bitrate(BitRate::from_bps(self.controlled(bits_per_second)))
            .max_frame_rate(MaxRate::from_hz(self.hz()))
            .rate_control_mode(control)
            // On by default; then some pictures go in without a frame coming out.
            .skip_frames(false)
            // On by default; then large frames come at unexpected times.
            .scene_change_detect(false)
            .usage_type(UsageType::CameraVideoRealTime)
            .profile(Profile::Baseline)
            .complexity(Complexity::Low)
            // More threads would cut the picture into slices and cost quality; one core is enough for 1080p.
            .num_threads(1)
            // Keyframes are scheduled here, so that one on request restarts the interval.
            .intra_frame_period(IntraFramePeriod::from_num_frames(0))
            .vui(VuiConfig::bt601());
        if let Some(level) = level {
            config = config.level(level);
        }
        let mut encoder = Encoder::with_api_config(OpenH264API::from_source(), config).map_err(|e| {
            Failure::new(
                FailureKind::Source,
                format!("the H.264 encoder does not start ({e})"),
                "free some memory",
            )
        })?;
        if !openh264_options::silence(&mut encoder) {
            return Err(refused("to be quiet"));
        }
        Ok(encoder)
    }
}

/// The library did not take an option that it documents.
fn refused(what: &str) -> Failure {
    Failure::new(
        FailureKind::Source,
        format!("the H.264 encoder refuses {what}"),
        "start the stream again; report it if it comes back",
    )
}

/// Encodes pictures of one size as H.264 Baseline in Annex B.
pub struct H264Encoder {
    encoder: Encoder,
    settings: H264Settings,
    level: Option<Level>,
    parameters: Vec<u8>,
    since_keyframe: u32,
    /// Target bit rate that the library has,
    aim: u32,
    /// and the one from the next picture on.
    wanted: u32,
    /// True once the library has encoded a picture: it is initialised then.
    running: bool,
}

impl H264Encoder {
    /// Creates an encoder; its first frame is a keyframe.
    ///
    /// # Errors
    /// The encoder does not support that size, or cannot start.
    pub fn new(settings: H264Settings) -> Result<Self> {
        settings.check()?;
        // The parameter sets must be known before the first picture, and name a level that carries the highest rate,
        // for the running encoder does not write others. A temporary encoder produces them; this leaves the rate
        // control of the real one undisturbed.
        let highest = settings.bitrate_max.max(settings.bitrate);
        let mut probe = settings.start(highest, None, RateControlMode::Off)?;
        let first = encode(&mut probe, &Picture::black(settings.width, settings.height))?.0;
        let parameters = parameter_sets(&first);
        let level = level(&parameters);
        Ok(Self {
            encoder: settings.start(settings.bitrate, level, RateControlMode::Bitrate)?,
            settings,
            level,
            parameters,
            since_keyframe: 0,
            aim: settings.bitrate,
            wanted: settings.bitrate,
            running: false,
        })
    }

    /// SPS and PPS in Annex B, the same as before every keyframe.
    pub fn parameters(&self) -> &[u8] {
        &self.parameters
    }

    /// Make the next frame a keyframe.
    pub fn request_keyframe(&mut self) {
        self.since_keyframe = 0;
    }

    /// Set the target to this many bits per second, at most [`H264Settings::bitrate_max`], from the next picture on. No
    /// keyframe is made. An encoder of constant quality has no target, and ignores it.
    pub fn set_bitrate(&mut self, bits_per_second: u32) {
        if self.settings.quantizer.is_none() {
            let highest = self.settings.bitrate_max.max(self.settings.bitrate);
            self.wanted = bits_per_second.clamp(1, highest);
        }
    }

    /// Have the library aim at the wanted rate.
    fn follow(&mut self) -> Result<()> {
        if self.running {
            let settings = &self.settings;
            let highest = settings.bitrate_max.max(settings.bitrate);
            let (rate, limit) = (settings.controlled(self.wanted), settings.controlled(highest));
            if !openh264_options::set_bitrate(&mut self.encoder, rate, limit) {
                return Err(refused(&format!("a target of {} bit/s", self.wanted)));
            }
        } else {
            // It is initialised with its first picture, and takes no rate before.
            self.encoder = self.settings.start(self.wanted, self.level, RateControlMode::Bitrate)?;
        }
        self.aim = self.wanted;
        Ok(())
    }

    /// Encode one picture. Returns the access unit, and true if it is a keyframe (with parameter sets in front).
    ///
    /// # Errors
    /// The picture does not have the size in the settings, or the encoder failed.
    pub fn encode(&mut self, picture: &Picture) -> Result<(Vec<u8>, bool)> {
        if (picture.width, picture.height) != (self.settings.width, self.settings.height) {
            return Err(Failure::new(
                FailureKind::Source,
                format!(
                    "a picture of {}x{} pixels came into a stream of {}x{}",
                    picture.width, picture.height, self.settings.width, self.settings.height
                ),
                "start the stream again with the new size",
            ));
        }
        if self.wanted != self.aim {
            self.follow()?;
        }
        // The very first frame is a keyframe anyway; forcing it does no harm.
        if self.since_keyframe == 0 {
            self.encoder.force_intra_frame();
        }
        let (data, keyframe) = encode(&mut self.encoder, picture)?;
        self.running = true;
        self.since_keyframe = if keyframe {
            1
        } else {
            self.since_keyframe.saturating_add(1)
        };
        if self
            .settings
            .keyframe_interval
            .is_some_and(|interval| self.since_keyframe >= interval.get())
        {
            self.since_keyframe = 0;
        }
        Ok((data, keyframe))
    }
}

fn encode(encoder: &mut Encoder, picture: &Picture) -> Result<(Vec<u8>, bool)> {
    let fail = |what: String| {
        Failure::new(
            FailureKind::Source,
            what,
            "start the stream again; report it if it comes back",
        )
    };
    let stream = encoder
        .encode(&Planes(picture))
        .map_err(|e| fail(format!("the H.264 encoder failed ({e})")))?;
    let keyframe = matches!(stream.frame_type(), FrameType::IDR | FrameType::I);
    let data = stream.to_vec();
    if data.is_empty() {
        return Err(fail("the H.264 encoder swallowed a picture".into()));
    }
    Ok((data, keyframe))
}

/// The NAL units of types SPS (7) and PPS (8) of an access unit in Annex B, with start codes of four bytes.
fn parameter_sets(annex_b: &[u8]) -> Vec<u8> {
    let mut starts: Vec<usize> = (3..=annex_b.len())
        .filter(|&i| annex_b[i - 3..i] == [0, 0, 1])
        .collect();
    starts.push(annex_b.len() + 3);
    let mut sets = Vec::new();
    for pair in starts.windows(2) {
        // A start code of four bytes begins with a zero that is cut with the previous unit; no unit itself ends in a
        // zero.
        let unit = &annex_b[pair[0]..pair[1] - 3];
        let unit = &unit[..unit.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1)];
        if unit.first().is_some_and(|header| matches!(header & 0x1f, 7 | 8)) {
            sets.extend_from_slice(&[0, 0, 0, 1]);
            sets.extend_from_slice(unit);
        }
    }
    sets
}

/// The level that parameter sets name; `None` if it is none of those in the standard.
fn level(parameters: &[u8]) -> Option<Level> {
    // A start code, the header of the sequence parameter set, its profile and its constraints stand before.
    let number = parameters.get(7)?;
    LEVELS
        .iter()
        .find(|(known, _)| known == number)
        .map(|&(_, level)| level)
}

/// Passes a picture to the encoder without copying it.
struct Planes<'a>(&'a Picture);

impl YUVSource for Planes<'_> {
    fn dimensions(&self) -> (usize, usize) {
        (self.0.width, self.0.height)
    }
    fn strides(&self) -> (usize, usize, usize) {
        (self.0.width, self.0.width / 2, self.0.width / 2)
    }
    fn y(&self) -> &[u8] {
        &self.0.y
    }
    fn u(&self) -> &[u8] {
        &self.0.u
    }
    fn v(&self) -> &[u8] {
        &self.0.v
    }
}

/// Decodes H.264 in Annex B, one frame at a time, without delay.
///
/// The codec is C++ code that parses its input: frames from the network must be verified before they are decoded.
pub struct H264Decoder {
    decoder: Decoder,
}

impl H264Decoder {
    /// Creates a decoder that waits for a keyframe.
    ///
    /// # Errors
    /// The decoder cannot start.
    pub fn new() -> Result<Self> {
        let config = DecoderConfig::new().flush_after_decode(Flush::NoFlush);
        let decoder = Decoder::with_api_config(OpenH264API::from_source(), config).map_err(|e| {
            Failure::new(
                FailureKind::Sink,
                format!("the H.264 decoder does not start ({e})"),
                "free some memory",
            )
        })?;
        Ok(Self { decoder })
    }

    /// Decode one access unit; `None` if it contains only parameter sets.
    ///
    /// # Errors
    /// The frame is damaged, or an earlier frame is missing. The decoder stays usable: request a keyframe, and skip
    /// frames until it arrives.
    pub fn decode(&mut self, frame: &[u8]) -> Result<Option<Picture>> {
        let decoded = self.decoder.decode(frame).map_err(|e| {
            Failure::new(
                FailureKind::Sink,
                format!("a frame of {} bytes does not decode as H.264 ({e})", frame.len()),
                "a frame before it is missing or damaged; ask the source for a keyframe and wait for it",
            )
        })?;
        let Some(yuv) = decoded else { return Ok(None) };
        let (width, height) = yuv.dimensions();
        check_size(width, height)?;
        let strides = yuv.strides();
        Ok(Some(Picture {
            width,
            height,
            y: pack(yuv.y(), strides.0, width, height),
            u: pack(yuv.u(), strides.1, width / 2, height / 2),
            v: pack(yuv.v(), strides.2, width / 2, height / 2),
        }))
    }
}

/// Copies a plane without the padding of its rows.
fn pack(plane: &[u8], stride: usize, width: usize, height: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(width * height);
    for row in plane.chunks(stride).take(height) {
        out.extend_from_slice(&row[..width]);
    }
    out
}
