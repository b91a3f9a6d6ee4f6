//! Number of sessions that may be in their handshake, by where they come from.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;
use std::time::Instant;

use crate::run::relay::MAX_RELAYS;
use crate::transport::{AddressLimits, Limits, Place, Remote};

/// Maximum of sessions that are not established: of all peers who connect directly, of one address, and of new ones of
/// an address in a second. Established ones are limited by the admission.
const MAX_PENDING: usize = 64;
const MAX_PENDING_OF_ADDRESS: usize = 16;
const HANDSHAKES_PER_SECOND: u32 = 20;

/// The same of those who come through one relay. Nothing tells them apart, so all share what a crowd needs: a thousand
/// viewers who come within ten seconds are a hundred handshakes a second, and each lasts for some round trips.
const MAX_PENDING_OF_RELAY: usize = 256;
const HANDSHAKES_OF_RELAY_PER_SECOND: u32 = 200;

/// Gives places to sessions until they are established. Those through a relay take none of others.
pub(crate) struct Gate {
    direct: AddressLimits,
    relays: HashMap<Arc<str>, AddressLimits>,
}

impl Default for Gate {
    fn default() -> Self {
        Self {
            direct: AddressLimits::new(Limits {
                per_address: MAX_PENDING_OF_ADDRESS,
                in_all: MAX_PENDING,
                per_second: HANDSHAKES_PER_SECOND,
            }),
            relays: HashMap::new(),
        }
    }
}

impl Gate {
    /// Takes a place for a session. If there is none, the oldest of somebody who has said nothing valid is taken away:
    /// of the same address, of the address that has most of them, or of the same relay.
    pub(crate) fn enter(&mut self, remote: &Remote, now: Instant) -> Option<Place> {
        let relay = match remote {
            Remote::Address(address) => return self.direct.enter(address.ip(), now),
            Remote::Relay(relay) => relay,
        };
        // The user named the relays, so there are no more than that.
        if !self.relays.contains_key(relay) && self.relays.len() < MAX_RELAYS {
            let limits = AddressLimits::new(Limits {
                per_address: MAX_PENDING_OF_RELAY,
                in_all: MAX_PENDING_OF_RELAY,
                per_second: HANDSHAKES_OF_RELAY_PER_SECOND,
            });
            self.relays.insert(Arc::clone(relay), limits);
        }
        // Whoever comes through it, as one address.
        let anybody = IpAddr::from(Ipv6Addr::UNSPECIFIED);
        self.relays.get(relay)?.enter(anybody, now)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn behind(relay: &str) -> Remote {
        Remote::Relay(relay.into())
    }

    fn direct(host: u8) -> Remote {
        Remote::Address(([127, 0, 0, host], 1).into())
    }

    fn is_evicted(place: &Place) -> bool {
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        std::pin::pin!(place.evicted()).poll(&mut context).is_ready()
    }

    #[test]
    fn a_thousand_viewers_who_come_through_a_relay_within_ten_seconds_get_in() {
        let (mut gate, begin) = (Gate::default(), Instant::now());
        let mut held = std::collections::VecDeque::new();
        for number in 0..1000 {
            // Each handshake lasts for a second.
            if held.len() == 100 {
                held.pop_front();
            }
            let now = begin + Duration::from_millis(10 * number);
            held.push_back(gate.enter(&behind("relay"), now).expect("a place"));
        }
        assert!(!held.iter().any(is_evicted));
    }

    #[test]
    fn a_flood_through_a_relay_takes_places_of_nobody_else() {
        let (mut gate, now) = (Gate::default(), Instant::now());
        let mut others: Vec<Place> = [direct(1), behind("another")]
            .iter()
            .map(|remote| gate.enter(remote, now).expect("a place"))
            .collect();
        let flood: Vec<Place> = (0..10_000).filter_map(|_| gate.enter(&behind("relay"), now)).collect();
        assert_eq!(flood.len(), HANDSHAKES_OF_RELAY_PER_SECOND as usize);
        let late = [direct(1), direct(2), behind("another")];
        others.extend(late.iter().map(|remote| gate.enter(remote, now).expect("a place")));
        assert!(!others.iter().any(is_evicted));
        let later = now + Duration::from_secs(1);
        let more: Vec<Place> = (0..10_000)
            .filter_map(|_| gate.enter(&behind("relay"), later))
            .collect();
        assert_eq!(more.len(), HANDSHAKES_OF_RELAY_PER_SECOND as usize);
        let gone = flood.iter().filter(|place| is_evicted(place)).count();
        let beyond = 2 * HANDSHAKES_OF_RELAY_PER_SECOND as usize - MAX_PENDING_OF_RELAY;
        assert_eq!(gone, beyond, "the oldest who say nothing make room");
    }

    #[test]
    fn a_flood_of_direct_connections_takes_no_places_behind_relays() {
        let (mut gate, now) = (Gate::default(), Instant::now());
        let flood: Vec<Place> = (0..200)
            .flat_map(|host| {
                (0..10)
                    .filter_map(|_| gate.enter(&direct(host), now))
                    .collect::<Vec<_>>()
            })
            .collect();
        assert!(flood.iter().filter(|place| !is_evicted(place)).count() <= MAX_PENDING);
        let viewers: Vec<Place> = (0..HANDSHAKES_OF_RELAY_PER_SECOND)
            .filter_map(|_| gate.enter(&behind("relay"), now))
            .collect();
        assert_eq!(viewers.len(), HANDSHAKES_OF_RELAY_PER_SECOND as usize);
    }
}
