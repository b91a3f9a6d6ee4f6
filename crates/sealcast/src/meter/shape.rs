//! Counters of cells, where the traffic is constant whatever the camera sees.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::registry::Registry;
use serde::Serialize;

use super::families::{Seconds, counter, seconds};

/// The metric families in the registry.
pub(super) struct ShapeMeter {
    pub(super) bytes: Counter,
    pub(super) inner: Counter,
    pub(super) overhead: Seconds,
    pub(super) late: Counter,
    pub(super) skipped_ticks: Counter,
    pub(super) skipped_pictures: Counter,
    pub(super) dropped_frames: Counter,
    pub(super) dropped_control: Counter,
}

/// Cells of a run, for the report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct ShapeReport {
    /// Bytes of all cells that this end sent, on the wire.
    pub cell_bytes: u64,
    /// Bytes that it would have sent without a shape.
    pub inner_bytes: u64,
    /// The first divided by the second, minus 1.
    pub overhead_ratio: f64,
    /// Ticks that came when the next one was due already.
    pub late_ticks: u64,
    /// Ticks at which nothing was sent.
    pub skipped_ticks: u64,
    /// Pictures not encoded because too much waited.
    pub skipped_pictures: u64,
    /// Frames dropped because they would have waited too long.
    pub dropped_frames: u64,
    /// Control messages dropped because too many waited.
    pub dropped_control: u64,
}

impl ShapeMeter {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let overhead = "Bytes of cells beyond those that would have been sent without a shape, divided by these";
        let skipped = "Pictures not encoded because too much waited for cells";
        let dropped = "Frames dropped because they would have waited too long for cells";
        Self {
            bytes: counter(registry, "shape_cell_bytes", "Bytes of cells sent, framing included"),
            inner: counter(
                registry,
                "shape_inner_bytes",
                "Bytes that would have been sent without a shape",
            ),
            overhead: seconds(registry, "shape_overhead_ratio", overhead),
            late: counter(
                registry,
                "shape_late_ticks",
                "Ticks that came when the next one was due",
            ),
            skipped_ticks: counter(registry, "shape_skipped_ticks", "Ticks at which nothing was sent"),
            skipped_pictures: counter(registry, "shape_skipped_pictures", skipped),
            dropped_frames: counter(registry, "shape_dropped_frames", dropped),
            dropped_control: counter(registry, "shape_dropped_control", "Control messages dropped"),
        }
    }
}

impl ShapeReport {
    /// Adds the cells that `meter` counted.
    pub(super) fn add(&mut self, meter: &ShapeMeter) {
        self.cell_bytes += meter.bytes.get();
        self.inner_bytes += meter.inner.get();
        self.overhead_ratio = overhead_ratio(self.cell_bytes, self.inner_bytes);
        self.late_ticks += meter.late.get();
        self.skipped_ticks += meter.skipped_ticks.get();
        self.skipped_pictures += meter.skipped_pictures.get();
        self.dropped_frames += meter.dropped_frames.get();
        self.dropped_control += meter.dropped_control.get();
    }
}

pub(super) fn overhead_ratio(cells: u64, inner: u64) -> f64 {
    if inner == 0 {
        0.0
    } else {
        cells as f64 / inner as f64 - 1.0
    }
}
