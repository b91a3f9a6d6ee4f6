//! The stopwatch.

use std::hint::black_box;
use std::time::{Duration, Instant};

use sealcast_cipher::Packet;
use serde::{Deserialize, Serialize};

use super::contender::{Contender, Keyed};
use super::cycles::CoreClock;
use super::nature;
use super::workload::Workload;
use crate::statistics::median;

/// A timed stretch is no shorter than this, if there is enough to do: reading the clock takes some 30 ns.
const LEAST: Duration = Duration::from_micros(200);

/// And there are so many of them, of something short: one may be interrupted.
const STRETCHES: usize = 5;

/// One contender on one workload in one round.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Cell {
    pub(super) contender: usize,
    pub(super) workload: usize,
    #[serde(flatten)]
    pub(super) timed: Timed,
}

/// What the stopwatch says of one batch. Times are medians over repetitions.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Timed {
    /// Packets that were given to the cipher at once.
    pub(super) packets: usize,
    /// Their bytes, without tags.
    pub(super) bytes: usize,
    /// How long enciphering them took, in nanoseconds.
    pub(super) seal_ns: f64,
    /// And deciphering.
    pub(super) open_ns: f64,
    /// The same packets, IVs and stopwatch with a cipher that does nothing, by turns with the others.
    pub(super) baseline_ns: f64,
    /// Cycles in a second meanwhile, where the kernel counts them.
    pub(super) core_hz: Option<f64>,
}

impl Timed {
    /// Cycles per byte of some of the times; `tsc_hz` stands in where the kernel counts no cycles.
    pub(super) fn cycles_per_byte(&self, ns: fn(&Self) -> f64, tsc_hz: Option<f64>) -> Option<f64> {
        let hz = self.core_hz.or(tsc_hz)?;
        Some(ns(self) * hz / 1e9 / self.bytes as f64)
    }
}

/// A cipher that does nothing: what remains is the loop, the call and the clock.
struct Nothing;

impl Keyed for Nothing {
    fn start(&self, _iv: &[u8]) -> bool {
        false
    }

    fn seal(&self, packets: &mut [Packet<'_>]) {
        for packet in packets {
            black_box((packet.iv.as_ptr(), packet.data.as_mut_ptr()));
        }
    }

    fn open(&self, packets: &mut [Packet<'_>]) -> bool {
        self.seal(packets);
        true
    }
}

/// How long one batch took.
struct Turn {
    nothing: Duration,
    seal: Duration,
    open: Duration,
}

/// What has to be done before the first byte, in one round; in nanoseconds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct SetUp {
    pub(super) contender: usize,
    pub(super) key_ns: f64,
    /// None where an IV is not set up by a step of its own.
    pub(super) iv_ns: Option<f64>,
    /// A packet of one block under a loaded key, its IV and tag included.
    pub(super) block_seal_ns: f64,
    pub(super) block_open_ns: f64,
}

/// A contender with a key and room for packets.
pub(super) struct Bench<'a> {
    contender: &'a Contender,
    keyed: Box<dyn Keyed>,
    nothing: Box<dyn Keyed>,
    key: Vec<u8>,
    /// How long one workload is repeated.
    slice: Duration,
}

impl<'a> Bench<'a> {
    pub(super) fn new(contender: &'a Contender, slice: Duration) -> Self {
        let key: Vec<u8> = (1..).take(contender.key_bytes).collect();
        Self {
            keyed: (contender.load)(&key),
            nothing: Box::new(Nothing),
            contender,
            key,
            slice,
        }
    }

    /// Key and IV set-up.
    pub(super) fn set_up(&self, index: usize) -> SetUp {
        let iv = vec![1; self.contender.iv_bytes];
        let key_ns = self.repeated(|| {
            black_box((self.contender.load)(black_box(&self.key)));
        });
        let is_a_step = self.keyed.start(&iv);
        let iv_ns = is_a_step.then(|| {
            self.repeated(|| {
                self.keyed.start(black_box(&iv));
            })
        });
        let [block_seal_ns, block_open_ns] = self.block(&iv);
        SetUp {
            contender: index,
            key_ns,
            iv_ns,
            block_seal_ns,
            block_open_ns,
        }
    }

    /// Enciphering and deciphering one block. What takes the place of the last one is copied in, and that and the call
    /// are subtracted.
    fn block(&self, iv: &[u8]) -> [f64; 2] {
        let clear = vec![1; nature::of(self.contender.cipher).block_bytes + self.contender.tag_bytes];
        let mut sealed = clear.clone();
        self.keyed.seal(&mut [Packet { iv, data: &mut sealed }]);
        let mut data = clear.clone();
        let mut ns = |keyed: &dyn Keyed, from: &[u8], opens: bool| {
            self.repeated(|| {
                data.copy_from_slice(black_box(from));
                let packets = &mut [Packet { iv, data: &mut data }];
                if opens {
                    black_box(keyed.open(packets));
                } else {
                    keyed.seal(packets);
                }
            })
        };
        let nothing = ns(&*self.nothing, &clear, false);
        let (seal, open) = (ns(&*self.keyed, &clear, false), ns(&*self.keyed, &sealed, true));
        [seal - nothing, open - nothing].map(|ns| ns.max(0.0))
    }

    /// Nanoseconds of something short.
    fn repeated(&self, mut act: impl FnMut()) -> f64 {
        let mut stretch = |count: u32| {
            let began = Instant::now();
            (0..count).for_each(|_| act());
            began.elapsed()
        };
        let mut count = 1;
        while count < 1 << 24 && stretch(count) < LEAST {
            count *= 2;
        }
        let began = Instant::now();
        let mut each = Vec::new();
        while each.len() < STRETCHES || began.elapsed() < self.slice / 2 {
            each.push(stretch(count).as_nanos() as f64 / f64::from(count));
        }
        median(&mut each)
    }

    /// Enciphers and deciphers a workload over and over. None if one packet alone takes longer than `patience`.
    ///
    /// # Errors
    /// It does not open what it sealed.
    pub(super) fn run(&self, workload: &Workload, patience: Duration) -> Result<Option<Timed>, String> {
        let room = self.contender.tag_bytes;
        let mut data = workload.packets.clone();
        data.iter_mut().for_each(|data| data.resize(data.len() + room, 0));
        let ivs: Vec<Vec<u8>> = (1..=data.len()).map(|number| self.iv(number)).collect();
        let packets = ivs.iter().zip(&mut data);
        let mut packets: Vec<Packet<'_>> = packets.map(|(iv, data)| Packet { iv, data }).collect();

        // As many at once as are needed for a stretch that a clock can tell; that also warms everything up.
        let mut count = 1;
        loop {
            let seal = self.turn(&mut packets[..count])?.seal;
            if count == 1 && seal > patience {
                return Ok(None);
            }
            if count == packets.len() || seal > self.slice / 4 {
                break;
            }
            count = packets.len().min(2 * count);
        }
        let batch = &mut packets[..count];
        let (began, mut clock) = (Instant::now(), CoreClock::open());
        let mut turns = Vec::new();
        while turns.is_empty() || began.elapsed() < self.slice {
            turns.push(self.turn(batch)?);
        }
        let middle = |figure: fn(&Turn) -> Duration| {
            let mut all: Vec<f64> = turns.iter().map(|turn| figure(turn).as_nanos() as f64).collect();
            median(&mut all)
        };
        Ok(Some(Timed {
            packets: count,
            bytes: batch.iter().map(|packet| packet.data.len() - room).sum(),
            seal_ns: middle(|turn| turn.seal),
            open_ns: middle(|turn| turn.open),
            baseline_ns: middle(|turn| turn.nothing),
            core_hz: clock.hz(),
        }))
    }

    fn turn(&self, packets: &mut [Packet<'_>]) -> Result<Turn, String> {
        let began = Instant::now();
        self.nothing.seal(packets);
        let passed = Instant::now();
        self.keyed.seal(packets);
        let sealed = Instant::now();
        let genuine = self.keyed.open(packets);
        let opened = Instant::now();
        if !genuine {
            return Err("does not open what it sealed".to_owned());
        }
        Ok(Turn {
            nothing: passed - began,
            seal: sealed - passed,
            open: opened - sealed,
        })
    }

    /// Another one for each packet, as far as it is long enough.
    fn iv(&self, number: usize) -> Vec<u8> {
        let mut iv = vec![0; self.contender.iv_bytes];
        iv.iter_mut()
            .zip(number.to_le_bytes())
            .for_each(|(byte, count)| *byte = count);
        iv
    }
}
