//! Runs an implementation: in this process, or in one of its own that measures the time itself.

use std::hint::black_box;
use std::time::{Duration, Instant};

use sealcast_cipher::Packet;

use super::cycles::CoreClock;
use super::implementation::{Keyed, Load};

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
