//! Figures of the program as a whole, and the cameras that have figures of their own.

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use prometheus_client::encoding::text::{encode_eof, encode_registry};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::build_info::BuildInfo;
use super::camera::CameraMeter;
use super::data::DataMeter;
use super::exposition::joined;
use super::families::{self, Counts, NamedLabel, Seconds};
use super::labels::{DatagramRefusal, DatagramUnsent, HandshakeOutcome};
use super::metrics::Totals;
use super::peer_bytes::PeerBytes;
use super::turned_away::TurnedAwayMeter;

/// The metric families of the program in a registry, and those of its cameras.
pub(super) struct ProgramMeter {
    registry: Registry,
    pub(super) build: BuildInfo,
    pub(super) datagrams_refused: Counts,
    pub(super) datagrams_unsent: Counts,
    pub(super) door_answers: Counts,
    pub(super) turned_away: TurnedAwayMeter,
    pub(super) data: DataMeter,
    pub(super) peer_bytes: PeerBytes,
    pub(super) handshakes: Counts,
    pub(super) clock_offset: Seconds,
    pub(super) clock_spread: Seconds,
    pub(super) clock_uncertainty: Seconds,
    pub(super) clock_rate: Seconds,
    pub(super) cpu_seconds: Counter<f64, AtomicU64>,
    pub(super) rss: Gauge,
    pub(super) temperature: Family<NamedLabel, Gauge<f64, AtomicU64>>,
    pub(super) energy: Family<NamedLabel, Counter<f64, AtomicU64>>,
    /// The choice of a program that names no camera.
    nameless: Arc<CameraMeter>,
    cameras: Mutex<Vec<Named>>,
}

/// A camera with figures of its own.
struct Named {
    name: String,
    meter: Arc<CameraMeter>,
    /// True once it was taken out of service: its figures count in totals, and are shown no more.
    retired: bool,
}

impl ProgramMeter {
    pub(super) fn new(build: BuildInfo) -> Self {
        let mut registry = Registry::with_prefix("sealcast");
        let r = &mut registry;
        families::build(r, &build);
        let refused = "Datagrams received and handed to no session";
        let unsent = "Datagrams given up instead of sent";
        let offset = "The peer's wall clock minus ours";
        let spread = "How far the clock offset may be from the truth if the path is symmetric";
        let uncertainty = "How far the clock offset may be from the truth, whatever the path";
        let rate = "Rate of the peer's clock minus that of ours";
        let cpu = "CPU time of this process, all threads, user and system";
        let peer_bytes = PeerBytes::default();
        Self {
            build,
            datagrams_refused: Counts::register(r, "datagrams_refused", refused, "reason", DatagramRefusal::NAMES),
            datagrams_unsent: Counts::register(r, "datagrams_unsent", unsent, "reason", DatagramUnsent::NAMES),
            door_answers: families::door_answers(r),
            turned_away: TurnedAwayMeter::register(r),
            data: DataMeter::register(r),
            handshakes: Counts::register(r, "handshakes", "Handshakes ended", "outcome", HandshakeOutcome::NAMES),
            clock_offset: families::seconds(r, "clock_offset_seconds", offset),
            clock_spread: families::seconds(r, "clock_spread_seconds", spread),
            clock_uncertainty: families::seconds(r, "clock_uncertainty_seconds", uncertainty),
            clock_rate: families::seconds(r, "clock_rate_ratio", rate),
            cpu_seconds: families::counted_seconds(r, "cpu_seconds", cpu),
            rss: families::gauge(r, "rss_bytes", "Resident memory of this process"),
            temperature: families::temperature(r),
            energy: families::energy(r),
            registry: {
                registry.register_collector(Box::new(peer_bytes.clone()));
                registry
            },
            peer_bytes,
            nameless: Arc::new(CameraMeter::new(None)),
            cameras: Mutex::default(),
        }
    }

    /// Figures of what the program does without naming a camera.
    pub(super) fn nameless(&self) -> Arc<CameraMeter> {
        Arc::clone(&self.nameless)
    }

    /// Figures of the camera with this name, the same for each call. It is in service again, if it was not.
    pub(super) fn camera(&self, name: &str) -> Arc<CameraMeter> {
        let mut cameras = self.cameras();
        if let Some(known) = cameras.iter_mut().find(|known| known.name == name) {
            known.retired = false;
            return Arc::clone(&known.meter);
        }
        let meter = Arc::new(CameraMeter::new(Some(name)));
        cameras.push(Named {
            name: name.to_owned(),
            meter: Arc::clone(&meter),
            retired: false,
        });
        meter
    }

    /// The camera with these figures is taken out of service.
    pub(super) fn retire(&self, meter: &Arc<CameraMeter>) {
        let mut cameras = self.cameras();
        let known = cameras.iter_mut().find(|known| Arc::ptr_eq(&known.meter, meter));
        if let Some(known) = known {
            known.retired = true;
        }
    }

    fn cameras(&self) -> MutexGuard<'_, Vec<Named>> {
        // Each statement leaves the list whole.
        self.cameras.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Figures of all cameras, and of what belongs to none.
    pub(super) fn parts(&self) -> Vec<Arc<CameraMeter>> {
        let named = self.cameras();
        let mut parts: Vec<_> = named.iter().map(|camera| Arc::clone(&camera.meter)).collect();
        parts.push(self.nameless());
        parts
    }

    /// Figures of the cameras in service.
    fn shown(&self) -> Vec<Arc<CameraMeter>> {
        let named = self.cameras();
        let shown = named.iter().filter(|camera| !camera.retired);
        shown.map(|camera| Arc::clone(&camera.meter)).collect()
    }

    /// The program's own counters; those of its cameras are at zero.
    pub(super) fn totals(&self) -> Totals {
        Totals {
            datagrams_refused: self.datagrams_refused.list(),
            datagrams_unsent: self.datagrams_unsent.list(),
            door_answers: self.door_answers.list(),
            turned_away: self.turned_away.list(),
            handshakes: self.handshakes.list(),
            ..Totals::default()
        }
    }

    /// Everything in the OpenMetrics text format. What belongs to no camera is told by a program that names none: one
    /// that does counts little there, before it knows which camera a session is of, and only [`totals`](Self::totals)
    /// and reports add it.
    pub(super) fn encode(&self) -> String {
        let (mut cameras, mut received) = (self.shown(), Totals::default());
        self.nameless.add_to(&mut received);
        // A demo watches its own camera.
        if cameras.is_empty() || received.frames_in > 0 {
            cameras.push(self.nameless());
        }
        let mut text = text_of(&self.registry);
        let texts: Vec<String> = cameras.iter().map(|camera| text_of(camera.registry())).collect();
        text.push_str(&joined(&texts));
        // Writing into a String cannot fail.
        let _ = encode_eof(&mut text);
        text
    }
}

fn text_of(registry: &Registry) -> String {
    let mut text = String::with_capacity(16 * 1024);
    // If an encoder fails, the text so far is still useful.
    if encode_registry(&mut text, registry).is_err() {
        tracing::warn!("the metrics could not be encoded completely");
    }
    text
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use sealcast_proto::session::ShapeCounts;

    use super::super::labels::{Direction, DoorAnswer, OpenFailure, RecordKind};
    use super::super::metrics::{Metrics, Overhead};
    use super::super::stage::Stage;
    use super::*;

    fn samples<'a>(text: &'a str, family: &str) -> Vec<&'a str> {
        text.lines().filter(|line| line.starts_with(family)).collect()
    }

    /// Fails unless each family has one head, with its samples and nothing else below it.
    fn assert_families_stand_together(text: &str) {
        let mut heads: Vec<&str> = Vec::new();
        let mut lines = text.strip_suffix("# EOF\n").expect("one end").lines().peekable();
        while let Some(line) = lines.next() {
            let name = line.strip_prefix("# HELP ").expect(line).split(' ').next().unwrap();
            assert!(!heads.contains(&name), "two heads of {name} in {text}");
            heads.push(name);
            assert!(lines.next().unwrap().starts_with(&format!("# TYPE {name} ")), "{text}");
            while let Some(sample) = lines.next_if(|line| !line.starts_with('#')) {
                assert!(sample.starts_with(name), "{sample} below {name}");
            }
        }
    }

    #[test]
    fn the_cameras_figures_stand_below_one_head_each_and_after_the_programs() {
        let front = "sealcast_frames_total{camera=\"front\",dir=\"out\"} 1";
        let yard = "sealcast_frames_total{camera=\"yard\",dir=\"out\"} 2";
        for (cameras, frames) in [
            (&[][..], &["sealcast_frames_total{dir=\"out\"} 0"][..]),
            (&["front"], &[front]),
            (&["front", "yard"], &[front, yard]),
        ] {
            let metrics = Metrics::new(BuildInfo::default());
            metrics.door_answered(DoorAnswer::Cookie);
            for (before, name) in cameras.iter().enumerate() {
                let camera = metrics.of_camera(name);
                (0..=before).for_each(|_| camera.record_frame(Direction::Out));
                camera.record_stage(Stage::Seal, Duration::from_micros(30));
                camera.door_answered(DoorAnswer::Cookie);
                // A family without samples is left out: only the last camera has this one.
                if Some(name) == cameras.last() {
                    camera.set_selection("all");
                }
            }
            let text = metrics.encode();
            assert_families_stand_together(&text);
            let [sent, sealed, answers, selections] = [
                ("sealcast_frames_total", "dir=\"out\""),
                ("sealcast_stage_seconds_count", "stage=\"seal\"} 1"),
                ("sealcast_door_answers_total{kind=\"cookie\"}", ""),
                ("sealcast_selection", ""),
            ]
            .map(|(family, labels)| {
                let mut of_family = samples(&text, family);
                of_family.retain(|sample| sample.contains(labels));
                of_family
            });
            assert_eq!(sent, frames);
            assert_eq!((sealed.len(), selections.len()), (cameras.len(), cameras.len().min(1)));
            let count = cameras.len() + 1;
            assert_eq!(
                answers,
                [format!("sealcast_door_answers_total{{kind=\"cookie\"}} {count}")]
            );
            let first_of_a_camera = text.find("sealcast_records").unwrap();
            let programs = ["sealcast_build_info", "sealcast_rss_bytes", "sealcast_peer_bytes"];
            assert!(
                programs
                    .iter()
                    .all(|name| text.rfind(name).unwrap() < first_of_a_camera)
            );
            assert_eq!(metrics.of_camera("front").encode(), metrics.of_camera("front").encode());
        }
    }

    #[test]
    fn a_camera_that_is_named_again_goes_on_counting() {
        let metrics = Metrics::new(BuildInfo::default());
        metrics.of_camera("front").record_frame(Direction::Out);
        metrics
            .of_camera("yard")
            .of_camera("front")
            .record_frame(Direction::Out);
        let text = metrics.encode();
        let front = "sealcast_frames_total{camera=\"front\",dir=\"out\"} 2";
        assert!(samples(&text, "sealcast_frames_total").contains(&front), "{text}");
    }

    #[test]
    fn a_camera_out_of_service_is_shown_no_more_and_counts_in_the_totals() {
        let metrics = Metrics::new(BuildInfo::default());
        let [front, yard] = ["front", "yard"].map(|name| metrics.of_camera(name));
        front.record_frame(Direction::Out);
        yard.record_frame(Direction::Out);
        front.retire();
        let text = metrics.encode();
        assert!(
            !text.contains("camera=\"front\"") && text.contains("camera=\"yard\""),
            "{text}"
        );
        assert_eq!(metrics.totals().frames_out, 2);
        assert!(
            metrics.of_camera("front").encode().contains("camera=\"front\""),
            "in service again"
        );
    }

    #[test]
    fn names_of_cameras_are_escaped() {
        for (name, label) in [
            ("camera", r"camera"),
            (r#"the "front" door"#, r#"the \"front\" door"#),
            (r"C:\yard", r"C:\\yard"),
            (
                "two\nlines\n# HELP sealcast_epoch x",
                r"two\nlines\n# HELP sealcast_epoch x",
            ),
            ("Hof 🐎", "Hof 🐎"),
        ] {
            let metrics = Metrics::new(BuildInfo::default());
            metrics.of_camera(name).set_epoch(3);
            let text = metrics.encode();
            assert_eq!(
                samples(&text, "sealcast_epoch"),
                [format!("sealcast_epoch{{camera=\"{label}\"}} 3")]
            );
            assert_families_stand_together(&text);
        }
    }

    #[test]
    fn totals_and_reports_are_of_the_whole_program() {
        let metrics = Metrics::new(BuildInfo::default());
        metrics.record_refused(OpenFailure::Malformed);
        let before = metrics.totals();
        let cameras = ["front", "yard"].map(|name| metrics.of_camera(name));
        assert_eq!(metrics.totals(), before, "naming a camera takes nothing away");
        for (camera, bytes) in cameras.iter().zip([100, 20]) {
            camera.record_sealed(
                RecordKind::Media,
                bytes,
                Overhead {
                    header: 24,
                    ..Overhead::default()
                },
            );
            camera.record_refused(OpenFailure::Tag);
            camera.record_stage(Stage::Seal, Duration::from_nanos(bytes));
            let cells = ShapeCounts {
                cell_bytes: 4 * bytes,
                inner_bytes: bytes,
                ..ShapeCounts::default()
            };
            camera.shaped(&mut ShapeCounts::default(), cells);
        }
        for metrics in [&metrics, &cameras[0]] {
            let totals = metrics.totals();
            assert_eq!(
                (totals.bytes_out, totals.records_sealed, totals.overhead_bytes["header"]),
                (120, 2, 48)
            );
            assert_eq!((totals.open_failures["tag"], totals.open_failures["malformed"]), (2, 1));
            let seal = metrics.stage(Stage::Seal);
            assert_eq!((seal.count, seal.min_ns, seal.max_ns, seal.mean_ns), (2, 20, 100, 60.0));
            assert_eq!(metrics.stage_snapshots(), [(Stage::Seal, seal)]);
            let shape = metrics.shape_report().unwrap();
            assert_eq!(
                (shape.cell_bytes, shape.inner_bytes, shape.overhead_ratio),
                (480, 120, 3.0)
            );
        }
    }
}
