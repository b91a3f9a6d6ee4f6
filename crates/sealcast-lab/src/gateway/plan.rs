//! What is measured in which order.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use sealcast::failure::{Failure, FailureKind, Result};

use super::drive::drive;
use super::figures::{Figures, Sample};
use super::load::Load;
use super::system::System;
use crate::awake::Awake;
use crate::link::program::{Stop, stopped};

/// Most letters of a program's last line in a failure.
const MAX_WORDS: usize = 300;

/// What to measure.
#[derive(Clone, Debug)]
pub struct GatewayOptions {
    /// What is sent.
    pub loads: Vec<Load>,
    /// Who carries it.
    pub systems: Vec<System>,
    /// How often everything is measured.
    pub rounds: usize,
    /// How long one measurement takes.
    pub time: Duration,
    /// Whether the processors are kept from going to sleep.
    pub awake: bool,
}

/// What came of it.
pub struct GatewayResult {
    /// Of each load with each system, those without any sample left out.
    pub figures: Vec<Figures>,
    /// Who could not be measured, when, and why.
    pub missing: Vec<String>,
}

/// Measure everything, until it is done or `stop` says so; `told` hears of each sample. Everybody takes a turn with
/// every load, in the next round in the opposite order.
///
/// # Errors
/// It was stopped, there is no room for temporary files, or processors cannot be kept awake. Who cannot be measured is
/// noted instead.
pub fn measure(options: &GatewayOptions, stop: &AtomicBool, told: &dyn Fn(&str)) -> Result<GatewayResult> {
    let _awake = options.awake.then(Awake::keep).transpose()?;
    let mut figures: Vec<Figures> = Vec::new();
    for load in &options.loads {
        let suited = options.systems.iter().filter(|system| system.suits(load));
        figures.extend(suited.map(|system| Figures::new(*load, system.clone())));
    }
    let mut missing = Vec::new();
    for round in 0..options.rounds {
        for turn in 0..figures.len() {
            let at = if round % 2 == 0 { turn } else { figures.len() - 1 - turn };
            let (load, system) = (figures[at].load, figures[at].system.clone());
            let who = format!("{} of {}: {}: {system}", round + 1, options.rounds, load.name);
            match once(&load, &system, round, options.time, stop) {
                Ok((sample, delays)) => {
                    told(&format!("{who}: {sample}"));
                    figures[at].add(sample, &delays);
                }
                Err(_) if stop.load(Ordering::Relaxed) => return Err(stopped()),
                Err(failure) => {
                    told(&format!("{who}: {failure}"));
                    missing.push(format!("{system} with {} in round {}: {failure}", load.name, round + 1));
                }
            }
        }
    }
    figures.retain(|figures| !figures.samples.is_empty());
    Ok(GatewayResult { figures, missing })
}

/// One measurement, with everything set up for it anew.
fn once(load: &Load, system: &System, round: usize, time: Duration, stop: Stop<'_>) -> Result<(Sample, Vec<u64>)> {
    let scratch = tempfile::tempdir().map_err(|error| {
        let what = format!("there is no room for temporary files ({error})");
        Failure::new(FailureKind::Sink, what, "set TMPDIR")
    })?;
    let measured = system.open(load, scratch.path(), stop).and_then(|mut course| {
        let outcome = drive(&mut course, load, time, stop)?;
        Ok((Sample::new(round, &outcome), outcome.delays))
    });
    measured.map_err(|failure| Failure {
        what: failure.what + &last_words(scratch.path()),
        ..failure
    })
}

/// The last line of what each program printed, since its files go with the measurement.
pub(crate) fn last_words(scratch: &Path) -> String {
    let files = std::fs::read_dir(scratch)
        .into_iter()
        .flatten()
        .filter_map(io::Result::ok);
    let logs = files.filter(|file| file.path().extension().is_some_and(|kind| kind == "txt"));
    let words = logs.filter_map(|file| {
        let text = std::fs::read(file.path()).ok()?;
        let text = String::from_utf8_lossy(&text);
        let line: String = text.lines().last()?.chars().take(MAX_WORDS).collect();
        Some(format!("; {}: {line}", file.file_name().display()))
    });
    words.collect()
}
