//! The places of admitted peers, counted by peer, so that no peer keeps all others out.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sealcast_proto::keys::PeerId;
use tokio::sync::Notify;

/// Maximum number of sessions of one peer.
const MAX_OF_PEER: usize = 8;
/// A peer's session gives way to a newer one of the same peer at most once in this time. Otherwise sessions that all
/// connect again would take each other's place for ever.
const OWN_AGAIN: Duration = Duration::from_secs(600);
/// Maximum number of peers whose sessions gave way and are remembered.
const MAX_REMEMBERED: usize = 1024;

/// Maximum number of sessions through one relay. With those in their handshake (`gate.rs`) they are as many as a relay
/// client carries.
pub(crate) const MAX_OF_RELAY: usize = 768;
/// Time from the first answer on after which a session through a relay gives way to a newcomer: its viewer knows that
/// the picture is live, and goes on without.
pub(crate) const ANSWERED_FOR: Duration = Duration::from_secs(1);

/// No place is free, and nobody has to give up one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NoPlace;

/// The places of an end. While some are free a peer may have several. When all are taken a newcomer gets that of the
/// session that was needed for an answer alone, and has had it for longest; or that of the oldest session of the peer
/// that has most, unless it would then have more itself; or that of its own oldest session.
pub(crate) struct AdmittedPlaces {
    most: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// In the order in which they came.
    sessions: VecDeque<Session>,
    next: u64,
    /// Peers one of whose sessions gave way to another, and when, the latest last.
    gave_way: VecDeque<(PeerId, Duration)>,
}

struct Session {
    number: u64,
    peer: PeerId,
    /// False while nothing is heard of the peer: it takes no place from others then.
    heard: bool,
    /// The relay that it goes through.
    relay: Option<Arc<str>>,
    /// When the first of its challenges was answered, if it is needed for nothing else: its viewer is enrolled, and
    /// frames and keys come through a relay.
    answered: Option<Duration>,
    replaced: Arc<Notify>,
}

/// A session of an admitted peer. Dropping it frees its place.
pub(crate) struct AdmittedPlace {
    places: Arc<AdmittedPlaces>,
    number: u64,
    answered: Arc<AtomicBool>,
    replaced: Arc<Notify>,
}

impl AdmittedPlaces {
    /// `most` sessions have a place, those of all peers together.
    pub(crate) fn new(most: usize) -> Arc<Self> {
        let state = Mutex::default();
        Arc::new(Self { most, state })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Each statement leaves the state consistent, so a panic in another thread does no harm.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begin a session of `peer`, if there is a place for it, or one to be had. It takes the place now if it was
    /// `heard`, and else when it [is](AdmittedPlace::heard). `relay` is the one that it goes through, if it does.
    pub(crate) fn enter(
        self: &Arc<Self>,
        peer: PeerId,
        heard: bool,
        relay: Option<Arc<str>>,
        now: Duration,
    ) -> Result<AdmittedPlace, NoPlace> {
        let mut state = self.state();
        if relay.is_some() && state.sessions_through(&relay) >= MAX_OF_RELAY {
            let number = state.answered_longest(now, |session| session.relay == relay);
            state.give_way(number.ok_or(NoPlace)?, &peer, now);
        }
        if state.sessions_of(&peer) >= MAX_OF_PEER {
            let number = state.spare_of(&peer, now).ok_or(NoPlace)?;
            state.give_way(number, &peer, now);
        }
        if state.taken() >= self.most {
            let number = state.yielding_to(&peer, now).ok_or(NoPlace)?;
            if heard {
                state.give_way(number, &peer, now);
            }
        }
        let (number, replaced) = (state.next, Arc::new(Notify::new()));
        state.next += 1;
        state.sessions.push_back(Session {
            number,
            peer,
            heard,
            relay,
            answered: None,
            replaced: Arc::clone(&replaced),
        });
        drop(state);
        let places = Arc::clone(self);
        Ok(AdmittedPlace {
            places,
            number,
            answered: Arc::default(),
            replaced,
        })
    }
}

impl State {
    fn taken(&self) -> usize {
        self.sessions.iter().filter(|session| session.heard).count()
    }

    fn sessions_of(&self, peer: &PeerId) -> usize {
        self.sessions.iter().filter(|session| session.peer == *peer).count()
    }

    fn places_of(&self, peer: &PeerId) -> usize {
        let of_peer = |session: &&Session| session.heard && session.peer == *peer;
        self.sessions.iter().filter(of_peer).count()
    }

    fn sessions_through(&self, relay: &Option<Arc<str>>) -> usize {
        self.sessions.iter().filter(|session| session.relay == *relay).count()
    }

    /// The session whose challenges have been answered for longest, and long enough.
    fn answered_longest(&self, now: Duration, of: impl Fn(&Session) -> bool) -> Option<u64> {
        let sessions = self.sessions.iter().filter(|session| session.heard && of(session));
        let answered = sessions.filter_map(|session| session.answered.map(|at| (at, session.number)));
        let (at, number) = answered.min()?;
        (now >= at + ANSWERED_FOR).then_some(number)
    }

    /// The session of `peer` that makes room for another one of it: one that is silent, or else its oldest.
    fn spare_of(&self, peer: &PeerId, now: Duration) -> Option<u64> {
        let mut own = self.sessions.iter().filter(|session| session.peer == *peer);
        let silent = own.clone().find(|session| !session.heard);
        let spare = silent.or_else(|| own.next().filter(|_| self.may_give_way(peer, now)));
        spare.map(|session| session.number)
    }

    /// The session with a place that makes room for one of `peer`.
    fn yielding_to(&self, peer: &PeerId, now: Duration) -> Option<u64> {
        let answered = self.answered_longest(now, |_| true);
        if answered.is_some() {
            return answered;
        }
        let with_place = |session: &&Session| session.heard;
        let others = self
            .sessions
            .iter()
            .filter(with_place)
            .filter(|session| session.peer != *peer);
        // Of peers that have as many, the one whose session came first.
        let greatest = others.rev().max_by_key(|session| self.places_of(&session.peer));
        let greatest = greatest.filter(|session| self.places_of(&session.peer) > self.places_of(peer) + 1);
        let own = self.may_give_way(peer, now).then_some(peer);
        let giving = greatest.map(|session| &session.peer).or(own)?;
        let mut oldest = self.sessions.iter().filter(with_place);
        oldest
            .find(|session| session.peer == *giving)
            .map(|session| session.number)
    }

    fn may_give_way(&self, peer: &PeerId, now: Duration) -> bool {
        let lately = |at: Duration| now.saturating_sub(at) < OWN_AGAIN;
        !self.gave_way.iter().any(|(other, at)| other == peer && lately(*at))
    }

    /// This session ends for one of `newcomer`.
    fn give_way(&mut self, number: u64, newcomer: &PeerId, now: Duration) {
        let Some(index) = self.sessions.iter().position(|session| session.number == number) else {
            return;
        };
        let Some(session) = self.sessions.remove(index) else {
            return;
        };
        session.replaced.notify_one();
        if session.heard && session.peer == *newcomer {
            self.gave_way
                .retain(|(other, at)| other != newcomer && now.saturating_sub(*at) < OWN_AGAIN);
            if self.gave_way.len() == MAX_REMEMBERED {
                self.gave_way.pop_front();
            }
            self.gave_way.push_back((*newcomer, now));
        }
    }
}

impl AdmittedPlace {
    /// The peer was heard, or is heard again: its session takes a place now, if it has none.
    pub(crate) fn heard(&self, now: Duration) -> Result<(), NoPlace> {
        let mut state = self.places.state();
        let own = |session: &&mut Session| session.number == self.number;
        let peer = match state.sessions.iter_mut().find(own) {
            Some(session) if !session.heard => session.peer,
            // It has one, or has lost it and is told so.
            _ => return Ok(()),
        };
        if state.taken() >= self.places.most {
            let number = state.yielding_to(&peer, now).ok_or(NoPlace)?;
            state.give_way(number, &peer, now);
        }
        if let Some(session) = state.sessions.iter_mut().find(own) {
            session.heard = true;
        }
        Ok(())
    }

    /// The peer has fallen silent: its place is free until it is heard again.
    pub(crate) fn silent(&self) {
        let mut state = self.places.state();
        if let Some(session) = state.sessions.iter_mut().find(|session| session.number == self.number) {
            session.heard = false;
        }
    }

    /// A challenge of the session was answered, which is needed for nothing else.
    pub(crate) fn answered(&self, now: Duration) {
        if self.answered.swap(true, Ordering::Relaxed) {
            return;
        }
        let mut state = self.places.state();
        if let Some(session) = state.sessions.iter_mut().find(|session| session.number == self.number) {
            session.answered = Some(now);
        }
    }

    /// Waits until another session has the place. Returns true if this one was needed for an answer alone, and has had
    /// it.
    pub(crate) fn replaced(&self) -> impl Future<Output = bool> + Send + use<> {
        let (replaced, answered) = (Arc::clone(&self.replaced), Arc::clone(&self.answered));
        async move {
            replaced.notified().await;
            answered.load(Ordering::Relaxed)
        }
    }
}

impl Drop for AdmittedPlace {
    fn drop(&mut self) {
        self.places
            .state()
            .sessions
            .retain(|session| session.number != self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: Duration = Duration::from_secs(1);

    fn peer(byte: u8) -> PeerId {
        PeerId([byte; 32])
    }

    fn enter(places: &Arc<AdmittedPlaces>, byte: u8, second: u32) -> Result<AdmittedPlace, NoPlace> {
        places.enter(peer(byte), true, None, S * second)
    }

    /// True once another session has the place.
    fn is_replaced(place: &AdmittedPlace) -> bool {
        let state = place.places.state();
        state.sessions.iter().all(|session| session.number != place.number)
    }

    fn replaced(places: &[AdmittedPlace]) -> Vec<usize> {
        let all = places.iter().enumerate();
        all.filter(|(_, place)| is_replaced(place)).map(|(at, _)| at).collect()
    }

    #[test]
    fn one_peer_leaves_room_for_others_however_many_sessions_it_begins() {
        let places = AdmittedPlaces::new(16);
        let mut greedy: Vec<_> = (0..16).filter_map(|second| enter(&places, 1, second).ok()).collect();
        greedy.retain(|place| !is_replaced(place));
        assert_eq!(greedy.len(), MAX_OF_PEER);
        let honest: Vec<_> = (0..8).map(|byte| enter(&places, 2 + byte, 20).expect("room")).collect();
        // All places are taken, and who has one alone keeps it.
        let late: Vec<_> = (0..7).map(|byte| enter(&places, 50 + byte, 21).is_ok()).collect();
        assert_eq!(late, [true; 7], "each gets a place of the greedy peer's, and leaves");
        assert!(honest.iter().all(|place| !is_replaced(place)));
        assert!(replaced(&greedy).contains(&0));
    }

    #[test]
    fn a_newcomer_gets_the_place_of_the_oldest_session_of_the_peer_that_has_most() {
        // Peers of the sessions in their order, the newcomer's, and which of them makes room.
        for (sessions, newcomer, gives) in [
            (&[1, 2, 2, 3][..], 4, Some(1)),
            (&[1, 1, 2, 2], 3, Some(0)),
            (&[2, 1, 1, 2], 3, Some(0)),
            (&[1, 2, 2, 2], 1, Some(1)),
            // The newcomer would have as many as the other, or more: it gives up its own.
            (&[1, 1, 2, 2], 2, Some(2)),
            (&[1, 2, 3, 3], 1, Some(0)),
            (&[1, 2, 3, 4], 5, None),
            (&[1, 2, 3, 4], 2, Some(1)),
        ] {
            let places = AdmittedPlaces::new(4);
            let before: Vec<_> = sessions
                .iter()
                .map(|byte| enter(&places, *byte, 0).expect("room"))
                .collect();
            let entered = enter(&places, newcomer, 1);
            assert_eq!(entered.is_ok(), gives.is_some(), "{newcomer} among {sessions:?}");
            assert_eq!(
                replaced(&before),
                Vec::from_iter(gives),
                "{newcomer} among {sessions:?}"
            );
        }
    }

    #[test]
    fn who_is_not_heard_takes_no_place_from_others_and_is_counted_as_its_peers() {
        let places = AdmittedPlaces::new(2);
        let silent = |byte| places.enter(peer(byte), false, None, S);
        let shy: Vec<_> = (0..2).map(|byte| silent(byte).expect("room")).collect();
        let (first, second) = (enter(&places, 7, 1).expect("room"), enter(&places, 8, 1).expect("room"));
        assert_eq!(shy[0].heard(S), Err(NoPlace), "others came in the meantime");
        first.silent();
        assert_eq!(shy[0].heard(S), Ok(()));
        assert_eq!(first.heard(S), Err(NoPlace));
        assert_eq!(second.heard(S), Ok(()), "it has one");
        drop(second);
        assert_eq!(first.heard(S), Ok(()));
        let many: Vec<_> = (0..20).filter_map(|_| silent(9).ok()).collect();
        assert!(many.is_empty(), "no place can be had");
        drop((shy, first));
        let many: Vec<_> = (0..20).filter_map(|_| silent(9).ok()).collect();
        assert_eq!(many.iter().filter(|place| !is_replaced(place)).count(), MAX_OF_PEER);
    }

    #[test]
    fn sessions_that_all_come_again_do_not_replace_each_other_for_ever() {
        // A peer that wants more places than there are, and two with a session each. Who is replaced comes again after
        // 60 s, who gets no place after 5 s.
        let wants = [1, 1, 1, 1, 1, 1, 2, 3];
        let places = AdmittedPlaces::new(5);
        let mut held: Vec<Option<AdmittedPlace>> = wants.iter().map(|_| None).collect();
        let mut comes = [0_u32; 8];
        let mut cut = 0;
        for second in 0..300 {
            for (at, byte) in wants.into_iter().enumerate() {
                if held[at].as_ref().is_some_and(is_replaced) {
                    (held[at], comes[at]) = (None, second + 60);
                    cut += 1;
                }
                if held[at].is_none() && comes[at] <= second {
                    held[at] = enter(&places, byte, second).ok();
                    comes[at] = second + 5;
                }
            }
        }
        assert!(held[6].is_some() && held[7].is_some(), "the others have their places");
        assert_eq!(held.iter().flatten().count(), 5);
        assert!(cut <= 3, "{cut} sessions were cut off in five minutes");
    }

    #[test]
    fn the_session_that_was_answered_for_longest_gives_way_first_and_none_within_a_second() {
        let places = AdmittedPlaces::new(3);
        let held: Vec<_> = (0..3).map(|byte| enter(&places, byte, 0).expect("room")).collect();
        assert_eq!(enter(&places, 9, 1).err(), Some(NoPlace), "nobody was answered");
        held[1].answered(S * 5);
        held[0].answered(S * 6);
        // Further answers change nothing.
        held[1].answered(S * 7);
        assert_eq!(enter(&places, 9, 5).err(), Some(NoPlace), "not for long enough");
        let first = enter(&places, 9, 6).expect("a place");
        assert_eq!(replaced(&held), [1]);
        let second = enter(&places, 10, 7).expect("a place");
        assert_eq!(replaced(&held), [0, 1]);
        assert_eq!(
            enter(&places, 11, 8).err(),
            Some(NoPlace),
            "the third waits for its answer"
        );
        drop((first, second));
    }

    #[test]
    fn through_one_relay_come_no_more_than_it_carries_and_those_of_another_are_left_alone() {
        let places = AdmittedPlaces::new(10_000);
        let through = |relay: &str, number: usize| {
            let mut id = [0; 32];
            id[..8].copy_from_slice(&number.to_be_bytes());
            places.enter(PeerId(id), true, Some(relay.into()), S * 3)
        };
        let other = through("other", 0).expect("room");
        other.answered(S);
        let held: Vec<_> = (1..=MAX_OF_RELAY)
            .map(|number| through("relay", number).expect("room"))
            .collect();
        assert_eq!(through("relay", 5000).err(), Some(NoPlace));
        held[7].answered(S * 2);
        let _late = through("relay", 5000).expect("a place");
        assert_eq!(replaced(&held), [7]);
        assert!(!is_replaced(&other));
    }

    #[tokio::test]
    async fn who_lost_its_place_is_told() {
        let places = AdmittedPlaces::new(1);
        let first = enter(&places, 1, 0).expect("room");
        let second = enter(&places, 1, 1).expect("its own place");
        first.replaced().await;
        drop(first);
        assert!(!is_replaced(&second));
        assert_eq!(enter(&places, 1, 2).err(), Some(NoPlace), "not again so soon");
        assert!(enter(&places, 1, 700).is_ok());
    }
}
