//! What the session of an end that sends media tells its task.

use std::time::Instant;

use sealcast_proto::seal::{Opened, Refusal};
use sealcast_proto::session::{Event, SessionError};
use sealcast_proto::unit::Assembled;

use super::connection::Listener;

/// What the session had to tell, until the task gets to it.
#[derive(Default)]
pub(super) struct SenderInbox {
    pub(super) events: Vec<Event>,
    pub(super) refused: u64,
}

impl Listener for SenderInbox {
    fn media(&mut self, _: Opened<'_>, _: Instant) -> Result<(), SessionError> {
        // A viewer has nothing to show us.
        Ok(())
    }

    fn assembled(&mut self, _: Assembled, _: Instant) -> bool {
        false
    }

    fn event(&mut self, event: Event) {
        self.events.push(event);
    }

    fn refused(&mut self, _: Refusal, _: bool) {
        self.refused += 1;
    }
}
