//! One block with its pieces in any order, some repeated, some forged: honest pieces recover the encoded records;
//! forged ones have bounded effect and do not panic.
#![no_main]

use std::collections::BTreeSet;

use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use sealcast_proto::repair::{
    Block, Decoder, Encoder, MAX_BLOCK_BYTES, MAX_SOURCES, MAX_SYMBOL, max_repairs, symbol_len,
};

#[derive(Debug, Arbitrary)]
struct Plan {
    /// Lengths of the records. Their content follows from their index.
    lengths: Vec<u16>,
    repairs: u8,
    /// The numbers of sources and repairs to announce, if not the true ones.
    announced: Option<(u8, u8)>,
    steps: Vec<Step>,
}

#[derive(Debug, Arbitrary)]
enum Step {
    Source(u8),
    Repair(u8),
    ForeignSource(u8, Filling),
    ForeignRepair(u8, Filling),
    Recover,
}

/// Builds long symbols from few bytes of input.
#[derive(Debug, Arbitrary)]
struct Filling {
    begin: [u8; 4],
    length: u16,
    byte: u8,
}

impl Filling {
    fn bytes(&self) -> Vec<u8> {
        let mut bytes = self.begin.to_vec();
        bytes.resize(usize::from(self.length) % (MAX_SYMBOL + 8), self.byte);
        bytes
    }
}

/// The expected state of the block.
struct Model {
    records: Vec<Vec<u8>>,
    symbols: Vec<Vec<u8>>,
    sources: BTreeSet<usize>,
    repairs: BTreeSet<usize>,
    /// True while only encoded pieces were accepted.
    honest: bool,
}

impl Model {
    fn check(&self, block: &Block) {
        assert!(block.memory() <= MAX_BLOCK_BYTES);
        if self.honest {
            let missing = self.records.len() - self.sources.len();
            assert_eq!(block.missing(), missing);
            let enough = self.sources.len() + self.repairs.len() >= self.records.len();
            assert_eq!(block.recoverable(), missing > 0 && enough);
        }
    }

    fn step(&mut self, step: &Step, block: &mut Block, decoder: &mut Decoder) {
        match step {
            Step::Source(index) => {
                let index = usize::from(*index) % self.records.len();
                let taken = block.add_source(index, &self.records[index]);
                assert!(taken.is_ok() || !self.honest);
                self.sources.insert(index);
            }
            Step::Repair(index) if !self.symbols.is_empty() => {
                let index = usize::from(*index) % self.symbols.len();
                let taken = block.add_repair(index, &self.symbols[index]);
                assert!(taken.is_ok() || !self.honest);
                self.repairs.insert(index);
            }
            Step::Repair(_) => {}
            Step::ForeignSource(index, filling) => {
                let taken = block.add_source(usize::from(*index), &filling.bytes());
                self.honest &= taken.is_err();
            }
            Step::ForeignRepair(index, filling) => {
                let taken = block.add_repair(usize::from(*index), &filling.bytes());
                self.honest &= taken.is_err();
            }
            Step::Recover => self.recover(block, decoder),
        }
    }

    fn recover(&mut self, block: &mut Block, decoder: &mut Decoder) {
        let expected = block.recoverable();
        let recovered = block.recover(decoder);
        assert!(!block.recoverable(), "recovering twice is never asked for");
        if !self.honest {
            for (_, record) in recovered.into_iter().flatten() {
                assert!(!record.is_empty() && symbol_len(record.len()) <= MAX_SYMBOL);
            }
            return;
        }
        let recovered = recovered.expect("honest pieces agree");
        assert_eq!(!recovered.is_empty(), expected);
        for (index, record) in recovered {
            assert!(record == self.records[index], "record {index} is another one");
            assert!(self.sources.insert(index), "only what was missing");
        }
    }
}

/// A record that differs from its neighbours.
fn record(index: usize, length: u16) -> Vec<u8> {
    let length = 1 + usize::from(length) % (MAX_SYMBOL - 2);
    (0..length).map(|at| (index * 89 + at * 7 + (at >> 5)) as u8).collect()
}

fuzz_target!(|plan: Plan| {
    let lengths = plan.lengths.iter().take(MAX_SOURCES).enumerate();
    let records: Vec<Vec<u8>> = lengths.map(|(index, length)| record(index, *length)).collect();
    let repairs = usize::from(plan.repairs) % (max_repairs(records.len()) + 1);
    let mut symbols = Vec::new();
    let each = |_: usize, symbol: &[u8]| symbols.push(symbol.to_vec());
    let encoded = Encoder::new().encode(records.iter().map(Vec::as_slice), repairs, each);
    if encoded.is_err() {
        assert!(records.is_empty(), "everything else is within the limits");
        return;
    }
    let (sources, announced) = match plan.announced {
        Some((sources, repairs)) => (usize::from(sources), usize::from(repairs)),
        None => (records.len(), repairs),
    };
    let Some(mut block) = Block::new(sources, announced) else {
        assert!(sources == 0 || sources > MAX_SOURCES || announced > max_repairs(sources));
        return;
    };
    let mut decoder = Decoder::new();
    let mut model = Model {
        honest: (sources, announced) == (records.len(), repairs),
        records,
        symbols,
        sources: BTreeSet::new(),
        repairs: BTreeSet::new(),
    };
    for step in &plan.steps {
        model.step(step, &mut block, &mut decoder);
        model.check(&block);
    }
});
