//! The handshake's messages on datagrams: knocking, fragments, and sending again (protocol.md §7).

use std::time::Duration;

use crate::keys::HandshakeError;
use crate::wire::datagram::{Bare, Fragment, MAX_FRAGMENTS, fragments, knock};
use crate::wire::{CONNECTION_LEN, COOKIE_LEN, connection_of};

/// How long an unanswered knock waits, and an unanswered message at first.
const FIRST_PATIENCE: Duration = Duration::from_millis(250);
/// How long an unanswered message waits at most before it is sent again.
const LAST_PATIENCE: Duration = Duration::from_millis(500);
/// How long a handshake goes on after a message that does not fit: the right one may still come.
const DOUBT: Duration = Duration::from_secs(1);

/// How an end comes to its first datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// The initiator knocks. Both numbers are fresh random bytes.
    Knock {
        /// The connection.
        connection: u32,
        /// Recognises the answer.
        random: [u8; COOKIE_LEN],
    },
    /// The responder's [`RetryCookies`](crate::wire::RetryCookies) has seen its cookie.
    Shown {
        /// The connection.
        connection: u32,
        /// The cookie.
        cookie: [u8; COOKIE_LEN],
    },
}

/// What the handshake made of a datagram.
pub(super) enum Passed {
    /// A handshake message is complete.
    Message(Vec<u8>),
    /// The other end repeats a message that was answered: it has not had the answer.
    Repeated,
    /// The other end says that it knows no such connection.
    Unknown,
    /// A part, or nothing.
    Nothing,
}

pub(super) struct DatagramHandshake {
    connection: u32,
    random: [u8; COOKIE_LEN],
    cookie: Option<[u8; COOKIE_LEN]>,
    initiator: bool,
    /// Our handshake messages so far, and the newest as it was sent.
    sent: u8,
    newest: Vec<Vec<u8>>,
    /// A message that waits for the cookie.
    waiting: Option<Vec<u8>>,
    again_at: Duration,
    patience: Duration,
    /// The peer's next message, and its parts so far.
    expected: u8,
    parts: [Vec<u8>; MAX_FRAGMENTS as usize],
    count: u8,
    /// Why a message was ignored, and when the last was.
    doubt: Option<(HandshakeError, Duration)>,
}

impl DatagramHandshake {
    pub(super) fn new(entry: Entry, now: Duration) -> Self {
        let (connection, random, cookie) = match entry {
            Entry::Knock { connection, random } => (connection, random, None),
            Entry::Shown { connection, cookie } => (connection, [0; COOKIE_LEN], Some(cookie)),
        };
        Self {
            connection,
            random,
            cookie,
            initiator: cookie.is_none(),
            sent: 0,
            newest: Vec::new(),
            waiting: None,
            again_at: now,
            patience: FIRST_PATIENCE,
            expected: 0,
            parts: Default::default(),
            count: 0,
            doubt: None,
        }
    }

    pub(super) fn connection(&self) -> u32 {
        self.connection
    }

    /// The message of a datagram, if it names our connection.
    pub(super) fn strip<'b>(&self, datagram: &'b mut [u8]) -> Option<&'b mut [u8]> {
        (connection_of(datagram) == Some(self.connection)).then(|| &mut datagram[CONNECTION_LEN..])
    }

    /// The datagrams in which a handshake message leaves.
    pub(super) fn send(&mut self, now: Duration, message: Vec<u8>) -> Vec<Vec<u8>> {
        let Some(cookie) = self.cookie else {
            self.waiting = Some(message);
            self.newest = vec![knock(self.connection, &self.random)];
            self.again_at = now + FIRST_PATIENCE;
            return self.newest.clone();
        };
        self.newest = fragments(self.connection, &cookie, self.sent, &message);
        self.sent = self.sent.saturating_add(1);
        self.patience = FIRST_PATIENCE;
        self.again_at = now + FIRST_PATIENCE;
        self.newest.clone()
    }

    /// What was sent last.
    pub(super) fn newest(&self) -> Vec<Vec<u8>> {
        self.newest.clone()
    }

    /// Take what is no record. The datagrams are to be sent.
    pub(super) fn take(&mut self, now: Duration, message: &[u8]) -> (Passed, Vec<Vec<u8>>) {
        match Bare::parse(message) {
            Ok(Bare::Cookie { random, cookie }) if self.initiator && self.cookie.is_none() && random == self.random => {
                self.cookie = Some(cookie);
                let first = self.waiting.take().map(|message| self.send(now, message));
                (Passed::Nothing, first.unwrap_or_default())
            }
            Ok(Bare::Fragment(fragment)) if self.cookie == Some(fragment.cookie) => {
                (self.take_fragment(&fragment), Vec::new())
            }
            Ok(Bare::Unknown) => (Passed::Unknown, Vec::new()),
            _ => (Passed::Nothing, Vec::new()),
        }
    }

    fn take_fragment(&mut self, fragment: &Fragment<'_>) -> Passed {
        if fragment.message.checked_add(1) == Some(self.expected) {
            // Its last part stands for all of it: one answer to each time it came.
            let last = fragment.index + 1 == fragment.count;
            return if last { Passed::Repeated } else { Passed::Nothing };
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
        self.parts = Default::default();
        self.count = 0;
        Passed::Message(message)
    }

    /// The message was the one that was due.
    pub(super) fn accepted(&mut self) {
        self.expected = self.expected.saturating_add(1);
        self.doubt = None;
    }

    /// The message was not what it should be. It may be somebody else's.
    pub(super) fn doubted(&mut self, now: Duration, reason: HandshakeError) {
        let until = self.doubt.map_or(now + DOUBT, |(_, until)| until);
        self.doubt = Some((reason, until));
    }

    /// Why the handshake fails now, if it does so before its time.
    pub(super) fn failed(&self, now: Duration) -> Option<HandshakeError> {
        self.doubt.filter(|(_, until)| now >= *until).map(|(reason, _)| reason)
    }

    /// What to send again, if it is time.
    pub(super) fn again(&mut self, now: Duration) -> Vec<Vec<u8>> {
        if !self.initiator || now < self.again_at {
            return Vec::new();
        }
        if self.cookie.is_some() {
            self.patience = (self.patience * 2).min(LAST_PATIENCE);
        }
        self.again_at = now + self.patience;
        self.newest.clone()
    }

    /// When to come back, while there is no session yet.
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
