//! Buffers of a camera that streams.

use std::io::{self, ErrorKind};
use std::time::{Duration, Instant};

use moq_v4l::Device;
use moq_v4l::buffer::{Flags, Metadata, Type};
use moq_v4l::io::mmap::Stream;
use moq_v4l::io::traits::CaptureStream;

/// Buffers that the driver fills in turn. More would only make frames older when this program is slow.
const BUFFERS: u32 = 4;

/// The driver `v4l2loopback`, as it names itself, and the most buffers that it gives first though they are old. Up to
/// version 0.12 it forgets the length, the stamp and the number of frames that were written before a reader came: the
/// number is 0 then.
const LOOPBACK: (&str, u32) = ("v4l2 loopback", 2);

/// A buffer, as far as it is not its content.
#[derive(Clone, Copy)]
pub(super) struct Buffer {
    /// Its stamp and flags.
    pub(super) metadata: Metadata,
    /// When this program got it.
    pub(super) arrived: Instant,
    /// Buffers between this one and the last that were lost.
    pub(super) lost: u32,
    /// True if the driver says that its content is damaged.
    pub(super) damaged: bool,
}

/// A camera that streams; it stops when this is dropped.
pub(super) struct Streaming {
    stream: Stream<'static>,
    /// Number of the last buffer.
    sequence: Option<u32>,
    /// Buffers that may still be old ones.
    old: u32,
}

impl Streaming {
    /// Maps buffers of a device of this driver. The camera begins with the first call of [`next`](Self::next).
    ///
    /// # Errors
    /// Another program uses the camera, or there is no memory.
    pub(super) fn new(device: Device, driver: &str) -> io::Result<Self> {
        let stream = Stream::with_buffers(&device, Type::VideoCapture, BUFFERS)?;
        Ok(Self {
            stream,
            sequence: None,
            old: if driver == LOOPBACK.0 { LOOPBACK.1 } else { 0 },
        })
    }

    /// Waits until `deadline` for the next buffer, lets `take` read what is in it, and gives it back to the driver.
    ///
    /// # Errors
    /// [`ErrorKind::TimedOut`] if none comes, or what the system says. Do not call it again then.
    pub(super) fn next<T>(
        &mut self,
        deadline: Instant,
        take: impl FnOnce(&[u8], &Buffer) -> T,
    ) -> io::Result<(T, Buffer)> {
        loop {
            self.stream.set_timeout(until(deadline));
            match CaptureStream::next(&mut self.stream) {
                Ok((bytes, metadata)) => {
                    let arrived = Instant::now();
                    let metadata = *metadata;
                    if is_old(&mut self.old, metadata.sequence) {
                        continue;
                    }
                    let lost = self.sequence.map_or(0, |last| gap(last, metadata.sequence));
                    self.sequence = Some(metadata.sequence);
                    let damaged = metadata.flags.contains(Flags::ERROR);
                    let buffer = Buffer {
                        metadata,
                        arrived,
                        lost,
                        damaged,
                    };
                    let used = (metadata.bytesused as usize).min(bytes.len());
                    return Ok((take(&bytes[..used], &buffer), buffer));
                }
                // A signal for the process came to this thread while it waited.
                Err(error) if error.kind() == ErrorKind::Interrupted => self.resume(deadline)?,
                Err(error) => return Err(error),
            }
        }
    }

    /// Waits again after a signal. The library gave the last buffer back already, and would do so once more: so the
    /// next one is taken here and given up, which is seen as a lost one.
    fn resume(&mut self, deadline: Instant) -> io::Result<()> {
        loop {
            self.stream.set_timeout(until(deadline));
            match CaptureStream::dequeue(&mut self.stream) {
                Ok(_) => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

fn until(deadline: Instant) -> Duration {
    deadline.saturating_duration_since(Instant::now())
}

/// True for a buffer of this number if it is an old one. `left` is how many may still be.
fn is_old(left: &mut u32, sequence: u32) -> bool {
    *left = if sequence == 0 { *left } else { 0 };
    let old = *left > 0;
    *left = left.saturating_sub(1);
    old
}

/// Numbers between two that follow each other. Drivers that do not count say 0 always, and some begin again at 0.
fn gap(last: u32, next: u32) -> u32 {
    next.checked_sub(last).map_or(0, |step| step.saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_without_a_number_are_old_only_before_others() {
        let old = |mut left: u32, sequences: &[u32]| -> Vec<bool> {
            sequences.iter().map(|sequence| is_old(&mut left, *sequence)).collect()
        };
        assert_eq!(old(2, &[0, 7, 0]), [true, false, false]);
        assert_eq!(old(2, &[7, 0]), [false, false]);
        // A writer that does not count loses two frames at the start, and no more.
        assert_eq!(old(2, &[0, 0, 0]), [true, true, false]);
        assert_eq!(old(0, &[0, 1]), [false, false]);
    }

    #[test]
    fn only_numbers_left_out_are_lost() {
        assert_eq!(gap(0, 1), 0);
        assert_eq!(gap(7, 10), 2);
        assert_eq!(gap(0, 0), 0);
        assert_eq!(gap(90, 0), 0);
        assert_eq!(gap(u32::MAX, 0), 0);
    }
}
