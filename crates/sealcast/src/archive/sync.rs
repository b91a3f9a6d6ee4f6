//! Brings what was written to the disk at least each second, also when no more frames come.

use std::fs::File;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::failure::{Failure, FailureKind, Result};

/// Time after which written blocks are on the disk at the latest, unless the disk itself is slower.
const SYNC_INTERVAL: Duration = Duration::from_millis(500);

#[derive(Default)]
struct State {
    file: Option<Arc<File>>,
    dirty: bool,
    failed: Option<io::Error>,
    stop: bool,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self) {
        let mut state = self.state();
        while !state.stop {
            let waited = self.changed.wait_timeout(state, SYNC_INTERVAL);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
            let Some(file) = state.file.clone().filter(|_| state.dirty) else {
                continue;
            };
            state.dirty = false;
            drop(state);
            let synced = file.sync_data();
            state = self.state();
            if let Err(error) = synced {
                state.failed = Some(error);
            }
        }
    }
}

/// A thread that brings one file to the disk again and again.
pub(super) struct Syncer {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Syncer {
    /// Starts the thread.
    pub(super) fn start() -> Result<Self> {
        let shared = Arc::new(Shared::default());
        let body = Arc::clone(&shared);
        let thread = thread::Builder::new()
            .name("archive".to_owned())
            .spawn(move || body.run());
        let thread = thread.map_err(|error| {
            let what = format!("the system gives no thread for the archive ({error})");
            Failure::new(FailureKind::Internal, what, "raise the limit on threads")
        })?;
        Ok(Self {
            shared,
            thread: Some(thread),
        })
    }

    /// This file is written from here on.
    pub(super) fn begin(&self, file: Arc<File>) {
        let mut state = self.shared.state();
        (state.file, state.dirty) = (Some(file), false);
    }

    /// Something was written to it. Fails if what was written before did not reach the disk.
    pub(super) fn wrote(&self) -> io::Result<()> {
        let mut state = self.shared.state();
        state.dirty = true;
        state.failed.take().map_or(Ok(()), Err)
    }

    /// It is not written any more.
    pub(super) fn end(&self) -> io::Result<()> {
        let mut state = self.shared.state();
        (state.file, state.dirty) = (None, false);
        state.failed.take().map_or(Ok(()), Err)
    }
}

impl Drop for Syncer {
    fn drop(&mut self) {
        self.shared.state().stop = true;
        self.shared.changed.notify_one();
        if let Some(thread) = self.thread.take() {
            // It cannot panic, and nothing could be done about it.
            let _ = thread.join();
        }
    }
}
