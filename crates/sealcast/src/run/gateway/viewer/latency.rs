//! Latency log and histograms of the sealed units that crossed the link.

use std::time::Instant;

use sealcast_proto::clock::{ClockEstimate, ClockReading};
use sealcast_proto::unit::{Preamble, UnitArrival};

use crate::meter::logs::UnitRow;
use crate::meter::stage::Stage;
use crate::platform::wall_time::wall_time;
use crate::run::session::observe::Observation;

/// Time stamps of a frame on its way through the gateway pair.
pub(super) struct FrameTimeline<'a> {
    /// The path of its camera.
    pub(super) camera: &'a str,
    pub(super) carrier: &'static str,
    pub(super) preamble: Preamble,
    /// Time at which all of its records, and those before it, had arrived or been given up.
    pub(super) arrived: Instant,
    /// Time at which its packets had been queued for or sent to the players.
    pub(super) queued: Instant,
    pub(super) clock: Option<ClockEstimate>,
}

/// Record the times of one unit of a frame, which was opened at `opened`.
pub(super) fn note(observation: &Observation, timeline: &FrameTimeline<'_>, unit: UnitArrival, opened: Instant) {
    let link = observation.since(Stage::Link, unit.sealed_at, opened, timeline.clock);
    if let Some(logs) = observation.logs() {
        logs.unit(row(observation, timeline, unit, opened, link));
    }
}

fn row(
    observation: &Observation,
    timeline: &FrameTimeline<'_>,
    arrival: UnitArrival,
    opened: Instant,
    link: Option<i64>,
) -> UnitRow {
    let micros = |nanos: u64| nanos as f64 / 1e3;
    let clock = observation.clock;
    let arrived_ns = clock.wall_at(arrival.arrived);
    let reading = timeline.clock.map(|peer| peer.at(arrived_ns));
    let ours = |peer: ClockReading| i128::from(arrival.sealed_at) - i128::from(peer.offset);
    // Before 1970: the peer's clock was never set, so its stamps mean nothing.
    let sealed_ns = reading.map(|peer| u64::try_from(ours(peer)).unwrap_or(0));
    UnitRow {
        time: wall_time(),
        camera: timeline.camera.to_owned(),
        frame: timeline.preamble.frame,
        unit: arrival.index,
        bytes: arrival.bytes,
        carrier: timeline.carrier,
        encrypted: arrival.encrypted,
        repaired: arrival.repaired,
        sealed_ns,
        arrived_ns,
        opened_ns: clock.wall(opened),
        camera_gateway_us: micros(arrival.sealed_at.saturating_sub(timeline.preamble.captured)),
        network_us: sealed_ns.map(|sealed| (i128::from(arrived_ns) - i128::from(sealed)) as f64 / 1e3),
        link_us: link.map(|nanos| nanos as f64 / 1e3),
        viewer_gateway_us: (timeline.queued - timeline.arrived).as_secs_f64() * 1e6,
        clock_offset_us: reading.map(|peer| peer.offset as f64 / 1e3),
        clock_spread_us: reading.map(|peer| micros(peer.spread)),
        clock_uncertainty_us: reading.map(|peer| micros(peer.uncertainty)),
    }
}
