//! The event server: clients register, learn the time of this machine, and are told what was shown.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use aws_lc_rs::{constant_time, hmac};

use super::EventReport;
use super::message::{Ask, COOKIE_LEN, Cookie, EventKeys, MAC_LEN, MAX_REPORTS, Registration, Reports, Told};
use crate::clock::Now;
use crate::wire::AddressBytes;

/// Maximum of registered clients at once.
pub const MAX_REGISTRATIONS: usize = 64;
/// A client that does not ask for this long is forgotten.
pub const REGISTRATION_LIFE: Duration = Duration::from_secs(10);
/// A cookie begins a registration for this long. A registration lives at least as long, so an ask that is sent again by
/// somebody else meets either the registration, which knows its number, or a cookie that has expired.
const COOKIE_LIFE: Duration = REGISTRATION_LIFE;
/// Maximum of reports kept for clients that missed them.
pub const MAX_KEPT: usize = 1024;
/// Maximum of news that a client has paid for in advance. Each ask pays for its answer and for one datagram of news.
pub const MAX_CREDIT: u8 = 8;
/// Maximum of datagrams that wait to be sent: news to every client, and an answer.
const MAX_OUTGOING: usize = MAX_REGISTRATIONS + 1;

/// Outcome of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judged {
    /// Its sender has shown no key, and gets no answer.
    Stranger,
    /// It came before, or others sent after it did. No answer.
    Replayed,
    /// Its sender is to show first that it receives at its address.
    Challenged,
    /// There is no room for another client. No answer.
    Full,
    /// A client's ask, which is answered.
    Answered,
}

struct Client {
    address: AddressBytes,
    sequence: u64,
    serial: u64,
    credit: u8,
    heard: Duration,
}

enum Outgoing {
    Now(Vec<u8>),
    /// An answer, made when it is sent, because it says when.
    Answer {
        registration: Registration,
        sequence: u64,
        received: u64,
        reports: Reports,
    },
}

/// The server's end. Call [`handle`](Self::handle) with each datagram and [`report`](Self::report) with each event that
/// was shown, then [`poll`](Self::poll) until it returns `None`, and send what it returns.
pub struct EventServer {
    keys: EventKeys,
    cookies: hmac::Key,
    clients: BTreeMap<Registration, Client>,
    reports: VecDeque<EventReport>,
    /// Position of the oldest report that is kept.
    first: u64,
    outgoing: VecDeque<(AddressBytes, Outgoing)>,
}

impl EventServer {
    /// `cookie_secret` is 32 fresh random bytes.
    pub fn new(keys: EventKeys, cookie_secret: &[u8; 32]) -> Self {
        Self {
            keys,
            cookies: hmac::Key::new(hmac::HMAC_SHA256, cookie_secret),
            clients: BTreeMap::new(),
            reports: VecDeque::new(),
            first: 0,
            outgoing: VecDeque::new(),
        }
    }

    /// Number of clients that have asked lately.
    pub fn clients(&self) -> usize {
        self.clients.len()
    }

    /// Takes a datagram that came from `address` at `now`.
    pub fn handle(&mut self, now: Now, address: AddressBytes, datagram: &[u8]) -> Judged {
        let Ok(ask) = Ask::open(&self.keys, datagram) else {
            return Judged::Stranger;
        };
        let at = now.monotonic;
        self.clients
            .retain(|_, client| at.saturating_sub(client.heard) < REGISTRATION_LIFE);
        let known = self.clients.get(&ask.registration);
        if known.is_some_and(|client| ask.sequence <= client.sequence) {
            return Judged::Replayed;
        }
        if known.is_none_or(|client| client.address != address) && !self.proves(&ask, &address, at) {
            let cookie = self.cookie(at, &address, ask.registration);
            let sequence = ask.sequence;
            let challenge = Told::Challenge { sequence, cookie }.seal(&self.keys, ask.registration);
            self.send(address, Outgoing::Now(challenge));
            return Judged::Challenged;
        }
        if known.is_none() && self.clients.len() >= MAX_REGISTRATIONS {
            return Judged::Full;
        }
        let client = self.clients.entry(ask.registration).or_insert(Client {
            address,
            sequence: 0,
            serial: 0,
            credit: 0,
            heard: at,
        });
        client.address = address;
        client.sequence = ask.sequence;
        client.heard = at;
        client.credit = client.credit.saturating_add(1).min(MAX_CREDIT);
        let reports = self.reports_from(ask.position);
        let answer = Outgoing::Answer {
            registration: ask.registration,
            sequence: ask.sequence,
            received: now.wall,
            reports,
        };
        self.send(address, answer);
        Judged::Answered
    }

    /// Notes an event that was shown, and tells the clients. A client whose asks have not paid for it learns of it in
    /// the answer to its next.
    pub fn report(&mut self, now: Now, report: EventReport) {
        if self.reports.len() == MAX_KEPT {
            self.reports.pop_front();
            self.first += 1;
        }
        self.reports.push_back(report);
        let newest = self.end().saturating_sub(MAX_REPORTS as u64).max(self.first);
        let reports = self.reports_from(newest);
        let mut news = Vec::new();
        for (registration, client) in &mut self.clients {
            let lives = now.monotonic.saturating_sub(client.heard) < REGISTRATION_LIFE;
            if lives && client.credit > 0 {
                client.credit -= 1;
                client.serial += 1;
                let told = Told::News {
                    serial: client.serial,
                    reports: reports.clone(),
                };
                news.push((client.address, told.seal(&self.keys, *registration)));
            }
        }
        for (address, datagram) in news {
            self.send(address, Outgoing::Now(datagram));
        }
    }

    /// Returns the next datagram to send, with its address. `wall` is the wall clock now.
    pub fn poll(&mut self, wall: u64) -> Option<(AddressBytes, Vec<u8>)> {
        let (address, outgoing) = self.outgoing.pop_front()?;
        let datagram = match outgoing {
            Outgoing::Now(datagram) => datagram,
            Outgoing::Answer {
                registration,
                sequence,
                received,
                reports,
            } => {
                let answer = Told::Answer {
                    sequence,
                    received,
                    sent: wall,
                    reports,
                };
                answer.seal(&self.keys, registration)
            }
        };
        Some((address, datagram))
    }

    fn send(&mut self, address: AddressBytes, outgoing: Outgoing) {
        // Full only if nobody polls; clients fetch what they missed.
        if self.outgoing.len() < MAX_OUTGOING {
            self.outgoing.push_back((address, outgoing));
        }
    }

    fn end(&self) -> u64 {
        self.first + self.reports.len() as u64
    }

    /// The reports from a position on, as many as one datagram holds; none if it lies in the future.
    fn reports_from(&self, position: u64) -> Reports {
        let position = position.clamp(self.first, self.end());
        let skipped = usize::try_from(position - self.first).unwrap_or(usize::MAX);
        Reports {
            position,
            list: self.reports.iter().skip(skipped).take(MAX_REPORTS).copied().collect(),
        }
    }

    fn cookie(&self, at: Duration, address: &AddressBytes, registration: Registration) -> Cookie {
        let millis = u64::try_from(at.as_millis()).unwrap_or(u64::MAX).to_be_bytes();
        let mut context = hmac::Context::with_key(&self.cookies);
        for part in [&millis[..], address, &registration] {
            context.update(part);
        }
        let mut cookie = [0; COOKIE_LEN];
        cookie[..8].copy_from_slice(&millis);
        cookie[8..].copy_from_slice(&context.sign().as_ref()[..MAC_LEN]);
        cookie
    }

    /// True if the ask shows a cookie that was made for its address a short while ago.
    fn proves(&self, ask: &Ask, address: &AddressBytes, at: Duration) -> bool {
        let made = ask.cookie.first_chunk().map_or(0, |millis| u64::from_be_bytes(*millis));
        let made = Duration::from_millis(made);
        let expected = self.cookie(made, address, ask.registration);
        let genuine = constant_time::verify_slices_are_equal(&expected, &ask.cookie).is_ok();
        genuine && at.saturating_sub(made) < COOKIE_LIFE
    }
}
