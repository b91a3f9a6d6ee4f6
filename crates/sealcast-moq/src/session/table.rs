//! The sessions that are open, by their numbers.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::mpsc::Sender;

use super::outbox::Outbox;
use crate::pipe::Outgoing;

/// Destination of what sealcast gives for its sessions.
pub(crate) struct Table {
    sessions: Mutex<Sessions>,
    output: Sender<Outgoing>,
}

#[derive(Default)]
struct Sessions {
    open: HashMap<u32, Arc<Outbox>>,
    /// The next number, where this program chooses them; above `u32::MAX` there is none.
    next: u64,
}

impl Table {
    /// There are no sessions yet.
    pub(crate) fn new(output: Sender<Outgoing>) -> Arc<Self> {
        Arc::new(Self {
            sessions: Mutex::default(),
            output,
        })
    }

    /// Takes bytes from sealcast. What is for no session crossed with its end.
    pub(crate) fn push(&self, session: u32, bytes: &[u8]) {
        if let Some(outbox) = self.lock().open.get(&session) {
            outbox.push(bytes);
        }
    }

    /// Sealcast wants no more of a session.
    pub(crate) fn close(&self, session: u32) {
        if let Some(outbox) = self.lock().open.get(&session) {
            outbox.close();
        }
    }

    /// Number of open sessions.
    pub(super) fn len(&self) -> usize {
        self.lock().open.len()
    }

    /// Adds a session under a number that sealcast chose.
    pub(super) fn add(&self, session: u32) -> Arc<Outbox> {
        let outbox = Arc::new(Outbox::default());
        self.lock().open.insert(session, outbox.clone());
        outbox
    }

    /// Adds a session under the next number; `None` if there are no more.
    pub(super) fn add_next(&self) -> Option<(u32, Arc<Outbox>)> {
        let mut sessions = self.lock();
        let number = u32::try_from(sessions.next).ok()?;
        sessions.next += 1;
        let outbox = Arc::new(Outbox::default());
        sessions.open.insert(number, outbox.clone());
        Some((number, outbox))
    }

    /// Removes a session and tells sealcast why.
    pub(super) async fn end(&self, session: u32, why: String) {
        self.lock().open.remove(&session);
        // The output ends only when sealcast does.
        let _ = self.output.send(Outgoing::SessionClosed(session, why)).await;
    }

    /// The way to sealcast.
    pub(super) fn output(&self) -> &Sender<Outgoing> {
        &self.output
    }

    fn lock(&self) -> MutexGuard<'_, Sessions> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
