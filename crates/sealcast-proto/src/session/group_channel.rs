//! Messages of a group where control messages may be lost (groups.md §11): the publisher cuts them into pieces, numbers
//! these, and repeats them until the viewer has taken them, which it does in their order.

use std::collections::VecDeque;
use std::time::Duration;

use super::SessionError;
use super::machine::Session;
use crate::clock::Now;
use crate::wire::{Control, GroupMessage};

/// Pieces under way at once.
const WINDOW: usize = 16;
/// Bytes of a piece's message before the piece.
const PIECE_HEADER: usize = 4;
/// Longest message that a viewer puts together: a signature of the longest part, or a sheet of some thousand members.
const MAX_MESSAGE: usize = 64 << 10;
/// Maximum number of pieces that wait. A stalled viewer is lost after a minute, with fewer of them.
const MAX_WAITING: usize = 1024;
/// Time that an acknowledgement takes beyond the round trip.
const SLACK: Duration = Duration::from_millis(30);
/// Maximum number of times that the wait doubles.
const MAX_STEPS: u32 = 4;
/// A viewer that acknowledges nothing after so many repetitions does not know these messages.
pub(super) const MAX_UNHEARD: u32 = 12;

/// Time after which something that may be lost is said again.
pub(super) fn patience(round_trip: Duration) -> Duration {
    round_trip * 3 / 2 + SLACK
}

/// The wait after so many repetitions.
pub(super) fn backoff(patience: Duration, repetitions: u32) -> Duration {
    patience * (1 << repetitions.min(MAX_STEPS))
}

/// The publisher's half, and the number that the viewer's half awaits.
#[derive(Default)]
pub(super) struct GroupChannel {
    /// Number of the first piece that waits.
    first: u16,
    waiting: VecDeque<Piece>,
    /// Number of those that have been sent.
    flying: usize,
    /// When they were sent last.
    sent: Duration,
    repetitions: u32,
    heard: bool,
    /// The viewer does not know these messages.
    silent: bool,
    /// Viewer: the number of the next piece to take.
    next: u16,
    /// Viewer: the pieces of the message that comes.
    whole: Vec<u8>,
}

/// A piece of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Piece {
    bytes: Vec<u8>,
    /// True if the message goes on.
    more: bool,
}

/// A piece that is due, with its number.
type Due = (u16, Piece);

impl GroupChannel {
    /// Adds a message, in pieces of at most `longest` bytes. An error if the viewer takes none any more.
    fn push(&mut self, message: &[u8], longest: usize) -> Result<(), SessionError> {
        let pieces = message.len().div_ceil(longest);
        if self.waiting.len() + pieces > MAX_WAITING {
            return Err(SessionError::PeerLost);
        }
        if !self.silent {
            let pieces = (1..=pieces).zip(message.chunks(longest)).map(|(at, bytes)| Piece {
                bytes: bytes.to_vec(),
                more: at < pieces,
            });
            self.waiting.extend(pieces);
        }
        Ok(())
    }

    /// The pieces that may leave and have not left yet.
    fn fresh(&mut self, now: Duration) -> Vec<Due> {
        let from = self.flying;
        self.flying = self.waiting.len().min(WINDOW);
        if from < self.flying {
            self.sent = now;
        }
        self.pieces(from)
    }

    /// The pieces to repeat, if that is due.
    fn overdue(&mut self, now: Duration, round_trip: Duration) -> Vec<Due> {
        if now < self.deadline(round_trip) {
            return Vec::new();
        }
        self.repetitions += 1;
        self.sent = now;
        if !self.heard && self.repetitions > MAX_UNHEARD {
            self.silent = true;
            self.waiting.clear();
            self.flying = 0;
        }
        self.pieces(0)
    }

    fn pieces(&self, from: usize) -> Vec<Due> {
        let numbered = self.waiting.iter().enumerate().take(self.flying).skip(from);
        numbered
            .map(|(at, piece)| (self.first.wrapping_add(at as u16), piece.clone()))
            .collect()
    }

    /// The viewer has taken all pieces before number `next`.
    fn taken(&mut self, next: u16) {
        let count = usize::from(next.wrapping_sub(self.first));
        self.heard = true;
        if count == 0 || count > self.flying {
            return;
        }
        self.waiting.drain(..count);
        self.flying -= count;
        self.first = next;
        self.repetitions = 0;
    }

    /// When pieces are repeated next.
    fn deadline(&self, round_trip: Duration) -> Duration {
        if self.flying == 0 {
            return Duration::MAX;
        }
        self.sent + backoff(patience(round_trip), self.repetitions)
    }

    /// Viewer: a piece came. Returns the message that it completes, if it is its turn.
    fn came(&mut self, number: u16, more: bool, bytes: &[u8]) -> Result<Option<Vec<u8>>, SessionError> {
        if number != self.next {
            return Ok(None);
        }
        if self.whole.len() + bytes.len() > MAX_MESSAGE {
            return Err(SessionError::PeerMisbehaved);
        }
        self.next = self.next.wrapping_add(1);
        self.whole.extend_from_slice(bytes);
        Ok((!more).then(|| std::mem::take(&mut self.whole)))
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);
    const TRIP: Duration = Duration::from_millis(40);

    fn numbers(due: &[Due]) -> Vec<u16> {
        due.iter().map(|(number, _)| *number).collect()
    }

    fn pushed(count: u8) -> GroupChannel {
        let mut channel = GroupChannel::default();
        for message in 0..count {
            channel.push(&[message], 9).expect("there is room");
        }
        channel
    }

    #[test]
    fn pieces_are_repeated_until_they_are_taken_and_few_are_under_way() {
        let mut channel = pushed(20);
        assert_eq!(numbers(&channel.fresh(MS)), (0..16).collect::<Vec<u16>>());
        assert_eq!(channel.deadline(TRIP), MS * 91);
        assert!(channel.overdue(MS * 90, TRIP).is_empty());
        assert_eq!(channel.overdue(MS * 91, TRIP).len(), 16);
        assert_eq!(channel.deadline(TRIP), MS * (91 + 180), "twice as long");
        channel.taken(3);
        assert_eq!(numbers(&channel.fresh(MS * 100)), [16, 17, 18]);
        for nonsense in [3, 2, 20, 40_000] {
            channel.taken(nonsense);
        }
        assert_eq!(numbers(&channel.pieces(0)), (3..19).collect::<Vec<u16>>());
        channel.taken(19);
        assert_eq!(numbers(&channel.fresh(MS * 200)), [19]);
        channel.taken(20);
        assert_eq!(channel.deadline(TRIP), Duration::MAX);
    }

    #[test]
    fn who_does_not_know_these_messages_gets_no_more_of_them() {
        let mut channel = pushed(1);
        let (mut now, mut sent) = (MS, channel.fresh(MS).len());
        while channel.deadline(TRIP) < Duration::MAX {
            now = channel.deadline(TRIP);
            sent += channel.overdue(now, TRIP).len();
        }
        assert_eq!(sent, 13);
        channel.push(&[2], 9).expect("nothing happens");
        assert!(channel.fresh(now).is_empty());
    }

    #[test]
    fn a_viewer_that_takes_nothing_is_given_up() {
        let mut channel = GroupChannel::default();
        channel.push(&vec![0; MAX_WAITING], 1).expect("there is room");
        assert_eq!(channel.push(&[1], 1), Err(SessionError::PeerLost));
    }

    #[test]
    fn messages_are_put_together_once_and_in_their_order() {
        let (mut from, mut to) = (GroupChannel::default(), GroupChannel::default());
        let messages: [&[u8]; 3] = [b"a long message", b"short", b"another long one"];
        for message in messages {
            from.push(message, 6).expect("there is room");
        }
        let mut whole = Vec::new();
        while whole.len() < messages.len() {
            // Each comes twice, the last one first.
            let mut due = [from.pieces(0), from.fresh(MS), from.pieces(0)].concat();
            due.reverse();
            for (number, piece) in due {
                whole.extend(to.came(number, piece.more, &piece.bytes).expect("not too long"));
                from.taken(to.next);
            }
        }
        assert_eq!(whole, messages);
        assert_eq!(from.deadline(TRIP), Duration::MAX);
    }

    #[test]
    fn a_message_without_end_is_the_publishers_fault() {
        let mut channel = GroupChannel::default();
        let mut came = |number| channel.came(number, true, &[0; 1 << 10]);
        assert!((0..64).all(|number| came(number) == Ok(None)));
        assert_eq!(came(64), Err(SessionError::PeerMisbehaved));
    }
}
