//! Counters and gauges for Prometheus; logs and reports use the same values.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use sealcast_proto::clock::ClockReading;
use sealcast_proto::timeline::Jumps;

use super::build_info::BuildInfo;
use super::camera::CameraMeter;
use super::data::DataMeter;
use super::delivery::Delivery;
use super::labels::{DatagramRefusal, DatagramUnsent, DoorAnswer};
use super::labels::{
    Direction, DropCause, HandshakeOutcome, OpenFailure, OverheadKind, RecordKind, RekeyCause, RtcpRefusal, Stranger,
};
use super::peer_bytes::PeerBytes;
use super::program::ProgramMeter;
use super::resources::ResourceSample;
use super::shape::ShapeReport;
use super::stage::{Stage, StageSnapshot, StageTimes};
pub use super::totals::Totals;
use super::turned_away::TurnedAwayMeter;
use crate::source::{Lost, Strangers};

/// Bytes that one sealed record carries in addition to coded frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overhead {
    /// Record header.
    pub header: u64,
    /// Authentication tag.
    pub tag: u64,
    /// Timestamps before the frame; 0 for every record except the first of a frame.
    pub preamble: u64,
    /// Length prefix on a byte stream.
    pub framing: u64,
}

/// All counters of the program, and of one of its cameras or of what it does without naming one. Clones share the same
/// counters: give one to every task. Counting takes a few atomic instructions, recording a time one short lock, and
/// memory only for the longest time so far.
#[derive(Clone)]
pub struct Metrics {
    program: Arc<ProgramMeter>,
    own: Arc<CameraMeter>,
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics")
            .field("totals", &self.totals())
            .finish_non_exhaustive()
    }
}

impl Metrics {
    /// All counters at zero, for the build described by `build`.
    pub fn new(build: BuildInfo) -> Self {
        let program = Arc::new(ProgramMeter::new(build));
        let own = program.nameless();
        Self { program, own }
    }

    /// The same counters of the program, and those of its camera `name`, which have the label `camera`: the ones that
    /// this gave before, if it was asked for that camera before. They are kept until the program ends, so only names
    /// that the program's user chose may come here, and none that a peer sent.
    pub fn of_camera(&self, name: &str) -> Self {
        Self {
            program: Arc::clone(&self.program),
            own: self.program.camera(name),
        }
    }

    /// The camera is taken out of service.
    pub(crate) fn retire(&self) {
        self.program.retire(&self.own);
    }

    /// Description of the build.
    pub fn build(&self) -> &BuildInfo {
        &self.program.build
    }

    pub(super) fn data_meter(&self) -> &DataMeter {
        &self.program.data
    }

    pub(super) fn turned_away_meter(&self) -> &TurnedAwayMeter {
        &self.program.turned_away
    }

    pub(super) fn peer_bytes(&self) -> &PeerBytes {
        &self.program.peer_bytes
    }

    pub(super) fn delivery(&self) -> &Delivery {
        &self.own.delivery
    }

    /// Counts bytes on the wire.
    pub(super) fn wire_bytes(&self, direction: Direction, bytes: u64) {
        self.own.bytes.add(direction as usize, bytes);
    }

    /// The stage histograms, to record into directly.
    pub fn stages(&self) -> &StageTimes {
        &self.own.stages
    }

    /// Counts a sealed record of `wire_bytes` bytes on the wire, of which `overhead` is not part of a coded frame.
    pub fn record_sealed(&self, kind: RecordKind, wire_bytes: u64, overhead: Overhead) {
        self.records_sealed(kind, 1, wire_bytes, overhead);
    }

    /// Counts `records` records that carry one frame, of `wire_bytes` bytes in total. `overhead` is that of the
    /// first; the others have no preamble.
    pub fn records_sealed(&self, kind: RecordKind, records: u64, wire_bytes: u64, overhead: Overhead) {
        let Overhead {
            header, tag, framing, ..
        } = overhead;
        self.own.records[Direction::Out as usize].add(kind as usize, records);
        self.own.bytes.add(Direction::Out as usize, wire_bytes);
        self.own.overhead.add(OverheadKind::Header as usize, header * records);
        self.own.overhead.add(OverheadKind::Tag as usize, tag * records);
        self.own
            .overhead
            .add(OverheadKind::Preamble as usize, overhead.preamble);
        self.own.overhead.add(OverheadKind::Framing as usize, framing * records);
    }

    /// Counts `records` media records with a payload in clear, in addition to counting them as sealed or opened.
    pub fn records_in_clear(&self, direction: Direction, records: u64) {
        self.own.clear.add(direction as usize, records);
    }

    /// Sets the name of the selection, the parts of the stream that are encrypted.
    pub fn set_selection(&self, selection: &str) {
        self.own.selection.clear();
        self.own
            .selection
            .get_or_create(&[("encrypt", selection.to_owned())])
            .set(1);
    }

    /// Counts a record that was received, verified and opened, of `wire_bytes` bytes on the wire.
    pub fn record_opened(&self, kind: RecordKind, wire_bytes: u64) {
        self.records_opened(kind, 1, wire_bytes);
    }

    /// Counts several such records, of `wire_bytes` bytes in total.
    pub fn records_opened(&self, kind: RecordKind, records: u64, wire_bytes: u64) {
        self.own.records[Direction::In as usize].add(kind as usize, records);
        self.own.bytes.add(Direction::In as usize, wire_bytes);
    }

    /// Counts a refused record.
    pub fn record_refused(&self, reason: OpenFailure) {
        self.own.open_failures.add(reason as usize, 1);
    }

    /// Counts `count` datagrams that were not delivered to a session.
    pub fn datagrams_refused(&self, reason: DatagramRefusal, count: u64) {
        self.program.datagrams_refused.add(reason as usize, count);
    }

    /// Number of datagrams not delivered to a session for `reason` so far.
    pub fn datagrams_refused_for(&self, reason: DatagramRefusal) -> u64 {
        self.program.datagrams_refused.get(reason as usize)
    }

    /// Counts `count` datagrams that were dropped instead of sent.
    pub fn datagrams_unsent(&self, reason: DatagramUnsent, count: u64) {
        self.program.datagrams_unsent.add(reason as usize, count);
    }

    /// Number of datagrams dropped for `reason` so far.
    pub fn datagrams_unsent_for(&self, reason: DatagramUnsent) -> u64 {
        self.program.datagrams_unsent.get(reason as usize)
    }

    /// Counts a datagram sent to a peer without a session.
    pub fn door_answered(&self, answer: DoorAnswer) {
        self.program.door_answers.add(answer as usize, 1);
    }

    /// Number of times that `answer` was sent so far.
    pub fn door_answers(&self, answer: DoorAnswer) -> u64 {
        self.program.door_answers.get(answer as usize)
    }

    /// Counts a complete frame sent or opened.
    pub fn record_frame(&self, direction: Direction) {
        self.own.frames.add(direction as usize, 1);
    }

    /// Counts a packet of sound, which is no frame.
    pub fn record_sound(&self, direction: Direction) {
        self.own.sound.add(direction as usize, 1);
    }

    /// Counts `count` packets of sound that were dropped or are missing.
    pub fn sound_dropped(&self, count: u64) {
        self.own.sound_dropped.inc_by(count);
    }

    /// Counts a freeze of the picture that lasted so long.
    pub fn froze(&self, length: Duration) {
        self.own.freezes.inc();
        self.own.frozen.inc_by(length.as_secs_f64());
    }

    /// Counts `count` dropped frames.
    pub fn record_dropped(&self, cause: DropCause, count: u64) {
        self.own.frames_dropped.add(cause as usize, count);
    }

    /// Counts frames that the source lost.
    pub fn lost_at_source(&self, lost: Lost) {
        self.record_dropped(DropCause::Source, lost.dropped);
        self.record_dropped(DropCause::Damaged, lost.damaged);
        self.record_dropped(DropCause::Gap, lost.left_out);
    }

    /// Counts jumps of a camera's clock.
    pub fn source_jumped(&self, jumps: Jumps) {
        let counts = jumps.counts();
        counts.for_each(|(jump, count)| self.own.timeline_jumps.add(jump as usize, count));
    }

    /// Counts packets of strangers at the source's ports.
    pub fn strangers_at_source(&self, strangers: Strangers) {
        let Strangers {
            address,
            format,
            source,
        } = strangers;
        for (cause, count) in [
            (Stranger::Address, address),
            (Stranger::Format, format),
            (Stranger::Source, source),
        ] {
            self.own.source_strangers.add(cause as usize, count);
        }
    }

    /// Counts `count` packets of players that were not passed on to a camera.
    pub fn rtcp_refused(&self, reason: RtcpRefusal, count: u64) {
        self.own.rtcp_refused.add(reason as usize, count);
    }

    /// Counts the end of an epoch.
    pub fn record_rekey(&self, cause: RekeyCause) {
        self.own.rekeys.add(cause as usize, 1);
    }

    /// Counts the end of a handshake.
    pub fn record_handshake(&self, outcome: HandshakeOutcome) {
        self.program.handshakes.add(outcome as usize, 1);
    }

    /// Records the duration of a stage.
    pub fn record_stage(&self, stage: Stage, time: Duration) {
        self.own.stages.record(stage, time);
    }

    /// Records the duration of a stage for each of `count` packets, at least one, that passed it together.
    pub fn record_stage_together(&self, stage: Stage, time: Duration, count: u64) {
        self.own.stages.record_together(stage, time, count);
    }

    /// Sets the number of the newest epoch in use.
    pub fn set_epoch(&self, epoch: u64) {
        self.own.epoch.set(i64::try_from(epoch).unwrap_or(i64::MAX));
    }

    /// The epoch set last.
    pub fn epoch(&self) -> u64 {
        u64::try_from(self.own.epoch.get()).unwrap_or_default()
    }

    /// Sets the number of viewers with an established session.
    pub fn set_viewers(&self, viewers: usize) {
        self.own.viewers.set(i64::try_from(viewers).unwrap_or(i64::MAX));
    }

    /// Sets whether the publisher's camera is away.
    pub fn camera_off(&self, off: bool) {
        self.own.camera_off.set(off.into());
    }

    /// Sets what is known of the peer's clock: a reading, and by how many parts per million it is faster than ours.
    pub fn set_clock(&self, reading: ClockReading, rate_ppm: f64) {
        self.program.clock_offset.set(reading.offset as f64 / 1e9);
        self.program.clock_spread.set(reading.spread as f64 / 1e9);
        self.program.clock_uncertainty.set(reading.uncertainty as f64 / 1e9);
        self.program.clock_rate.set(rate_ppm / 1e6);
    }

    /// Sets the values that the sampler measured. Values that it could not measure stay absent.
    pub fn set_resources(&self, sample: &ResourceSample) {
        // A Prometheus counter can only be incremented, so add the difference to the new total.
        let counted = self.program.cpu_seconds.get();
        self.program.cpu_seconds.inc_by((sample.cpu_seconds - counted).max(0.0));
        if let Some(rss) = sample.rss_bytes {
            self.program.rss.set(i64::try_from(rss).unwrap_or(i64::MAX));
        }
        for (sensor, celsius) in &sample.temperatures {
            self.program
                .temperature
                .get_or_create(&[("sensor", sensor.clone())])
                .set(*celsius);
        }
        for (domain, joules) in &sample.energy_joules {
            let counter = self.program.energy.get_or_create_owned(&[("domain", domain.clone())]);
            counter.inc_by((joules - counter.get()).max(0.0));
        }
    }

    /// The statistics of a stage in the whole program.
    pub fn stage(&self, stage: Stage) -> StageSnapshot {
        let parts = self.program.parts();
        StageTimes::together(parts.iter().map(|part| &part.stages), stage)
    }

    /// All stages that have recorded anything in the whole program, in the order in which a frame passes them.
    pub fn stage_snapshots(&self) -> Vec<(Stage, StageSnapshot)> {
        let snapshots = Stage::ALL.into_iter().map(|stage| (stage, self.stage(stage)));
        snapshots.filter(|(_, snapshot)| snapshot.count > 0).collect()
    }

    /// The cells of the whole program in this run; `None` if there were none.
    pub fn shape_report(&self) -> Option<ShapeReport> {
        let mut report = ShapeReport::default();
        let parts = self.program.parts();
        parts.iter().for_each(|part| report.add(&part.delivery.shape));
        (report.cell_bytes > 0).then_some(report)
    }

    /// The current values of all counters of the whole program, whichever camera they belong to.
    pub fn totals(&self) -> Totals {
        let mut totals = self.program.totals();
        self.program.parts().iter().for_each(|part| part.add_to(&mut totals));
        totals
    }

    /// All metrics in the OpenMetrics text format: those of the program, then those of its cameras, if it names any.
    pub fn encode(&self) -> String {
        self.program.encode()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use sealcast_proto::session::InboundCounts;

    use super::*;

    fn metrics() -> Metrics {
        Metrics::new(BuildInfo {
            version: "1.2.3".to_owned(),
            suites: vec!["aes-128-gcm".to_owned(), "chacha20-poly1305".to_owned()],
            mechanisms: vec!["x25519".to_owned()],
        })
    }

    #[test]
    fn what_is_recorded_is_encoded_and_totalled() {
        let metrics = metrics();
        let overhead = Overhead {
            header: 24,
            tag: 16,
            preamble: 40,
            framing: 4,
        };
        metrics.record_sealed(RecordKind::Media, 1084, overhead);
        metrics.record_sealed(
            RecordKind::Control,
            60,
            Overhead {
                preamble: 0,
                ..overhead
            },
        );
        metrics.record_opened(RecordKind::Config, 100);
        metrics.records_sealed(RecordKind::Media, 3, 1000, overhead);
        metrics.records_in_clear(Direction::Out, 2);
        metrics.set_selection("none");
        metrics.set_selection("headers");
        metrics.record_refused(OpenFailure::Tag);
        metrics.record_refused(OpenFailure::UnknownEpoch);
        metrics.record_frame(Direction::Out);
        metrics.record_dropped(DropCause::Gap, 7);
        metrics.record_rekey(RekeyCause::Count);
        metrics.record_handshake(HandshakeOutcome::Established);
        metrics.set_epoch(3);
        metrics.set_viewers(2);
        let text = metrics.encode();
        for line in [
            r#"sealcast_build_info{version="1.2.3",suites="aes-128-gcm,chacha20-poly1305",mechanisms="x25519"} 1"#,
            r#"sealcast_records_total{dir="out",kind="media"} 4"#,
            r#"sealcast_clear_records_total{dir="out"} 2"#,
            r#"sealcast_clear_records_total{dir="in"} 0"#,
            r#"sealcast_selection{encrypt="headers"} 1"#,
            r#"sealcast_records_total{dir="out",kind="control"} 1"#,
            r#"sealcast_records_total{dir="in",kind="config"} 1"#,
            r#"sealcast_wire_bytes_total{dir="out"} 2144"#,
            r#"sealcast_overhead_bytes_total{kind="header"} 120"#,
            r#"sealcast_overhead_bytes_total{kind="tag"} 80"#,
            r#"sealcast_overhead_bytes_total{kind="preamble"} 80"#,
            r#"sealcast_overhead_bytes_total{kind="framing"} 20"#,
            r#"sealcast_open_failures_total{reason="tag"} 1"#,
            r#"sealcast_open_failures_total{reason="unknown_epoch"} 1"#,
            r#"sealcast_open_failures_total{reason="replay"} 0"#,
            r#"sealcast_frames_total{dir="out"} 1"#,
            r#"sealcast_frames_dropped_total{cause="gap"} 7"#,
            r#"sealcast_rekeys_total{cause="count"} 1"#,
            r#"sealcast_handshakes_total{outcome="established"} 1"#,
            "sealcast_epoch 3",
            "sealcast_viewers 2",
        ] {
            assert!(text.lines().any(|seen| seen == line), "{line}\nis missing from\n{text}");
        }
        assert!(text.ends_with("# EOF\n"));
        assert!(!text.contains("none"), "only what is in force is shown");
        let totals = metrics.totals();
        assert_eq!(
            (totals.records_sealed, totals.records_opened, totals.frames_out),
            (5, 1, 1)
        );
        assert_eq!((totals.bytes_out, totals.bytes_in), (2144, 100));
        assert_eq!((totals.all_open_failures(), totals.all_frames_dropped()), (2, 7));
    }

    #[test]
    fn what_is_known_of_the_peers_clock_is_encoded_in_seconds() {
        let metrics = metrics();
        let reading = ClockReading {
            offset: -1_500_000,
            spread: 5_000,
            uncertainty: 20_000,
        };
        metrics.set_clock(reading, 50.0);
        let text = metrics.encode();
        for line in [
            "sealcast_clock_offset_seconds -0.0015",
            "sealcast_clock_spread_seconds 0.000005",
            "sealcast_clock_uncertainty_seconds 0.00002",
            "sealcast_clock_rate_ratio 0.00005",
        ] {
            assert!(text.lines().any(|seen| seen == line), "{line}\nis missing from\n{text}");
        }
    }

    #[test]
    fn duplicates_are_counted_and_are_no_failures() {
        let metrics = metrics();
        let came = InboundCounts {
            duplicates: 5,
            ..InboundCounts::default()
        };
        metrics.media_came(&mut InboundCounts::default(), came);
        let text = metrics.encode();
        assert!(text.contains("\nsealcast_records_duplicate_total 5\n"), "{text}");
        let totals = metrics.totals();
        assert_eq!((totals.records_duplicate, totals.all_open_failures()), (5, 0));
    }

    #[test]
    fn stage_times_are_histograms_by_stage() {
        let metrics = metrics();
        metrics.record_stage(Stage::Seal, Duration::from_micros(30));
        metrics.stages().record_between_clocks(Stage::Network, -1, 10);
        let text = metrics.encode();
        for line in [
            r#"sealcast_stage_seconds_count{stage="seal"} 1"#,
            r#"sealcast_stage_seconds_sum{stage="seal"} 0.00003"#,
            r#"sealcast_stage_seconds_bucket{le="0.00005",stage="seal"} 1"#,
            r#"sealcast_stage_seconds_bucket{le="0.00002",stage="seal"} 0"#,
            r#"sealcast_stage_seconds_bucket{le="+Inf",stage="seal"} 1"#,
            "sealcast_network_seconds_count 1",
            "sealcast_network_below_uncertainty_total 1",
        ] {
            assert!(text.lines().any(|seen| seen == line), "{line}\nis missing from\n{text}");
        }
    }

    #[test]
    fn what_is_not_measurable_is_absent() {
        let metrics = metrics();
        metrics.set_resources(&ResourceSample {
            cpu_seconds: 1.5,
            ..ResourceSample::default()
        });
        let text = metrics.encode();
        assert!(text.contains("sealcast_cpu_seconds_total 1.5\n"), "{text}");
        assert!(!text.contains("sealcast_temperature_celsius{") && !text.contains("sealcast_energy_joules_total{"));
        metrics.set_resources(&ResourceSample {
            cpu_seconds: 2.0,
            rss_bytes: Some(4096),
            temperatures: BTreeMap::from([("cpu".to_owned(), 41.5)]),
            energy_joules: BTreeMap::from([("package-0".to_owned(), 12.5)]),
            ..ResourceSample::default()
        });
        let text = metrics.encode();
        for line in [
            "sealcast_cpu_seconds_total 2.0",
            "sealcast_rss_bytes 4096",
            r#"sealcast_temperature_celsius{sensor="cpu"} 41.5"#,
            r#"sealcast_energy_joules_total{domain="package-0"} 12.5"#,
        ] {
            assert!(text.lines().any(|seen| seen == line), "{line}\nis missing from\n{text}");
        }
    }
}
