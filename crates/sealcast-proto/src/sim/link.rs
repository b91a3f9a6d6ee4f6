//! One direction of a link that delays, loses, reorders, duplicates and corrupts packets, with a seed and in virtual
//! time.

use std::cmp::Ordering;
use std::collections::{BTreeSet, BinaryHeap, VecDeque};
use std::ops::AddAssign;
use std::time::Duration;

use super::{LinkProfile, Random};

/// Maximum number of packets on a link at once. Further ones are dropped and counted as [`LinkCounts::overflowed`].
pub const MAX_IN_FLIGHT: usize = 1 << 18;

/// Maximum number of bytes on a link at once.
pub const MAX_IN_FLIGHT_BYTES: usize = 256 * 1024 * 1024;

/// One direction of a link.
///
/// A packet passes, in this order: the length limit, outages, duplication, loss, the capacity of the link, the queue,
/// the rate limit, corruption, the delay. The same profile, seed, times and packets give the same run. Every packet,
/// and every copy of one, takes the same number of random draws whatever the profile says. Two profiles that differ
/// only in their loss therefore treat the packets that both deliver alike.
///
/// Call [`Link::send`] for each packet as it comes. At the time of [`Link::next_delivery`], call [`Link::deliver`]
/// until it returns `None`.
#[derive(Debug)]
pub struct Link {
    profile: LinkProfile,
    random: Random,
    /// State of the loss model.
    bad: bool,
    flying: BinaryHeap<Flying>,
    flying_bytes: usize,
    /// Number of the next packet that enters the link.
    number: u64,
    /// Time at which the rate limit will have sent all packets it was given.
    free_at: Duration,
    /// Packets that wait for the rate limit: number, start of transmission, length.
    waiting: VecDeque<(u64, Duration, usize)>,
    waiting_bytes: usize,
    /// Latest arrival so far of a packet that keeps its place in the order.
    last_arrival: Duration,
    counts: LinkCounts,
}

/// Counts of a link's packets by their fate. At any time
/// `sent + duplicated = delivered + in_flight + lost + cut_off + queue_full + too_long + overflowed`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkCounts {
    /// Packets given to the link.
    pub sent: u64,
    /// Their bytes.
    pub sent_bytes: u64,
    /// Packets delivered.
    pub delivered: u64,
    /// Their bytes.
    pub delivered_bytes: u64,
    /// Packets in flight or waiting for the rate limit.
    pub in_flight: u64,
    /// Lost by the loss model.
    pub lost: u64,
    /// Lost in an outage.
    pub cut_off: u64,
    /// Dropped because the queue in front of the rate limit was full.
    pub queue_full: u64,
    /// Dropped because they were longer than the MTU.
    pub too_long: u64,
    /// Dropped because the link holds no more ([`MAX_IN_FLIGHT`], [`MAX_IN_FLIGHT_BYTES`]).
    pub overflowed: u64,
    /// Copies made.
    pub duplicated: u64,
    /// Sent on with one bit flipped.
    pub corrupted: u64,
    /// Sent on without the delay, ahead of others.
    pub reordered: u64,
}

/// Adds the counts of another link.
impl AddAssign for LinkCounts {
    fn add_assign(&mut self, other: Self) {
        self.sent += other.sent;
        self.sent_bytes += other.sent_bytes;
        self.delivered += other.delivered;
        self.delivered_bytes += other.delivered_bytes;
        self.in_flight += other.in_flight;
        self.lost += other.lost;
        self.cut_off += other.cut_off;
        self.queue_full += other.queue_full;
        self.too_long += other.too_long;
        self.overflowed += other.overflowed;
        self.duplicated += other.duplicated;
        self.corrupted += other.corrupted;
        self.reordered += other.reordered;
    }
}

#[derive(Debug)]
struct Flying {
    arrival: Duration,
    number: u64,
    /// Time from the end of transmission to arrival.
    under_way: Duration,
    packet: Vec<u8>,
}

/// Random draws for a packet.
struct Fate {
    lost: bool,
    /// Delay including jitter.
    delay: Duration,
    reordered: bool,
    /// Draw that selects the bit to flip.
    damage: Option<u64>,
}

impl Link {
    /// A link with this profile. `seed` determines which packets are affected.
    pub fn new(profile: LinkProfile, seed: u64) -> Self {
        Self {
            profile,
            random: Random::new(seed),
            bad: false,
            flying: BinaryHeap::new(),
            flying_bytes: 0,
            number: 0,
            free_at: Duration::ZERO,
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            last_arrival: Duration::ZERO,
            counts: LinkCounts::default(),
        }
    }

    /// The profile in force.
    pub fn profile(&self) -> &LinkProfile {
        &self.profile
    }

    /// Sends a packet. `now` must not go back. A `Vec` is taken as it is, a slice is copied.
    pub fn send(&mut self, now: Duration, packet: impl Into<Vec<u8>> + AsRef<[u8]>) {
        let length = packet.as_ref().len();
        self.counts.sent += 1;
        self.counts.sent_bytes += length as u64;
        let copied = self.random.chance(self.profile.duplicate);
        let (fate, copy_fate) = (self.draw(), copied.then(|| self.draw()));
        if length > self.profile.mtu {
            self.counts.too_long += 1;
            return;
        }
        if self.profile.is_out(now) {
            self.counts.cut_off += 1;
            return;
        }
        let copy = copy_fate.map(|fate| (fate, packet.as_ref().to_vec()));
        self.admit(now, fate, length, packet);
        if let Some((fate, packet)) = copy {
            self.counts.duplicated += 1;
            self.admit(now, fate, length, packet);
        }
    }

    /// Time at which [`Link::deliver`] will next have a packet; `None` while nothing is in flight.
    pub fn next_delivery(&self) -> Option<Duration> {
        self.flying.peek().map(|flying| flying.arrival)
    }

    /// Returns the next packet that has arrived by `now`, in the order of arrival.
    pub fn deliver(&mut self, now: Duration) -> Option<Vec<u8>> {
        if self.next_delivery()? > now {
            return None;
        }
        let packet = self.flying.pop()?.packet;
        self.flying_bytes -= packet.len();
        self.counts.delivered += 1;
        self.counts.delivered_bytes += packet.len() as u64;
        Some(packet)
    }

    /// Counts of all packets so far.
    pub fn counts(&self) -> LinkCounts {
        LinkCounts {
            in_flight: self.flying.len() as u64,
            ..self.counts
        }
    }

    /// Changes the profile from `now` on. Packets in flight keep their times. Those that wait for the rate limit
    /// continue at the new rate, and none of them is dropped.
    pub fn set_profile(&mut self, now: Duration, profile: LinkProfile) {
        let rate_changed = profile.rate != self.profile.rate;
        self.profile = profile;
        if rate_changed {
            self.reschedule(now);
        }
    }

    fn draw(&mut self) -> Fate {
        let (turns_bad, turns_good) = self.profile.loss.turns();
        self.bad = match self.bad {
            false => self.random.chance(turns_bad),
            true => !self.random.chance(turns_good),
        };
        let jitter = nanoseconds(self.profile.jitter);
        let above_least = self.random.uniform(0..jitter.saturating_mul(2).saturating_add(1));
        let latest = self.profile.delay.saturating_add(Duration::from_nanos(above_least));
        let reordered = self.random.chance(self.profile.reorder) && !self.profile.delay.is_zero();
        let damaged = self.random.chance(self.profile.corrupt);
        let bit = self.random.next_u64();
        Fate {
            lost: self.bad,
            delay: latest.saturating_sub(self.profile.jitter),
            reordered,
            damage: damaged.then_some(bit),
        }
    }

    fn admit(&mut self, now: Duration, fate: Fate, length: usize, packet: impl Into<Vec<u8>>) {
        if fate.lost {
            self.counts.lost += 1;
            return;
        }
        if self.flying.len() >= MAX_IN_FLIGHT || self.flying_bytes + length > MAX_IN_FLIGHT_BYTES {
            self.counts.overflowed += 1;
            return;
        }
        let Some(finish) = self.transmit(now, self.number, length) else {
            self.counts.queue_full += 1;
            return;
        };
        let mut packet = packet.into();
        if let (Some(bit), true) = (fate.damage, length > 0) {
            let bit = bit % (length as u64 * 8);
            let byte = usize::try_from(bit / 8).unwrap_or(0);
            packet[byte] ^= 1 << (bit % 8);
            self.counts.corrupted += 1;
        }
        let arrival = self.arrival(finish, &fate);
        self.flying_bytes += length;
        self.flying.push(Flying {
            arrival,
            number: self.number,
            under_way: arrival.saturating_sub(finish),
            packet,
        });
        self.number += 1;
    }

    /// Returns the time at which the rate limit will have sent the packet; `None` if the queue is full.
    fn transmit(&mut self, now: Duration, number: u64, length: usize) -> Option<Duration> {
        if self.profile.rate.is_none() {
            return Some(now);
        }
        while let Some(&(_, _, length)) = self.waiting.front().filter(|(_, start, _)| *start <= now) {
            self.waiting.pop_front();
            self.waiting_bytes -= length;
        }
        let start = self.free_at.max(now);
        if start > now {
            if self.waiting_bytes + length > self.profile.queue {
                return None;
            }
            self.waiting.push_back((number, start, length));
            self.waiting_bytes += length;
        }
        self.free_at = start.saturating_add(self.profile.transmission(length));
        Some(self.free_at)
    }

    fn arrival(&mut self, finish: Duration, fate: &Fate) -> Duration {
        if fate.reordered {
            self.counts.reordered += 1;
            return finish;
        }
        let arrival = finish.saturating_add(fate.delay);
        if !self.profile.keep_order {
            return arrival;
        }
        self.last_arrival = arrival.max(self.last_arrival);
        self.last_arrival
    }

    /// Computes new times for the waiting packets, at the rate now in force.
    fn reschedule(&mut self, now: Duration) {
        let waits = |&&(_, start, _): &&(u64, Duration, usize)| start > now;
        let first = self.waiting.iter().find(waits).map(|(_, start, _)| *start);
        let numbers: BTreeSet<u64> = self
            .waiting
            .iter()
            .filter(waits)
            .map(|(number, _, _)| *number)
            .collect();
        self.waiting.clear();
        self.waiting_bytes = 0;
        // The packet being sent is finished at the old rate: the first waiting packet keeps its start time.
        self.free_at = first.unwrap_or(self.free_at);
        let packets = std::mem::take(&mut self.flying).into_vec();
        let (mut waiting, flying): (Vec<_>, Vec<_>) =
            packets.into_iter().partition(|flying| numbers.contains(&flying.number));
        self.flying = flying.into();
        waiting.sort_unstable_by_key(|flying| flying.number);
        for mut flying in waiting {
            let start = self.free_at;
            self.free_at = start.saturating_add(self.profile.transmission(flying.packet.len()));
            if self.profile.rate.is_some() {
                self.waiting.push_back((flying.number, start, flying.packet.len()));
                self.waiting_bytes += flying.packet.len();
            }
            flying.arrival = self.free_at.saturating_add(flying.under_way);
            self.flying.push(flying);
        }
        self.last_arrival = self.flying.iter().map(|flying| flying.arrival).max().unwrap_or(now);
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// The maximum of the heap is the packet that arrives first; among simultaneous ones, the one sent first.
impl Ord for Flying {
    fn cmp(&self, other: &Self) -> Ordering {
        (other.arrival, other.number).cmp(&(self.arrival, self.number))
    }
}

impl PartialOrd for Flying {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Flying {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Flying {}
