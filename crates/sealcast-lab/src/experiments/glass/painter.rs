//! Paints test cards in real time and writes them into a program's standard input, as `test:` does for an encoder.

use std::io::Write;
use std::process::ChildStdin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use sealcast::failure::{Failure, FailureKind, Result};
use sealcast::source::test_card::{CardClock, CardPainter};

use super::pictures::{Pictures, wall_us};
use crate::harness::scheduling::raise_priority;

/// A thread that paints until it is dropped, or nobody takes its pictures any more.
///
/// Drop the program that reads them first: the thread may wait for room in the pipe.
pub(super) struct Painter {
    over: Arc<AtomicBool>,
    /// The kernel's id of the thread.
    pub(super) id: i32,
    thread: Option<JoinHandle<()>>,
}

impl Painter {
    /// Starts to paint.
    ///
    /// # Errors
    /// The system gives no thread.
    pub(super) fn start(pictures: Pictures, to: ChildStdin) -> Result<Self> {
        let painter = pictures.painter()?;
        let over = Arc::new(AtomicBool::new(false));
        let (theirs, (sender, started)) = (Arc::clone(&over), channel());
        let thread = thread::Builder::new().name("paint".to_owned()).spawn(move || {
            raise_priority();
            // The receiver waits for it.
            let _ = sender.send(rustix::thread::gettid().as_raw_nonzero().get());
            paint(painter, pictures, to, &theirs);
        });
        let refused = |why: &dyn std::fmt::Display| {
            let what = format!("the system gives no thread to paint ({why})");
            Failure::new(FailureKind::Internal, what, "raise the limit on threads")
        };
        let thread = thread.map_err(|error| refused(&error))?;
        Ok(Self {
            over,
            id: started.recv().map_err(|error| refused(&error))?,
            thread: Some(thread),
        })
    }

    /// True if the program takes no pictures any more.
    pub(super) fn is_over(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }
}

impl Drop for Painter {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // One that panicked has ended, too.
            let _ = thread.join();
        }
    }
}

/// As the source `test:`: picture n is due n intervals after the start, and one that is late by more than an interval
/// is skipped.
fn paint(mut painter: CardPainter, pictures: Pictures, mut to: ChildStdin, over: &AtomicBool) {
    let start = Instant::now();
    let mut next = 0;
    while !over.load(Ordering::Relaxed) {
        let number = next.max(last_due(start.elapsed(), pictures.rate));
        let elapsed = due(number, pictures.rate);
        thread::sleep((start + elapsed).saturating_duration_since(Instant::now()));
        let clock = || CardClock {
            // The low bits of the number are enough.
            event: number as u32,
            wall_us: wall_us(),
        };
        let picture = painter.paint_at_last(elapsed, clock);
        let planes = [&picture.y, &picture.u, &picture.v];
        if planes.into_iter().try_for_each(|plane| to.write_all(plane)).is_err() {
            return;
        }
        next = number + 1;
    }
}

/// Time from the start until a picture is due. Computed from its number, so that errors do not add up.
fn due(number: u64, rate: u32) -> Duration {
    Duration::from_nanos(number.saturating_mul(1_000_000_000) / u64::from(rate))
}

/// The number of the last picture that is due by now.
fn last_due(elapsed: Duration, rate: u32) -> u64 {
    u64::try_from(elapsed.as_nanos() * u128::from(rate) / 1_000_000_000).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_painter_goes_on_with_the_picture_that_is_due() {
        for number in [0, 1, 2, 7, 29, 30, 1_000_000] {
            for rate in [1, 25, 30, 60] {
                let at = due(number, rate);
                assert!(
                    last_due(at + Duration::from_nanos(1), rate) == number,
                    "{number} at {rate}"
                );
            }
        }
        assert_eq!(last_due(Duration::from_millis(99), 30), 2);
    }
}
