//! Reads the messages of one direction of a connection as anybody on the path can.

use std::time::Duration;

use sealcast_proto::wire::{
    Accept, CONNECTION_LEN, HEADER_LEN, Header, Kind, LENGTH_PREFIX, MessageLength, TAG_LEN, message_length,
};

/// Carrier of the messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carriage {
    /// A byte stream, with a length before each message (protocol.md §1).
    Stream,
    /// UDP: one message in each datagram, after the connection's number (protocol.md §7).
    Datagrams,
}

/// A message as an observer sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenRecord {
    /// When its last byte passed.
    pub at: Duration,
    /// Length of the message in bytes, without its framing.
    pub length: usize,
    /// Kind of the record.
    pub seen: Seen,
}

/// Kind of a message, as far as that can be told without keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    /// A message before the session, by its first byte.
    Handshake(u8),
    /// A control record.
    Control(Header),
    /// A media record.
    Media(SeenMedia),
    /// Nothing that the protocol knows.
    Garbage,
}

/// A media record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenMedia {
    /// Its header, which is always in clear.
    pub header: Header,
    /// Length of the payload in bytes.
    pub payload: usize,
    /// The payload, if it is in clear.
    pub clear: Option<Vec<u8>>,
}

/// Listens to one direction of a connection. It holds at most one message, which is at most
/// [`MAX_RECORD`](sealcast_proto::wire::MAX_RECORD) bytes long, and never panics, whatever it hears.
#[derive(Debug)]
pub struct Wiretap {
    carriage: Carriage,
    /// The beginning of a message that is not complete.
    waiting: Vec<u8>,
    /// True once the framing of a byte stream is lost.
    lost: bool,
}

impl Wiretap {
    /// A wiretap from the first byte of the connection on, or from the beginning of any message.
    pub fn new(carriage: Carriage) -> Self {
        Self {
            carriage,
            waiting: Vec::new(),
            lost: false,
        }
    }

    /// The carriage that it listens to.
    pub fn carriage(&self) -> Carriage {
        self.carriage
    }

    /// True if a length on the byte stream was impossible. Nothing is heard after it.
    pub fn is_lost(&self) -> bool {
        self.lost
    }

    /// Hears the next bytes of a stream, or one datagram, and passes each message that is complete to `told`.
    pub fn hear(&mut self, at: Duration, mut bytes: &[u8], mut told: impl FnMut(SeenRecord)) {
        if self.carriage == Carriage::Datagrams {
            let message = bytes.get(CONNECTION_LEN..).unwrap_or_default();
            return told(seen(at, message));
        }
        while !self.lost && !bytes.is_empty() {
            // Bytes are copied up to the end of one message only, so what waits is never longer than that.
            let wanted = match message_length(&self.waiting, MessageLength::Record) {
                Ok(None) => LENGTH_PREFIX,
                Ok(Some(length)) => LENGTH_PREFIX + length,
                Err(_) => {
                    self.lost = true;
                    break;
                }
            };
            let taken = bytes.len().min(wanted - self.waiting.len());
            self.waiting.extend_from_slice(&bytes[..taken]);
            bytes = &bytes[taken..];
            if wanted > LENGTH_PREFIX && self.waiting.len() == wanted {
                told(seen(at, &self.waiting[LENGTH_PREFIX..]));
                self.waiting.clear();
            }
        }
    }
}

fn seen(at: Duration, message: &[u8]) -> SeenRecord {
    let seen = match (Kind::of(message), message.first()) {
        (Some(_), _) => record(message),
        (None, Some(&kind @ 1..=8)) => Seen::Handshake(kind),
        _ => Seen::Garbage,
    };
    SeenRecord {
        at,
        length: message.len(),
        seen,
    }
}

fn record(message: &[u8]) -> Seen {
    let Ok(header) = Header::parse(message, Accept::ClearMedia) else {
        return Seen::Garbage;
    };
    if header.kind == Kind::Control {
        return Seen::Control(header);
    }
    // The header was accepted, so the message has room for itself and the tag.
    let payload = &message[HEADER_LEN..message.len() - TAG_LEN];
    Seen::Media(SeenMedia {
        header,
        payload: payload.len(),
        clear: (!header.flags.encrypted()).then(|| payload.to_vec()),
    })
}
