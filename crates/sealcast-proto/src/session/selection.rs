//! Agreement on what is encrypted, while the session runs (protocol.md §4, Selection).
//!
//! The publisher announces a selection and leaves media in clear only once the viewer has acknowledged it. Until then
//! everything is encrypted, and again from the moment at which the publisher wants that.

use std::time::Duration;

use super::SessionError;
use crate::unit::Selection;
use crate::wire::{Accept, Control};

/// Time after which an unacknowledged selection is sent again.
const SELECTION_PATIENCE: Duration = Duration::from_millis(500);
/// Time for which a viewer still accepts records in clear after it acknowledged that everything is encrypted again.
const CLEAR_WINDOW: Duration = Duration::from_secs(5);

/// The publisher's half.
#[derive(Default)]
pub(super) struct Selecting {
    /// Number of the newest selection announced; 0 for none.
    number: u16,
    /// The selection that frames are sealed by.
    in_force: Selection,
    /// The selection that was announced and not yet acknowledged, and the time of its last announcement.
    pending: Option<(Selection, Duration)>,
}

impl Selecting {
    /// The selection that frames are sealed by now.
    pub(super) fn in_force(&self) -> Selection {
        self.in_force
    }

    /// The selection that the program wants, in force or not.
    pub(super) fn wanted(&self) -> Selection {
        self.pending.map_or(self.in_force, |(selection, _)| selection)
    }

    /// Begin to change to a selection. Returns the message to send, or `None` once the numbers are used up. From here
    /// on nothing is in clear until the viewer acknowledges it.
    pub(super) fn begin(&mut self, now: Duration, selection: Selection) -> Option<Control<'static>> {
        self.in_force = Selection::All;
        self.pending = None;
        self.number = self.number.checked_add(1)?;
        self.pending = Some((selection, now));
        Some(self.message(selection))
    }

    fn message(&self, selection: Selection) -> Control<'static> {
        Control::Selection {
            number: self.number,
            selection,
        }
    }

    /// The message to send again, if a repetition is due.
    pub(super) fn repeat(&mut self, now: Duration) -> Option<Control<'static>> {
        let (selection, said) = self.pending.as_mut()?;
        if now < *said + SELECTION_PATIENCE {
            return None;
        }
        *said = now;
        let selection = *selection;
        Some(self.message(selection))
    }

    /// Process the acknowledgement of selection `number`. Returns the selection now in force if it changed.
    pub(super) fn acknowledged(&mut self, number: u16) -> Option<Selection> {
        let (selection, _) = self.pending.take_if(|_| number == self.number)?;
        let news = selection != self.in_force;
        self.in_force = selection;
        news.then_some(selection)
    }

    pub(super) fn deadline(&self) -> Duration {
        self.pending
            .map_or(Duration::MAX, |(_, said)| said + SELECTION_PATIENCE)
    }
}

/// The viewer's half.
#[derive(Default)]
pub(super) struct Following {
    /// Number of the newest selection acknowledged; 0 for none.
    number: u16,
    pub(super) selection: Selection,
    /// Time until which records in clear are accepted after the selection returned to everything encrypted.
    clear_until: Duration,
}

impl Following {
    /// Which records in clear are acceptable now.
    pub(super) fn accept(&self, now: Duration) -> Accept {
        if self.selection != Selection::All || now < self.clear_until {
            Accept::ClearMedia
        } else {
            Accept::EncryptedOnly
        }
    }

    /// Process an announced selection. Returns whether to acknowledge it, and whether it is a change. An error if it
    /// differs from the last acknowledged one and has the same number, which is the peer's fault.
    pub(super) fn told(
        &mut self,
        now: Duration,
        number: u16,
        selection: Selection,
    ) -> Result<(bool, bool), SessionError> {
        if number <= self.number {
            let repeated = number == self.number;
            return if repeated && selection != self.selection {
                Err(SessionError::PeerMisbehaved)
            } else {
                Ok((repeated, false))
            };
        }
        if selection == Selection::All && self.selection != Selection::All {
            self.clear_until = now + CLEAR_WINDOW;
        }
        let news = selection != self.selection;
        (self.number, self.selection) = (number, selection);
        Ok((true, news))
    }
}
