//! What is encrypted, agreed upon while the session runs (protocol.md §4, Selection).
//!
//! The publisher says what it will leave in clear, and does so only once the viewer has answered that it accepts it.
//! Until then, and from the moment on that it wants everything encrypted again, everything is.

use std::time::Duration;

use super::machine::Session;
use super::{Event, Output, SessionError};
use crate::clock::Now;
use crate::unit::Selection;
use crate::wire::{Accept, Control};

/// How long an unacknowledged selection waits before it is sent again.
const SELECTION_PATIENCE: Duration = Duration::from_millis(500);
/// How long a viewer still accepts records in clear after it acknowledged that everything is encrypted again.
const CLEAR_WINDOW: Duration = Duration::from_secs(5);

/// The publisher's half.
#[derive(Default)]
pub(super) struct Selecting {
    /// Number of the newest selection said; 0 for none.
    number: u16,
    /// What frames are sealed by.
    in_force: Selection,
    /// Said and not acknowledged, and when it was said last.
    pending: Option<(Selection, Duration)>,
}

impl Selecting {
    /// What frames are sealed by now.
    pub(super) fn in_force(&self) -> Selection {
        self.in_force
    }

    /// What the program wants, in force or not.
    fn wanted(&self) -> Selection {
        self.pending.map_or(self.in_force, |(selection, _)| selection)
    }

    /// The program wants another selection: what to say, or `None` once the numbers are used up. From here on nothing
    /// is in clear before the viewer's answer.
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

    /// What was said, if it is time to say it again.
    fn repeat(&mut self, now: Duration) -> Option<Control<'static>> {
        let (selection, said) = self.pending.as_mut()?;
        if now < *said + SELECTION_PATIENCE {
            return None;
        }
        *said = now;
        let selection = *selection;
        Some(self.message(selection))
    }

    /// The viewer accepts selection `number`: what is in force now, if that is news.
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
    /// Until when records in clear are accepted after everything was to be encrypted again.
    clear_until: Duration,
}

impl Following {
    /// Which records in clear may come now.
    pub(super) fn accept(&self, now: Duration) -> Accept {
        if self.selection != Selection::All || now < self.clear_until {
            Accept::ClearMedia
        } else {
            Accept::EncryptedOnly
        }
    }

    /// The publisher says a selection: whether to acknowledge it, and whether it is news. Another one under a number
    /// that was acknowledged is the peer's fault.
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
    /// What this end's frames are sealed by now (publisher), or what the other end said last (viewer).
    pub fn selection(&self) -> Selection {
        if self.leads() {
            self.selecting.in_force()
        } else {
            self.following.selection
        }
    }

    /// Publisher: encrypt by another selection. What leaves something in clear comes in force when the viewer has
    /// acknowledged it; that everything is encrypted holds at once.
    pub(super) fn select(&mut self, now: Now, selection: Selection) -> Result<(), SessionError> {
        if !self.is_established() || !self.leads() {
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
        // Once all numbers are used up everything stays encrypted.
        message.map_or(Ok(()), |message| self.send_control(now, &message))
    }

    /// Publisher: say it again where no answer came.
    pub(super) fn repeat_selection(&mut self, now: Now) -> Result<(), SessionError> {
        match self.selecting.repeat(now.monotonic) {
            Some(message) => self.send_control(now, &message),
            None => Ok(()),
        }
    }

    /// When [`repeat_selection`](Self::repeat_selection) has something to do next.
    pub(super) fn selection_deadline(&self) -> Duration {
        self.selecting.deadline()
    }

    /// Publisher: the viewer accepts a selection. An answer to an older one, or to none, means nothing.
    pub(super) fn selection_acknowledged(&mut self, number: u16) {
        if let Some(selection) = self.selecting.acknowledged(number) {
            self.selection_changed(selection);
        }
    }

    /// Viewer: the publisher says what it will encrypt.
    pub(super) fn selection_told(&mut self, now: Now, number: u16, selection: Selection) -> Result<(), SessionError> {
        let (acknowledge, news) = self.following.told(now.monotonic, number, selection)?;
        if news {
            self.selection_changed(selection);
        }
        if acknowledge {
            self.send_control(now, &Control::SelectionAck { number })?;
            // A peer that says it without end uses this end's control key up.
            self.rekey_if_due(now)?;
        }
        Ok(())
    }

    fn selection_changed(&mut self, selection: Selection) {
        self.out.push_back(Output::Event(Event::Selection(selection)));
    }
}
