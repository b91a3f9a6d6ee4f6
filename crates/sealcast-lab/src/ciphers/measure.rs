//! The stopwatch.

use std::hint::black_box;
use std::time::{Duration, Instant};

use sealcast_cipher::Packet;
use serde::{Deserialize, Serialize};

use super::contender::{Contender, Keyed};
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

/// A contender with a key and room for packets.
pub(super) struct Bench<'a> {
    contender: &'a Contender,
    keyed: Box<dyn Keyed>,
    key: Vec<u8>,
    /// How long one workload is repeated.
    slice: Duration,
}

impl<'a> Bench<'a> {
    pub(super) fn new(contender: &'a Contender, slice: Duration) -> Self {
        let key: Vec<u8> = (1..).take(contender.key_bytes).collect();
        Self {
            keyed: (contender.load)(&key),
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
        SetUp {
            contender: index,
            key_ns,
            iv_ns,
        }
    }

    /// Nanoseconds of something short.
    fn repeated(&self, act: impl Fn()) -> f64 {
        let stretch = |count: u32| {
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
        while each.is_empty() || began.elapsed() < self.slice / 2 {
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
        let mut batch = Batch::new(self.contender, workload);
        let mut packets = batch.packets();

        // As many at once as are needed for a stretch that a clock can tell; that also warms everything up.
        let mut count = 1;
        loop {
            let (sealing, _) = self.once(&mut packets[..count])?;
            if count == 1 && sealing > patience {
                return Ok(None);
            }
            if count == packets.len() || sealing > self.slice / 4 {
                break;
            }
            count = packets.len().min(2 * count);
        }
        let batch = &mut packets[..count];
        let began = Instant::now();
        let (mut sealing, mut opening) = (Vec::new(), Vec::new());
        while sealing.is_empty() || began.elapsed() < self.slice {
            let (seal, open) = self.once(batch)?;
            sealing.push(seal.as_nanos() as f64);
            opening.push(open.as_nanos() as f64);
        }
        Ok(Some(Timed {
            packets: count,
            bytes: batch.iter().map(|packet| packet.data.len() - room).sum(),
            seal_ns: median(&mut sealing),
            open_ns: median(&mut opening),
        }))
    }

    fn once(&self, packets: &mut [Packet<'_>]) -> Result<(Duration, Duration), String> {
        let began = Instant::now();
        self.keyed.seal(packets);
        let sealed = Instant::now();
        let genuine = self.keyed.open(packets);
        let opened = Instant::now();
        if !genuine {
            return Err("does not open what it sealed".to_owned());
        }
        Ok((sealed - began, opened - sealed))
    }

    /// Enciphers the first `count` packets of a workload over and over, for the slice: how many packets and bytes that
    /// were.
    pub(super) fn repeat(&self, workload: &Workload, count: usize) -> [u64; 2] {
        let mut batch = Batch::new(self.contender, workload);
        let mut packets = batch.packets();
        let packets = &mut packets[..count];
        let began = Instant::now();
        let mut times = 0;
        while times == 0 || began.elapsed() < self.slice {
            self.keyed.seal(packets);
            times += 1;
        }
        let bytes: usize = workload.packets[..count].iter().map(Vec::len).sum();
        [times * count as u64, times * bytes as u64]
    }
}

/// Packets of a workload, with room for tags, and their IVs.
struct Batch {
    data: Vec<Vec<u8>>,
    ivs: Vec<Vec<u8>>,
}

impl Batch {
    fn new(contender: &Contender, workload: &Workload) -> Self {
        let mut data = workload.packets.clone();
        data.iter_mut()
            .for_each(|data| data.resize(data.len() + contender.tag_bytes, 0));
        let mut ivs = vec![vec![0; contender.iv_bytes]; data.len()];
        ivs.iter_mut().zip(1..).for_each(|(iv, number)| set_iv(iv, number));
        Self { data, ivs }
    }

    fn packets(&mut self) -> Vec<Packet<'_>> {
        let packets = self.ivs.iter().zip(&mut self.data);
        packets.map(|(iv, data)| Packet { iv, data }).collect()
    }
}

/// Makes another IV of each number, as far as it is long enough.
pub(super) fn set_iv(iv: &mut [u8], number: u64) {
    iv.iter_mut()
        .zip(number.to_le_bytes())
        .for_each(|(byte, count)| *byte = count);
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
