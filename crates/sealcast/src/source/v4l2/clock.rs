//! The kernel's stamps on this program's clock.

use std::time::{Duration, Instant};

use moq_v4l::buffer::{Flags, Metadata};
use rustix::time::{ClockId, clock_gettime};

use crate::media::StampKind;
use crate::source::SOURCE_PATIENCE;

/// Readings of which the closest pair is taken.
const READINGS: usize = 8;

/// One moment on both clocks: that of the kernel's stamps, and [`Instant`]. On Linux both are `CLOCK_MONOTONIC`, so
/// that one pair holds for ever, and is off by no more than the time that reading it took.
#[derive(Clone, Copy, Debug)]
pub(super) struct KernelClock {
    monotonic: Duration,
    instant: Instant,
}

impl KernelClock {
    /// Reads both clocks.
    pub(super) fn read() -> Self {
        let reading = || {
            let before = Instant::now();
            let time = clock_gettime(ClockId::Monotonic);
            let took = before.elapsed();
            let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
            let nanos = u32::try_from(time.tv_nsec).unwrap_or_default();
            let pair = Self {
                monotonic: Duration::new(seconds, nanos),
                instant: before + took / 2,
            };
            (took, pair)
        };
        let mut best = reading();
        for _ in 1..READINGS {
            let next = reading();
            if next.0 < best.0 {
                best = next;
            }
        }
        best.1
    }

    /// The instant of a buffer's stamp, and what it is. `arrived` is when the program got the buffer. A stamp of
    /// another clock, of the future or of long ago is not believed: then the arrival is all that is known.
    pub(super) fn place(&self, buffer: &Metadata, arrived: Instant) -> (Instant, StampKind) {
        let unknown = (arrived, StampKind::Arrival);
        if buffer.flags.bits() & Flags::TIMESTAMP_MASK.bits() != Flags::TIMESTAMP_MONOTONIC.bits() {
            return unknown;
        }
        let stamp = u64::try_from(buffer.timestamp.sec)
            .ok()
            .zip(u64::try_from(buffer.timestamp.usec).ok());
        let Some((seconds, micros)) = stamp else {
            return unknown;
        };
        let stamp = Duration::from_secs(seconds).saturating_add(Duration::from_micros(micros));
        let instant = if stamp >= self.monotonic {
            self.instant.checked_add(stamp - self.monotonic)
        } else {
            self.instant.checked_sub(self.monotonic - stamp)
        };
        let kind = match buffer.flags.bits() & Flags::TSTAMP_SRC_MASK.bits() {
            source if source == Flags::TSTAMP_SRC_SOE.bits() => StampKind::ExposureStart,
            _ => StampKind::FrameEnd,
        };
        match instant {
            Some(instant) if instant <= arrived && arrived - instant < SOURCE_PATIENCE => (instant, kind),
            _ => unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use moq_v4l::timestamp::Timestamp;

    use super::*;

    fn buffer(flags: Flags, at: Duration) -> Metadata {
        Metadata {
            flags,
            timestamp: Timestamp::from(at),
            ..Metadata::default()
        }
    }

    #[test]
    fn a_stamp_is_placed_as_far_in_the_past_as_it_was_made() {
        let instant = Instant::now();
        let monotonic = Duration::from_secs(1000);
        let clock = KernelClock { monotonic, instant };
        let arrived = instant + Duration::from_millis(500);
        let made = buffer(Flags::TIMESTAMP_MONOTONIC, monotonic + Duration::from_millis(480));
        assert_eq!(
            clock.place(&made, arrived),
            (instant + Duration::from_millis(480), StampKind::FrameEnd)
        );
        let exposure = Flags::TIMESTAMP_MONOTONIC | Flags::TSTAMP_SRC_SOE;
        let before = buffer(exposure, monotonic - Duration::from_millis(20));
        assert_eq!(
            clock.place(&before, arrived),
            (instant - Duration::from_millis(20), StampKind::ExposureStart)
        );
    }

    #[test]
    fn a_stamp_that_cannot_be_right_is_not_believed() {
        let instant = Instant::now();
        let monotonic = Duration::from_secs(1000);
        let clock = KernelClock { monotonic, instant };
        let unknown = (instant, StampKind::Arrival);
        for (flags, at) in [
            (Flags::TIMESTAMP_COPY, 1000),
            (Flags::TIMESTAMP_UNKNOWN, 1000),
            // The wall clock, as `uvcvideo clock=realtime` stamps.
            (Flags::TIMESTAMP_MONOTONIC, 1_795_000_000),
            (Flags::TIMESTAMP_MONOTONIC, 900),
            (Flags::TIMESTAMP_MONOTONIC, 0),
        ] {
            assert_eq!(
                clock.place(&buffer(flags, Duration::from_secs(at)), instant),
                unknown,
                "{at}"
            );
        }
        let mut negative = buffer(Flags::TIMESTAMP_MONOTONIC, Duration::ZERO);
        negative.timestamp.sec = -1;
        assert_eq!(clock.place(&negative, instant), unknown);
    }

    #[test]
    fn both_clocks_are_the_same_one() {
        let (early, late) = (KernelClock::read(), KernelClock::read());
        let by_kernel = late.monotonic.abs_diff(early.monotonic);
        let by_instant = late.instant.saturating_duration_since(early.instant);
        assert!(by_kernel.abs_diff(by_instant) < Duration::from_secs(1));
    }
}
