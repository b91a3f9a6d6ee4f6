//! Delay of the answer to a player's password, by address: guessing takes time, and nobody else waits.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};

/// Number of wrong passwords of an address that are answered at once.
const FREE_GUESSES: u32 = 3;
/// Delay of the answer that follows these; each further wrong password doubles it.
const FIRST_DELAY: Duration = Duration::from_secs(1);
/// Maximum delay. It is less than the time in which a player has to log in: whoever shares an address with somebody
/// who guesses, as all users of one machine do, still gets in. That is also why answers do not wait for each other.
const LONGEST_DELAY: Duration = Duration::from_secs(8);
/// Wrong passwords are forgotten when the address has given none for this long.
const MEMORY: Duration = Duration::from_secs(60);
/// Maximum number of addresses that are remembered. Beyond it, the one whose last wrong password is oldest goes.
const MAX_GUESSERS: usize = 1024;

/// The wrong passwords of one address.
struct Guesses {
    count: u32,
    last: Instant,
}

/// The addresses that gave wrong passwords lately: IPv4 addresses, and the first 64 bits of IPv6 ones, which is the
/// least that one host has to itself.
#[derive(Default)]
pub(super) struct LoginDelays {
    guesses: BTreeMap<IpAddr, Guesses>,
}

impl LoginDelays {
    /// A player at this address gives a password, which is `right` or wrong. Returns how long its answer is to wait.
    /// A right password waits as long as a wrong one would: otherwise a missing answer would already be an answer.
    pub(super) fn delay(&mut self, from: IpAddr, right: bool, now: Instant) -> Duration {
        let from = prefix(from);
        self.guesses
            .retain(|_, guesses| now.saturating_duration_since(guesses.last) < MEMORY);
        let before = self.guesses.get(&from).map_or(0, |guesses| guesses.count);
        if !right {
            self.make_room(from);
            let count = before.saturating_add(1);
            self.guesses.insert(from, Guesses { count, last: now });
        }
        match before.checked_sub(FREE_GUESSES) {
            None => Duration::ZERO,
            Some(doublings) => FIRST_DELAY
                .saturating_mul(2_u32.saturating_pow(doublings))
                .min(LONGEST_DELAY),
        }
    }

    fn make_room(&mut self, new: IpAddr) {
        if self.guesses.len() < MAX_GUESSERS || self.guesses.contains_key(&new) {
            return;
        }
        let oldest = self.guesses.iter().min_by_key(|(_, guesses)| guesses.last);
        if let Some(address) = oldest.map(|(address, _)| *address) {
            self.guesses.remove(&address);
        }
    }
}

fn prefix(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6((u128::from(address) & !u128::from(u64::MAX)).into()),
        v4 => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    /// Seconds that the answers to wrong passwords wait, given one after the other.
    fn waits(delays: &mut LoginDelays, from: &str, count: usize, now: Instant) -> Vec<u64> {
        let mut wait = || delays.delay(address(from), false, now).as_secs();
        (0..count).map(|_| wait()).collect()
    }

    #[test]
    fn after_three_wrong_passwords_answers_wait_longer_and_longer() {
        let (mut delays, now) = (LoginDelays::default(), Instant::now());
        assert_eq!(waits(&mut delays, "192.0.2.1", 9, now), [0, 0, 0, 1, 2, 4, 8, 8, 8]);
        let right = delays.delay(address("192.0.2.1"), true, now);
        assert_eq!(right, LONGEST_DELAY, "a right password is told no sooner");
    }

    #[test]
    fn other_addresses_do_not_wait() {
        let (mut delays, now) = (LoginDelays::default(), Instant::now());
        waits(&mut delays, "192.0.2.1", 9, now);
        assert_eq!(waits(&mut delays, "192.0.2.2", 1, now), [0]);
        assert_eq!(delays.delay(address("192.0.2.3"), true, now), Duration::ZERO);
    }

    #[test]
    fn a_host_has_64_bits_of_ipv6_addresses_and_one_of_ipv4_however_it_is_written() {
        let (mut delays, now) = (LoginDelays::default(), Instant::now());
        for host in ["2001:db8::1", "2001:db8::2", "2001:db8::ffff:0:0:1"] {
            assert_eq!(waits(&mut delays, host, 1, now), [0]);
        }
        assert_eq!(waits(&mut delays, "2001:db8::3", 1, now), [1]);
        assert_eq!(waits(&mut delays, "2001:db8:0:1::1", 1, now), [0]);
        waits(&mut delays, "::ffff:192.0.2.1", 3, now);
        assert_eq!(waits(&mut delays, "192.0.2.1", 1, now), [1]);
    }

    #[test]
    fn a_minute_after_the_last_wrong_password_all_are_forgotten() {
        let (mut delays, began) = (LoginDelays::default(), Instant::now());
        waits(&mut delays, "192.0.2.1", 5, began);
        let later = began + Duration::from_secs(59);
        assert_eq!(waits(&mut delays, "192.0.2.1", 1, later), [4]);
        assert_eq!(waits(&mut delays, "192.0.2.1", 1, later + MEMORY), [0]);
    }

    #[test]
    fn the_table_is_bounded_and_forgets_the_oldest_first() {
        let (mut delays, began) = (LoginDelays::default(), Instant::now());
        for number in 0..2 * MAX_GUESSERS {
            let from = IpAddr::V4((0x0a00_0000 + number as u32).into());
            delays.delay(from, false, began + Duration::from_millis(number as u64));
        }
        assert_eq!(delays.guesses.len(), MAX_GUESSERS);
        let kept = |number: u32| delays.guesses.contains_key(&IpAddr::V4((0x0a00_0000 + number).into()));
        assert_eq!([0, 1023, 1024, 2047].map(kept), [false, false, true, true]);
    }
}
