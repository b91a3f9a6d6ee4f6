//! Fills in the rows of a probe's logs.

use std::time::Duration;

use super::stages::Examined;
use crate::meter::probe_rows::ProbeFrameRow;
use crate::platform::wall_time::wall_time;
use crate::source::test_card::CardClock;

impl ProbeFrameRow {
    /// The row of a picture without stamps.
    pub(super) fn new(seen: &Examined) -> Self {
        let micros = |time: Duration| time.as_secs_f64() * 1e6;
        Self {
            time: wall_time(),
            frame: seen.number,
            colour_change: seen.colour.map(|colour| colour.change),
            decode_us: micros(seen.decode_time),
            queue_us: micros(seen.queued),
            examining_us: micros(seen.examining),
            ..Self::default()
        }
    }

    pub(super) fn by_clock(
        &mut self,
        strip: CardClock,
        decoded: i128,
        latency: i128,
        uncertainty: u64,
        base: &'static str,
    ) {
        self.strip_event = Some(strip.event);
        self.strip_ns = strip.wall_us.checked_mul(1000);
        self.decoded_ns = u64::try_from(decoded).ok();
        self.latency_ms = Some(latency as f64 / 1e6);
        self.uncertainty_ms = (base != "same").then_some(uncertainty as f64 / 1e6);
        self.clock = Some(base);
    }

    pub(super) fn by_capture(&mut self, latency: i128, uncertainty: u64) {
        self.capture_latency_ms = Some(latency as f64 / 1e6);
        self.capture_uncertainty_ms = Some(uncertainty as f64 / 1e6);
    }
}
