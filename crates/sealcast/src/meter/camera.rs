//! Figures of one camera, or of all that a program does without naming one.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicU64;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::delivery::Delivery;
use super::exposition::escaped;
use super::families::{self, Counts, NamedLabel, StageCollector};
use super::labels::{Direction, DropCause, OpenFailure, OverheadKind, RekeyCause};
use super::metrics::Totals;
use super::stage::StageTimes;

/// The metric families in a registry of their own, which gives them the label `camera` if the camera has a name.
pub(super) struct CameraMeter {
    registry: Registry,
    pub(super) stages: StageTimes,
    pub(super) records: [Counts; 2],
    pub(super) clear: Counts,
    pub(super) selection: Family<NamedLabel, Gauge>,
    pub(super) bytes: Counts,
    pub(super) overhead: Counts,
    pub(super) open_failures: Counts,
    pub(super) delivery: Delivery,
    pub(super) epoch: Gauge,
    pub(super) rekeys: Counts,
    pub(super) frames: Counts,
    pub(super) frames_dropped: Counts,
    pub(super) freezes: Counter,
    pub(super) frozen: Counter<f64, AtomicU64>,
    pub(super) timeline_jumps: Counts,
    pub(super) source_strangers: Counts,
    pub(super) sound: Counts,
    pub(super) sound_dropped: Counter,
    pub(super) rtcp_refused: Counts,
    pub(super) viewers: Gauge,
    pub(super) camera_off: Gauge,
}

impl CameraMeter {
    pub(super) fn new(name: Option<&str>) -> Self {
        let label = |name| (Cow::Borrowed("camera"), Cow::Owned(escaped(name)));
        let mut registry = Registry::with_prefix_and_labels("sealcast", name.map(label).into_iter());
        let r = &mut registry;
        let stages = StageTimes::new();
        let bytes = "Bytes of sealed records on the wire, framing included";
        let overhead = "Bytes sent beyond coded frames";
        let clear = "Media records, of those counted, whose payload was authenticated and not encrypted";
        let refused = "Records refused before anything in them was used";
        let frames = "Frames sealed and sent, or received and opened";
        let sound = "Packets of sound sealed and sent, or received and opened";
        let camera_off = "1 while a publisher waits for its camera, or a viewer was told so";
        Self {
            records: families::records(r),
            clear: Counts::register(r, "clear_records", clear, "dir", Direction::NAMES),
            selection: families::selection(r),
            bytes: Counts::register(r, "wire_bytes", bytes, "dir", Direction::NAMES),
            overhead: Counts::register(r, "overhead_bytes", overhead, "kind", OverheadKind::NAMES),
            open_failures: Counts::register(r, "open_failures", refused, "reason", OpenFailure::NAMES),
            delivery: Delivery::register(r),
            epoch: families::gauge(r, "epoch", "Number of the newest epoch of keys in use"),
            rekeys: Counts::register(r, "rekeys", "Epochs that ended", "cause", RekeyCause::NAMES),
            frames: Counts::register(r, "frames", frames, "dir", Direction::NAMES),
            sound: Counts::register(r, "sound_packets", sound, "dir", Direction::NAMES),
            sound_dropped: families::counter(r, "sound_dropped", "Packets of sound dropped or missing"),
            frames_dropped: Counts::register(r, "frames_dropped", "Frames dropped", "cause", DropCause::NAMES),
            freezes: families::counter(
                r,
                "freezes",
                "Freezes of the picture at a viewer, as WebRTC counts them",
            ),
            frozen: families::counted_seconds(r, "frozen_seconds", "Time in which the picture was frozen"),
            timeline_jumps: families::timeline_jumps(r),
            source_strangers: families::source_strangers(r),
            rtcp_refused: families::rtcp_refused(r),
            viewers: families::gauge(r, "viewers", "Viewers with an established session"),
            camera_off: families::gauge(r, "camera_off", camera_off),
            registry: {
                registry.register_collector(Box::new(StageCollector { stages: stages.clone() }));
                registry
            },
            stages,
        }
    }

    pub(super) fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Adds all counters to `totals`.
    pub(super) fn add_to(&self, totals: &mut Totals) {
        let (out, came) = (Direction::Out as usize, Direction::In as usize);
        let records = |direction: usize| self.records[direction].list().values().sum::<u64>();
        totals.frames_out += self.frames.get(out);
        totals.frames_in += self.frames.get(came);
        totals.sound_out += self.sound.get(out);
        totals.sound_in += self.sound.get(came);
        totals.sound_dropped += self.sound_dropped.get();
        totals.freezes += self.freezes.get();
        totals.frozen_ms += (self.frozen.get() * 1e3).round() as u64;
        totals.bytes_out += self.bytes.get(out);
        totals.bytes_in += self.bytes.get(came);
        totals.records_sealed += records(out);
        totals.records_opened += records(came);
        totals.records_sealed_in_clear += self.clear.get(out);
        totals.records_opened_in_clear += self.clear.get(came);
        totals.records_duplicate += self.delivery.duplicates.get();
        let add = |counts: &Counts, to: &mut BTreeMap<&'static str, u64>| {
            let counts = counts.list().into_iter();
            counts.for_each(|(name, count)| *to.entry(name).or_default() += count);
        };
        add(&self.overhead, &mut totals.overhead_bytes);
        add(&self.open_failures, &mut totals.open_failures);
        add(&self.frames_dropped, &mut totals.frames_dropped);
        add(&self.rtcp_refused, &mut totals.rtcp_refused);
        add(&self.rekeys, &mut totals.rekeys);
        add(&self.delivery.packets, &mut totals.media_packets);
    }
}
