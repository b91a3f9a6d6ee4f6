//! Media on carriers that lose, reorder and repeat. The publisher's half cuts frames into blocks of records, paces
//! them and sends them again on request. The viewer's half reassembles frames, asks for missing records, and gives up
//! in time (protocol.md §7).

mod block;
mod block_sealer;
mod copies;
mod feedback;
mod inbound;
mod inbound_counts;
mod mtu;
mod nack;
#[cfg(test)]
mod number_tests;
mod ordered;
mod outbound;
mod pacer;
mod passing;
mod sealing;
mod tail_loss_probe;
mod transmit;

use std::time::Duration;

use crate::clock::RoundTrip;

pub(crate) use block_sealer::{BlockSealer, Content, Packing, Place, Prefix, Sealing, blocks_of, packet_unit};
pub(super) use feedback::When;
pub(super) use inbound::Inbound;
pub use inbound_counts::InboundCounts;
pub(crate) use ordered::{Mark, Ordered};
pub(super) use outbound::Outbound;
pub use outbound::{OutboundCounts, Packets};
pub use sealing::RepairNeed;

/// Time available for answering losses.
#[derive(Clone, Copy)]
struct Path {
    /// The viewer's budget.
    budget: Duration,
    round_trip: Option<RoundTrip>,
}

/// Time that a retransmission takes beyond the round trip.
const ANSWER_SLACK: Duration = Duration::from_millis(6);
/// Round trip assumed while none was measured.
pub(super) const UNKNOWN_ROUND_TRIP: Duration = Duration::from_millis(100);
/// More rounds of asking than this change nothing.
const MAX_ROUNDS: u32 = 3;

impl Path {
    /// Number of times that a lost packet can be asked for, less one since a NACK can be lost as well.
    fn rounds(self) -> u32 {
        let answer = self.smoothed() + ANSWER_SLACK;
        let rounds = self.budget.as_micros() / answer.as_micros();
        u32::try_from(rounds).map_or(MAX_ROUNDS, |rounds| rounds.saturating_sub(1).min(MAX_ROUNDS))
    }

    /// Time for which a packet may be asked for.
    fn kept(self) -> Duration {
        self.budget + self.smoothed() * 2
    }

    fn smoothed(self) -> Duration {
        self.round_trip.map_or(UNKNOWN_ROUND_TRIP, |trip| trip.smoothed)
    }
}

/// The whole number nearest to `near` whose low 32 bits are `wire`, and the lower of two that are equally near; 0 where
/// that would lie before the first number.
fn unwrap_number(wire: u32, near: u64) -> u64 {
    let ahead = wire.wrapping_sub(near as u32);
    if ahead < 1 << 31 {
        near.saturating_add(u64::from(ahead))
    } else {
        near.saturating_sub(u64::from(ahead.wrapping_neg()))
    }
}
