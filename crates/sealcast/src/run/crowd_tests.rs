//! A crowd of viewers behind one relay, on a virtual clock: the gate of handshakes and the places of those admitted.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sealcast_proto::keys::PeerId;

use crate::run::session::admitted_places::{ANSWERED_FOR, AdmittedPlace, AdmittedPlaces};
use crate::run::session::gate::Gate;
use crate::transport::{Place, Remote};

const VIEWERS: usize = 10_000;
/// As many as one relay client carries (docs/relay.md, section 2).
const SESSIONS_OF_CLIENT: usize = 1024;
const HANDSHAKE: Duration = Duration::from_millis(150);
/// From the session's beginning to its first answer.
const ANSWER: Duration = Duration::from_millis(300);
/// Pause of a viewer that lost its place.
const REPLACED: Duration = Duration::from_secs(60);

/// Next event of a viewer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    Tries,
    Proves,
    IsAnswered,
}

struct Viewer {
    pending: Option<Place>,
    session: Option<AdmittedPlace>,
    /// When its present session was answered first.
    answered: Option<Duration>,
    times_answered: u32,
}

struct Crowd {
    gate: Gate,
    places: Arc<AdmittedPlaces>,
    began: Instant,
    viewers: Vec<Viewer>,
    due: BinaryHeap<Reverse<(Duration, Due, usize)>>,
}

fn relay() -> Remote {
    Remote::Relay("relay".into())
}

fn peer(number: usize) -> PeerId {
    let mut id = [0; 32];
    id[..8].copy_from_slice(&number.to_be_bytes());
    PeerId(id)
}

fn is_ready<T>(future: impl Future<Output = T>) -> bool {
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    std::pin::pin!(future).poll(&mut context).is_ready()
}

impl Crowd {
    /// All of them come within a second.
    fn of(places: usize) -> Self {
        let viewer = |_| Viewer {
            pending: None,
            session: None,
            answered: None,
            times_answered: 0,
        };
        let comes = |number: usize| Reverse((Duration::from_micros(100 * number as u64), Due::Tries, number));
        Self {
            gate: Gate::default(),
            places: AdmittedPlaces::new(places),
            began: Instant::now(),
            viewers: (0..VIEWERS).map(viewer).collect(),
            due: (0..VIEWERS).map(comes).collect(),
        }
    }

    fn next_due(&mut self, now: Duration) -> Option<(Duration, Due, usize)> {
        let is_due = self.due.peek().is_some_and(|Reverse((at, ..))| *at <= now);
        is_due.then(|| self.due.pop()).flatten().map(|Reverse(due)| due)
    }

    fn later(&mut self, at: Duration, due: Due, number: usize) {
        self.due.push(Reverse((at, due, number)));
    }

    /// It tries again after a second or two, not all at the same time.
    fn turned_away(&mut self, now: Duration, number: usize) {
        let spread = (now.as_micros() as u64 + 7919 * number as u64) % 1500;
        self.later(now + Duration::from_millis(1000 + spread), Due::Tries, number);
    }

    fn happens(&mut self, now: Duration, due: Due, number: usize) {
        match due {
            Due::Tries => match self.gate.enter(&relay(), self.began + now) {
                Some(place) => {
                    place.speaks();
                    self.viewers[number].pending = Some(place);
                    self.later(now + HANDSHAKE, Due::Proves, number);
                }
                None => self.turned_away(now, number),
            },
            Due::Proves => {
                self.viewers[number].pending = None;
                match self.places.enter(peer(number), true, Some("relay".into()), now) {
                    Ok(place) => {
                        self.viewers[number].session = Some(place);
                        self.later(now + ANSWER, Due::IsAnswered, number);
                    }
                    Err(_) => self.turned_away(now, number),
                }
            }
            Due::IsAnswered => {
                let viewer = &mut self.viewers[number];
                let place = viewer.session.as_ref().expect("nobody loses its place before");
                place.answered(now);
                viewer.answered = Some(now);
                viewer.times_answered += 1;
            }
        }
    }

    /// Lets go whoever lost its place.
    fn replace(&mut self, now: Duration) {
        for number in 0..VIEWERS {
            let viewer = &mut self.viewers[number];
            if viewer.session.as_ref().is_some_and(|place| is_ready(place.replaced())) {
                let answered = viewer.answered.take().expect("it was answered");
                assert!(now >= answered + ANSWERED_FOR, "a session of a second");
                viewer.session = None;
                self.later(now + REPLACED, Due::Tries, number);
            }
        }
    }

    /// Lets time pass.
    fn pass(&mut self, from: Duration, until: Duration) {
        let step = Duration::from_millis(50);
        let mut now = from;
        while now < until {
            now += step;
            while let Some((at, due, number)) = self.next_due(now) {
                self.happens(at, due, number);
            }
            self.replace(now);
            let held = |viewer: &&Viewer| viewer.session.is_some() || viewer.pending.is_some();
            let sessions = self.viewers.iter().filter(held).count();
            assert!(sessions <= SESSIONS_OF_CLIENT, "{sessions} through one relay client");
        }
    }
}

#[test]
fn ten_thousand_viewers_behind_a_relay_each_get_an_answer_again_and_again() {
    let mut crowd = Crowd::of(VIEWERS);
    let minute = Duration::from_secs(60);
    crowd.pass(Duration::ZERO, minute);
    let without = crowd.viewers.iter().filter(|viewer| viewer.times_answered == 0).count();
    assert_eq!(without, 0, "viewers without an answer after a minute");
    crowd.pass(minute, 4 * minute);
    let least = crowd.viewers.iter().map(|viewer| viewer.times_answered).min();
    assert!(least >= Some(2), "{least:?}");
}

#[test]
fn where_few_have_places_the_crowd_takes_turns() {
    let mut crowd = Crowd::of(16);
    crowd.pass(Duration::ZERO, Duration::from_secs(60));
    let answered = crowd.viewers.iter().filter(|viewer| viewer.times_answered > 0).count();
    // Sixteen at a time, each for little more than a second.
    assert!(answered >= 400, "{answered} were answered in a minute");
}
