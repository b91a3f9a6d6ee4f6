//! The demo's figures, for its page and for the table in the terminal.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use sealcast_proto::unit::Selection;
use sealcast_proto::wire::{HEADER_LEN, TAG_LEN};

use super::eavesdropper::Eavesdropper;
use crate::codec::asm_active;
use crate::media::StreamInfo;
use crate::meter::paired::PairedSummary;
use crate::meter::resources::figure;
use crate::meter::stage::{Stage, StageSnapshot};
use crate::run::media::hub::Hub;
use crate::run::media::shape::Shape;
use crate::run::publish::camera::Camera;
use crate::run::session::observe::Observing;
use crate::web::demo::{
    DemoStats, EavesdropperStats, Estimate, FrameCounts, MachineStats, Price, SessionStats, Spread, Stage as PageStage,
    StageStats,
};

/// The stages shown on the page, in the order in which a frame passes through them.
const STAGES: [(Stage, PageStage); 11] = [
    (Stage::Capture, PageStage::Capture),
    (Stage::Encode, PageStage::Encode),
    (Stage::Queue, PageStage::Queue),
    (Stage::Seal, PageStage::Seal),
    (Stage::Send, PageStage::Send),
    (Stage::Network, PageStage::Network),
    (Stage::Reassembly, PageStage::Reassembly),
    (Stage::Open, PageStage::Open),
    (Stage::Wait, PageStage::Wait),
    (Stage::Decode, PageStage::Decode),
    (Stage::Present, PageStage::Present),
];

/// The stream on the network: what its publisher encrypts, and who listens.
pub(super) struct Network {
    pub(super) camera: Arc<Camera>,
    pub(super) shape: Shape,
    pub(super) eavesdropper: Arc<Eavesdropper>,
}

impl Network {
    fn selection(&self) -> Selection {
        self.camera.settings.selection()
    }
}

/// Computes the figures from the observations.
pub(super) struct Figures {
    source: String,
    frame_interval_us: f64,
    hub: Arc<Hub>,
    network: Network,
    codec_assembly: Option<bool>,
}

impl Figures {
    pub(super) fn new(source: &str, info: &StreamInfo, hub: Arc<Hub>, network: Network) -> Self {
        let rate = f64::from(info.rate.numerator) / f64::from(info.rate.denominator);
        let source = format!(
            "{}, {}x{} at {rate:.4} frames/s, {}",
            crate::config::secrets::redact(source),
            info.width,
            info.height,
            info.codec.name()
        );
        Self {
            source,
            frame_interval_us: 1e6 / rate.max(1e-3),
            hub,
            network,
            codec_assembly: asm_active(),
        }
    }

    pub(super) fn stats(&self, running: Duration, observing: &Observing, price: Option<PairedSummary>) -> DemoStats {
        let observation = observing.observation();
        let metrics = &observation.metrics;
        let totals = metrics.totals();
        let snapshot = |stage| metrics.stage(stage);
        let resources = observing.resources();
        let handshake = observation.last_handshake();
        let end_to_end = snapshot(Stage::EndToEnd);
        DemoStats {
            running_seconds: running.as_secs_f64(),
            source: self.source.clone(),
            transport: "TCP on this machine".to_owned(),
            session: SessionStats {
                suite: handshake.as_ref().map(|row| row.suite.clone()).unwrap_or_default(),
                mechanism: handshake.as_ref().map(|row| row.mechanism.clone()).unwrap_or_default(),
                epoch: metrics.epoch(),
                // Both ends run in this process, so each rekeying is counted twice.
                rekeys: totals.rekeys.values().sum::<u64>() / 2,
                handshake_us: handshake.and_then(|row| row.duration_ms).map(|millis| millis * 1e3),
            },
            frames: FrameCounts {
                // Of all streams since the start, as the other counts are.
                captured: snapshot(Stage::Capture).count,
                sealed: snapshot(Stage::Seal).count,
                sent: totals.frames_out,
                received: totals.frames_in,
                opened: snapshot(Stage::Open).count,
                decoded: snapshot(Stage::Decode).count,
                refused: totals.all_open_failures(),
                dropped: totals.all_frames_dropped(),
            },
            stages: STAGES
                .iter()
                .map(|&(stage, page)| StageStats {
                    stage: page,
                    spread: spread(&snapshot(stage)),
                })
                .collect(),
            end_to_end: (end_to_end.count > 0).then(|| spread(&end_to_end)),
            clock_uncertainty_us: observation.clock_uncertainty().map(|nanos| nanos as f64 / 1e3),
            eavesdropper: EavesdropperStats {
                selection: self.network.selection().to_string(),
                shape: self.network.shape.to_string(),
                known_percent: self.network.eavesdropper.known_percent(),
            },
            price: price.map(|summary| self.price(&summary, totals.bytes_out, totals.frames_out)),
            machine: MachineStats {
                cpu_percent: resources.cpu_percent,
                memory_bytes: resources.rss_bytes,
                temperature_celsius: resources.temperature_celsius(),
                codec_assembly: self.codec_assembly,
            },
        }
    }

    fn price(&self, summary: &PairedSummary, bytes: u64, frames: u64) -> Price {
        let micros = |nanos: f64| nanos / 1e3;
        Price {
            unsealed_us: micros(summary.median_a),
            sealed_us: micros(summary.median_b),
            difference: Estimate {
                median_us: micros(summary.median_difference),
                low_us: micros(summary.ci95_low),
                high_us: micros(summary.ci95_high),
            },
            pairs: summary.n as u64,
            frame_interval_us: self.frame_interval_us,
            added_bytes: (HEADER_LEN + TAG_LEN) as f64,
            frame_bytes: bytes as f64 / frames.max(1) as f64,
        }
    }

    /// The figures as a table, for a terminal.
    pub(super) fn table(&self, observing: &Observing, price: Option<PairedSummary>) -> String {
        let observation = observing.observation();
        let totals = observation.metrics.totals();
        let mut text = format!("{}\n\n", self.source);
        let _ = writeln!(
            text,
            "{:<12}{:>8}{:>12}{:>12}{:>12}{:>12}",
            "stage", "frames", "p50 µs", "p99 µs", "max µs", "sd µs"
        );
        for (stage, times) in observation.metrics.stage_snapshots() {
            let micros = |nanos: i64| format!("{:.1}", nanos as f64 / 1e3);
            let _ = writeln!(
                text,
                "{:<12}{:>8}{:>12}{:>12}{:>12}{:>12}",
                stage.name(),
                times.count,
                micros(times.p50_ns),
                micros(times.p99_ns),
                micros(times.max_ns),
                format!("{:.1}", times.stddev_ns / 1e3)
            );
        }
        let _ = writeln!(
            text,
            "\nframes: {} made, {} sent, {} received, {} dropped, {} records refused",
            self.hub.frames(),
            totals.frames_out,
            totals.frames_in,
            totals.all_frames_dropped(),
            totals.all_open_failures()
        );
        match price {
            Some(price) => {
                let _ = writeln!(
                    text,
                    "price of sealing and opening: {:+.2} µs a frame, 95 % confidence {:.2} to {:.2} µs \
                     ({} pairs, A B B A)",
                    price.median_difference / 1e3,
                    price.ci95_low / 1e3,
                    price.ci95_high / 1e3,
                    price.n
                );
            }
            None => text.push_str("price of sealing and opening: too few frames to tell\n"),
        }
        let sample = observing.resources();
        let memory = sample.rss_bytes.map(|bytes| bytes as f64 / 1e6);
        let _ = write!(
            text,
            "CPU {:.2} s in all, memory {}, temperature {}",
            sample.cpu_seconds,
            figure(memory, 1, "MB"),
            figure(sample.temperature_celsius(), 1, "°C")
        );
        text
    }
}

fn spread(times: &StageSnapshot) -> Spread {
    let micros = |nanos: i64| nanos as f64 / 1e3;
    Spread {
        p50_us: micros(times.p50_ns),
        p99_us: micros(times.p99_ns),
        max_us: micros(times.max_ns),
        samples: times.count,
    }
}
