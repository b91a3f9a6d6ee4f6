//! Limits on what one address, and all together, may take up before they have shown who they are.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

/// Maximum of addresses that are remembered. When there are more, the one that is idle longest is forgotten.
const MAX_ADDRESSES: usize = 4096;

/// Limits on places and on how often one may be taken.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Maximum of places that one address holds.
    pub per_address: usize,
    /// Maximum of places that all addresses hold together; less than 4096.
    pub in_all: usize,
    /// Places that one address may take per second, and as many at once. At least 1.
    pub per_second: u32,
}

/// Places for peers that have not been admitted yet, counted by address: an IPv4 address, or an IPv6 network of 64
/// bits, which is what one customer gets.
#[derive(Clone)]
pub struct AddressLimits {
    table: Arc<Mutex<Table>>,
}

impl AddressLimits {
    /// Nobody holds a place yet.
    pub fn new(limits: Limits) -> Self {
        let table = Table {
            limits,
            addresses: HashMap::new(),
            taken: 0,
            next: 0,
        };
        Self {
            table: Arc::new(Mutex::new(table)),
        }
    }

    /// Takes a place for a peer at this address, if there is a free one.
    pub fn try_enter(&self, from: IpAddr, now: Instant) -> Option<Place> {
        self.take(from, now, false)
    }

    /// Takes a place for a peer at this address. If its places are taken, or all are, the oldest place of somebody who
    /// [has not spoken](Place::speaks) is taken away: one of the same address, or of the address that has most of them.
    /// Who uses this must watch [`Place::evicted`].
    pub fn enter(&self, from: IpAddr, now: Instant) -> Option<Place> {
        self.take(from, now, true)
    }

    fn take(&self, from: IpAddr, now: Instant, evict: bool) -> Option<Place> {
        let address = network(from);
        let (number, leave) = lock(&self.table).take(address, now, evict)?;
        Some(Place {
            table: Arc::clone(&self.table),
            address,
            number,
            leave,
        })
    }
}

impl fmt::Debug for AddressLimits {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let table = lock(&self.table);
        let mut shown = formatter.debug_struct("AddressLimits");
        shown.field("taken", &table.taken).finish_non_exhaustive()
    }
}

/// A place that a peer holds; dropping it gives it back.
pub struct Place {
    table: Arc<Mutex<Table>>,
    address: IpAddr,
    number: u64,
    leave: Arc<Notify>,
}

impl Place {
    /// The peer has sent something that a stranger could not, so its place is no longer taken away.
    pub fn speaks(&self) {
        if let Some(holder) = lock(&self.table).holder(self.address, self.number) {
            holder.silent = false;
        }
    }

    /// Waits until the place was taken away. Cancel-safe.
    pub async fn evicted(&self) {
        self.leave.notified().await;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        lock(&self.table).give_back(self.address, self.number);
    }
}

struct Table {
    limits: Limits,
    addresses: HashMap<IpAddr, Address>,
    /// Places taken by all addresses together.
    taken: usize,
    /// Number of the next place.
    next: u64,
}

struct Address {
    /// Time from which the address has all of its allowance again. It moves on with each place taken.
    rested: Instant,
    /// Its places by number, oldest first.
    holders: BTreeMap<u64, Holder>,
}

struct Holder {
    silent: bool,
    leave: Arc<Notify>,
}

impl Address {
    fn silent(&self) -> usize {
        self.holders.values().filter(|holder| holder.silent).count()
    }
}

impl Table {
    fn take(&mut self, address: IpAddr, now: Instant, evict: bool) -> Option<(u64, Arc<Notify>)> {
        self.remember(address, now);
        let interval = Duration::from_secs(1) / self.limits.per_second;
        let entry = self.addresses.get_mut(&address)?;
        let rested = entry.rested.max(now);
        if rested + interval > now + Duration::from_secs(1) {
            return None;
        }
        entry.rested = rested + interval;
        if entry.holders.len() >= self.limits.per_address && !(evict && self.evict(address)) {
            return None;
        }
        if self.taken >= self.limits.in_all {
            let fullest = self.addresses.iter().filter(|(_, entry)| entry.silent() > 0);
            // Of those with equally many, the one whose place is oldest.
            let fullest = fullest.max_by_key(|(_, entry)| {
                let oldest = entry.holders.iter().find(|(_, holder)| holder.silent);
                (entry.silent(), oldest.map(|(number, _)| u64::MAX - number))
            });
            let fullest = fullest.map(|(&address, _)| address);
            if !evict || !fullest.is_some_and(|fullest| self.evict(fullest)) {
                return None;
            }
        }
        let (number, leave) = (self.next, Arc::new(Notify::new()));
        self.next += 1;
        self.taken += 1;
        let holder = Holder {
            silent: true,
            leave: Arc::clone(&leave),
        };
        self.addresses.get_mut(&address)?.holders.insert(number, holder);
        Some((number, leave))
    }

    /// Makes an entry for the address, and room for it.
    fn remember(&mut self, address: IpAddr, now: Instant) {
        if self.addresses.contains_key(&address) {
            return;
        }
        if self.addresses.len() >= MAX_ADDRESSES {
            let idle = self.addresses.iter().filter(|(_, entry)| entry.holders.is_empty());
            let idle = idle.min_by_key(|(_, entry)| entry.rested).map(|(&address, _)| address);
            idle.map(|idle| self.addresses.remove(&idle));
        }
        let entry = Address {
            rested: now,
            holders: BTreeMap::new(),
        };
        self.addresses.insert(address, entry);
    }

    /// Takes away the oldest silent place of an address; returns false if it has none.
    fn evict(&mut self, address: IpAddr) -> bool {
        let Some(entry) = self.addresses.get_mut(&address) else {
            return false;
        };
        let Some((&number, holder)) = entry.holders.iter().find(|(_, holder)| holder.silent) else {
            return false;
        };
        holder.leave.notify_one();
        self.give_back(address, number);
        true
    }

    fn holder(&mut self, address: IpAddr, number: u64) -> Option<&mut Holder> {
        self.addresses.get_mut(&address)?.holders.get_mut(&number)
    }

    fn give_back(&mut self, address: IpAddr, number: u64) {
        let entry = self.addresses.get_mut(&address);
        if entry.is_some_and(|entry| entry.holders.remove(&number).is_some()) {
            self.taken -= 1;
        }
    }
}

fn lock(table: &Mutex<Table>) -> MutexGuard<'_, Table> {
    table.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The address or the network that is counted as one.
fn network(from: IpAddr) -> IpAddr {
    match from.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
        v4 => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits {
        per_address: 4,
        in_all: 8,
        per_second: 20,
    };

    fn host(number: u32) -> IpAddr {
        std::net::Ipv4Addr::from_bits(0x7F01_0000 + number).into()
    }

    fn is_evicted(place: &Place) -> bool {
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        std::pin::pin!(place.evicted()).poll(&mut context).is_ready()
    }

    #[test]
    fn an_address_gets_its_places_and_all_get_theirs_and_they_come_back() {
        let (limits, now) = (AddressLimits::new(LIMITS), Instant::now());
        let first: Vec<Place> = (0..4).filter_map(|_| limits.try_enter(host(1), now)).collect();
        assert_eq!(first.len(), 4);
        assert!(limits.try_enter(host(1), now).is_none(), "an address has four places");
        let others: Vec<Place> = (2..6)
            .filter_map(|number| limits.try_enter(host(number), now))
            .collect();
        assert_eq!(others.len(), 4);
        assert!(limits.try_enter(host(6), now).is_none(), "all together have eight");
        drop(first);
        assert!(limits.try_enter(host(6), now).is_some());
    }

    #[test]
    fn spellings_of_an_address_and_hosts_of_a_network_count_as_one() {
        let (limits, now) = (AddressLimits::new(LIMITS), Instant::now());
        for (same, other) in [
            (["192.0.2.1", "::ffff:192.0.2.1"], "192.0.2.2"),
            (
                ["2001:db8:1:2::1", "2001:db8:1:2:ffff:ffff:ffff:ffff"],
                "2001:db8:1:3::1",
            ),
        ] {
            let address = |text: &str| text.parse().expect("an address");
            let held: Vec<_> = (0..4).map(|at| limits.try_enter(address(same[at % 2]), now)).collect();
            assert!(held.iter().all(Option::is_some));
            assert!(same.iter().all(|same| limits.try_enter(address(same), now).is_none()));
            assert!(limits.try_enter(address(other), now).is_some());
        }
    }

    #[test]
    fn an_address_takes_no_more_places_in_a_second_than_it_may_and_gets_them_again_with_time() {
        let (limits, mut now) = (AddressLimits::new(LIMITS), Instant::now());
        let enter = |now| (0..100).filter(|_| limits.try_enter(host(1), now).is_some()).count();
        assert_eq!(enter(now), 20);
        now += Duration::from_millis(500);
        assert_eq!(enter(now), 10);
        now += Duration::from_secs(60);
        assert_eq!(enter(now), 20);
        assert!(
            limits.try_enter(host(2), now).is_some(),
            "others have their own allowance"
        );
    }

    #[test]
    fn the_oldest_silent_place_of_the_address_with_most_is_taken_away() {
        let (limits, now) = (AddressLimits::new(LIMITS), Instant::now());
        let enter = |number| limits.enter(host(number), now).expect("a place");
        let honest = enter(1);
        let (one, two, three) = (enter(2), enter(2), enter(2));
        let others: Vec<Place> = (3..7).map(enter).collect();
        one.speaks();
        let late = enter(7);
        assert!(is_evicted(&two), "the first of host 2 has spoken, so its second goes");
        for (place, name) in [(&honest, "honest"), (&one, "one"), (&three, "three"), (&late, "late")] {
            assert!(!is_evicted(place), "{name}");
        }
        let later = enter(8);
        assert!(
            is_evicted(&honest),
            "now each has one silent place, and this is the oldest"
        );
        assert!(!others.iter().chain([&later]).any(is_evicted));
        drop((honest, two));
        assert_eq!(lock(&limits.table).taken, LIMITS.in_all, "a place goes back once");
    }

    #[test]
    fn who_takes_all_its_own_places_loses_its_own_oldest() {
        let (limits, now) = (AddressLimits::new(LIMITS), Instant::now());
        let other = limits.enter(host(2), now).expect("a place");
        let held: Vec<Place> = (0..6).map(|_| limits.enter(host(1), now).expect("a place")).collect();
        let gone: Vec<bool> = held.iter().map(is_evicted).collect();
        assert_eq!(gone, [true, true, false, false, false, false]);
        assert!(!is_evicted(&other));
        held.iter().for_each(Place::speaks);
        assert!(limits.enter(host(1), now).is_none(), "who speaks is not sent away");
    }

    #[test]
    fn thousands_of_addresses_are_not_remembered() {
        let (limits, now) = (AddressLimits::new(LIMITS), Instant::now());
        let held = limits.try_enter(host(0), now).expect("a place");
        for number in 1..3 * MAX_ADDRESSES as u32 {
            let later = now + Duration::from_millis(number.into());
            assert!(limits.try_enter(host(number), later).is_some());
        }
        let table = lock(&limits.table);
        assert_eq!(table.addresses.len(), MAX_ADDRESSES);
        assert!(
            table.addresses.contains_key(&held.address),
            "who holds a place is remembered"
        );
    }
}
