//! Handshake messages on datagrams: the request for a retry cookie, fragments, and retransmission (protocol.md §7).

use std::time::Duration;

use crate::keys::HandshakeError;
use crate::wire::datagram::{Bare, Fragment, MAX_FRAGMENTS, cut, fragments, knock};
use crate::wire::{CONNECTION_LEN, COOKIE_LEN, TicketMac, connection_of};

/// Time after which an unanswered cookie request is repeated, and an unanswered message for the first time.
const FIRST_PATIENCE: Duration = Duration::from_millis(250);
/// Maximum time after which an unanswered message is repeated.
const LAST_PATIENCE: Duration = Duration::from_millis(500);
/// Time for which a handshake continues after the first message that ends it: anybody may have sent it, and the right
/// one may still arrive.
const DOUBT: Duration = Duration::from_secs(1);

/// Minimum time between two answers to repetitions of a message.
const REPEAT_INTERVAL: Duration = Duration::from_millis(100);
/// Maximum number of answers to repetitions in a session.
const MAX_REPEATS: u8 = 16;

/// Beginning of a session on datagrams, which differs between the two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// Initiator: it requests a retry cookie first (the `knock` of protocol.md §7). Both numbers are fresh random
    /// bytes.
    Knock {
        /// The connection.
        connection: u32,
        /// The cookie that answers the request repeats these bytes.
        random: [u8; COOKIE_LEN],
    },
    /// Responder: [`RetryCookies`](crate::wire::RetryCookies) accepted the cookie of the initiator's first fragment.
    Shown {
        /// The connection.
        connection: u32,
        /// The cookie.
        cookie: [u8; COOKIE_LEN],
    },
}

/// Result of a datagram without a record.
pub(super) enum Passed {
    /// A handshake message is complete.
    Message(Vec<u8>),
    /// The peer repeated a message that was already answered, so the answer was lost.
    Repeated,
    /// The peer's previous message came again, and differs from the one that was accepted.
    Differs(Vec<u8>),
    /// The peer answered a knock of a session as one of a new connection: it has no such session any more.
    Forgotten,
    /// A fragment of an incomplete message, or nothing of use.
    Nothing,
}

pub(super) struct DatagramHandshake {
    /// The key of the MAC of a knock.
    ticket: TicketMac,
    connection: u32,
    random: [u8; COOKIE_LEN],
    cookie: Option<[u8; COOKIE_LEN]>,
    initiator: bool,
    /// Number of handshake messages sent so far.
    sent: u8,
    /// The datagrams of the newest message, for sending again.
    newest: Vec<Vec<u8>>,
    /// Initiator: the first message, until something answers it. Another cookie may have to be shown with it.
    first: Option<Vec<u8>>,
    /// Initiator: the last datagram of the message before the newest. Sent again, it has the responder repeat its
    /// answer.
    before: Option<Vec<u8>>,
    /// True if no cookie has answered the newest knock.
    knocked: bool,
    /// Initiator: time at which `newest` is sent again if nothing answers it.
    again_at: Duration,
    patience: Duration,
    /// Number of times that the newest message was sent again.
    repetitions: u8,
    /// Number of the peer's next message.
    expected: u8,
    /// Its fragments so far; empty ones are missing.
    parts: [Vec<u8>; MAX_FRAGMENTS as usize],
    /// Number of its fragments; 0 before the first.
    count: u8,
    /// The last part of the message that is complete and not yet accepted, and the number of its parts.
    completed: (Vec<u8>, u8),
    repeats: Repeats,
    /// Reason why the last message that ends the handshake was ignored, and the time at which it fails for it.
    doubt: Option<(HandshakeError, Duration)>,
    /// True if a message did not fit since the last one that did.
    altered: bool,
}

/// The peer's repetitions of its last message.
#[derive(Default)]
struct Repeats {
    /// The message's last part, and the number of its parts: of a repetition only that part counts, so that it gets one
    /// answer.
    last_part: (Vec<u8>, u8),
    answered: u8,
    next: Duration,
}

impl Repeats {
    /// True if this fragment of the last message is to be answered again.
    fn allow(&mut self, now: Duration, fragment: &Fragment<'_>) -> bool {
        let (part, count) = (&self.last_part.0[..], self.last_part.1);
        let last = fragment.index + 1 == count && fragment.count == count && fragment.part == part;
        let allowed = last && self.answered < MAX_REPEATS && now >= self.next;
        if allowed {
            self.answered += 1;
            self.next = now + REPEAT_INTERVAL;
        }
        allowed
    }
}

impl DatagramHandshake {
    pub(super) fn new(entry: Entry, ticket: TicketMac, now: Duration) -> Self {
        let (connection, random, cookie) = match entry {
            Entry::Knock { connection, random } => (connection, random, None),
            Entry::Shown { connection, cookie } => (connection, [0; COOKIE_LEN], Some(cookie)),
        };
        Self {
            ticket,
            connection,
            random,
            cookie,
            initiator: cookie.is_none(),
            sent: 0,
            newest: Vec::new(),
            first: None,
            before: None,
            knocked: false,
            again_at: now,
            patience: FIRST_PATIENCE,
            repetitions: 0,
            expected: 0,
            parts: Default::default(),
            count: 0,
            completed: Default::default(),
            repeats: Repeats::default(),
            doubt: None,
            altered: false,
        }
    }

    pub(super) fn connection(&self) -> u32 {
        self.connection
    }

    /// The message in a datagram, or `None` if the datagram belongs to another connection.
    pub(super) fn strip<'b>(&self, datagram: &'b mut [u8]) -> Option<&'b mut [u8]> {
        (connection_of(datagram) == Some(self.connection)).then(|| &mut datagram[CONNECTION_LEN..])
    }

    /// Send a handshake message. Returns the datagrams to send: the message's fragments or, while the initiator has no
    /// cookie, the request for one.
    pub(super) fn send(&mut self, now: Duration, message: Vec<u8>) -> Vec<Vec<u8>> {
        let Some(cookie) = self.cookie else {
            self.first = Some(message);
            self.newest = vec![self.knock()];
            self.again_at = now + FIRST_PATIENCE;
            return self.newest.clone();
        };
        self.before = self.newest.pop().filter(|_| self.sent > 0);
        self.newest = fragments(self.connection, &cookie, self.sent, &message);
        self.sent = self.sent.saturating_add(1);
        self.start_patience(now);
        self.newest.clone()
    }

    /// Send a handshake message in place of the newest one, which obeyed a message that was altered.
    pub(super) fn send_instead(&mut self, now: Duration, message: &[u8]) -> Vec<Vec<u8>> {
        if let (Some(cookie), Some(number)) = (self.cookie, self.sent.checked_sub(1)) {
            self.newest = fragments(self.connection, &cookie, number, message);
            self.start_patience(now);
        }
        self.newest.clone()
    }

    fn start_patience(&mut self, now: Duration) {
        self.patience = FIRST_PATIENCE;
        self.repetitions = 0;
        self.again_at = now + FIRST_PATIENCE;
    }

    /// The request for a cookie.
    fn knock(&mut self) -> Vec<u8> {
        self.knocked = true;
        knock(&self.ticket, self.connection, &self.random)
    }

    /// A cookie came in answer to a knock. Returns the first message with it.
    fn show(&mut self, now: Duration, cookie: [u8; COOKIE_LEN]) -> Vec<Vec<u8>> {
        self.knocked = false;
        if self.cookie == Some(cookie) {
            return Vec::new();
        }
        self.cookie = Some(cookie);
        self.sent = 0;
        let first = self.first.clone();
        first.map(|message| self.send(now, message)).unwrap_or_default()
    }

    /// The datagrams sent last.
    pub(super) fn newest(&self) -> Vec<Vec<u8>> {
        self.newest.clone()
    }

    /// Process a message that is no record. The returned datagrams must be sent.
    pub(super) fn take(&mut self, now: Duration, message: &[u8]) -> (Passed, Vec<Vec<u8>>) {
        match Bare::parse(message) {
            Ok(Bare::Cookie { random, cookie }) if self.first.is_some() && random == self.random => {
                // One answer to each knock, so that nobody has the first message sent more often than that.
                let first = if self.knocked {
                    self.show(now, cookie)
                } else {
                    Vec::new()
                };
                (Passed::Nothing, first)
            }
            Ok(Bare::Fragment(fragment)) if self.cookie == Some(fragment.cookie) => {
                (self.take_fragment(now, &fragment), Vec::new())
            }
            Ok(Bare::Cookie { random, .. }) if self.initiator && random == self.random => {
                (Passed::Forgotten, Vec::new())
            }
            _ => (Passed::Nothing, Vec::new()),
        }
    }

    /// Initiator: ask whether the responder still has this session. Returns the knock to send: the responder ignores it
    /// if it has, and otherwise answers with a cookie.
    pub(super) fn ask(&mut self) -> Option<Vec<u8>> {
        // Another number than before, so that only the answer to this knock fits.
        self.random = u128::from_be_bytes(self.random).wrapping_add(1).to_be_bytes();
        (self.initiator && self.cookie.is_some()).then(|| knock(&self.ticket, self.connection, &self.random))
    }

    fn take_fragment(&mut self, now: Duration, fragment: &Fragment<'_>) -> Passed {
        if fragment.message.checked_add(1) == Some(self.expected) {
            let whole = (fragment.part.to_vec(), 1);
            if self.initiator && fragment.count == 1 && self.repeats.last_part != whole {
                return Passed::Differs(whole.0);
            }
            return if self.repeats.allow(now, fragment) {
                Passed::Repeated
            } else {
                Passed::Nothing
            };
        }
        if fragment.message != self.expected {
            return Passed::Nothing;
        }
        if fragment.count != self.count {
            self.parts = Default::default();
            self.count = fragment.count;
        }
        self.parts[usize::from(fragment.index)] = fragment.part.to_vec();
        let parts = &self.parts[..usize::from(self.count)];
        if parts.iter().any(Vec::is_empty) {
            return Passed::Nothing;
        }
        let message = parts.concat();
        let (last, others) = parts.split_last().expect("a message has a part at least");
        // The last part alone is answered when it comes again: a short one would bring many times its length.
        let equal = (parts.len(), others.first().unwrap_or(last).len()) == cut(message.len());
        let equal = equal && others.windows(2).all(|two| two[0].len() == two[1].len());
        self.completed = (last.clone(), self.count);
        self.parts = Default::default();
        self.count = 0;
        if !equal {
            self.altered = true;
            return Passed::Nothing;
        }
        Passed::Message(message)
    }

    /// The last complete message was valid: expect the next one.
    pub(super) fn accepted(&mut self) {
        self.expected = self.expected.saturating_add(1);
        self.repeats.last_part = std::mem::take(&mut self.completed);
        self.first = None;
        self.doubt = None;
        self.altered = false;
    }

    /// The message that came in place of the last one was valid.
    pub(super) fn accepted_instead(&mut self, message: Vec<u8>) {
        self.repeats.last_part = (message, 1);
    }

    /// The last complete message was not valid. It may be forged or altered, so the handshake goes on: as if it had
    /// been lost or, if it is `certain` that the handshake is in vain, for [`DOUBT`].
    pub(super) fn doubted(&mut self, now: Duration, reason: HandshakeError, certain: bool) {
        self.altered = true;
        if certain {
            let until = self.doubt.map_or(now + DOUBT, |(_, until)| until);
            self.doubt = Some((reason, until));
        }
    }

    /// Reason why the handshake fails at its timeout.
    pub(super) fn late(&self) -> HandshakeError {
        if self.altered {
            HandshakeError::Unfit
        } else {
            HandshakeError::Timeout
        }
    }

    /// Reason why the handshake fails now, before its timeout, if it does: no valid message followed an invalid one in
    /// time.
    pub(super) fn failed(&self, now: Duration) -> Option<HandshakeError> {
        self.doubt.filter(|(_, until)| now >= *until).map(|(reason, _)| reason)
    }

    /// The datagrams to send again, if a repetition is due. If the keys are not `agreed`, the responder's last message
    /// is asked for again too: a retry may have been altered on its way.
    pub(super) fn again(&mut self, now: Duration, agreed: bool) -> Vec<Vec<u8>> {
        if !self.initiator || now < self.again_at {
            return Vec::new();
        }
        if self.cookie.is_some() {
            self.patience = (self.patience * 2).min(LAST_PATIENCE);
        }
        self.again_at = now + self.patience;
        self.repetitions = self.repetitions.saturating_add(u8::from(self.cookie.is_some()));
        let mut again: Vec<Vec<u8>> = self.before.iter().filter(|_| !agreed).cloned().collect();
        if self.cookie.is_some() && self.first.is_some() {
            // The cookie may have been altered on its way; who has begun a session ignores the knock.
            again.push(self.knock());
        }
        self.knocked |= self.first.is_some();
        again.extend_from_slice(&self.newest);
        again
    }

    /// True if more answers to the newest message may come than the one that came.
    pub(super) fn repeated(&self) -> bool {
        self.repetitions > 0
    }

    /// Returns true as often as the newest message was sent again: so many more answers may come.
    pub(super) fn take_repetition(&mut self) -> bool {
        let left = self.repetitions.checked_sub(1);
        self.repetitions = left.unwrap_or_default();
        left.is_some()
    }

    /// Time of the next timeout, until the session is established.
    pub(super) fn deadline(&self) -> Duration {
        let doubt = self.doubt.map_or(Duration::MAX, |(_, until)| until);
        if self.initiator {
            doubt.min(self.again_at)
        } else {
            doubt
        }
    }
}

#[cfg(test)]
#[path = "datagram_handshake_vectors.rs"]
mod vector_tests;
