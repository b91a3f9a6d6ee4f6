//! The pictures of a case, and a reading of one that arrived.

use std::time::{SystemTime, UNIX_EPOCH};

use sealcast::failure::{Failure, FailureKind, Result};
use sealcast::source::test_card::CardPainter;
use serde::Deserialize;

use crate::harness::Entry;

/// Pictures a second that an experiment may ask for.
const RATES: std::ops::RangeInclusive<u32> = 1..=240;

/// The pictures of a case, and how they are encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Pictures {
    /// In pixels, even.
    pub(super) width: usize,
    /// In pixels, even.
    pub(super) height: usize,
    /// Pictures a second.
    pub(super) rate: u32,
    /// The encoder's target, in bits a second.
    pub(super) bitrate: u32,
    /// Pictures from keyframe to keyframe.
    pub(super) gop: u32,
}

impl Pictures {
    /// Reads the pictures of a case.
    ///
    /// # Errors
    /// A field is missing or wrong, or no clock fits into pictures of this size.
    pub(super) fn read(case: &Entry) -> Result<Self> {
        let pictures: Self = case.read()?;
        if !RATES.contains(&pictures.rate) || pictures.gop == 0 || pictures.bitrate == 0 {
            let what = format!("`{}` has no pictures that an encoder takes", case.name);
            let hint = "name 1 to 240 pictures a second, a bit rate and a keyframe interval above 0";
            return Err(Failure::new(FailureKind::Usage, what, hint));
        }
        pictures.painter().map(|_| pictures)
    }

    /// A painter of such pictures.
    pub(super) fn painter(&self) -> Result<CardPainter> {
        CardPainter::new(self.width, self.height).ok_or_else(|| {
            let what = format!("no clock fits into pictures of {}x{}", self.width, self.height);
            Failure::new(FailureKind::Usage, what, "choose even sides from 160x120 on")
        })
    }

    /// Bytes of a raw picture in I420.
    pub(super) fn bytes(&self) -> usize {
        self.width * self.height * 3 / 2
    }

    /// The test card with these pictures, as `sealcast publish` takes it.
    pub(super) fn test_card(&self) -> String {
        let Self {
            width,
            height,
            rate,
            bitrate,
            gop,
        } = self;
        format!("test:{width}x{height}@{rate}?bitrate={bitrate}&gop={gop}")
    }
}

/// A picture that arrived.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Reading {
    /// Its number, from its clock.
    pub(super) event: u32,
    /// When it was painted, from its clock, in µs since 1970.
    pub(super) painted_us: u64,
    /// From then until the whole decoded picture was there.
    pub(super) latency_ms: f64,
}

/// The wall clock in µs since 1970, as in the strip of a test card.
pub(super) fn wall_us() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}
