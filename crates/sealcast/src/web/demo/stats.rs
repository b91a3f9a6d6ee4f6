//! Statistics for the demo's page.
//!
//! All times are in microseconds and all sizes in bytes. A value that is unknown, or cannot be measured on this
//! machine, is `None`; the page then says so instead of showing 0.

use serde::Serialize;

/// All statistics that the page shows, at one moment.
#[derive(Clone, Debug, Default, Serialize)]
pub struct DemoStats {
    /// Seconds since the demo started.
    pub running_seconds: f64,
    /// Description of the source, such as `test card, 640x480 at 25 frames/s, H.264 at 1.5 Mbit/s`.
    pub source: String,
    /// Description of the path, such as `TCP on 127.0.0.1`.
    pub transport: String,
    /// The session's protection.
    pub session: SessionStats,
    /// Number of frames at each step since the demo started.
    pub frames: FrameCounts,
    /// Time that each step takes, in the order in which a frame passes them.
    pub stages: Vec<StageStats>,
    /// From the beginning of the picture at the source until it is passed to the page at the viewer.
    pub end_to_end: Option<Spread>,
    /// Uncertainty of the offset between the clocks of the two ends; 0 if both read the same clock.
    pub clock_uncertainty_us: Option<f64>,
    /// Knowledge of somebody without keys.
    pub eavesdropper: EavesdropperStats,
    /// Cost of sealing; `None` until there are enough pairs.
    pub price: Option<Price>,
    /// The machine that runs both ends.
    pub machine: MachineStats,
}

/// Protection of the session.
#[derive(Clone, Debug, Default, Serialize)]
pub struct SessionStats {
    /// Name of the cipher suite, such as `aes-128-gcm`.
    pub suite: String,
    /// Name of the key establishment mechanism, such as `x25519-mlkem768`.
    pub mechanism: String,
    /// Number of the epoch of the keys in use.
    pub epoch: u64,
    /// Number of rekeys during the stream.
    pub rekeys: u64,
    /// Duration of the handshake.
    pub handshake_us: Option<f64>,
}

/// Knowledge of somebody on the network without keys.
#[derive(Clone, Debug, Default, Serialize)]
pub struct EavesdropperStats {
    /// Parts that the publisher encrypts, as written for `--encrypt`.
    pub selection: String,
    /// Shape of the traffic, as written for `--shape`.
    pub shape: String,
    /// Share of the latest frames' bytes in clear, in percent.
    pub known_percent: f64,
}

/// Number of frames that passed each step. Without loss all but the last two are equal, except for frames in transit.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct FrameCounts {
    /// Pictures taken by the source.
    pub captured: u64,
    /// Frames sealed.
    pub sealed: u64,
    /// Frames passed to the network.
    pub sent: u64,
    /// Frames received completely.
    pub received: u64,
    /// Frames verified and opened.
    pub opened: u64,
    /// Frames decoded.
    pub decoded: u64,
    /// Records that did not verify: modified, replayed or forged.
    pub refused: u64,
    /// Frames dropped on purpose because some step was too slow.
    pub dropped: u64,
}

/// A step of a frame's path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// From the time when a picture is due until it is complete.
    Capture,
    /// From the complete picture to the encoded frame.
    Encode,
    /// From the encoded frame until it is sealed.
    Queue,
    /// Sealing all records of a frame.
    Seal,
    /// Passing the sealed records to the operating system.
    Send,
    /// From the frame's passage to the operating system to complete arrival.
    Network,
    /// From complete arrival until nothing before it is missing.
    Reassembly,
    /// Verifying and opening the records of a frame that arrived last.
    Open,
    /// From the opened frame until the viewer takes it.
    Wait,
    /// From the frame to the picture.
    Decode,
    /// From the picture until it is passed to the page.
    Present,
}

/// Duration of one step.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct StageStats {
    /// The step.
    pub stage: Stage,
    /// Distribution of its duration.
    #[serde(flatten)]
    pub spread: Spread,
}

/// Summary of a distribution of times, over all samples since the demo started.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Spread {
    /// Median.
    pub p50_us: f64,
    /// 99th percentile.
    pub p99_us: f64,
    /// The slowest sample.
    pub max_us: f64,
    /// Number of samples.
    pub samples: u64,
}

/// Cost of sealing and opening one frame, compared with carrying the same frame unsealed, measured in pairs.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Price {
    /// Median time per frame without protection.
    pub unsealed_us: f64,
    /// Median time per frame with protection.
    pub sealed_us: f64,
    /// Median difference within the pairs: the cost.
    pub difference: Estimate,
    /// Number of pairs.
    pub pairs: u64,
    /// Frame interval at the stream's rate, for comparison.
    pub frame_interval_us: f64,
    /// Mean number of bytes that protection adds to a frame on the wire.
    pub added_bytes: f64,
    /// Mean length of a frame before protection; 0 before the first one was sent.
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

/// Resources of the machine used by the program.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct MachineStats {
    /// CPU use of the program in percent of one core.
    pub cpu_percent: Option<f64>,
    /// Resident memory of the program.
    pub memory_bytes: Option<u64>,
    /// Temperature of the processor; `None` if the machine does not provide it.
    pub temperature_celsius: Option<f64>,
    /// True if the H.264 codec has its assembly kernels, see [`asm_active`](crate::codec::asm_active).
    pub codec_assembly: Option<bool>,
}
