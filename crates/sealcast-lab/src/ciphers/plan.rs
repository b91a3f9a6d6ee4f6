//! The rounds, in which every contender is measured on every workload.

use std::path::PathBuf;
use std::time::Duration;

use sealcast::failure::{Failure, FailureKind, Result};
use sealcast::meter::power::MeterSpec;

use super::alone::{self, Alone, Question};
use super::contender::{self, Contender};
use super::energy;
use super::external::{self, External};
use super::measure::{Bench, Cell};
use super::record::{Record, Round};
use super::workload::{self, Workload};

/// Name of the readable definitions.
const DEFINITION: &str = "definition";

/// Options of the measurement.
#[derive(Clone, Debug)]
pub struct CipherOptions {
    /// Shorter measurements, for a first look.
    pub quick: bool,
    /// The clip to take frames from; the test card if absent.
    pub clip: Option<PathBuf>,
    /// Ciphers, or `cipher/implementation`; all if empty.
    pub only: Vec<String>,
    /// Additional libraries to measure.
    pub external: Vec<External>,
    /// Number of rounds.
    pub rounds: usize,
    /// Keys per second that an attacker tries by brute force.
    pub guesses_per_second: f64,
    /// Folder of the record, which is continued if it exists.
    pub folder: Option<PathBuf>,
    /// The energy meter.
    pub meter: MeterSpec,
}

impl CipherOptions {
    /// Measuring time of one contender on one workload in one round.
    pub(super) fn slice(&self) -> Duration {
        Duration::from_millis(if self.quick { 4 } else { 30 })
    }

    /// A contender that takes longer for a single packet in the first round is not measured with packets of that
    /// length.
    fn patience(&self) -> Duration {
        if self.quick {
            Duration::from_millis(50)
        } else {
            Duration::from_secs(60)
        }
    }
}

/// Measures everything and reports progress to `told`.
///
/// # Errors
/// A name is no contender's, the clip cannot be read, the meter is missing, or the folder has the record of another
/// measurement.
pub fn measure(options: &CipherOptions, told: &dyn Fn(&str)) -> Result<Record> {
    let mut contenders = chosen(&options.only)?;
    contenders.extend(external::all(&options.external)?);
    measured(options, &contenders, told)
}

fn measured(options: &CipherOptions, contenders: &[Contender], told: &dyn Fn(&str)) -> Result<Record> {
    let workloads = workload::all(options.clip.as_deref())?;
    let mut power = options.meter.open()?;
    told(&format!(
        "holding {} implementations to published values",
        contenders.len()
    ));
    let mut record = Record::begin(options, contenders, &workloads, &power.words);
    if let Some(folder) = &options.folder {
        record = record.resumed(folder)?;
    }
    for number in record.rounds.len()..options.rounds {
        let place = format!("round {} of {}", number + 1, options.rounds);
        let told = |words: &str| told(&format!("{place}: {words}"));
        let mut round = round(options, &mut record, contenders, &workloads, &told)?;
        if let Some(meter) = power.meter.as_deref_mut() {
            let all = (contenders, &workloads[..]);
            round.energies = energy::round(meter, options.quick, &round.cells, all, &told);
        }
        record.rounds.push(round);
        if let Some(folder) = &options.folder {
            record.save(folder)?;
        }
    }
    Ok(record)
}

/// One round. The order is reversed every other round, so that a contender does not always follow the same slow one.
fn round(
    options: &CipherOptions,
    record: &mut Record,
    contenders: &[Contender],
    workloads: &[Workload],
    told: &dyn Fn(&str),
) -> Result<Round> {
    let mut order: Vec<usize> = (0..contenders.len()).collect();
    if record.rounds.len() % 2 == 1 {
        order.reverse();
    }
    let mut round = Round::begin();
    // The first round decides for all of them, so that each figure has as many values as there are rounds.
    let patience = if record.rounds.is_empty() { options.patience() } else { Duration::MAX };
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
    told("in processes of their own");
    let frame_bytes = record.frame_bytes().round() as usize;
    for &index in &order {
        // A foreign cipher runs in its own process anyway and has no first use in ours.
        if record.contenders[index].wrong.is_none() && contenders[index].load().is_some() {
            by_itself(&contenders[index], index, frame_bytes, options.slice(), &mut round)?;
        }
    }
    for (at, workload) in workloads.iter().enumerate() {
        told(&workload.name);
        for &index in &order {
            if record.contenders[index].wrong.is_some() || record.was_left_out(index, at) {
                continue;
            }
            let bench = Bench::new(&contenders[index], options.slice());
            match bench.and_then(|mut bench| bench.run(workload, patience)) {
                Ok(timed) => round.cells.extend(timed.map(|timed| Cell {
                    contender: index,
                    workload: at,
                    timed,
                })),
                Err(wrong) => record.contenders[index].wrong = Some(wrong),
            }
        }
    }
    Ok(round)
}

/// Measures the properties of a contender that need a fresh process.
fn by_itself(one: &Contender, index: usize, frame_bytes: usize, slice: Duration, round: &mut Round) -> Result<()> {
    let question = Question {
        name: one.name(),
        frame_bytes,
        time_ms: None,
    };
    round.alone.push(Alone {
        contender: index,
        answer: alone::ask(&question)?,
    });
    round.switched.extend(alone::switched(one, index, slice)?);
    Ok(())
}

/// The named contenders, ours and those of libraries; all if none is named.
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

/// For each cipher the contender with the shortest `time`, in the order of the ciphers. A definition is written for
/// readability, and takes part only if its cipher has nothing else.
///
/// # Errors
/// A contender cannot be timed.
pub(crate) fn fastest(
    among: Vec<Contender>,
    mut time: impl FnMut(&Contender) -> Result<Duration>,
) -> Result<Vec<Contender>> {
    let mut fastest: Vec<(Duration, Contender)> = Vec::new();
    for one in among {
        let time = if one.implementation == DEFINITION {
            Duration::MAX
        } else {
            time(&one)?
        };
        match fastest.iter_mut().find(|(_, known)| known.cipher == one.cipher) {
            Some(known) if time < known.0 => *known = (time, one),
            Some(_) => {}
            None => fastest.push((time, one)),
        }
    }
    Ok(fastest.into_iter().map(|(_, one)| one).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_contender_that_is_wrong_in_one_value_is_named_and_not_timed() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut contenders = chosen(&["rc4/definition".to_owned()]).expect("RC4 is here");
        assert!(contenders[0].known.len() > 1, "the others stay right");
        contenders[0].known[1].sealed = "00".repeat(contenders[0].known[1].sealed.len() / 2).leak();
        let options = CipherOptions {
            quick: true,
            clip: None,
            only: Vec::new(),
            external: Vec::new(),
            guesses_per_second: 1e12,
            rounds: 1,
            meter: MeterSpec::None,
            folder: Some(folder.path().to_owned()),
        };
        let record = measured(&options, &contenders, &|_| ()).expect("the others would be measured");
        super::super::write(&record, folder.path()).expect("written");
        let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).expect("a file");
        assert!(record.rounds[0].cells.is_empty() && record.rounds[0].alone.is_empty());
        assert!(super::super::terminal(&record).contains("WRONG, not timed: rc4/definition: key"));
        assert!(read("report.html").contains("<b>Wrong, and not timed:</b> rc4/definition: key"));
        assert!(!read("table.csv").contains("rc4") && !read("ciphers.csv").contains("rc4"));
    }
}
