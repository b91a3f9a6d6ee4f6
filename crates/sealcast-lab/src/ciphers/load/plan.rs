//! The contenders, and the rounds in which each is measured.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use sealcast::failure::Result;
use serde::Serialize;

use super::pipeline::{Frames, Pipeline, Sink};
use super::record::LoadRecord;
use super::search::highest;
use crate::ciphers::contender::Contender;
use crate::ciphers::{plan, workload};
use crate::harness::on_time;

/// Time that a rate has to be sustained: in full, and with `--quick`.
const HELD: (Duration, Duration) = (Duration::from_secs(2), Duration::from_millis(250));

/// Options of the measurement.
#[derive(Clone, Debug)]
pub struct LoadOptions {
    /// Shorter measurements, for a first look.
    pub quick: bool,
    /// The clip to take frames from; the test card if absent.
    pub clip: Option<PathBuf>,
    /// Ciphers, or `cipher/implementation`; if empty, the fastest implementation of each cipher.
    pub only: Vec<String>,
    /// The destination of packets.
    pub sink: Sink,
    /// Number of rounds.
    pub rounds: usize,
}

impl LoadOptions {
    /// Time that a rate has to be sustained.
    pub(super) fn held(&self) -> Duration {
        if self.quick { HELD.1 } else { HELD.0 }
    }
}

/// The highest rate that a contender sustained in one round.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Held {
    /// Index of the contender; `None` without a cipher.
    pub(super) contender: Option<usize>,
    pub(super) filtered: bool,
    /// `None` if not even one frame per second was sustained.
    pub(super) frames_per_s: Option<f64>,
}

/// Measures everything and reports progress to `told`.
///
/// # Errors
/// A name is no contender's, the clip cannot be read, or packets cannot be sent.
pub fn measure(options: &LoadOptions, told: &dyn Fn(&str)) -> Result<LoadRecord> {
    let frames = Frames::new(&same_size(workload::pictures(options.clip.as_deref())?));
    told("choosing implementations that give published values");
    let (contenders, wrong) = contenders(options, &frames)?;
    let mut record = LoadRecord::begin(options, &frames, &contenders, wrong);
    on_time::go_first();
    // The run without a cipher takes part in the alternating order, too.
    let mut order: Vec<Option<usize>> = std::iter::once(None).chain((0..contenders.len()).map(Some)).collect();
    for number in 1..=options.rounds {
        let mut round = Vec::new();
        for &contender in &order {
            let cipher = contender.map(|index| &contenders[index]);
            let name = cipher.map_or_else(|| "none".to_owned(), Contender::name);
            told(&format!("round {number} of {}: {name}", options.rounds));
            for filtered in [false, true] {
                round.push(Held {
                    contender,
                    filtered,
                    frames_per_s: highest_of(options, &frames, cipher, filtered)?,
                });
            }
        }
        record.add(round);
        order.reverse();
    }
    Ok(record)
}

fn highest_of(
    options: &LoadOptions,
    frames: &Frames,
    cipher: Option<&Contender>,
    filtered: bool,
) -> Result<Option<f64>> {
    let mut pipeline = Pipeline::new(frames, cipher, filtered, options.sink)?;
    let mut failed = Ok(());
    // Times the second frame: the first one only warms up.
    pipeline.frame(0)?;
    let began = Instant::now();
    pipeline.frame(1)?;
    let guess = 0.5 / began.elapsed().as_secs_f64();
    let found = highest(guess, |rate| {
        pipeline.holds(rate, options.held()).unwrap_or_else(|failure| {
            failed = Err(failure);
            false
        })
    });
    failed.map(|()| found)
}

/// The pictures of the same size as the first, since the size may change within a clip.
fn same_size(mut pictures: Vec<sealcast::media::Picture>) -> Vec<sealcast::media::Picture> {
    let size = (pictures[0].width, pictures[0].height);
    pictures.retain(|picture| (picture.width, picture.height) == size);
    pictures
}

/// The named contenders, or the one of each cipher that is fastest on one frame; also those that are wrong, with the
/// reason.
fn contenders(options: &LoadOptions, frames: &Frames) -> Result<(Vec<Contender>, Vec<String>)> {
    let mut wrong = Vec::new();
    let mut right = plan::chosen(&options.only)?;
    right.retain(|one| {
        one.verify()
            .inspect_err(|why| wrong.push(format!("{}: {why}", one.name())))
            .is_ok()
    });
    if !options.only.is_empty() {
        return Ok((right, wrong));
    }
    let fastest = plan::fastest(right, |one| {
        let mut pipeline = Pipeline::new(frames, Some(one), false, Sink::Memory)?;
        pipeline.frame(0)?;
        let began = Instant::now();
        pipeline.frame(1)?;
        Ok(began.elapsed())
    })?;
    Ok((fastest, wrong))
}
