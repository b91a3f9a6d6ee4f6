//! Media on carriers that lose, reorder and repeat: the publisher's half cuts frames into blocks of records, paces
//! them and sends again what is asked for; the viewer's half puts them together, asks, and gives up in time
//! (protocol.md §7).

mod block;
mod inbound;
mod missing;
mod outbound;
mod pacer;

pub(super) use inbound::Inbound;
pub use inbound::InboundCounts;
pub(super) use outbound::{Outbound, Sealing};
pub use outbound::{OutboundCounts, Packets};

/// The whole number whose low 32 bits are `wire` and that is nearest to `near`.
fn unwrap_number(wire: u32, near: u64) -> u64 {
    let ahead = wire.wrapping_sub(near as u32);
    if ahead < 1 << 31 {
        near.saturating_add(u64::from(ahead))
    } else {
        near.saturating_sub(u64::from(ahead.wrapping_neg()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_told_apart_across_the_wrap() {
        let near = (3 << 32) + 5;
        for number in [near - 10, near, near + 1, near + (1 << 31) - 1, near - (1 << 31) + 1] {
            assert_eq!(unwrap_number(number as u32, near), number);
        }
        assert_eq!(unwrap_number(u32::MAX, 0), 0, "there is nothing before the first");
    }
}
