//! The stopwatch.

use std::time::{Duration, Instant};

use sealcast_cipher::Packet;
use serde::{Deserialize, Serialize};

use super::workload::Workload;
use crate::ciphers::implementation::{Implementation, set_iv};
use crate::ciphers::nature;
use crate::ciphers::worker::{Act, Done, Turn, Worker};
use sealcast::meter::statistics::median;

/// Shortest timed interval, if there is enough to do: reading the clock takes some 30 ns.
const LEAST: Duration = Duration::from_micros(200);

/// Number of such intervals for a short operation, since one may be interrupted.
const STRETCHES: usize = 5;

/// Number of further tries for a packet that took too long.
const INTERRUPTIONS: u32 = 2;

/// Times of one batch. Each is a median over repetitions.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Timed {
    /// Number of packets given to the cipher at once.
    pub(super) packets: usize,
    /// Their bytes, without tags.
    pub(super) bytes: usize,
    /// Time to encipher them, in nanoseconds.
    pub(super) seal_ns: f64,
    /// Time to decipher them, in nanoseconds.
    pub(super) open_ns: f64,
    /// Time for the same packets and IVs with a cipher that does nothing, measured in turn with the others.
    pub(super) baseline_ns: f64,
    /// Cycles per second during the measurement, if the kernel counts them.
    pub(super) core_hz: Option<f64>,
}

/// Costs before the first byte, in nanoseconds.
#[derive(Clone, Debug)]
pub(super) struct SetUp {
    pub(super) key_ns: f64,
    /// `None` if setting up an IV is not a separate step.
    pub(super) iv_ns: Option<f64>,
    /// Time for a packet of one block under a loaded key, IV and tag included.
    pub(super) block_seal_ns: f64,
    pub(super) block_open_ns: f64,
}

/// A running implementation, with a key and room for packets.
pub(super) struct Bench<'a> {
    implementation: &'a Implementation,
    worker: Box<dyn Worker + 'a>,
    /// Measuring time for one workload.
    slice: Duration,
}

impl<'a> Bench<'a> {
    /// # Errors
    /// The implementation cannot be started.
    pub(super) fn new(implementation: &'a Implementation, slice: Duration) -> Done<Self> {
        let key: Vec<u8> = (1..).take(implementation.key_bytes).collect();
        let mut worker = implementation.start()?;
        worker.load(&key)?;
        Ok(Self {
            implementation,
            worker,
            slice,
        })
    }

    /// Times key and IV set-up, and one block.
    ///
    /// # Errors
    /// The implementation failed.
    pub(super) fn set_up(&mut self) -> Done<SetUp> {
        let iv = vec![1; self.implementation.iv_bytes];
        let key_ns = self.repeated(|worker, count| worker.keys(count))?;
        let is_a_step = self.worker.ivs(&iv, 1)?.is_some();
        let ivs = |worker: &mut dyn Worker, count| Ok(worker.ivs(&iv, count)?.unwrap_or_default());
        let iv_ns = is_a_step.then(|| self.repeated(ivs)).transpose()?;
        let [block_seal_ns, block_open_ns] = self.block(&iv)?;
        Ok(SetUp {
            key_ns,
            iv_ns,
            block_seal_ns,
            block_open_ns,
        })
    }

    /// Times enciphering and deciphering of one block. Each repetition starts with a copy of the original block; the
    /// cost of that copy and of the call is subtracted.
    fn block(&mut self, iv: &[u8]) -> Done<[f64; 2]> {
        let clear = vec![1; nature::of(&self.implementation.cipher).block_bytes + self.implementation.tag_bytes];
        let mut sealed = clear.clone();
        self.worker.seal(&mut [Packet { iv, data: &mut sealed }])?;
        let mut ns = |act, from: &[u8]| self.repeated(|worker, count| worker.again(act, iv, from, count));
        let nothing = ns(Act::Nothing, &clear)?;
        let (seal, open) = (ns(Act::Seal, &clear)?, ns(Act::Open, &sealed)?);
        Ok([seal - nothing, open - nothing].map(|ns| ns.max(0.0)))
    }

    /// Nanoseconds of a short operation, repeated as often as needed.
    fn repeated(&mut self, act: impl Fn(&mut dyn Worker, u32) -> Done<Duration>) -> Done<f64> {
        let mut count = 1;
        while count < 1 << 24 && act(&mut *self.worker, count)? < LEAST {
            count *= 2;
        }
        let began = Instant::now();
        let mut each = Vec::new();
        while each.len() < STRETCHES || began.elapsed() < self.slice / 2 {
            each.push(act(&mut *self.worker, count)?.as_nanos() as f64 / f64::from(count));
        }
        Ok(median(&mut each))
    }

    /// Enciphers and deciphers a workload repeatedly. Returns `None` if a single packet takes longer than `patience`.
    ///
    /// # Errors
    /// It does not open what it sealed, or it failed.
    pub(super) fn run(&mut self, workload: &Workload, patience: Duration) -> Done<Option<Timed>> {
        let room = self.implementation.tag_bytes;
        let mut batch = Batch::new(self.implementation, workload);
        let mut packets = batch.packets();

        // Doubles the number of packets until one batch takes a quarter of the slice; this also warms up caches.
        let mut count = 1;
        loop {
            let mut seal = self.once(&mut packets[..count])?;
            // Another process may have interrupted it, so the shortest of a few times counts.
            for _ in 0..INTERRUPTIONS {
                if count == 1 && seal > patience {
                    seal = seal.min(self.once(&mut packets[..count])?);
                }
            }
            if count == 1 && seal > patience {
                return Ok(None);
            }
            if count == packets.len() || seal > self.slice / 4 {
                break;
            }
            count = packets.len().min(2 * count);
        }
        let batch = &mut packets[..count];
        let turns = self.worker.turns(batch, self.slice)?;
        let middle = |figure: fn(&Turn) -> f64| median(&mut turns.each.iter().map(figure).collect::<Vec<_>>());
        Ok(Some(Timed {
            packets: count,
            bytes: batch.iter().map(|packet| packet.data.len() - room).sum(),
            seal_ns: middle(|turn| turn.seal),
            open_ns: middle(|turn| turn.open),
            baseline_ns: middle(|turn| turn.nothing),
            core_hz: turns.core_hz,
        }))
    }

    /// The time to encipher these packets once.
    fn once(&mut self, packets: &mut [Packet<'_>]) -> Done<Duration> {
        let turns = self.worker.turns(packets, Duration::ZERO)?.each;
        Ok(Duration::from_nanos(turns.first().map_or(0.0, |turn| turn.seal) as u64))
    }

    /// Enciphers the first `count` packets of a workload repeatedly, for the slice. Returns the numbers of packets
    /// and bytes.
    ///
    /// # Errors
    /// The implementation failed.
    pub(super) fn repeat(&mut self, workload: &Workload, count: usize) -> Done<[u64; 2]> {
        let mut batch = Batch::new(self.implementation, workload);
        let mut packets = batch.packets();
        let packets = &mut packets[..count];
        let times = self.worker.work(packets, self.slice)?;
        let bytes: usize = workload.packets[..count].iter().map(Vec::len).sum();
        Ok([times * count as u64, times * bytes as u64])
    }
}

/// Packets of a workload, with room for tags, and their IVs.
struct Batch {
    data: Vec<Vec<u8>>,
    ivs: Vec<Vec<u8>>,
}

impl Batch {
    fn new(implementation: &Implementation, workload: &Workload) -> Self {
        let mut data = workload.packets.clone();
        data.iter_mut()
            .for_each(|data| data.resize(data.len() + implementation.tag_bytes, 0));
        let mut ivs = vec![vec![0; implementation.iv_bytes]; data.len()];
        ivs.iter_mut().zip(1..).for_each(|(iv, number)| set_iv(iv, number));
        Self { data, ivs }
    }

    fn packets(&mut self) -> Vec<Packet<'_>> {
        let packets = self.ivs.iter().zip(&mut self.data);
        packets.map(|(iv, data)| Packet { iv, data }).collect()
    }
}
