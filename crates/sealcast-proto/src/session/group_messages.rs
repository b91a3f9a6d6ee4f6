//! Messages of a group on their way to the viewer, which may be lost or not.

use std::time::Duration;

use super::SessionError;
use super::group_channel::{Due, Piece};
use super::machine::Session;
use crate::clock::Now;
use crate::wire::{Control, GroupMessage};

/// Bytes of a piece's message before the piece.
const PIECE_HEADER: usize = 4;

impl Session {
    /// Publisher: true if the viewer has taken all messages of the group that are repeated until it does.
    pub fn group_is_told(&self) -> bool {
        self.group_channel.waiting.is_empty()
    }

    /// Publisher: sends a message of the group, and again until it is taken where it may be lost. An answer is not
    /// repeated: who misses one soon sends another challenge.
    pub(super) fn send_group(&mut self, now: Now, message: GroupMessage<'_>) -> Result<(), SessionError> {
        let message = Control::Group(message);
        let answer = matches!(message, Control::Group(GroupMessage::Answer(_)));
        if !self.says_twice() || answer {
            // A sheet that cells had no room for would not be missed before no frame can be opened.
            if !answer && self.writer_mut().is_some_and(|writer| !writer.takes_control()) {
                return Err(SessionError::PeerLost);
            }
            return self.send_control(now, &message);
        }
        if self.liveness.is_stalled() && matches!(message, Control::Group(GroupMessage::Signature(_))) {
            // It gets no frames, either.
            return Ok(());
        }
        let longest = self.longest_control() - PIECE_HEADER;
        self.group_channel.push(&message.to_bytes(), longest)?;
        self.send_fresh_group(now)
    }

    fn send_fresh_group(&mut self, now: Now) -> Result<(), SessionError> {
        let fresh = self.group_channel.fresh(now.monotonic);
        self.send_numbered(now, fresh)
    }

    fn send_numbered(&mut self, now: Now, due: Vec<Due>) -> Result<(), SessionError> {
        for (number, Piece { bytes, more }) in due {
            let bytes = &bytes;
            self.send_control(now, &Control::Group(GroupMessage::Numbered { number, more, bytes }))?;
        }
        Ok(())
    }

    /// Publisher: repeats what is overdue.
    pub(super) fn repeat_group(&mut self, now: Now) -> Result<(), SessionError> {
        if self.liveness.is_stalled() {
            return Ok(());
        }
        let round_trip = self.round_trip();
        let overdue = self.group_channel.overdue(now.monotonic, round_trip);
        self.send_numbered(now, overdue)
    }

    pub(super) fn group_channel_deadline(&self) -> Duration {
        if self.liveness.is_stalled() {
            return Duration::MAX;
        }
        self.group_channel.deadline(self.round_trip())
    }

    /// Publisher: the viewer has taken pieces.
    pub(super) fn group_taken(&mut self, now: Now, next: u16) -> Result<(), SessionError> {
        self.group_channel.taken(next);
        self.send_fresh_group(now)
    }

    /// Viewer: a piece of a message came.
    pub(super) fn group_told_in_order(
        &mut self,
        now: Now,
        (number, more): (u16, bool),
        bytes: &[u8],
    ) -> Result<(), SessionError> {
        let whole = self.group_channel.came(number, more, bytes)?;
        let taken = GroupMessage::Taken {
            next: self.group_channel.next,
        };
        self.send_control(now, &Control::Group(taken))?;
        // Endless messages would use up this end's control key.
        self.rekey_if_due(now)?;
        let Some(message) = whole else {
            return Ok(());
        };
        match Control::parse(&message) {
            Ok(Control::Group(message)) if !message.is_of_carriage() => self.group_said_in_order(now, message),
            _ => Err(SessionError::PeerMisbehaved),
        }
    }
}
