//! One run, between two new processes.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use sealcast::failure::{Failure, FailureKind, Result};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::ciphers::Choice;
use super::columns::{CURVE, PACKET, STEPS, TENTHS};
use super::ends::{AT, DONE, Received, Sent};
use super::packet::Medium;
use crate::experiments::link::load::now;
use crate::harness::process::{Program, Stop, last_words, own_program};
use crate::harness::{Definition, Engine, Opened, Place, Sample, Turn};

/// Limit for the start of an end, and for the whole run.
const PATIENCE: Duration = Duration::from_secs(120);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct System {
    cipher: String,
}

struct Delay {
    media: BTreeMap<String, Medium>,
    /// The implementation of each system.
    ciphers: BTreeMap<String, String>,
}

pub(super) fn open(definition: &Definition, place: &Place<'_>) -> Result<Opened> {
    let mut media = BTreeMap::new();
    for case in &definition.cases {
        media.insert(case.name.clone(), case.read::<Medium>()?.checked()?);
    }
    let largest = media.values().copied().max_by_key(|medium| medium.bytes);
    let mut choice = Choice::read(place);
    let mut ciphers = BTreeMap::new();
    for system in &definition.systems {
        let System { cipher } = system.read()?;
        let implementation = choice.of(&cipher, largest.unwrap_or_default())?;
        ciphers.insert(system.name.clone(), implementation);
    }
    choice.keep()?;
    let named = definition.systems.iter().map(|system| ciphers[&system.name].clone());
    let facts = vec![("implementations".to_owned(), named.collect::<Vec<_>>().join(", "))];
    Ok(Opened {
        facts,
        ..Opened::new(Delay { media, ciphers })
    })
}

impl Engine for Delay {
    fn measure(&self, turn: &Turn, _: f64, stop: Stop<'_>) -> Result<Sample> {
        let scratch = tempfile::tempdir().map_err(|error| {
            let what = format!("there is no room for temporary files ({error})");
            Failure::new(FailureKind::Sink, what, "set TMPDIR")
        })?;
        let run = Run {
            medium: self.media[&turn.case],
            cipher: &self.ciphers[&turn.system],
            token: now() as u32,
            scratch: scratch.path(),
            stop,
        };
        run.measure().map_err(|failure| Failure {
            what: failure.what + &last_words(scratch.path()),
            ..failure
        })
    }
}

struct Run<'a> {
    medium: Medium,
    cipher: &'a str,
    /// Distinguishes this run's packets from others.
    token: u32,
    scratch: &'a Path,
    stop: Stop<'a>,
}

impl Run<'_> {
    fn measure(&self) -> Result<Sample> {
        let mut receiver = self.start("the receiving end", "delay-receive", &[])?;
        let at = receiver.line(AT, PATIENCE, self.stop)?;
        let place = at.split_once(' ');
        let place = place.and_then(|(to, window)| Some((to.parse::<SocketAddr>().ok()?, window.parse::<u32>().ok()?)));
        let (to, window) = place.ok_or_else(|| unreadable(&at))?;
        let (to, words) = (to.to_string(), window.to_string());
        let sender = self.start("the sending end", "delay-send", &["--to", &to, "--window", &words])?;
        let sent: Sent = self.said(&sender)?;
        receiver.hush();
        let received: Received = self.said(&receiver)?;
        Ok(sample(self.medium, &sent, &received).with("window", window.into()))
    }

    fn start(&self, name: &'static str, command: &str, more: &[&str]) -> Result<Program> {
        let mut program = own_program()?;
        let Medium { packets, bytes } = self.medium;
        let numbers = [
            ("--packets", packets as usize),
            ("--bytes", bytes),
            ("--token", self.token as usize),
        ];
        program.args([command, "--cipher", self.cipher]);
        program.args(
            numbers
                .into_iter()
                .flat_map(|(option, number)| [option.to_owned(), number.to_string()]),
        );
        program.args(more);
        Program::start(name, program, &self.scratch.join(format!("{command}.txt")))
    }

    fn said<T: DeserializeOwned>(&self, program: &Program) -> Result<T> {
        let line = program.line(DONE, PATIENCE, self.stop)?;
        serde_json::from_str(&line).map_err(|_| unreadable(&line))
    }
}

fn unreadable(line: &str) -> Failure {
    let what = format!("an end of the measurement said `{line}`");
    Failure::new(FailureKind::Internal, what, "please report this")
}

/// The delays at each tenth of the packets, and the counts. A tenth has no delay if no packet had come by then; then
/// there is no curve either.
fn sample(medium: Medium, sent: &Sent, received: &Received) -> Sample {
    let delay = |at: u64| at.saturating_sub(sent.began_ns) as f64 / 1e6;
    let mut sample = Sample::default()
        .with("lost", f64::from(medium.packets - received.packets))
        .with("foreign", received.foreign as f64)
        .with("stalls", sent.stalls.into());
    for ([name, _], step) in TENTHS.iter().zip(&received.steps_ns) {
        sample = sample.with(name, step.map_or(f64::NAN, delay));
    }
    let whole = sample.value(TENTHS[STEPS - 1][0]);
    sample = sample.with_some(
        PACKET,
        whole.map(|delay_ms| delay_ms * 1e3 / f64::from(received.packets)),
    );
    let curve: Option<Vec<f64>> = received.steps_ns.iter().map(|step| step.map(delay)).collect();
    match curve {
        Some(curve) => sample.with_series(CURVE, curve),
        None => sample,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn received(steps_ns: Vec<Option<u64>>) -> Received {
        Received {
            steps_ns,
            packets: 498,
            foreign: 3,
        }
    }

    #[test]
    fn what_did_not_come_is_in_no_figure() {
        let medium = Medium {
            packets: 500,
            bytes: 600,
        };
        let sent = Sent {
            began_ns: 1_000_000,
            stalls: 1,
        };
        let steps: Vec<Option<u64>> = (2..=11).map(|ms| Some(ms * 1_000_000)).collect();
        let values = [
            "delay_ms_at_10",
            "delay_ms_at_20",
            "delay_ms",
            "lost",
            "foreign",
            "stalls",
        ];
        let of = |sample: &Sample| values.map(|name| sample.value(name));
        let whole = sample(medium, &sent, &received(steps.clone()));
        assert_eq!(of(&whole), [1.0, 2.0, 10.0, 2.0, 3.0, 1.0].map(Some));
        assert_eq!(whole.series[CURVE].len(), 10);
        assert_eq!(whole.value(PACKET), Some(10_000.0 / 498.0), "of those that came");

        let late = sample(medium, &sent, &received([&[None], &steps[1..]].concat()));
        assert_eq!(
            (late.value("delay_ms_at_10"), late.value("delay_ms")),
            (None, Some(10.0))
        );
        assert!(late.series.is_empty());
    }
}
