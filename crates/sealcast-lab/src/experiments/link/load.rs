//! The frames that all systems carry: equal sizes at equal times, each with its number and send time.

use std::path::Path;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use sealcast::failure::{Failure, FailureKind, Result};
use serde::{Deserialize, Serialize};

/// Frames a second.
pub(super) const RATE: u32 = 30;
/// Frames in a group of pictures: one keyframe per second, for systems that cannot request one.
pub(super) const GROUP: u32 = 30;
/// Length of a frame's stamp.
pub(super) const STAMP_LEN: usize = 13;

/// Frame sizes of an encoded clip, played in a loop.
static SIZES: LazyLock<Vec<usize>> = LazyLock::new(|| {
    let lines = include_str!("sizes.txt").lines().filter(|line| !line.starts_with('#'));
    let numbers = lines.flat_map(str::split_whitespace);
    numbers.map(|number| number.parse().expect("a size")).collect()
});

/// The monotonic clock in nanoseconds. It is the same for all processes of a machine, in all network namespaces.
pub(crate) fn now() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Size of a frame in bytes, its stamp included.
pub(super) fn size(number: u32, keyframe: bool) -> usize {
    // A requested keyframe is as large as the previous regular one.
    let like = if keyframe { number - number % GROUP } else { number };
    SIZES[like as usize % SIZES.len()]
}

/// Bytes of the first `frames` frames as the clip has them, without requested keyframes.
pub(super) fn nominal_bytes(frames: u32) -> u64 {
    (0..frames)
        .map(|number| size(number, number.is_multiple_of(GROUP)) as u64)
        .sum()
}

/// Sleeps until frame `number` of a stream that began at `start` is due.
pub(super) fn sleep_until_due(start: Instant, number: u32) {
    let due = start + Duration::from_secs(1) * number / RATE;
    std::thread::sleep(due.saturating_duration_since(Instant::now()));
}

/// The stamp at the beginning of every frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    pub(super) number: u32,
    pub(super) keyframe: bool,
    /// The time at which the source produced it.
    pub(super) sent: u64,
}

impl Stamp {
    pub(super) fn to_bytes(self) -> [u8; STAMP_LEN] {
        let mut bytes = [0; STAMP_LEN];
        bytes[..4].copy_from_slice(&self.number.to_be_bytes());
        bytes[4] = self.keyframe.into();
        bytes[5..].copy_from_slice(&self.sent.to_be_bytes());
        bytes
    }

    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let (number, rest) = bytes.split_first_chunk()?;
        let (keyframe, rest) = rest.split_first()?;
        let (sent, _) = rest.split_first_chunk()?;
        Some(Self {
            number: u32::from_be_bytes(*number),
            keyframe: *keyframe != 0,
            sent: u64::from_be_bytes(*sent),
        })
    }
}

/// A frame as one end records it: a line of `sent.csv` or `received.csv`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Row {
    pub(super) number: u32,
    pub(super) keyframe: bool,
    pub(super) bytes: usize,
    pub(super) sent_ns: u64,
    /// The time at which the receiving application had all of it; 0 in `sent.csv`.
    pub(super) received_ns: u64,
}

/// The record of a frame with this stamp.
pub(super) fn row(stamp: Stamp, bytes: usize, received: u64) -> Row {
    Row {
        number: stamp.number,
        keyframe: stamp.keyframe,
        bytes,
        sent_ns: stamp.sent,
        received_ns: received,
    }
}

/// Writes the frames that an end recorded.
///
/// # Errors
/// The file cannot be written.
pub(super) fn write_rows(path: &Path, rows: &[Row]) -> Result<()> {
    let write = || {
        let mut writer = csv::Writer::from_path(path)?;
        rows.iter().try_for_each(|row| writer.serialize(row))?;
        writer.flush().map_err(csv::Error::from)
    };
    write().map_err(|error| {
        let what = format!("{} cannot be written ({error})", path.display());
        Failure::new(FailureKind::Sink, what, "see whether the disk is full")
    })
}

/// Reads the frames that an end recorded.
///
/// # Errors
/// The file cannot be read: that end did not finish.
pub(super) fn read_rows(path: &Path) -> Result<Vec<Row>> {
    let read = || {
        csv::Reader::from_path(path)?
            .into_deserialize()
            .collect::<csv::Result<Vec<Row>>>()
    };
    read().map_err(|error| {
        let what = format!("an end left no {} ({error})", path.display());
        Failure::new(FailureKind::Internal, what, "see what it printed, in the files beside")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clip_is_720p30_at_3_megabit_with_a_keyframe_every_second() {
        assert_eq!(SIZES.len() % GROUP as usize, 0);
        let bits = nominal_bytes(SIZES.len() as u32) * 8 * u64::from(RATE) / SIZES.len() as u64;
        assert!((2_900_000..3_100_000).contains(&bits), "{bits}");
        let smallest_key = (0..SIZES.len() as u32)
            .step_by(GROUP as usize)
            .map(|n| size(n, true))
            .min();
        assert!(smallest_key > Some(3 * size(1, false)));
        assert!(SIZES.iter().all(|&size| size > STAMP_LEN));
    }

    #[test]
    fn a_keyframe_that_was_asked_for_is_as_large_as_the_last() {
        assert_eq!(size(47, true), size(30, true));
        assert_eq!(size(347, true), size(30, true));
        assert_eq!(size(347, false), size(47, false));
    }

    #[test]
    fn a_stamp_is_read_as_it_was_written() {
        let stamp = Stamp {
            number: 7,
            keyframe: true,
            sent: 1 << 40,
        };
        assert_eq!(Stamp::parse(&stamp.to_bytes()), Some(stamp));
        assert_eq!(Stamp::parse(&[0; STAMP_LEN - 1]), None);
    }
}
