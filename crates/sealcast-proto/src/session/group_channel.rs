//! Messages of a group where control messages may be lost (groups.md §11): the publisher cuts them into pieces, numbers
//! these, and repeats them until the viewer has taken them, which it does in their order.

use std::collections::VecDeque;
use std::time::Duration;

use super::SessionError;

/// Pieces under way at once.
const WINDOW: usize = 16;
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
    pub(super) waiting: VecDeque<Piece>,
    /// Number of those that have been sent.
    flying: usize,
    /// When they were sent last.
    sent: Duration,
    repetitions: u32,
    heard: bool,
    /// The viewer does not know these messages.
    silent: bool,
    /// Viewer: the number of the next piece to take.
    pub(super) next: u16,
    /// Viewer: the pieces of the message that comes.
    whole: Vec<u8>,
}

/// A piece of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) bytes: Vec<u8>,
    /// True if the message goes on.
    pub(super) more: bool,
}

/// A piece that is due, with its number.
pub(super) type Due = (u16, Piece);

impl GroupChannel {
    /// Adds a message, in pieces of at most `longest` bytes. An error if the viewer takes none any more.
    pub(super) fn push(&mut self, message: &[u8], longest: usize) -> Result<(), SessionError> {
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
    pub(super) fn fresh(&mut self, now: Duration) -> Vec<Due> {
        let from = self.flying;
        self.flying = self.waiting.len().min(WINDOW);
        if from < self.flying {
            self.sent = now;
        }
        self.pieces(from)
    }

    /// The pieces to repeat, if that is due.
    pub(super) fn overdue(&mut self, now: Duration, round_trip: Duration) -> Vec<Due> {
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
    pub(super) fn taken(&mut self, next: u16) {
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
    pub(super) fn deadline(&self, round_trip: Duration) -> Duration {
        if self.flying == 0 {
            return Duration::MAX;
        }
        self.sent + backoff(patience(round_trip), self.repetitions)
    }

    /// Viewer: a piece came. Returns the message that it completes, if it is its turn.
    pub(super) fn came(&mut self, number: u16, more: bool, bytes: &[u8]) -> Result<Option<Vec<u8>>, SessionError> {
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
