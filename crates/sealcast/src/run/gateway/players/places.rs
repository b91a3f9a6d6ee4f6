//! Places for players.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::transport::{AddressLimits, Limits, Place as NotLoggedIn};

/// Maximum number of players at once.
const MAX_PLAYERS: usize = 64;
/// Maximum number of players at once that have not logged in, where a login is needed: the other places are kept for
/// those who know the password.
const MAX_NOT_LOGGED_IN: usize = MAX_PLAYERS / 4;
/// Maximum of those places that one address takes in a second: a recorder comes with all its connections at once.
const COMES_PER_SECOND: u32 = 32;

/// The places for players. A place is free again when it is dropped.
pub(super) struct Places {
    all: Arc<Semaphore>,
    not_logged_in: AddressLimits,
}

/// A player's place.
pub(super) struct Place {
    _any: OwnedSemaphorePermit,
    /// One of those for players that have not logged in, until this one has. It may be taken away before.
    pub(super) not_logged_in: Option<NotLoggedIn>,
}

impl Places {
    pub(super) fn new() -> Self {
        Self {
            all: Arc::new(Semaphore::new(MAX_PLAYERS)),
            not_logged_in: AddressLimits::new(Limits {
                per_address: MAX_NOT_LOGGED_IN,
                in_all: MAX_NOT_LOGGED_IN,
                per_second: COMES_PER_SECOND,
            }),
        }
    }

    /// A place for a player that has just come, or the reason why there is none. `login`: whether it has to log in. If
    /// the places for those are taken, the oldest of the address that has most of them gives its own up.
    pub(super) fn take(&self, login: bool, from: IpAddr, now: Instant) -> Result<Place, &'static str> {
        let any = Arc::clone(&self.all).try_acquire_owned();
        let any = any.map_err(|_| "too many are here")?;
        let not_logged_in = login.then(|| self.not_logged_in.enter(from, now).ok_or("too many come from there"));
        Ok(Place {
            not_logged_in: not_logged_in.transpose()?,
            _any: any,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn players_that_have_not_logged_in_hold_a_quarter_of_the_places() {
        let (places, now) = (Places::new(), Instant::now());
        let take = |host: u8| places.take(true, [192, 0, 2, host].into(), now);
        let is_evicted = |place: &Place| {
            let place = place.not_logged_in.as_ref().expect("it has not logged in");
            let mut context = std::task::Context::from_waker(std::task::Waker::noop());
            std::pin::pin!(place.evicted()).poll(&mut context).is_ready()
        };
        let mut here: Vec<Place> = (0..16).map(|_| take(1).expect("a place")).collect();
        // Another address finds a place all the same, and that of who came first is the one.
        here.push(take(2).expect("a place"));
        let evicted: Vec<bool> = here.iter().map(is_evicted).collect();
        assert_eq!(evicted.iter().filter(|evicted| **evicted).count(), 1);
        assert!(evicted[0]);
        here.remove(0);
        let come: Vec<Place> = (0..30).map_while(|_| take(1).ok()).collect();
        assert_eq!(take(1).err(), Some("too many come from there"), "in this second");
        assert!(come.len() < 17, "{}", come.len());
        drop(come);
        for place in &mut here {
            // It logs in.
            place.not_logged_in = None;
        }
        for host in 3..60 {
            here.extend(take(host).map(|place| Place {
                not_logged_in: None,
                ..place
            }));
        }
        assert_eq!((here.len(), take(3).err()), (64, Some("too many are here")));
        drop(here);
        assert!(take(3).is_ok());
    }

    #[test]
    fn where_no_login_is_needed_all_places_are_for_everybody() {
        let places = Places::new();
        let (from, now) = ([192, 0, 2, 1].into(), Instant::now());
        let here: Vec<Place> = std::iter::from_fn(|| places.take(false, from, now).ok()).collect();
        assert_eq!(here.len(), MAX_PLAYERS);
    }
}
