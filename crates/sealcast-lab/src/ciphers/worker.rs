//! Who does a contender's work: this process, or one of its own that takes the time itself.

use std::hint::black_box;
use std::time::{Duration, Instant};

use sealcast_cipher::Packet;

use super::contender::{Keyed, Load};

/// Nanoseconds that enciphering a batch took, and deciphering it.
pub(crate) type Turn = [f64; 2];

/// A fault is in words, and a reason not to time the contender.
pub(crate) type Done<T> = Result<T, String>;

/// A contender at work. A key is loaded before anything else.
pub(crate) trait Worker {
    /// Loads a key.
    fn load(&mut self, key: &[u8]) -> Done<()>;

    /// Enciphers packets as [`Keyed::seal`] does.
    fn seal(&mut self, packets: &mut [Packet<'_>]) -> Done<()>;

    /// Deciphers packets as [`Keyed::open`] does.
    fn open(&mut self, packets: &mut [Packet<'_>]) -> Done<bool>;

    /// Enciphers and deciphers by turns until `time` is over, and once at least.
    fn turns(&mut self, packets: &mut [Packet<'_>], time: Duration) -> Done<Vec<Turn>>;

    /// Loads the key so many times.
    fn keys(&mut self, count: u32) -> Done<Duration>;

    /// Sets up an IV so many times. None where that is no step of its own.
    fn ivs(&mut self, iv: &[u8], count: u32) -> Done<Option<Duration>>;
}

/// Work in this process.
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

    fn turns(&mut self, packets: &mut [Packet<'_>], time: Duration) -> Done<Vec<Turn>> {
        let keyed = self.keyed();
        let began = Instant::now();
        let mut turns = Vec::new();
        while turns.is_empty() || began.elapsed() < time {
            let start = Instant::now();
            keyed.seal(packets);
            let sealed = Instant::now();
            let genuine = keyed.open(packets);
            let opened = Instant::now();
            if !genuine {
                return Err("does not open what it sealed".to_owned());
            }
            turns.push([sealed - start, opened - sealed].map(|took| took.as_nanos() as f64));
        }
        Ok(turns)
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
