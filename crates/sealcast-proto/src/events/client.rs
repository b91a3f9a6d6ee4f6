//! The client of an event server: registers, estimates the offset of its clock, and collects what was shown.

use std::collections::VecDeque;
use std::time::Duration;

use super::EventReport;
use super::message::{Ask, COOKIE_LEN, Cookie, EventKeys, MAX_REPORTS, Registration, Reports, Told};
use crate::clock::{ClockEstimate, ClockFilter, Exchange, Now};

/// Time between asks.
const INTERVAL: Duration = Duration::from_millis(500);
/// Time between the first asks, so that the clock is soon known.
const FIRST_INTERVAL: Duration = Duration::from_millis(100);
/// Number of answers after which the clock is known well enough for the longer interval.
const FIRST_ANSWERS: u64 = 10;
/// Maximum of asks without an answer that are remembered; older ones may still be answered, and are not believed.
const MAX_PENDING: usize = 16;
/// Maximum of reports that wait to be taken.
const MAX_UNTAKEN: usize = 1024;

/// An ask that may be answered.
struct Pending {
    sequence: u64,
    asked: u64,
    position: Option<u64>,
}

/// Counters of a client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventCounts {
    /// Asks sent.
    pub asked: u64,
    /// Answers to them.
    pub answered: u64,
    /// Reports received, each once.
    pub reports: u64,
    /// Reports that the server did not keep long enough, or that were not taken in time.
    pub lost: u64,
    /// Datagrams refused: not from the server, or not for this registration, or not for the first time.
    pub refused: u64,
}

/// The client's end. Send what [`poll`](Self::poll) returns, call [`handle`](Self::handle) with each datagram, and take
/// reports with [`take_report`](Self::take_report).
pub struct EventClient {
    keys: EventKeys,
    registration: Registration,
    cookie: Cookie,
    sequence: u64,
    serial: u64,
    due: Duration,
    pending: VecDeque<Pending>,
    /// Position of the next report; unknown before the first answer.
    position: Option<u64>,
    reports: VecDeque<EventReport>,
    filter: ClockFilter,
    counts: EventCounts,
}

impl EventClient {
    /// `registration` is fresh random bytes.
    pub fn new(keys: EventKeys, registration: [u8; super::REGISTRATION_LEN]) -> Self {
        Self {
            keys,
            registration,
            cookie: [0; COOKIE_LEN],
            sequence: 0,
            serial: 0,
            due: Duration::ZERO,
            pending: VecDeque::new(),
            position: None,
            reports: VecDeque::new(),
            filter: ClockFilter::default(),
            counts: EventCounts::default(),
        }
    }

    /// The time of the next ask.
    pub fn deadline(&self) -> Duration {
        self.due
    }

    /// Returns an ask if one is due, to be sent at once.
    pub fn poll(&mut self, now: Now) -> Option<Vec<u8>> {
        if now.monotonic < self.due {
            return None;
        }
        let early = self.counts.answered < FIRST_ANSWERS;
        self.due = now.monotonic + if early { FIRST_INTERVAL } else { INTERVAL };
        self.sequence += 1;
        self.counts.asked += 1;
        if self.pending.len() == MAX_PENDING {
            self.pending.pop_front();
        }
        self.pending.push_back(Pending {
            sequence: self.sequence,
            asked: now.wall,
            position: self.position,
        });
        let ask = Ask {
            registration: self.registration,
            sequence: self.sequence,
            cookie: self.cookie,
            position: self.position.unwrap_or(u64::MAX),
        };
        Some(ask.seal(&self.keys))
    }

    /// Takes a datagram that came at `now`.
    pub fn handle(&mut self, now: Now, datagram: &[u8]) {
        let told = match Told::open(&self.keys, datagram) {
            Ok((registration, told)) if registration == self.registration => told,
            _ => return self.counts.refused += 1,
        };
        match told {
            Told::Challenge { sequence, cookie } => match self.take_pending(sequence) {
                Some(_) => {
                    self.cookie = cookie;
                    self.due = now.monotonic;
                }
                None => self.counts.refused += 1,
            },
            Told::Answer {
                sequence,
                received,
                sent,
                reports,
            } => match self.take_pending(sequence) {
                Some(pending) => {
                    self.counts.answered += 1;
                    self.filter.sample(Exchange {
                        sent: pending.asked,
                        peer_received: received,
                        peer_sent: sent,
                        received: now.wall,
                    });
                    // What the server had to leave out of this datagram goes into the next.
                    if reports.list.len() == MAX_REPORTS {
                        self.due = now.monotonic;
                    }
                    self.take_answer(&pending, reports);
                }
                None => self.counts.refused += 1,
            },
            Told::News { serial, .. } if serial <= self.serial => self.counts.refused += 1,
            Told::News { serial, reports } => {
                self.serial = serial;
                match self.position {
                    Some(position) if reports.position <= position => self.take(reports),
                    // Reports before these are missing, or the first answer is: both are a matter of asking.
                    _ => self.due = now.monotonic,
                }
            }
        }
    }

    /// The ask with this number. Each is answered once.
    fn take_pending(&mut self, sequence: u64) -> Option<Pending> {
        let at = self.pending.iter().position(|pending| pending.sequence == sequence)?;
        self.pending.remove(at)
    }

    fn take_answer(&mut self, pending: &Pending, reports: Reports) {
        let position = *self.position.get_or_insert(reports.position);
        if reports.position > position {
            // Asks before the first answer state no position: what lies between two such answers was not asked for.
            if pending.position.is_none() {
                return;
            }
            self.counts.lost += reports.position - position;
            self.position = Some(reports.position);
        }
        self.take(reports);
    }

    /// Takes the reports that are new, of a list that begins at or before the next.
    fn take(&mut self, reports: Reports) {
        let next = self.position.unwrap_or(reports.position);
        let known = usize::try_from(next - reports.position).unwrap_or(usize::MAX);
        for report in reports.list.into_iter().skip(known) {
            if self.reports.len() == MAX_UNTAKEN {
                self.reports.pop_front();
                self.counts.lost += 1;
            }
            self.reports.push_back(report);
            self.counts.reports += 1;
            self.position = self.position.map(|position| position + 1);
        }
    }

    /// Takes the next report.
    pub fn take_report(&mut self) -> Option<EventReport> {
        self.reports.pop_front()
    }

    /// The offset of the server's wall clock from ours, or `None` before the first answer.
    pub fn clock(&self) -> Option<ClockEstimate> {
        self.filter.estimate()
    }

    /// The counters.
    pub fn counts(&self) -> EventCounts {
        self.counts
    }
}
