//! The stopwatch.

use std::time::{Duration, Instant};

use sealcast_cipher::Packet;
use serde::{Deserialize, Serialize};

use super::contender::{Contender, set_iv};
use super::worker::{Done, Worker};
use super::workload::Workload;
use crate::statistics::median;

/// A timed stretch is no shorter than this, if there is enough to do: reading the clock takes some 30 ns.
const LEAST: Duration = Duration::from_micros(200);

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
}

/// What has to be done before the first byte, in one round; in nanoseconds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct SetUp {
    pub(super) contender: usize,
    pub(super) key_ns: f64,
    /// None where an IV is not set up by a step of its own.
    pub(super) iv_ns: Option<f64>,
}

/// A contender at work, with a key and room for packets.
pub(super) struct Bench<'a> {
    contender: &'a Contender,
    worker: Box<dyn Worker + 'a>,
    /// How long one workload is repeated.
    slice: Duration,
}

impl<'a> Bench<'a> {
    /// # Errors
    /// The contender cannot be started.
    pub(super) fn new(contender: &'a Contender, slice: Duration) -> Done<Self> {
        let key: Vec<u8> = (1..).take(contender.key_bytes).collect();
        let mut worker = contender.start()?;
        worker.load(&key)?;
        Ok(Self {
            contender,
            worker,
            slice,
        })
    }

    /// Key and IV set-up.
    ///
    /// # Errors
    /// The contender broke down.
    pub(super) fn set_up(&mut self, index: usize) -> Done<SetUp> {
        let iv = vec![1; self.contender.iv_bytes];
        let key_ns = self.repeated(|worker, count| worker.keys(count))?;
        let is_a_step = self.worker.ivs(&iv, 1)?.is_some();
        let ivs = |worker: &mut dyn Worker, count| Ok(worker.ivs(&iv, count)?.unwrap_or_default());
        Ok(SetUp {
            contender: index,
            key_ns,
            iv_ns: is_a_step.then(|| self.repeated(ivs)).transpose()?,
        })
    }

    /// Nanoseconds of something short, which is done so many times.
    fn repeated(&mut self, act: impl Fn(&mut dyn Worker, u32) -> Done<Duration>) -> Done<f64> {
        let mut count = 1;
        while count < 1 << 24 && act(&mut *self.worker, count)? < LEAST {
            count *= 2;
        }
        let began = Instant::now();
        let mut each = Vec::new();
        while each.is_empty() || began.elapsed() < self.slice / 2 {
            each.push(act(&mut *self.worker, count)?.as_nanos() as f64 / f64::from(count));
        }
        Ok(median(&mut each))
    }

    /// Enciphers and deciphers a workload over and over. None if one packet alone takes longer than `patience`.
    ///
    /// # Errors
    /// It does not open what it sealed, or broke down.
    pub(super) fn run(&mut self, workload: &Workload, patience: Duration) -> Done<Option<Timed>> {
        let room = self.contender.tag_bytes;
        let mut data = workload.packets.clone();
        data.iter_mut().for_each(|data| data.resize(data.len() + room, 0));
        let mut ivs = vec![vec![0; self.contender.iv_bytes]; data.len()];
        ivs.iter_mut().zip(1..).for_each(|(iv, number)| set_iv(iv, number));
        let packets = ivs.iter().zip(&mut data);
        let mut packets: Vec<Packet<'_>> = packets.map(|(iv, data)| Packet { iv, data }).collect();

        // As many at once as are needed for a stretch that a clock can tell; that also warms everything up.
        let mut count = 1;
        loop {
            let turns = self.worker.turns(&mut packets[..count], Duration::ZERO)?;
            let sealing = Duration::from_nanos(turns.first().map_or(0.0, |[seal, _]| *seal) as u64);
            if count == 1 && sealing > patience {
                return Ok(None);
            }
            if count == packets.len() || sealing > self.slice / 4 {
                break;
            }
            count = packets.len().min(2 * count);
        }
        let batch = &mut packets[..count];
        let turns = self.worker.turns(batch, self.slice)?;
        let middle = |which: usize| median(&mut turns.iter().map(|turn| turn[which]).collect::<Vec<_>>());
        Ok(Some(Timed {
            packets: count,
            bytes: batch.iter().map(|packet| packet.data.len() - room).sum(),
            seal_ns: middle(0),
            open_ns: middle(1),
        }))
    }
}

/// Ticks of the processor's time-stamp counter in a second; none where there is none that ticks evenly.
pub(super) fn tsc_hz() -> Option<f64> {
    if !cfg!(target_arch = "x86_64") {
        return None;
    }
    let info = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let flags = info.lines().find(|line| line.starts_with("flags"))?;
    let has = |name| flags.split_whitespace().any(|flag| flag == name);
    if !has("constant_tsc") || !has("nonstop_tsc") {
        return None;
    }
    let clock = quanta::Clock::new();
    let (began, first) = (Instant::now(), clock.raw());
    std::thread::sleep(Duration::from_millis(100));
    let (elapsed, last) = (began.elapsed(), clock.raw());
    Some((last - first) as f64 / elapsed.as_secs_f64())
}
