//! Counts one system in one case.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Duration;

use sealcast::failure::{Failure, FailureKind, Result};

use super::strace::Tracer;
use super::valgrind::Tool;
use super::{Counted, Figures, switches};
use crate::harness::process::{Stop, last_words};
use crate::harness::record::unwritable;

/// Load before anything is counted.
const WARM_UP: Duration = Duration::from_secs(1);
/// Greatest share of packets that may be lost under valgrind, where programs are some 50 times slower.
const MAX_LOST: f64 = 0.01;

/// Settings that all turns share.
pub(crate) struct Counting<'a> {
    /// Duration of the load each time.
    pub(crate) time: Duration,
    /// True to count instructions, allocations and copies as well.
    pub(crate) valgrind: bool,
    /// A folder for what strace and valgrind write.
    pub(crate) folder: &'a Path,
    pub(crate) stop: Stop<'a>,
    /// Told what is counted next.
    pub(crate) told: &'a dyn Fn(&str),
}

/// Programs that run, and their load.
pub(crate) trait Laden {
    /// The processes that are counted, side by side. Those beyond the last side count there.
    fn processes(&self) -> Vec<u32>;

    /// Gives the load for this time.
    ///
    /// # Errors
    /// Nothing comes through, or the user stopped it.
    fn run(&mut self, time: Duration) -> Result<Carried>;
}

/// A load that was given.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Carried {
    /// Bursts, or frames.
    pub(crate) bursts: f64,
    /// Packets in a burst, or viewers of a frame; an average.
    pub(crate) packets: f64,
    /// Share of the packets that did not arrive, where that is known.
    pub(crate) lost: Option<f64>,
}

/// Starts programs behind the words of a tool, such as valgrind, with an empty folder for their files.
pub(crate) type Open<'a> = dyn Fn(&[String], &Path) -> Result<Box<dyn Laden + 'a>> + 'a;

/// A system in a case.
pub(crate) struct Turn<'a> {
    pub(crate) case: &'a str,
    pub(crate) system: &'a str,
    pub(crate) sides: &'static [&'static str],
    /// Names of what comes at once, such as a burst, and of its parts, such as a packet.
    pub(crate) units: [&'static str; 2],
    /// True if valgrind can count it.
    pub(crate) ours: bool,
    pub(crate) open: &'a Open<'a>,
    pub(crate) counting: &'a Counting<'a>,
}

/// Counts of each side for this load.
struct Seen {
    carried: Carried,
    sides: Vec<Figures>,
}

/// Counts of all turns, and the reasons for those that are missing.
#[derive(Default)]
pub(crate) struct Tally {
    pub(crate) counted: Vec<Counted>,
    pub(crate) missing: Vec<String>,
}

impl Turn<'_> {
    /// Counts it, side by side.
    ///
    /// # Errors
    /// The user stopped it.
    pub(crate) fn add_to(&self, tally: &mut Tally) -> Result<()> {
        (self.counting.told)(&format!("{} {}", self.case, self.system));
        let Some(Seen { carried, mut sides }) = self.or_missing(self.traced(), tally)? else {
            return Ok(());
        };
        if self.counting.valgrind && self.ours {
            for tool in [Tool::Instructions, Tool::Heap, Tool::Copies] {
                let found = self.or_missing(self.by_valgrind(tool), tally)?.unwrap_or_default();
                sides.iter_mut().zip(found).for_each(|(side, found)| side.extend(found));
            }
        }
        let counted = self.sides.iter().zip(sides).map(|(&side, figures)| Counted {
            case: self.case.to_owned(),
            system: self.system.to_owned(),
            side,
            units: self.units,
            bursts: carried.bursts,
            packets: carried.packets,
            figures,
        });
        tally.counted.extend(counted);
        Ok(())
    }

    /// Takes a turn's result, or notes why it is missing.
    fn or_missing<T>(&self, found: Result<T>, tally: &mut Tally) -> Result<Option<T>> {
        match found {
            Ok(found) => Ok(Some(found)),
            Err(failure) if self.counting.stop.load(Ordering::Relaxed) => Err(failure),
            Err(failure) => {
                tally
                    .missing
                    .push(format!("{} in {}: {failure}", self.system, self.case));
                Ok(None)
            }
        }
    }

    /// Context switches alone, since strace adds some, and then system calls; for a burst.
    fn traced(&self) -> Result<Seen> {
        let stop = self.counting.stop;
        let (mut programs, folder) = self.started("strace", |_| Ok(Vec::new()))?;
        let processes = programs.processes();
        let slept = || -> Result<Vec<u64>> { processes.iter().map(|&process| switches::voluntary(process)).collect() };
        let before = slept()?;
        let alone = programs.run(self.counting.time)?;
        let after = slept()?;
        let mut tracers = Vec::new();
        for (at, &process) in processes.iter().enumerate() {
            tracers.push(Tracer::attach(process, &folder, &at.to_string(), stop)?);
        }
        let traced = programs.run(self.counting.time)?;
        let mut sides = self.nothing();
        for (at, tracer) in tracers.into_iter().enumerate() {
            let side = self.side(&mut sides, at);
            add(side, tracer.leave(stop)?, 1.0 / traced.bursts);
            let slept = after[at].saturating_sub(before[at]) as f64;
            add(side, one("voluntary switches", slept), 1.0 / alone.bursts);
        }
        if let (Some(traced), Some(alone)) = (traced.lost, alone.lost) {
            let lost = one("lost %", traced.max(alone) * 100.0);
            sides.iter_mut().for_each(|side| side.extend(lost.clone()));
        }
        Ok(Seen { carried: traced, sides })
    }

    /// For a burst. Where all of a program's run counts, it is what a run with twice the bursts has more.
    fn by_valgrind(&self, tool: Tool) -> Result<Vec<Figures>> {
        let once = self.under(tool, 1)?;
        if tool.is_told() {
            return Ok(scaled(once.sides, 1.0 / once.carried.bursts));
        }
        let mut twice = self.under(tool, 2)?;
        for (side, once) in twice.sides.iter_mut().zip(once.sides) {
            add(side, once, -1.0);
        }
        Ok(scaled(twice.sides, 1.0 / (twice.carried.bursts - once.carried.bursts)))
    }

    /// Counts of the programs under a tool, with the load for as many times its duration.
    fn under(&self, tool: Tool, times: u32) -> Result<Seen> {
        let name = format!("{tool:?}-{times}").to_lowercase();
        let (mut programs, folder) = self.started(&name, |folder| tool.words(folder))?;
        let processes = programs.processes();
        if tool.is_told() {
            processes.iter().try_for_each(|&process| tool.prepare(process))?;
            // Valgrind now translates the program anew, which takes it longer than the load does.
            programs.run(WARM_UP)?;
            processes.iter().try_for_each(|&process| tool.begin(process))?;
        }
        let carried = programs.run(self.counting.time * times)?;
        if let Some(lost) = carried.lost.filter(|&lost| lost > MAX_LOST) {
            let what = format!(
                "{:.0} % of the packets were lost under valgrind ({tool:?})",
                lost * 100.0
            );
            let hint = "count on a machine that is faster or has less to do";
            return Err(Failure::new(FailureKind::Network, what, hint));
        }
        let mut sides = self.nothing();
        for (at, &process) in processes.iter().enumerate() {
            let did = tool.end(process, &folder, self.counting.stop)?;
            add(self.side(&mut sides, at), did, 1.0);
        }
        Ok(Seen { carried, sides })
    }

    /// The programs after their warm-up, and the folder for what is seen of them.
    fn started(
        &self,
        name: &str,
        under: impl Fn(&Path) -> Result<Vec<String>>,
    ) -> Result<(Box<dyn Laden + '_>, PathBuf)> {
        let folder = self
            .counting
            .folder
            .join(format!("{}-{}", self.case, plain(self.system)))
            .join(name);
        fs::create_dir_all(&folder).map_err(|error| unwritable(&folder, &error))?;
        let opened = (self.open)(&under(&folder)?, &folder);
        let warm = opened.and_then(|mut programs| programs.run(WARM_UP).map(|_| programs));
        let programs = warm.map_err(|failure| Failure {
            what: failure.what + &last_words(&folder),
            ..failure
        })?;
        Ok((programs, folder))
    }

    fn nothing(&self) -> Vec<Figures> {
        vec![Figures::new(); self.sides.len()]
    }

    fn side<'a>(&self, sides: &'a mut [Figures], at: usize) -> &'a mut Figures {
        &mut sides[at.min(self.sides.len() - 1)]
    }
}

/// A name that can be a folder's.
fn plain(name: &str) -> String {
    name.replace(|letter: char| !letter.is_ascii_alphanumeric(), "-")
}

fn one(what: &str, number: f64) -> Figures {
    [(what.to_owned(), number)].into()
}

/// Adds a multiple of other figures.
fn add(figures: &mut Figures, others: Figures, times: f64) {
    for (what, number) in others {
        *figures.entry(what).or_default() += number * times;
    }
}

fn scaled(mut sides: Vec<Figures>, times: f64) -> Vec<Figures> {
    let numbers = sides.iter_mut().flat_map(|side| side.values_mut());
    numbers.for_each(|number| *number *= times);
    sides
}
