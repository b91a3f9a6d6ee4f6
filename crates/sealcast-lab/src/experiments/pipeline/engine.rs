//! One measurement: a stream between two programs, and what their logs say of it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use sealcast::failure::{Failure, Result};
use serde::Deserialize;

use crate::experiments::stream::{Seen, Stream, Viewer, between, delivered, verified};
use crate::harness::process::{Stop, last_words};
use crate::harness::{Definition, Engine, Opened, Place, Sample, Turn};
use crate::report::Report;

/// The stream, and the way in which it is published.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    /// Source that `publish` reads.
    source: String,
    /// Carrier on which the publisher listens: `udp`, `tcp` or `quic`, and its options after a `?`.
    listen: String,
    /// The key mechanism, as in `--mech`.
    mechanism: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct System {
    suite: String,
}

struct Pipeline {
    cases: BTreeMap<String, Case>,
    suites: BTreeMap<String, String>,
    folder: PathBuf,
}

pub(super) fn open(definition: &Definition, place: &Place<'_>) -> Result<Opened> {
    let mut pipeline = Pipeline {
        cases: BTreeMap::new(),
        suites: BTreeMap::new(),
        folder: place.folder.join("runs"),
    };
    for case in &definition.cases {
        pipeline.cases.insert(case.name.clone(), case.read()?);
    }
    for system in &definition.systems {
        let System { suite } = system.read()?;
        pipeline.suites.insert(system.name.clone(), suite);
    }
    Ok(Opened::new(pipeline))
}

impl Engine for Pipeline {
    fn measure(&self, turn: &Turn, seconds: f64, stop: Stop<'_>) -> Result<Sample> {
        let name = format!("{}-{}-{}", turn.case, turn.system, turn.round + 1);
        let folder = self.folder.join(name);
        let case = &self.cases[&turn.case];
        let options = ["--suite", &self.suites[&turn.system], "--mech", &case.mechanism];
        let stream = Stream {
            source: &case.source,
            listen: &case.listen,
            options: &options.map(str::to_owned),
            publisher: &[],
            viewer: Viewer::Page,
            link: None,
            tap: None,
            net: None,
            seed: 0,
            warm_up: Duration::ZERO,
            grid: None,
            periods: vec![Duration::from_secs_f64(seconds)],
            meter: "auto",
            without_aes: false,
            folder: &folder,
            stop,
        };
        let seen = stream.run().map_err(|failure| Failure {
            what: failure.what + &last_words(&folder),
            ..failure
        })?;
        let report = Report::read(&["publisher", "viewer"].map(|end| stream.logs(end)))?;
        report.write(&folder.join("report"))?;
        let condensed = report.condensed(seconds);
        let values = condensed.values.iter();
        let sample = values.fold(arrived(&seen), |sample, (name, value)| sample.with(name, *value));
        let curves = condensed.curves.into_iter().filter(|(_, curve)| !curve.is_empty());
        let sample = curves.fold(sample, |sample, (name, curve)| sample.with_series(&name, curve));
        Ok(condensed.lacks.into_iter().fold(sample, Sample::lacking))
    }
}

/// Shares of the frames that arrived, and of the records that were verified.
fn arrived(seen: &Seen) -> Sample {
    let ends = seen.marks.first().zip(seen.marks.last());
    let whole = ends.map(|(from, to)| between(&seen.frames, from, to));
    let share = whole.filter(|whole| whole.frames > 0).map(|whole| delivered(&whole));
    Sample::default()
        .with_some("delivered", share)
        .with_some("verified", verified(&seen.viewer))
}
