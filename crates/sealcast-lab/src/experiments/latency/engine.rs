//! One measurement: a run of a system in a case.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sealcast::failure::{Failure, FailureKind, Result};
use sealcast::meter::statistics::mean;
use sealcast_proto::sim::Random;

use super::case::{Case, Session, Settings, System};
use super::gateways::Run;
use crate::experiments::stream::{Frame, Stream, Suite, Viewer};
use crate::harness::process::{Stop, last_words};
use crate::harness::summary::Summary;
use crate::harness::{Definition, Engine, Entry, Opened, Place, Sample, Turn};

/// Stages of a session that count as encryption, as transmission and as decryption.
const ENCRYPTION: [&str; 3] = ["capture", "encode", "seal"];
const TRANSMISSION: [&str; 4] = ["queue", "send", "network", "reassembly"];
const DECRYPTION: [&str; 1] = ["open"];
const REST: [&str; 3] = ["wait", "decode", "present"];

struct Latency {
    settings: Settings,
    cases: BTreeMap<String, Case>,
    systems: BTreeMap<String, System>,
    seed: u64,
    folder: PathBuf,
}

pub(super) fn open(definition: &Definition, place: &Place<'_>) -> Result<Opened> {
    let settings = Settings::read(definition)?;
    let mut cases = BTreeMap::new();
    for entry in &definition.cases {
        cases.insert(entry.name.clone(), Case::read(entry, &settings)?);
    }
    let mut systems = BTreeMap::new();
    for entry in &definition.systems {
        systems.insert(entry.name.clone(), entry.read::<System>()?);
    }
    let link = format!("{}: {}", settings.profile, settings.profiles[&settings.profile]);
    Ok(Opened {
        facts: vec![("link of cases that name none".to_owned(), link)],
        ..Opened::new(Latency {
            settings,
            cases,
            systems,
            seed: definition.seed,
            folder: place.folder.join("runs"),
        })
    })
}

impl Engine for Latency {
    fn suits(&self, case: &Entry, system: &Entry) -> bool {
        let is_session = matches!(self.cases[&case.name], Case::Session(_));
        let system = &self.systems[&system.name];
        system.suits(&case.name) && (system.suite().is_some() || !is_session)
    }

    fn measure(&self, turn: &Turn, seconds: f64, stop: Stop<'_>) -> Result<Sample> {
        let name = format!("{}-{}-{}", turn.case, turn.system, turn.round + 1);
        let folder = self.folder.join(name);
        // All systems of a round lose the packets with the same numbers.
        let place = self
            .cases
            .keys()
            .position(|name| *name == turn.case)
            .unwrap_or_default();
        let seed = Random::new(self.seed ^ ((turn.round as u64) << 32) ^ place as u64).next_u64();
        let suite = self.systems[&turn.system].suite();
        let measured = match (&self.cases[&turn.case], &suite) {
            (Case::Gateways(case), suite) => Run {
                settings: &self.settings,
                case,
                suite: suite.as_ref(),
                seed,
                seconds,
                folder: &folder,
                stop,
            }
            .measure(),
            (Case::Session(case), Some(suite)) => self.session(case, suite, seed, seconds, &folder, stop),
            (Case::Session(_), None) => Err(Failure::new(
                FailureKind::Usage,
                format!("`{}` has no suite for a session", turn.system),
                "correct the definition",
            )),
        };
        measured.map_err(|failure| Failure {
            what: failure.what + &last_words(&folder),
            ..failure
        })
    }
}

impl Latency {
    fn session(
        &self,
        case: &Session,
        suite: &Suite,
        seed: u64,
        seconds: f64,
        folder: &Path,
        stop: Stop<'_>,
    ) -> Result<Sample> {
        let link = case.link(&self.settings)?;
        let stream = Stream {
            source: &case.source,
            listen: "udp",
            options: &suite.options(),
            publisher: &["--encrypt".to_owned(), case.encrypt.clone()],
            viewer: Viewer::Probe,
            link: link.as_ref(),
            tap: None,
            net: None,
            seed,
            warm_up: Duration::from_secs_f64(self.settings.warm_up_seconds),
            grid: None,
            periods: vec![Duration::from_secs_f64(seconds)],
            meter: "none",
            without_aes: false,
            folder,
            stop,
        };
        let seen = stream.run()?;
        let time = seen.marks[0].at_ns..seen.marks[1].at_ns;
        let frames: Vec<&Frame> = seen
            .frames
            .iter()
            .filter(|frame| time.contains(&frame.received_ns))
            .collect();
        let total = |name: &str| seen.viewer["totals"][name].as_f64();
        let sample = split(&frames, seconds).map(|sample| {
            sample
                .with_some("freezes", total("freezes"))
                .with_some("frozen_ms", total("frozen_ms"))
        });
        sample.ok_or_else(|| {
            let what = "no frame with all its stages arrived in the time that is measured";
            Failure::new(FailureKind::Network, what, "see the files of the run")
        })
    }
}

/// The sample of a session: its latency, and the means of what it consists of.
fn split(frames: &[&Frame], seconds: f64) -> Option<Sample> {
    let video = Summary::of(frames.iter().filter_map(|frame| frame.total_ms).collect())?;
    let part = |stages: &[&str]| {
        // Where sealing and sending were not measured, the network includes them.
        let of = |frame: &Frame| -> f64 { stages.iter().filter_map(|stage| frame.stage_us(stage)).sum() };
        let whole = frames.iter().filter(|frame| frame.total_ms.is_some());
        mean(&whole.map(|frame| of(frame)).collect::<Vec<_>>()) * 1e-3
    };
    let count = video.count as f64;
    let sample = Sample::default()
        .with("frames", count)
        .with("fps", count / seconds)
        .with(
            "mbit_s",
            frames.iter().map(|frame| frame.bytes).sum::<f64>() * 8e-6 / seconds,
        )
        .with("enc_ms", part(&ENCRYPTION))
        .with("trans_ms", part(&TRANSMISSION))
        .with("dec_ms", part(&DECRYPTION))
        .with("rest_ms", part(&REST));
    Some(video.into_sample(sample, "video", "ms"))
}

#[cfg(test)]
mod tests {
    use super::super::LATENCY;
    use super::*;

    #[test]
    fn every_stage_belongs_to_one_part() {
        let parts = [&ENCRYPTION[..], &TRANSMISSION, &DECRYPTION, &REST].concat();
        let mut stages = crate::report::FRAME_STAGES.to_vec();
        let mut all = parts.clone();
        stages.sort_unstable();
        all.sort_unstable();
        assert_eq!(all, stages);
    }

    #[test]
    fn the_parts_of_a_latency_are_its_sum() {
        let frame = |total: Option<f64>| Frame {
            number: 1,
            keyframe: false,
            bytes: 12_500.0,
            sealed_ns: None,
            received_ns: 0,
            network_ms: None,
            delay_ms: None,
            total_ms: total,
            stages: std::array::from_fn(|at| Some(1000.0 * (at + 1) as f64)),
        };
        let frames = [frame(Some(66.0)), frame(None)];
        let sample = split(&frames.iter().collect::<Vec<_>>(), 1.0).expect("a frame");
        let value = |name: &str| sample.value(name).expect(name);
        let parts = ["enc_ms", "trans_ms", "dec_ms", "rest_ms"].map(value);
        assert_eq!(parts, [1.0 + 2.0 + 4.0, 3.0 + 5.0 + 6.0 + 7.0, 8.0, 9.0 + 10.0 + 11.0]);
        assert_eq!(value("video_mean_ms"), parts.iter().sum::<f64>());
        assert!((value("mbit_s") - 0.2).abs() < 1e-9);
        assert_eq!(value("frames"), 1.0);
    }

    #[test]
    fn the_matrix_is_whole() {
        let definition = Definition::parse(LATENCY.definition).expect("it is right");
        let settings = Settings::read(&definition).expect("settings");
        let mut all = std::collections::BTreeSet::new();
        for entry in &definition.cases {
            if let Case::Gateways(case) = Case::read(entry, &settings).expect(&entry.name) {
                let slow = case.cpu_percent > 0;
                all.insert((slow, format!("{:?}", case.codec), case.carrier, case.chunk));
            }
        }
        assert_eq!(all.iter().filter(|case| !case.0).count(), 12, "Scenario I");
        assert_eq!(
            all.iter().filter(|case| case.0 && case.3 == 128).count(),
            4,
            "Scenario II"
        );
        for name in ["off", "on"] {
            let system = definition
                .systems
                .iter()
                .find(|system| system.name == name)
                .expect(name);
            let system: System = system.read().expect(name);
            assert!(
                definition
                    .cases
                    .iter()
                    .all(|case| system.suits(&case.name) || !case.name.contains("h264"))
            );
        }
    }
}
