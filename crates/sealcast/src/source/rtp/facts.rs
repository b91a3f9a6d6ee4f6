//! Facts about a camera's packets and pictures.

use std::time::{Duration, Instant};

use sealcast_proto::rtp::ReceiveCounts;

/// Facts about a camera in one session.
#[derive(Clone, Debug, Default)]
pub(crate) struct Facts {
    /// Packets of the picture, and their bytes.
    pub(crate) packets: u64,
    pub(crate) bytes: u64,
    /// Packets of the sound.
    pub(crate) sound: u64,
    /// Packets of RTCP.
    pub(crate) reports: u64,
    /// Whole pictures.
    pub(crate) pictures: u64,
    /// Pictures with which a viewer can begin.
    pub(crate) keyframes: u64,
    /// Pictures that came damaged.
    pub(crate) damaged: u64,
    /// Largest picture in bytes.
    pub(crate) largest: usize,
    /// Times at which the source of the picture's packets was another one.
    pub(crate) sources: u64,
    /// Packets of picture and sound that were not taken, or are missing.
    pub(crate) passed_over: ReceiveCounts,
    first: Option<Instant>,
    last: Option<Instant>,
    first_keyframe: Option<Instant>,
    last_keyframe: Option<Instant>,
    stamps: Option<(i64, i64)>,
}

impl Facts {
    /// A whole picture came at this instant, with this stamp in ns.
    pub(super) fn picture(&mut self, came: Instant, stamp: i64, keyframe: bool, bytes: usize) {
        self.pictures += 1;
        self.largest = self.largest.max(bytes);
        self.first.get_or_insert(came);
        self.last = Some(came);
        let (first, _) = self.stamps.unwrap_or((stamp, stamp));
        self.stamps = Some((first, stamp));
        if keyframe {
            self.keyframes += 1;
            self.first_keyframe.get_or_insert(came);
            self.last_keyframe = Some(came);
        }
    }

    /// Time from the first picture to the last.
    pub(crate) fn length(&self) -> Duration {
        let both = self.last.zip(self.first);
        both.map_or(Duration::ZERO, |(last, first)| last.saturating_duration_since(first))
    }

    /// Time from the last picture to `now`; zero without one.
    pub(crate) fn since_last(&self, now: Instant) -> Duration {
        self.last
            .map_or(Duration::ZERO, |last| now.saturating_duration_since(last))
    }

    /// Pictures a second by when they came; `None` below two.
    pub(crate) fn rate(&self) -> Option<f64> {
        let length = self.length().as_secs_f64();
        (self.pictures > 1 && length > 0.0).then(|| (self.pictures - 1) as f64 / length)
    }

    /// Mean time between keyframes; `None` below two.
    pub(crate) fn keyframe_interval(&self) -> Option<Duration> {
        let length = self.last_keyframe?.saturating_duration_since(self.first_keyframe?);
        let intervals = u32::try_from(self.keyframes.checked_sub(1)?)
            .ok()
            .filter(|intervals| *intervals > 0)?;
        Some(length / intervals)
    }

    /// Time that passed by the camera's stamps, over that which passed here; `None` below two seconds.
    pub(crate) fn clock_ratio(&self) -> Option<f64> {
        let (first, last) = self.stamps?;
        let here = self.length().as_secs_f64();
        (here >= 2.0).then(|| (last - first) as f64 / 1e9 / here)
    }
}
