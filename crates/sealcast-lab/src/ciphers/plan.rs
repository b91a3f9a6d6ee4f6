//! Rounds, in which everybody takes a turn with everything.

use std::path::PathBuf;
use std::time::Duration;

use sealcast::failure::{Failure, FailureKind, Result};

use super::contender::{self, Contender};
use super::external::{self, External};
use super::measure::{Bench, Cell};
use super::record::{Record, Round};
use super::workload::{self, Workload};

/// What is measured, and how long.
#[derive(Clone, Debug)]
pub struct CipherOptions {
    /// Less of everything, for a first look.
    pub quick: bool,
    /// Frames come from this clip, else from the test card.
    pub clip: Option<PathBuf>,
    /// Ciphers, or `cipher/implementation`; all if none is named.
    pub only: Vec<String>,
    /// Libraries to measure beside them.
    pub external: Vec<External>,
    /// How often everybody takes a turn.
    pub rounds: usize,
    /// Where the record grows, and goes on if it is there already.
    pub folder: Option<PathBuf>,
}

impl CipherOptions {
    /// How long one contender repeats one workload in one round.
    pub(super) fn slice(&self) -> Duration {
        Duration::from_millis(if self.quick { 4 } else { 30 })
    }

    /// A contender that takes longer for a single packet is not measured with packets of that length.
    fn patience(&self) -> Duration {
        if self.quick {
            Duration::from_millis(50)
        } else {
            Duration::from_secs(60)
        }
    }
}

/// Measures. `told` hears how far it is.
///
/// # Errors
/// A name is no contender's, the clip cannot be read, or the folder has the record of another measurement.
pub fn measure(options: &CipherOptions, told: &dyn Fn(&str)) -> Result<Record> {
    let mut contenders = chosen(&options.only)?;
    contenders.extend(external::all(&options.external)?);
    let workloads = workload::all(options.clip.as_deref())?;
    told(&format!(
        "holding {} implementations to published values",
        contenders.len()
    ));
    let mut record = Record::begin(options, &contenders, &workloads);
    if let Some(folder) = &options.folder {
        record = record.resumed(folder)?;
    }
    for number in record.rounds.len()..options.rounds {
        let place = format!("round {} of {}", number + 1, options.rounds);
        let round = round(options, &mut record, &contenders, &workloads, &|words| {
            told(&format!("{place}: {words}"))
        });
        record.rounds.push(round);
        if let Some(folder) = &options.folder {
            record.save(folder)?;
        }
    }
    Ok(record)
}

/// Forwards and backwards by turns, so that whoever comes after a slow one is not always the same.
fn round(
    options: &CipherOptions,
    record: &mut Record,
    contenders: &[Contender],
    workloads: &[Workload],
    told: &dyn Fn(&str),
) -> Round {
    let mut order: Vec<usize> = (0..contenders.len()).collect();
    if record.rounds.len() % 2 == 1 {
        order.reverse();
    }
    let mut round = Round::begin();
    told("key and IV set-up");
    for &index in &order {
        if record.contenders[index].wrong.is_some() {
            continue;
        }
        match Bench::new(&contenders[index], options.slice()).and_then(|mut bench| bench.set_up(index)) {
            Ok(set_up) => round.set_ups.push(set_up),
            Err(wrong) => record.contenders[index].wrong = Some(wrong),
        }
    }
    for (at, workload) in workloads.iter().enumerate() {
        told(&workload.name);
        for &index in &order {
            if record.contenders[index].wrong.is_some() || record.was_left_out(index, at) {
                continue;
            }
            let bench = Bench::new(&contenders[index], options.slice());
            match bench.and_then(|mut bench| bench.run(workload, options.patience())) {
                Ok(timed) => round.cells.extend(timed.map(|timed| Cell {
                    contender: index,
                    workload: at,
                    timed,
                })),
                Err(wrong) => record.contenders[index].wrong = Some(wrong),
            }
        }
    }
    round
}

/// Ours and those of libraries that are named, or all if none is.
///
/// # Errors
/// A name is no contender's.
pub(crate) fn chosen(only: &[String]) -> Result<Vec<Contender>> {
    let all = contender::all();
    let is = |one: &Contender, name: &String| one.cipher == *name || one.name() == *name;
    if let Some(unknown) = only.iter().find(|name| !all.iter().any(|one| is(one, name))) {
        let mut names: Vec<&str> = all.iter().map(|one| one.cipher.as_str()).collect();
        names.dedup();
        let what = format!("there is no cipher `{unknown}`");
        let hint = format!(
            "choose among {}, or one of their implementations, such as trivium/words",
            names.join(", ")
        );
        return Err(Failure::new(FailureKind::Usage, what, hint));
    }
    let asked_for = |one: &Contender| only.is_empty() || only.iter().any(|name| is(one, name));
    Ok(all.into_iter().filter(asked_for).collect())
}
