//! The demo's figures, as its page gets them.
//!
//! Every time is in microseconds and every size in bytes. What is not known, or cannot be measured here, is `None`, and
//! the page says so instead of showing a zero.

use serde::Serialize;

/// Everything the page shows in figures at one moment.
#[derive(Clone, Debug, Default, Serialize)]
pub struct DemoStats {
    /// Seconds since the demo began.
    pub running_seconds: f64,
    /// The source in words, such as `test card, 640x480 at 25 frames/s, H.264 at 1.5 Mbit/s`.
    pub source: String,
    /// The path in words, such as `TCP on 127.0.0.1`.
    pub transport: String,
    /// The session's protection.
    pub session: SessionStats,
    /// Frames at each step since the demo began.
    pub frames: FrameCounts,
    /// How long each step takes, in the order in which a frame passes them.
    pub stages: Vec<StageStats>,
    /// From the complete picture at the source to the decoded picture at the viewer.
    pub end_to_end: Option<Spread>,
    /// How far the two ends' clocks may be apart; 0 where both read the same clock.
    pub clock_uncertainty_us: Option<f64>,
    /// What sealing costs; `None` until there are pairs enough.
    pub price: Option<Price>,
    /// The machine that runs both ends.
    pub machine: MachineStats,
}

/// How the session is protected.
#[derive(Clone, Debug, Default, Serialize)]
pub struct SessionStats {
    /// Name of the cipher suite, such as `aes-128-gcm`.
    pub suite: String,
    /// Name of the key establishment, such as `x25519-mlkem768`.
    pub mechanism: String,
    /// Generation of the keys in use.
    pub epoch: u64,
    /// Times the keys were replaced while frames ran.
    pub rekeys: u64,
    /// Time of the handshake.
    pub handshake_us: Option<f64>,
}

/// Frames that passed each step. Without loss all but the last two agree, save for frames under way.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct FrameCounts {
    /// Pictures taken by the source.
    pub captured: u64,
    /// Frames sealed.
    pub sealed: u64,
    /// Frames handed to the network.
    pub sent: u64,
    /// Frames that arrived complete.
    pub received: u64,
    /// Frames verified and opened.
    pub opened: u64,
    /// Frames decoded to pictures.
    pub decoded: u64,
    /// Records that did not verify: altered, replayed or forged.
    pub refused: u64,
    /// Frames left out on purpose because something was too slow.
    pub dropped: u64,
}

/// A step on a frame's way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// From the moment a picture is due to the moment it is complete.
    Capture,
    /// From the complete picture to the coded frame.
    Encode,
    /// Sealing all records of a frame.
    Seal,
    /// Handing the sealed records to the operating system.
    Send,
    /// From the time stamped into the frame just before sealing to its complete arrival; `Seal` and `Send` are inside.
    Network,
    /// Verifying and opening all records of a frame.
    Open,
    /// From the opened frame to the picture.
    Decode,
}

/// How long one step takes.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct StageStats {
    /// The step.
    pub stage: Stage,
    /// Its times.
    #[serde(flatten)]
    pub spread: Spread,
}

/// A distribution of times in short, over all samples since the demo began.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Spread {
    /// Half of the samples were no slower.
    pub p50_us: f64,
    /// 99 of 100 samples were no slower.
    pub p99_us: f64,
    /// The slowest sample.
    pub max_us: f64,
    /// Number of samples.
    pub samples: u64,
}

/// The cost of sealing and opening one frame beside the cost of carrying the same frame unsealed, measured in pairs.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Price {
    /// Median time per frame without protection.
    pub unsealed_us: f64,
    /// Median time per frame with protection.
    pub sealed_us: f64,
    /// Median difference within the pairs: the price.
    pub difference: Estimate,
    /// Number of pairs.
    pub pairs: u64,
    /// Time from frame to frame at the stream's rate, to compare with.
    pub frame_interval_us: f64,
    /// Bytes that protection adds to a frame on the wire, on average.
    pub added_bytes: f64,
    /// Bytes of a frame before protection, on average; 0 before the first one was sent.
    pub frame_bytes: f64,
}

/// A median with its 95 % confidence interval.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Estimate {
    /// The median.
    pub median_us: f64,
    /// Lower end of the interval.
    pub low_us: f64,
    /// Upper end of the interval.
    pub high_us: f64,
}

/// What the program takes of the machine.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct MachineStats {
    /// Processor time of the program: 100 is one core.
    pub cpu_percent: Option<f64>,
    /// Resident memory of the program.
    pub memory_bytes: Option<u64>,
    /// The processor's temperature; `None` where the machine does not tell.
    pub temperature_celsius: Option<f64>,
    /// Whether the H.264 codec has its assembly kernels, see [`asm_active`](crate::codec::asm_active).
    pub codec_assembly: Option<bool>,
}
