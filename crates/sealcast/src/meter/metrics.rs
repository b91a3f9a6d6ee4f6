//! Counters and gauges for Prometheus; logs and reports use the same values.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use sealcast_proto::clock::ClockReading;
use sealcast_proto::timeline::Jumps;
use serde::Serialize;

use super::delivery::Delivery;
use super::families::{self, Counts, NamedLabel, Seconds, StageCollector};
use super::labels::{DatagramRefusal, DatagramUnsent, DoorAnswer};
use super::labels::{
    Direction, DropCause, HandshakeOutcome, OpenFailure, OverheadKind, RecordKind, RekeyCause, RtcpRefusal,
};
use super::peer_bytes::PeerBytes;
use super::resources::ResourceSample;
use super::stage::{Stage, StageTimes};
pub use super::totals::Totals;
use super::turned_away::TurnedAwayMeter;
use crate::source::Lost;

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

/// Description of the build, for `sealcast_build_info`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct BuildInfo {
    /// Version of sealcast.
    pub version: String,
    /// Names of the suites that this build supports.
    pub suites: Vec<String>,
    /// Names of the key establishment mechanisms.
    pub mechanisms: Vec<String>,
}

struct Inner {
    registry: Registry,
    build: BuildInfo,
    stages: StageTimes,
    records: [Counts; 2],
    clear: Counts,
    selection: Family<NamedLabel, Gauge>,
    bytes: Counts,
    overhead: Counts,
    open_failures: Counts,
    datagrams_refused: Counts,
    datagrams_unsent: Counts,
    door_answers: Counts,
    turned_away: TurnedAwayMeter,
    peer_bytes: PeerBytes,
    delivery: Delivery,
    epoch: Gauge,
    rekeys: Counts,
    frames: Counts,
    frames_dropped: Counts,
    timeline_jumps: Counts,
    sound: Counts,
    sound_dropped: Counter,
    rtcp_refused: Counts,
    handshakes: Counts,
    viewers: Gauge,
    camera_off: Gauge,
    clock_offset: Seconds,
    clock_spread: Seconds,
    clock_uncertainty: Seconds,
    clock_rate: Seconds,
    cpu_seconds: Counter<f64, AtomicU64>,
    rss: Gauge,
    temperature: Family<NamedLabel, Gauge<f64, AtomicU64>>,
    energy: Family<NamedLabel, Counter<f64, AtomicU64>>,
}

/// All counters of the program. Clones share the same counters: give one to every task. Counting takes a few atomic
/// instructions, recording a time one short lock, and memory only for the longest time so far.
#[derive(Clone)]
pub struct Metrics {
    inner: Arc<Inner>,
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
        let mut registry = Registry::with_prefix("sealcast");
        let r = &mut registry;
        families::build(r, &build);
        let stages = StageTimes::new();
        let peer_bytes = PeerBytes::default();
        let bytes = "Bytes of sealed records on the wire, framing included";
        let overhead = "Bytes sent beyond coded frames";
        let clear = "Media records, of those counted, whose payload was authenticated and not encrypted";
        let refused = "Records refused before anything in them was used";
        let datagrams_refused = "Datagrams received and handed to no session";
        let unsent = "Datagrams given up instead of sent";
        let frames = "Frames sealed and sent, or received and opened";
        let sound = "Packets of sound sealed and sent, or received and opened";
        let camera_off = "1 while a publisher waits for its camera, or a viewer was told so";
        let offset = "The peer's wall clock minus ours";
        let spread = "How far the clock offset may be from the truth if the path is symmetric";
        let uncertainty = "How far the clock offset may be from the truth, whatever the path";
        let rate = "Rate of the peer's clock minus that of ours";
        let inner = Inner {
            build,
            records: families::records(r),
            clear: Counts::register(r, "clear_records", clear, "dir", Direction::NAMES),
            selection: families::selection(r),
            bytes: Counts::register(r, "wire_bytes", bytes, "dir", Direction::NAMES),
            overhead: Counts::register(r, "overhead_bytes", overhead, "kind", OverheadKind::NAMES),
            open_failures: Counts::register(r, "open_failures", refused, "reason", OpenFailure::NAMES),
            datagrams_refused: Counts::register(
                r,
                "datagrams_refused",
                datagrams_refused,
                "reason",
                DatagramRefusal::NAMES,
            ),
            datagrams_unsent: Counts::register(r, "datagrams_unsent", unsent, "reason", DatagramUnsent::NAMES),
            door_answers: families::door_answers(r),
            turned_away: TurnedAwayMeter::register(r),
            peer_bytes: peer_bytes.clone(),
            delivery: Delivery::register(r),
            epoch: families::gauge(r, "epoch", "Number of the newest epoch of keys in use"),
            rekeys: Counts::register(r, "rekeys", "Epochs that ended", "cause", RekeyCause::NAMES),
            frames: Counts::register(r, "frames", frames, "dir", Direction::NAMES),
            sound: Counts::register(r, "sound_packets", sound, "dir", Direction::NAMES),
            sound_dropped: families::counter(r, "sound_dropped", "Packets of sound dropped or missing"),
            frames_dropped: Counts::register(r, "frames_dropped", "Frames dropped", "cause", DropCause::NAMES),
            timeline_jumps: families::timeline_jumps(r),
            rtcp_refused: families::rtcp_refused(r),
            handshakes: Counts::register(r, "handshakes", "Handshakes ended", "outcome", HandshakeOutcome::NAMES),
            viewers: families::gauge(r, "viewers", "Viewers with an established session"),
            camera_off: families::gauge(r, "camera_off", camera_off),
            clock_offset: families::seconds(r, "clock_offset_seconds", offset),
            clock_spread: families::seconds(r, "clock_spread_seconds", spread),
            clock_uncertainty: families::seconds(r, "clock_uncertainty_seconds", uncertainty),
            clock_rate: families::seconds(r, "clock_rate_ratio", rate),
            cpu_seconds: families::cpu_seconds(r),
            rss: families::gauge(r, "rss_bytes", "Resident memory of this process"),
            temperature: families::temperature(r),
            energy: families::energy(r),
            stages: stages.clone(),
            registry: {
                registry.register_collector(Box::new(StageCollector { stages }));
                registry.register_collector(Box::new(peer_bytes));
                registry
            },
        };
        Self { inner: Arc::new(inner) }
    }

    /// Description of the build.
    pub fn build(&self) -> &BuildInfo {
        &self.inner.build
    }

    pub(super) fn turned_away_meter(&self) -> &TurnedAwayMeter {
        &self.inner.turned_away
    }

    pub(super) fn peer_bytes(&self) -> &PeerBytes {
        &self.inner.peer_bytes
    }

    pub(super) fn delivery(&self) -> &Delivery {
        &self.inner.delivery
    }

    /// Counts bytes on the wire.
    pub(super) fn wire_bytes(&self, direction: Direction, bytes: u64) {
        self.inner.bytes.add(direction as usize, bytes);
    }

    /// The stage histograms, to record into directly.
    pub fn stages(&self) -> &StageTimes {
        &self.inner.stages
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
        self.inner.records[Direction::Out as usize].add(kind as usize, records);
        self.inner.bytes.add(Direction::Out as usize, wire_bytes);
        self.inner.overhead.add(OverheadKind::Header as usize, header * records);
        self.inner.overhead.add(OverheadKind::Tag as usize, tag * records);
        self.inner
            .overhead
            .add(OverheadKind::Preamble as usize, overhead.preamble);
        self.inner
            .overhead
            .add(OverheadKind::Framing as usize, framing * records);
    }

    /// Counts `records` media records with a payload in clear, in addition to counting them as sealed or opened.
    pub fn records_in_clear(&self, direction: Direction, records: u64) {
        self.inner.clear.add(direction as usize, records);
    }

    /// Sets the name of the selection, the parts of the stream that are encrypted.
    pub fn set_selection(&self, selection: &str) {
        self.inner.selection.clear();
        self.inner
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
        self.inner.records[Direction::In as usize].add(kind as usize, records);
        self.inner.bytes.add(Direction::In as usize, wire_bytes);
    }

    /// Counts a refused record.
    pub fn record_refused(&self, reason: OpenFailure) {
        self.inner.open_failures.add(reason as usize, 1);
    }

    /// Counts `count` datagrams that were not delivered to a session.
    pub fn datagrams_refused(&self, reason: DatagramRefusal, count: u64) {
        self.inner.datagrams_refused.add(reason as usize, count);
    }

    /// Number of datagrams not delivered to a session for `reason` so far.
    pub fn datagrams_refused_for(&self, reason: DatagramRefusal) -> u64 {
        self.inner.datagrams_refused.get(reason as usize)
    }

    /// Counts `count` datagrams that were dropped instead of sent.
    pub fn datagrams_unsent(&self, reason: DatagramUnsent, count: u64) {
        self.inner.datagrams_unsent.add(reason as usize, count);
    }

    /// Number of datagrams dropped for `reason` so far.
    pub fn datagrams_unsent_for(&self, reason: DatagramUnsent) -> u64 {
        self.inner.datagrams_unsent.get(reason as usize)
    }

    /// Counts a datagram sent to a peer without a session.
    pub fn door_answered(&self, answer: DoorAnswer) {
        self.inner.door_answers.add(answer as usize, 1);
    }

    /// Number of times that `answer` was sent so far.
    pub fn door_answers(&self, answer: DoorAnswer) -> u64 {
        self.inner.door_answers.get(answer as usize)
    }

    /// Counts a complete frame sent or opened.
    pub fn record_frame(&self, direction: Direction) {
        self.inner.frames.add(direction as usize, 1);
    }

    /// Counts a packet of sound, which is no frame.
    pub fn record_sound(&self, direction: Direction) {
        self.inner.sound.add(direction as usize, 1);
    }

    /// Counts `count` packets of sound that were dropped or are missing.
    pub fn sound_dropped(&self, count: u64) {
        self.inner.sound_dropped.inc_by(count);
    }

    /// Counts `count` dropped frames.
    pub fn record_dropped(&self, cause: DropCause, count: u64) {
        self.inner.frames_dropped.add(cause as usize, count);
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
        counts.for_each(|(jump, count)| self.inner.timeline_jumps.add(jump as usize, count));
    }

    /// Counts `count` packets of players that were not passed on to a camera.
    pub fn rtcp_refused(&self, reason: RtcpRefusal, count: u64) {
        self.inner.rtcp_refused.add(reason as usize, count);
    }

    /// Counts the end of an epoch.
    pub fn record_rekey(&self, cause: RekeyCause) {
        self.inner.rekeys.add(cause as usize, 1);
    }

    /// Counts the end of a handshake.
    pub fn record_handshake(&self, outcome: HandshakeOutcome) {
        self.inner.handshakes.add(outcome as usize, 1);
    }

    /// Records the duration of a stage.
    pub fn record_stage(&self, stage: Stage, time: Duration) {
        self.inner.stages.record(stage, time);
    }

    /// Records the duration of a stage for each of `count` packets, at least one, that passed it together.
    pub fn record_stage_together(&self, stage: Stage, time: Duration, count: u64) {
        self.inner.stages.record_together(stage, time, count);
    }

    /// Sets the number of the newest epoch in use.
    pub fn set_epoch(&self, epoch: u64) {
        self.inner.epoch.set(i64::try_from(epoch).unwrap_or(i64::MAX));
    }

    /// The epoch set last.
    pub fn epoch(&self) -> u64 {
        u64::try_from(self.inner.epoch.get()).unwrap_or_default()
    }

    /// Sets the number of viewers with an established session.
    pub fn set_viewers(&self, viewers: usize) {
        self.inner.viewers.set(i64::try_from(viewers).unwrap_or(i64::MAX));
    }

    /// Sets whether the publisher's camera is away.
    pub fn camera_off(&self, off: bool) {
        self.inner.camera_off.set(off.into());
    }

    /// Sets what is known of the peer's clock: a reading, and by how many parts per million it is faster than ours.
    pub fn set_clock(&self, reading: ClockReading, rate_ppm: f64) {
        self.inner.clock_offset.set(reading.offset as f64 / 1e9);
        self.inner.clock_spread.set(reading.spread as f64 / 1e9);
        self.inner.clock_uncertainty.set(reading.uncertainty as f64 / 1e9);
        self.inner.clock_rate.set(rate_ppm / 1e6);
    }

    /// Sets the values that the sampler measured. Values that it could not measure stay absent.
    pub fn set_resources(&self, sample: &ResourceSample) {
        // A Prometheus counter can only be incremented, so add the difference to the new total.
        let counted = self.inner.cpu_seconds.get();
        self.inner.cpu_seconds.inc_by((sample.cpu_seconds - counted).max(0.0));
        if let Some(rss) = sample.rss_bytes {
            self.inner.rss.set(i64::try_from(rss).unwrap_or(i64::MAX));
        }
        for (sensor, celsius) in &sample.temperatures {
            self.inner
                .temperature
                .get_or_create(&[("sensor", sensor.clone())])
                .set(*celsius);
        }
        for (domain, joules) in &sample.energy_joules {
            let counter = self.inner.energy.get_or_create_owned(&[("domain", domain.clone())]);
            counter.inc_by((joules - counter.get()).max(0.0));
        }
    }

    /// The current values of all counters.
    pub fn totals(&self) -> Totals {
        let inner = &self.inner;
        let records = |direction: Direction| inner.records[direction as usize].list().values().sum();
        Totals {
            frames_out: inner.frames.get(Direction::Out as usize),
            frames_in: inner.frames.get(Direction::In as usize),
            sound_out: inner.sound.get(Direction::Out as usize),
            sound_in: inner.sound.get(Direction::In as usize),
            sound_dropped: inner.sound_dropped.get(),
            bytes_out: inner.bytes.get(Direction::Out as usize),
            bytes_in: inner.bytes.get(Direction::In as usize),
            records_sealed: records(Direction::Out),
            records_opened: records(Direction::In),
            records_sealed_in_clear: inner.clear.get(Direction::Out as usize),
            records_opened_in_clear: inner.clear.get(Direction::In as usize),
            overhead_bytes: inner.overhead.list(),
            records_duplicate: inner.delivery.duplicates.get(),
            open_failures: inner.open_failures.list(),
            datagrams_refused: inner.datagrams_refused.list(),
            datagrams_unsent: inner.datagrams_unsent.list(),
            door_answers: inner.door_answers.list(),
            frames_dropped: inner.frames_dropped.list(),
            turned_away: inner.turned_away.list(),
            rtcp_refused: inner.rtcp_refused.list(),
            rekeys: inner.rekeys.list(),
            handshakes: inner.handshakes.list(),
            media_packets: inner.delivery.packets.list(),
        }
    }

    /// All metrics in the OpenMetrics text format.
    pub fn encode(&self) -> String {
        let mut text = String::with_capacity(16 * 1024);
        // Writing into a String cannot fail. If an encoder fails nevertheless, the text so far is still useful.
        if encode(&mut text, &self.inner.registry).is_err() {
            tracing::warn!("the metrics could not be encoded completely");
        }
        text
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
