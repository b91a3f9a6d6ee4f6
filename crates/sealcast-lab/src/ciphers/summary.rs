//! One line for each contender with the summary figures of the papers, computed from the rounds of a record.

use std::path::Path;

use serde::Serialize;

use super::energy::Energy;
use super::measure::{SetUp, Timed};
use super::nature;
use super::record::{Record, Round};
use super::workload::FRAMES_NAME;
use crate::harness::statistics::Estimate;

/// A line of `ciphers.csv`. Figures per frame and per byte are for H.264 frames; `None` is an unknown or unmeasured
/// value.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Line {
    pub(super) cipher: String,
    pub(super) implementation: String,
    pub(super) form: &'static str,
    pub(super) key_bits: usize,
    /// Growth of a packet in bytes.
    pub(super) tag_bytes: usize,
    pub(super) frames_per_s: Option<Estimate>,
    pub(super) kbit_per_s: Option<Estimate>,
    pub(super) cycles_per_byte: Option<Estimate>,
    pub(super) code_bytes: Option<u64>,
    pub(super) state_bytes: Option<usize>,
    /// Growth of the process in bytes.
    pub(super) rss_bytes: Option<Estimate>,
    /// The same per byte of a frame.
    pub(super) memory_bytes: Option<Estimate>,
    pub(super) algorithm_ns: Option<Estimate>,
    pub(super) key_ns: Option<Estimate>,
    pub(super) iv_ns: Option<Estimate>,
    pub(super) block_bytes: usize,
    pub(super) block_seal_ns: Option<Estimate>,
    pub(super) block_open_ns: Option<Estimate>,
    /// Time for the algorithm, the key, and enciphering and deciphering of a block.
    pub(super) t_ns: Option<Estimate>,
    pub(super) mj_per_frame: Option<Estimate>,
    pub(super) uj_per_byte: Option<Estimate>,
    pub(super) rank: Option<Estimate>,
    pub(super) e_rank: Option<Estimate>,
    /// Years until all keys are tried.
    pub(super) safe_years: f64,
}

/// Measurements of one contender in one round.
struct Seen<'a> {
    frames: Option<&'a Timed>,
    set_up: Option<&'a SetUp>,
    alone: Option<&'a super::alone::Answer>,
    energy: Option<&'a Energy>,
}

/// The lines of all contenders that are not wrong.
pub(super) fn lines(record: &Record) -> Vec<Line> {
    let right = (0..record.contenders.len()).filter(|&index| record.contenders[index].wrong.is_none());
    right.map(|index| line(record, index)).collect()
}

fn line(record: &Record, contender: usize) -> Line {
    let described = &record.contenders[contender];
    let nature = nature::of(&described.cipher);
    let frame_bytes = record.frame_bytes();
    let seen: Vec<Seen<'_>> = record
        .rounds
        .iter()
        .map(|round| see(record, round, contender))
        .collect();
    let each = |figure: &dyn Fn(&Seen<'_>) -> Option<f64>| {
        let samples: Vec<f64> = seen.iter().filter_map(figure).collect();
        Estimate::of(&samples)
    };
    let bytes_per_s = |seen: &Seen<'_>| seen.frames.map(|timed| timed.bytes as f64 * 1e9 / timed.seal_ns);
    let rss = |seen: &Seen<'_>| {
        let answer = seen.alone?;
        Some(answer.rss_after_bytes.saturating_sub(answer.rss_before_bytes) as f64)
    };
    let algorithm = |seen: &Seen<'_>| seen.alone.map(|answer| (answer.first_ns - answer.again_ns).max(0.0));
    let joules_per_byte = |seen: &Seen<'_>| seen.energy.map(|energy| energy.joules / energy.bytes as f64);
    let rank = |seen: &Seen<'_>| {
        let code_bytes = described.code_bytes? as f64;
        Some(nature::rank(bytes_per_s(seen)?, code_bytes, rss(seen)? / frame_bytes))
    };
    // If no energy above idle was measured, the quotient is undefined.
    let drawn = |seen: &Seen<'_>| joules_per_byte(seen).filter(|joules| *joules > 0.0);
    let e_rank = |seen: &Seen<'_>| Some(nature::e_rank(rank(seen)?, drawn(seen)? * 1e6));
    Line {
        cipher: described.cipher.clone(),
        implementation: described.implementation.clone(),
        form: nature.form,
        key_bits: described.key_bits,
        tag_bytes: described.tag_bits / 8,
        frames_per_s: each(&|seen| Some(bytes_per_s(seen)? / frame_bytes)),
        kbit_per_s: each(&|seen| Some(bytes_per_s(seen)? / 125.0)),
        cycles_per_byte: each(&|seen| {
            let timed = seen.frames?;
            timed.cycles_per_byte(|timed| timed.seal_ns - timed.baseline_ns, record.tsc_hz)
        }),
        code_bytes: described.code_bytes,
        state_bytes: described.state_bytes,
        rss_bytes: each(&rss),
        memory_bytes: each(&|seen| Some(rss(seen)? / frame_bytes)),
        algorithm_ns: each(&algorithm),
        key_ns: each(&|seen| Some(seen.set_up?.key_ns)),
        iv_ns: each(&|seen| seen.set_up?.iv_ns),
        block_bytes: nature.block_bytes,
        block_seal_ns: each(&|seen| Some(seen.set_up?.block_seal_ns)),
        block_open_ns: each(&|seen| Some(seen.set_up?.block_open_ns)),
        t_ns: each(&|seen| {
            let set_up = seen.set_up?;
            Some(algorithm(seen)? + set_up.key_ns + set_up.block_seal_ns + set_up.block_open_ns)
        }),
        mj_per_frame: each(&|seen| Some(joules_per_byte(seen)? * frame_bytes * 1e3)),
        uj_per_byte: each(&|seen| Some(joules_per_byte(seen)? * 1e6)),
        rank: each(&rank),
        e_rank: each(&e_rank),
        safe_years: nature::safe_years(described.key_bits, record.guesses_per_second),
    }
}

fn see<'a>(record: &Record, round: &'a Round, contender: usize) -> Seen<'a> {
    let loads = &record.settings().workloads;
    let frames = loads.iter().position(|load| load.name == FRAMES_NAME);
    let cell = |of: usize, on: usize| of == contender && Some(on) == frames;
    let timed = round.cells.iter().find(|one| cell(one.contender, one.workload));
    let alone = round.alone.iter().find(|one| one.contender == contender);
    Seen {
        frames: timed.map(|one| &one.timed),
        set_up: round.set_ups.iter().find(|one| one.contender == contender),
        alone: alone.map(|one| &one.answer),
        energy: round.energies.iter().find(|one| cell(one.contender, one.workload)),
    }
}

impl Line {
    /// The full name, such as `trivium words`.
    pub(super) fn name(&self) -> String {
        format!("{} {}", self.cipher, self.implementation)
    }

    /// Names and values of columns; an estimate has three, the last two for the ends of its interval.
    fn columns(&self) -> Vec<(String, String)> {
        let one = |name: &str, value: &dyn ToString| vec![(name.to_owned(), value.to_string())];
        let known =
            |name: &str, value: Option<u64>| one(name, &value.map_or_else(String::new, |value| value.to_string()));
        let three = |name: &str, estimate: Option<Estimate>| {
            let parts = estimate.map(|estimate| [estimate.median, estimate.low, estimate.high]);
            let names = ["", "_low", "_high"].into_iter().enumerate();
            let columns = names.map(|(at, end)| {
                let part = parts.map_or_else(String::new, |parts| parts[at].to_string());
                (format!("{name}{end}"), part)
            });
            columns.collect::<Vec<_>>()
        };
        [
            one("cipher", &self.cipher),
            one("implementation", &self.implementation),
            one("form", &self.form),
            one("key_bits", &self.key_bits),
            one("tag_bytes", &self.tag_bytes),
            three("frames_per_s", self.frames_per_s),
            three("kbit_per_s", self.kbit_per_s),
            three("cycles_per_byte", self.cycles_per_byte),
            known("code_bytes", self.code_bytes),
            known("state_bytes", self.state_bytes.map(|bytes| bytes as u64)),
            three("rss_bytes", self.rss_bytes),
            three("memory_bytes", self.memory_bytes),
            three("algorithm_ns", self.algorithm_ns),
            three("key_ns", self.key_ns),
            three("iv_ns", self.iv_ns),
            one("block_bytes", &self.block_bytes),
            three("block_seal_ns", self.block_seal_ns),
            three("block_open_ns", self.block_open_ns),
            three("t_ns", self.t_ns),
            three("mj_per_frame", self.mj_per_frame),
            three("uj_per_byte", self.uj_per_byte),
            three("rank", self.rank),
            three("e_rank", self.e_rank),
            one("safe_years", &self.safe_years),
        ]
        .concat()
    }
}

pub(super) fn write_csv(path: &Path, lines: &[Line]) -> csv::Result<()> {
    let mut writer = csv::Writer::from_path(path)?;
    let columns: Vec<_> = lines.iter().map(Line::columns).collect();
    if let Some(first) = columns.first() {
        writer.write_record(first.iter().map(|(name, _)| name))?;
    }
    for line in &columns {
        writer.write_record(line.iter().map(|(_, value)| value))?;
    }
    writer.flush().map_err(csv::Error::from)
}

#[cfg(test)]
mod tests {
    use super::super::alone::{Alone, Answer};
    use super::super::measure::Cell;
    use super::super::plan::CipherOptions;
    use super::super::{contender, figures, workload};
    use sealcast::meter::power::MeterSpec;

    use super::*;

    /// A round of RC4: one byte per nanosecond, 4096 bytes of additional memory, and `joules` per million bytes.
    fn round(record: &Record, joules: f64) -> Round {
        let loads = &record.settings().workloads;
        let workload = loads.iter().position(|load| load.name == FRAMES_NAME).expect("frames");
        let mut round = Round::begin();
        let timed = Timed {
            packets: 1,
            bytes: 1000,
            seal_ns: 1000.0,
            open_ns: 1000.0,
            baseline_ns: 500.0,
            core_hz: Some(1e9),
        };
        round.cells.push(Cell {
            contender: 0,
            workload,
            timed,
        });
        round.alone.push(Alone {
            contender: 0,
            answer: Answer {
                first_ns: 300.0,
                again_ns: 100.0,
                rss_before_bytes: 0,
                rss_after_bytes: 4096,
                frame_bytes: 1000,
                timed: None,
            },
        });
        round.energies.push(Energy {
            contender: 0,
            workload,
            joules,
            packets: 1000,
            bytes: 1_000_000,
            seconds: 1.0,
            idle_watts: 1.0,
        });
        round
    }

    #[test]
    fn e_rank_is_rank_over_microjoules_per_byte_and_missing_where_none_were_seen() {
        let options = CipherOptions {
            quick: true,
            clip: None,
            only: Vec::new(),
            external: Vec::new(),
            guesses_per_second: 1e12,
            rounds: 1,
            folder: None,
            meter: MeterSpec::None,
        };
        let contenders: Vec<_> = contender::all().into_iter().filter(|one| one.cipher == "rc4").collect();
        let workloads = workload::all(None).expect("a test card");
        let mut record = Record::begin(&options, &contenders, &workloads, "none");
        record.contenders[0].code_bytes = Some(1000);
        record.rounds = vec![round(&record, 2.0)];
        let line = lines(&record).remove(0);
        let value = |estimate: Option<Estimate>| estimate.expect("measured").median;
        assert_eq!(value(line.cycles_per_byte), 0.5);
        assert_eq!(value(line.kbit_per_s), 8e6);
        assert_eq!(value(line.algorithm_ns), 200.0);
        assert_eq!(value(line.uj_per_byte), 2.0);
        let rank = 1e9 / (1000.0 + 2.0 * 4096.0 / record.frame_bytes());
        assert!((value(line.rank) / rank - 1.0).abs() < 1e-12, "{:?}", line.rank);
        assert!((value(line.e_rank) / rank - 0.5).abs() < 1e-12, "{:?}", line.e_rank);
        let drawn = |record: &Record| {
            figures::charts(record, &lines(record))
                .expect("drawn")
                .matches("<svg")
                .count()
        };
        assert_eq!(drawn(&record), 8);

        record.rounds = vec![round(&record, -0.1)];
        assert_eq!(lines(&record)[0].e_rank, None);
        assert_eq!(drawn(&record), 7);
    }
}
