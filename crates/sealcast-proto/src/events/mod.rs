//! Visual events: a clock's display tells registered clients by UDP when it showed which event (docs/latency.md).
//!
//! Pure state machines: [`EventServer`] beside the display, [`EventClient`] where latency is measured. Whoever drives
//! them passes the time, random bytes and datagrams in.

mod client;
mod message;
mod server;
#[cfg(test)]
mod tests;
mod ticket;

pub use client::{EventClient, EventCounts};
pub use message::{ASK_LEN, EventKeys, MAX_REPORTS, REGISTRATION_LEN};
pub use server::{EventServer, Judged, MAX_CREDIT, MAX_KEPT, MAX_REGISTRATIONS, REGISTRATION_LIFE};
pub use ticket::{EventTicket, EventTicketError};

/// An event that was shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventReport {
    /// Number of the event, from 1.
    pub event: u32,
    /// When it was shown, by the wall clock of the event server's machine, in ns since 1970.
    pub shown: u64,
    /// Bound of that stamp's error, ns.
    pub uncertainty: u32,
}
