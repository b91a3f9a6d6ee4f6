//! Reads raw pictures from a program's standard output, and the clock in each of them.

use std::io::Read;
use std::process::ChildStdout;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};

use sealcast::failure::{Failure, FailureKind, Result};
use sealcast::media::Picture;
use sealcast::source::test_card::read_clock;

use super::pictures::{Pictures, Reading, wall_us};
use crate::harness::scheduling::raise_priority;

/// A thread that reads until the program's output ends. Drop the program first.
pub(super) struct Reader {
    /// A reading of each picture; nothing for one without a clock. It is disconnected when the output has ended.
    pub(super) readings: Receiver<Option<Reading>>,
    thread: Option<JoinHandle<()>>,
}

impl Reader {
    /// Starts to read.
    ///
    /// # Errors
    /// The system gives no thread.
    pub(super) fn start(pictures: Pictures, from: ChildStdout) -> Result<Self> {
        let (sender, readings) = channel();
        let thread = thread::Builder::new()
            .name("read".to_owned())
            .spawn(move || read(pictures, from, &sender));
        let thread = thread.map_err(|error| {
            let what = format!("the system gives no thread to read pictures ({error})");
            Failure::new(FailureKind::Internal, what, "raise the limit on threads")
        })?;
        Ok(Self {
            readings,
            thread: Some(thread),
        })
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        if let Some(thread) = self.thread.take() {
            // One that panicked has ended, too.
            let _ = thread.join();
        }
    }
}

fn read(pictures: Pictures, mut from: ChildStdout, to: &Sender<Option<Reading>>) {
    raise_priority();
    let mut picture = Picture::black(pictures.width, pictures.height);
    loop {
        let planes = [&mut picture.y, &mut picture.u, &mut picture.v];
        if planes.into_iter().try_for_each(|plane| from.read_exact(plane)).is_err() {
            return;
        }
        let shown = wall_us();
        let reading = read_clock(&picture).map(|clock| Reading {
            event: clock.event,
            painted_us: clock.wall_us,
            // Signed, since a wall clock may be set back.
            latency_ms: (shown as f64 - clock.wall_us as f64) * 1e-3,
        });
        if to.send(reading).is_err() {
            return;
        }
    }
}
