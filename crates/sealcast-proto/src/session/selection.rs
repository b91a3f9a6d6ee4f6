//! Agreement on what is encrypted, while the session runs (protocol.md §4, Selection).
//!
//! The publisher announces a selection and leaves media in clear only once the viewer has acknowledged it. Until then
//! everything is encrypted, and again from the moment at which the publisher wants that.

use std::time::Duration;

use super::machine::Session;
use super::{Event, Output, SessionError};
use crate::clock::Now;
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
    fn wanted(&self) -> Selection {
        self.pending.map_or(self.in_force, |(selection, _)| selection)
    }

    /// Begin to change to a selection. Returns the message to send, or `None` once the numbers are used up. From here
    /// on nothing is in clear until the viewer acknowledges it.
    fn begin(&mut self, now: Duration, selection: Selection) -> Option<Control<'static>> {
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
    fn repeat(&mut self, now: Duration) -> Option<Control<'static>> {
        let (selection, said) = self.pending.as_mut()?;
        if now < *said + SELECTION_PATIENCE {
            return None;
        }
        *said = now;
        let selection = *selection;
        Some(self.message(selection))
    }

    /// Process the acknowledgement of selection `number`. Returns the selection now in force if it changed.
    fn acknowledged(&mut self, number: u16) -> Option<Selection> {
        let (selection, _) = self.pending.take_if(|_| number == self.number)?;
        let news = selection != self.in_force;
        self.in_force = selection;
        news.then_some(selection)
    }

    fn deadline(&self) -> Duration {
        self.pending
            .map_or(Duration::MAX, |(_, said)| said + SELECTION_PATIENCE)
    }
}

/// The viewer's half.
#[derive(Default)]
pub(super) struct Following {
    /// Number of the newest selection acknowledged; 0 for none.
    number: u16,
    selection: Selection,
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
    fn told(&mut self, now: Duration, number: u16, selection: Selection) -> Result<(bool, bool), SessionError> {
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

impl Session {
    /// The selection that frames are sealed by now (publisher), or the newest one that the publisher announced
    /// (viewer).
    pub fn selection(&self) -> Selection {
        if self.leads() {
            self.selecting.in_force()
        } else {
            self.following.selection
        }
    }

    /// Publisher: change the selection. One that leaves something in clear takes effect when the viewer has
    /// acknowledged it; encrypting everything takes effect at once.
    pub(super) fn select(&mut self, now: Now, selection: Selection) -> Result<(), SessionError> {
        if !self.is_established() || !self.leads() || !self.shape_permits(selection) {
            return Err(SessionError::Misuse);
        }
        if self.selecting.wanted() == selection {
            return Ok(());
        }
        let before = self.selecting.in_force();
        let message = self.selecting.begin(now.monotonic, selection);
        if before != Selection::All {
            self.selection_changed(Selection::All);
        }
        // Once all numbers are used up, everything stays encrypted.
        message.map_or(Ok(()), |message| self.send_control(now, &message))
    }

    /// Publisher: announce the selection again if its acknowledgement is overdue.
    pub(super) fn repeat_selection(&mut self, now: Now) -> Result<(), SessionError> {
        match self.selecting.repeat(now.monotonic) {
            Some(message) => self.send_control(now, &message),
            None => Ok(()),
        }
    }

    /// Time at which [`repeat_selection`](Self::repeat_selection) is due next.
    pub(super) fn selection_deadline(&self) -> Duration {
        self.selecting.deadline()
    }

    /// Publisher: process an acknowledgement. One of an older selection, or of none, is ignored.
    pub(super) fn selection_acknowledged(&mut self, number: u16) {
        if let Some(selection) = self.selecting.acknowledged(number) {
            self.selection_changed(selection);
        }
    }

    /// Viewer: process the selection that the publisher announced.
    pub(super) fn selection_told(&mut self, now: Now, number: u16, selection: Selection) -> Result<(), SessionError> {
        let (acknowledge, news) = self.following.told(now.monotonic, number, selection)?;
        if news {
            self.selection_changed(selection);
        }
        if acknowledge {
            self.send_control(now, &Control::SelectionAck { number })?;
            // Endless announcements would use up this end's control key.
            self.rekey_if_due(now)?;
        }
        Ok(())
    }

    fn selection_changed(&mut self, selection: Selection) {
        self.out.push_back(Output::Event(Event::Selection(selection)));
    }
}
