//! The metric families and their text output.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::AtomicU64;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;
use sealcast_proto::timeline::Jump;

use super::build_info::BuildInfo;
use super::labels::{Direction, DoorAnswer, RecordKind, RtcpRefusal, Stranger};
use super::stage::{Stage, StageTimes};

/// Upper bounds of the time histograms in seconds: 1 µs to 10 s, two or three steps per decade.
const TIME_BUCKETS: [f64; 20] = [
    1e-6, 2e-6, 5e-6, 1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 2e-2, 5e-2, 0.1, 0.2, 0.5, 1.0, 10.0,
];

type Labels<const N: usize> = [(&'static str, &'static str); N];
pub(super) type NamedLabel = [(&'static str, String); 1];
pub(super) type Seconds = Gauge<f64, AtomicU64>;

/// Counters that differ in one label, indexed by the discriminant of the label's enum.
pub(super) struct Counts {
    names: &'static [&'static str],
    counters: Vec<Counter>,
}

impl Counts {
    pub(super) fn register(
        registry: &mut Registry,
        name: &str,
        help: &str,
        label: &'static str,
        names: &'static [&'static str],
    ) -> Self {
        let family = Family::<Labels<1>, Counter>::default();
        // Create the counters of all label values now, so that a dashboard shows 0 instead of a gap.
        let counters = names
            .iter()
            .map(|value| family.get_or_create_owned(&[(label, *value)]))
            .collect();
        registry.register(name, help, family);
        Self { names, counters }
    }

    pub(super) fn add(&self, index: usize, count: u64) {
        self.counters[index].inc_by(count);
    }

    pub(super) fn get(&self, index: usize) -> u64 {
        self.counters[index].get()
    }

    pub(super) fn list(&self) -> BTreeMap<&'static str, u64> {
        self.names
            .iter()
            .copied()
            .zip(self.counters.iter().map(Counter::get))
            .collect()
    }
}

/// Counters of seconds that differ in one label, by the positions of its values.
pub(super) fn second_counts(
    registry: &mut Registry,
    name: &str,
    help: &str,
    label: &'static str,
    names: &'static [&'static str],
) -> Vec<Counter<f64, AtomicU64>> {
    let family = Family::<Labels<1>, Counter<f64, AtomicU64>>::default();
    let counters = names
        .iter()
        .map(|value| family.get_or_create_owned(&[(label, *value)]))
        .collect();
    registry.register(name, help, family);
    counters
}

pub(super) fn counter(registry: &mut Registry, name: &str, help: &str) -> Counter {
    let counter = Counter::default();
    registry.register(name, help, counter.clone());
    counter
}

pub(super) fn gauge(registry: &mut Registry, name: &str, help: &str) -> Gauge {
    let gauge = Gauge::default();
    registry.register(name, help, gauge.clone());
    gauge
}

pub(super) fn seconds(registry: &mut Registry, name: &str, help: &str) -> Seconds {
    let gauge = Seconds::default();
    registry.register(name, help, gauge.clone());
    gauge
}

pub(super) fn build(registry: &mut Registry, build: &BuildInfo) {
    let labels = [
        ("version", build.version.clone()),
        ("suites", build.suites.join(",")),
        ("mechanisms", build.mechanisms.join(",")),
    ];
    registry.register("build", "What this build is", Info::new(labels));
}

pub(super) fn records(registry: &mut Registry) -> [Counts; 2] {
    let family = Family::<Labels<2>, Counter>::default();
    let counts = [Direction::Out, Direction::In].map(|direction| {
        let names = RecordKind::NAMES;
        let counters = names
            .iter()
            .map(|kind| family.get_or_create_owned(&[("dir", direction.name()), ("kind", *kind)]))
            .collect();
        Counts { names, counters }
    });
    registry.register("records", "Records sealed and sent, or received and opened", family);
    counts
}

/// Counts what players send and no camera gets.
pub(super) fn rtcp_refused(registry: &mut Registry) -> Counts {
    let help = "RTCP of players that was not passed on to a camera";
    Counts::register(registry, "rtcp_refused", help, "reason", RtcpRefusal::NAMES)
}

/// Counts how often a camera's stamps left the time in which its frames came.
pub(super) fn timeline_jumps(registry: &mut Registry) -> Counts {
    let help = "Jumps of the source's time stamps against when its frames came";
    Counts::register(registry, "source_timeline_jumps", help, "cause", Jump::NAMES)
}

/// Counts what strangers send to a source.
pub(super) fn source_strangers(registry: &mut Registry) -> Counts {
    let help = "Packets at the source's ports that were not taken because of whom they are";
    Counts::register(registry, "source_strangers", help, "cause", Stranger::NAMES)
}

pub(super) fn door_answers(registry: &mut Registry) -> Counts {
    let help = "Datagrams sent to strangers, without a session";
    Counts::register(registry, "door_answers", help, "kind", DoorAnswer::NAMES)
}

pub(super) fn selection(registry: &mut Registry) -> Family<NamedLabel, Gauge> {
    let family = Family::<NamedLabel, Gauge>::default();
    registry.register(
        "selection",
        "1 for what the publisher encrypts, as it was last asked to, or last said to this viewer",
        family.clone(),
    );
    family
}

pub(super) fn counted_seconds(registry: &mut Registry, name: &str, help: &str) -> Counter<f64, AtomicU64> {
    let counter = Counter::<f64, AtomicU64>::default();
    registry.register(name, help, counter.clone());
    counter
}

pub(super) fn temperature(registry: &mut Registry) -> Family<NamedLabel, Gauge<f64, AtomicU64>> {
    let family = Family::default();
    registry.register(
        "temperature_celsius",
        "Temperature by sensor; absent where none can be read",
        family.clone(),
    );
    family
}

pub(super) fn energy(registry: &mut Registry) -> Family<NamedLabel, Counter<f64, AtomicU64>> {
    let family = Family::default();
    registry.register(
        "energy_joules",
        "Energy of the whole machine by domain since the start; absent where it cannot be measured",
        family.clone(),
    );
    family
}

/// Writes the stage histograms when Prometheus fetches them, so that a frame is recorded once and not once per output
/// format.
#[derive(Debug)]
pub(super) struct StageCollector {
    pub(super) stages: StageTimes,
}

impl Collector for StageCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut family = encoder.encode_descriptor(
            "stage_seconds",
            "Time a frame spends in each stage",
            None,
            MetricType::Histogram,
        )?;
        for stage in Stage::ALL {
            let (sum, count, buckets) = self.stages.buckets(stage, &TIME_BUCKETS);
            family
                .encode_family(&[("stage", stage.name())])?
                .encode_histogram::<NoLabelSet>(sum, count, &buckets, None)?;
        }
        let (sum, count, buckets) = self.stages.buckets(Stage::Network, &TIME_BUCKETS);
        encoder
            .encode_descriptor(
                "network_seconds",
                "From handing a frame to the network to its arrival, by the corrected clock",
                None,
                MetricType::Histogram,
            )?
            .encode_histogram::<NoLabelSet>(sum, count, &buckets, None)?;
        encoder
            .encode_descriptor(
                "network_below_uncertainty",
                "Network latencies within the uncertainty of the clocks",
                None,
                MetricType::Counter,
            )?
            .encode_counter::<NoLabelSet, u64, f64>(&self.stages.snapshot(Stage::Network).below_uncertainty, None)
    }
}
