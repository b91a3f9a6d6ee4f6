//! Who takes part, and rounds, in which everybody takes a turn.

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

/// How long a rate has to hold: in full, and with `--quick`.
const HELD: (Duration, Duration) = (Duration::from_secs(2), Duration::from_millis(250));

/// What is measured.
#[derive(Clone, Debug)]
pub struct LoadOptions {
    /// Less of everything, for a first look.
    pub quick: bool,
    /// Frames come from this clip, else from the test card.
    pub clip: Option<PathBuf>,
    /// Ciphers, or `cipher/implementation`; of each cipher the fastest implementation if none is named.
    pub only: Vec<String>,
    /// Where packets go.
    pub sink: Sink,
    /// How often everybody takes a turn.
    pub rounds: usize,
}

impl LoadOptions {
    /// How long a rate has to hold.
    pub(super) fn held(&self) -> Duration {
        if self.quick { HELD.1 } else { HELD.0 }
    }
}

/// The highest rate that one held in one round.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Held {
    /// Place among the contenders; none for no cipher.
    pub(super) contender: Option<usize>,
    pub(super) filtered: bool,
    /// None if one frame a second was too many.
    pub(super) frames_per_s: Option<f64>,
}

/// Measures. `told` hears how far it is.
///
/// # Errors
/// A name is no contender's, the clip cannot be read, or packets cannot be sent.
pub fn measure(options: &LoadOptions, told: &dyn Fn(&str)) -> Result<LoadRecord> {
    let frames = Frames::new(&same_size(workload::pictures(options.clip.as_deref())?));
    told("choosing implementations that give published values");
    let (contenders, wrong) = contenders(options, &frames)?;
    let mut record = LoadRecord::begin(options, &frames, &contenders, wrong);
    on_time::go_first();
    // The one without a cipher comes first and last by turns, too.
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
    // The second frame: the first one only warms up.
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

/// Those that are as large as the first: a clip may change its size.
fn same_size(mut pictures: Vec<sealcast::media::Picture>) -> Vec<sealcast::media::Picture> {
    let size = (pictures[0].width, pictures[0].height);
    pictures.retain(|picture| (picture.width, picture.height) == size);
    pictures
}

/// Those that are named, or of each cipher the fastest on one frame; and who is wrong, and why.
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
