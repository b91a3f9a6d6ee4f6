//! The datagrams between event server and clients, byte for byte as in docs/latency.md.

use aws_lc_rs::{constant_time, hmac};

use super::EventReport;
use crate::keys::Secret;
use crate::wire::{Invite, Malformed, Reader};

/// Length of the number that a client chooses for its registration, in bytes.
pub const REGISTRATION_LEN: usize = 8;
/// Length of a cookie: the server's time and a MAC.
pub(super) const COOKIE_LEN: usize = 8 + MAC_LEN;
/// Length of the MAC at the end of every datagram.
pub(super) const MAC_LEN: usize = 16;
/// Maximum of reports in one datagram.
pub const MAX_REPORTS: usize = 4;
const REPORT_LEN: usize = 16;

const ASK: u8 = 1;
const CHALLENGE: u8 = 2;
const ANSWER: u8 = 3;
const NEWS: u8 = 4;

/// Length of every ask: as long as the longest answer and the longest news together, so that a server never sends
/// more than it was sent.
pub const ASK_LEN: usize = MAX_ANSWER + MAX_NEWS;
/// Kind, registration, sequence, two stamps, position, count.
const MAX_ANSWER: usize = 1 + REGISTRATION_LEN + 4 * 8 + 1 + MAX_REPORTS * REPORT_LEN + MAC_LEN;
/// Kind, registration, serial, position, count.
const MAX_NEWS: usize = 1 + REGISTRATION_LEN + 2 * 8 + 1 + MAX_REPORTS * REPORT_LEN + MAC_LEN;

/// The number that a client chooses for its registration.
pub(super) type Registration = [u8; REGISTRATION_LEN];
/// Proves that a client receives at its address; zeros if it has none yet.
pub(super) type Cookie = [u8; COOKIE_LEN];

/// The keys that both ends make from the secret of a ticket: one for each direction, so that no datagram can be sent
/// back to its sender.
pub struct EventKeys {
    asks: hmac::Key,
    answers: hmac::Key,
}

impl EventKeys {
    /// Derives the keys from the ticket's secret.
    pub fn new(secret: &Invite) -> Self {
        let secret = Secret::extract(b"sealcast events 1", secret.bytes());
        let key = |label: &[u8]| {
            let mut bytes = zeroize::Zeroizing::new([0; 32]);
            secret.expand(label, b"", &mut *bytes);
            hmac::Key::new(hmac::HMAC_SHA256, &*bytes)
        };
        Self {
            asks: key(b"events asks"),
            answers: key(b"events answers"),
        }
    }

    /// Appends the MAC of an ask.
    fn seal_ask(&self, mut ask: Vec<u8>) -> Vec<u8> {
        ask.resize(ASK_LEN - MAC_LEN, 0);
        append_mac(&self.asks, ask)
    }
}

fn append_mac(key: &hmac::Key, mut message: Vec<u8>) -> Vec<u8> {
    let tag = hmac::sign(key, &message);
    message.extend_from_slice(&tag.as_ref()[..MAC_LEN]);
    message
}

/// The part of a datagram before its MAC, if that is right. Nothing else of it is looked at before.
fn verified<'a>(key: &hmac::Key, datagram: &'a [u8]) -> Result<&'a [u8], Malformed> {
    let (message, mac) = datagram.split_last_chunk::<MAC_LEN>().ok_or(Malformed)?;
    let tag = hmac::sign(key, message);
    match constant_time::verify_slices_are_equal(&tag.as_ref()[..MAC_LEN], mac) {
        Ok(()) => Ok(message),
        Err(_) => Err(Malformed),
    }
}

/// Message of a client: register me, what time is it, and what was shown from this position on?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ask {
    pub(super) registration: Registration,
    /// Greater than in every ask before it.
    pub(super) sequence: u64,
    pub(super) cookie: Cookie,
    /// Position of the first report that the client lacks; [`u64::MAX`] for those to come.
    pub(super) position: u64,
}

impl Ask {
    pub(super) fn seal(&self, keys: &EventKeys) -> Vec<u8> {
        let mut out = Vec::with_capacity(ASK_LEN);
        out.push(ASK);
        out.extend_from_slice(&self.registration);
        out.extend_from_slice(&self.sequence.to_be_bytes());
        out.extend_from_slice(&self.cookie);
        out.extend_from_slice(&self.position.to_be_bytes());
        keys.seal_ask(out)
    }

    pub(super) fn open(keys: &EventKeys, datagram: &[u8]) -> Result<Self, Malformed> {
        if datagram.len() != ASK_LEN {
            return Err(Malformed);
        }
        let mut reader = Reader::new(verified(&keys.asks, datagram)?);
        if reader.u8()? != ASK {
            return Err(Malformed);
        }
        let ask = Self {
            registration: reader.array()?,
            sequence: reader.u64()?,
            cookie: reader.array()?,
            position: reader.u64()?,
        };
        match reader.rest().iter().all(|&byte| byte == 0) {
            true => Ok(ask),
            false => Err(Malformed),
        }
    }
}

/// Reports with consecutive positions, the first of which is stated.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Reports {
    pub(super) position: u64,
    pub(super) list: Vec<EventReport>,
}

impl Reports {
    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.position.to_be_bytes());
        let list = &self.list[..self.list.len().min(MAX_REPORTS)];
        out.extend(u8::try_from(list.len()));
        for report in list {
            out.extend_from_slice(&report.event.to_be_bytes());
            out.extend_from_slice(&report.shown.to_be_bytes());
            out.extend_from_slice(&report.uncertainty.to_be_bytes());
        }
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let position = reader.u64()?;
        let count = usize::from(reader.u8()?);
        // Positions of the reports must not wrap, whatever the position is.
        if count > MAX_REPORTS || position.checked_add(count as u64).is_none() {
            return Err(Malformed);
        }
        let report = |_| {
            Ok(EventReport {
                event: reader.u32()?,
                shown: reader.u64()?,
                uncertainty: reader.u32()?,
            })
        };
        let list = (0..count).map(report).collect::<Result<_, Malformed>>()?;
        Ok(Self { position, list })
    }
}

/// Message of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Told {
    /// Ask again with this cookie.
    Challenge { sequence: u64, cookie: Cookie },
    /// The answer to an ask: when it came, when this was sent, and reports.
    Answer {
        sequence: u64,
        received: u64,
        sent: u64,
        reports: Reports,
    },
    /// Something was shown. The serial is greater than in all news before it.
    News { serial: u64, reports: Reports },
}

impl Told {
    pub(super) fn seal(&self, keys: &EventKeys, registration: Registration) -> Vec<u8> {
        let mut out = Vec::with_capacity(ASK_LEN);
        let mut head = |kind: u8, number: u64| {
            out.push(kind);
            out.extend_from_slice(&registration);
            out.extend_from_slice(&number.to_be_bytes());
        };
        match self {
            Self::Challenge { sequence, cookie } => {
                head(CHALLENGE, *sequence);
                out.extend_from_slice(cookie);
            }
            Self::Answer {
                sequence,
                received,
                sent,
                reports,
            } => {
                head(ANSWER, *sequence);
                out.extend_from_slice(&received.to_be_bytes());
                out.extend_from_slice(&sent.to_be_bytes());
                reports.write(&mut out);
            }
            Self::News { serial, reports } => {
                head(NEWS, *serial);
                reports.write(&mut out);
            }
        }
        append_mac(&keys.answers, out)
    }

    pub(super) fn open(keys: &EventKeys, datagram: &[u8]) -> Result<(Registration, Self), Malformed> {
        if datagram.len() > MAX_ANSWER {
            return Err(Malformed);
        }
        let mut reader = Reader::new(verified(&keys.answers, datagram)?);
        let kind = reader.u8()?;
        let registration = reader.array()?;
        let number = reader.u64()?;
        let told = match kind {
            CHALLENGE => Self::Challenge {
                sequence: number,
                cookie: reader.array()?,
            },
            ANSWER => Self::Answer {
                sequence: number,
                received: reader.u64()?,
                sent: reader.u64()?,
                reports: Reports::read(&mut reader)?,
            },
            NEWS => Self::News {
                serial: number,
                reports: Reports::read(&mut reader)?,
            },
            _ => return Err(Malformed),
        };
        reader.finish()?;
        Ok((registration, told))
    }
}
