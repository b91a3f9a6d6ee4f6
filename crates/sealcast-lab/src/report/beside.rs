//! By how much one way to a camera is later than another: the log of `sealcast probe --beside`.

use jiff::Timestamp;
use sealcast::failure::Result;

use super::distribution::Distribution;
use super::log::Log;
use super::resources::between;
use super::series::Series;
use super::table::{count, figure};

pub(super) const FILE: &str = "probe_beside.csv";
/// A pair holds for no longer than this, in seconds, where the next one is late.
const LONGEST: f64 = 1.0;
/// Comparisons, by their word in the log and for people.
const COMPARED: [(&str, &str); 2] = [("beside", "B later than A"), ("control", "A beside itself")];

/// Differences in ms, by what is compared.
#[derive(Debug)]
pub(super) struct Beside {
    pub(super) differences: [Distribution; 2],
    pub(super) over_time: [Series; 2],
    last: [Option<f64>; 2],
}

impl Beside {
    pub(super) fn new() -> Self {
        Self {
            differences: [(); 2].map(|()| Distribution::new()),
            over_time: [(); 2].map(|()| Series::new()),
            last: [None; 2],
        }
    }

    /// Takes in a log.
    pub(super) fn read(&mut self, log: &mut Log, origin: Timestamp) -> Result<()> {
        let [time, compared, difference] = ["time", "compared", "difference_ms"].map(|name| log.column(name));
        while log.next()? {
            let of = COMPARED.iter().position(|(word, _)| *word == log.text(compared));
            let of = of.ok_or_else(|| log.no_word(compared))?;
            let (at, ms) = (between(origin, log.time(time)?), log.needed(difference)?);
            self.differences[of].add(ms);
            // The first pair has none before it.
            if let Some(before) = self.last[of].replace(at) {
                self.over_time[of].add(at, (at - before).clamp(1e-3, LONGEST), ms);
            }
        }
        Ok(())
    }

    /// Number of pairs.
    pub(super) fn count(&self) -> u64 {
        self.differences.iter().map(Distribution::count).sum()
    }

    /// The comparisons that were made, with name and differences.
    pub(super) fn compared(&self) -> impl Iterator<Item = (usize, &'static str, &Distribution)> {
        let all = COMPARED.iter().zip(&self.differences).enumerate();
        all.map(|(at, ((_, name), differences))| (at, *name, differences))
            .filter(|(_, _, differences)| differences.count() > 0)
    }

    /// The finding in a sentence.
    pub(super) fn found(&self) -> Option<String> {
        let words: Vec<String> = self
            .compared()
            .map(|(_, name, differences)| {
                let quantile = |share| figure(differences.quantile(share));
                let pairs = count(differences.count());
                let (median, low, high) = (quantile(0.5), quantile(0.05), quantile(0.95));
                format!("{name}: median {median} ms, 90 % from {low} to {high} ms, {pairs} pairs")
            })
            .collect();
        (!words.is_empty()).then(|| words.join("; ") + ".")
    }
}
