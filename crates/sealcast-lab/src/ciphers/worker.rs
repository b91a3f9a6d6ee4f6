//! Runs an implementation: in this process, or in one of its own that measures the time itself.

use std::hint::black_box;
use std::time::{Duration, Instant};

use sealcast_cipher::Packet;
use serde::{Deserialize, Serialize};

use super::cycles::CoreClock;
use super::keyed::{Keyed, Load};

/// Nanoseconds for a batch.
#[derive(Debug)]
pub(crate) struct Turn {
    /// With a cipher that does nothing: the cost of the loop, the call and the clock.
    pub(crate) nothing: f64,
    pub(crate) seal: f64,
    pub(crate) open: f64,
}

/// Repeated times for a batch.
#[derive(Debug)]
pub(crate) struct Turns {
    /// At least one.
    pub(crate) each: Vec<Turn>,
    /// Cycles per second during the measurement, if the kernel counts them.
    pub(crate) core_hz: Option<f64>,
}

/// Number of frames enciphered while memory use is watched; `host.c` has the same.
pub(crate) const FRAMES: u8 = 25;
/// Number of repetitions of the first operation, whose time is subtracted from the first one; `host.c` has the same.
pub(crate) const AGAIN: usize = 101;

/// Time and memory that the first use of an implementation takes in a new process.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct FirstUse {
    /// Time to load a key and encipher one block for the first time.
    pub(crate) first_ns: f64,
    /// Time for the same operation when caches are warm.
    pub(crate) again_ns: f64,
    /// Resident memory of the process, before the first key was loaded and after the frames were enciphered.
    pub(crate) rss_before_bytes: u64,
    pub(crate) rss_after_bytes: u64,
}

/// The operation on a packet. The numbers are those of `host.c`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Act {
    Nothing,
    Seal,
    Open,
}

/// The error is the reason not to time the implementation.
pub(crate) type Done<T> = Result<T, String>;

/// A running implementation. A key must be loaded first.
pub(crate) trait Worker {
    /// Loads a key.
    fn load(&mut self, key: &[u8]) -> Done<()>;

    /// Enciphers packets as [`Keyed::seal`] does.
    fn seal(&mut self, packets: &mut [Packet<'_>]) -> Done<()>;

    /// Deciphers packets as [`Keyed::open`] does.
    fn open(&mut self, packets: &mut [Packet<'_>]) -> Done<bool>;

    /// Does nothing, enciphers and deciphers in turn until `time` is over, at least once.
    fn turns(&mut self, packets: &mut [Packet<'_>], time: Duration) -> Done<Turns>;

    /// Enciphers packets repeatedly until `time` is over, at least once. Returns the number of repetitions.
    fn work(&mut self, packets: &mut [Packet<'_>], time: Duration) -> Done<u64>;

    /// Performs the operation on one packet `count` times. Each repetition starts from the same bytes, which are
    /// copied in.
    fn again(&mut self, act: Act, iv: &[u8], from: &[u8], count: u32) -> Done<Duration>;

    /// Loads the key `count` times.
    fn keys(&mut self, count: u32) -> Done<Duration>;

    /// Sets up an IV `count` times. `None` if the cipher has no separate step for it.
    fn ivs(&mut self, iv: &[u8], count: u32) -> Done<Option<Duration>>;
}

/// A cipher that does nothing.
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

/// An implementation in this process.
pub(super) struct Here<'a> {
    load: &'a Load,
    key: Vec<u8>,
    keyed: Option<Box<dyn Keyed>>,
}

impl<'a> Here<'a> {
    pub(super) fn new(load: &'a Load) -> Self {
        Self {
            load,
            key: Vec::new(),
            keyed: None,
        }
    }

    fn keyed(&self) -> &dyn Keyed {
        self.keyed.as_deref().expect("a key is loaded before anything else")
    }
}

impl Worker for Here<'_> {
    fn load(&mut self, key: &[u8]) -> Done<()> {
        self.key = key.to_vec();
        self.keyed = Some((self.load)(key));
        Ok(())
    }

    fn seal(&mut self, packets: &mut [Packet<'_>]) -> Done<()> {
        self.keyed().seal(packets);
        Ok(())
    }

    fn open(&mut self, packets: &mut [Packet<'_>]) -> Done<bool> {
        Ok(self.keyed().open(packets))
    }

    fn turns(&mut self, packets: &mut [Packet<'_>], time: Duration) -> Done<Turns> {
        let (keyed, nothing) = (self.keyed(), black_box(&Nothing as &dyn Keyed));
        let (began, mut clock) = (Instant::now(), CoreClock::open());
        let mut each = Vec::new();
        while each.is_empty() || began.elapsed() < time {
            let start = Instant::now();
            nothing.seal(packets);
            let passed = Instant::now();
            keyed.seal(packets);
            let sealed = Instant::now();
            let genuine = keyed.open(packets);
            let opened = Instant::now();
            if !genuine {
                return Err("does not open what it sealed".to_owned());
            }
            let [nothing, seal, open] =
                [passed - start, sealed - passed, opened - sealed].map(|took| took.as_nanos() as f64);
            each.push(Turn { nothing, seal, open });
        }
        Ok(Turns {
            each,
            core_hz: clock.hz(),
        })
    }

    fn work(&mut self, packets: &mut [Packet<'_>], time: Duration) -> Done<u64> {
        let (keyed, began) = (self.keyed(), Instant::now());
        let mut times = 0;
        while times == 0 || began.elapsed() < time {
            keyed.seal(packets);
            times += 1;
        }
        Ok(times)
    }

    fn again(&mut self, act: Act, iv: &[u8], from: &[u8], count: u32) -> Done<Duration> {
        let keyed = if act == Act::Nothing {
            black_box(&Nothing)
        } else {
            self.keyed()
        };
        let mut data = from.to_vec();
        let began = Instant::now();
        for _ in 0..count {
            data.copy_from_slice(black_box(from));
            let packets = &mut [Packet { iv, data: &mut data }];
            if act == Act::Open {
                black_box(keyed.open(packets));
            } else {
                keyed.seal(packets);
            }
        }
        Ok(began.elapsed())
    }

    fn keys(&mut self, count: u32) -> Done<Duration> {
        let began = Instant::now();
        for _ in 0..count {
            black_box((self.load)(black_box(&self.key)));
        }
        Ok(began.elapsed())
    }

    fn ivs(&mut self, iv: &[u8], count: u32) -> Done<Option<Duration>> {
        let keyed = self.keyed();
        if !keyed.start(iv) {
            return Ok(None);
        }
        let began = Instant::now();
        for _ in 0..count {
            keyed.start(black_box(iv));
        }
        Ok(Some(began.elapsed()))
    }
}
