//! Rate of requests for a keyframe to a source or a camera.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use sealcast_proto::keys::PeerId;

/// Minimum time between two requests to one source or camera, on behalf of all viewers together: a viewer that sends
/// endless requests must not spoil the picture of the others.
const KEYFRAME_INTERVAL: Duration = Duration::from_millis(250);

/// The requests to one source or camera.
#[derive(Debug, Default)]
pub(crate) struct KeyframeRequests {
    last: Option<Instant>,
}

impl KeyframeRequests {
    /// True if a request may be sent now.
    pub(crate) fn is_due(&self, now: Instant) -> bool {
        let since = |last| now.saturating_duration_since(last);
        self.last.is_none_or(|last| since(last) >= KEYFRAME_INTERVAL)
    }

    /// Note that a request was sent.
    pub(crate) fn sent(&mut self, now: Instant) {
        self.last = Some(now);
    }
}

/// Minimum time between two keyframes that viewers of one peer ask for by joining. One that comes and goes would
/// otherwise take a part of the rate from all others.
const JOIN_INTERVAL: Duration = Duration::from_secs(5);
/// Maximum number of peers that are remembered; the earliest is forgotten first.
const MAX_JOINERS: usize = 256;

/// Peers that asked for a keyframe by joining, and when, the latest last.
#[derive(Debug, Default)]
pub(crate) struct Joiners(VecDeque<(PeerId, Instant)>);

impl Joiners {
    /// True if a viewer of `peer` that joins may ask for a keyframe; it is noted then. Who is no peer always may.
    pub(crate) fn may_ask(&mut self, peer: Option<PeerId>, now: Instant) -> bool {
        let Some(peer) = peer else { return true };
        self.0
            .retain(|(_, at)| now.saturating_duration_since(*at) < JOIN_INTERVAL);
        if self.0.iter().any(|(other, _)| *other == peer) {
            return false;
        }
        if self.0.len() == MAX_JOINERS {
            self.0.pop_front();
        }
        self.0.push_back((peer, now));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_that_joins_again_and_again_asks_for_a_keyframe_in_five_seconds_once() {
        let (began, mut joiners) = (Instant::now(), Joiners::default());
        let at = |joiners: &mut Joiners, byte, millisecond| {
            let now = began + Duration::from_millis(millisecond);
            joiners.may_ask(Some(PeerId([byte; 32])), now)
        };
        let asked = (0..1000).filter(|number| at(&mut joiners, 1, number * 20)).count();
        assert_eq!(asked, 4, "in twenty seconds");
        assert!(at(&mut joiners, 2, 20_000), "others may at any time");
        for byte in 0..=255 {
            for other in 0..4 {
                let mut id = [byte; 32];
                id[0] = other;
                joiners.may_ask(Some(PeerId(id)), began + Duration::from_secs(30));
            }
        }
        assert_eq!(joiners.0.len(), MAX_JOINERS);
    }

    #[test]
    fn however_often_a_keyframe_is_wanted_requests_leave_four_times_a_second() {
        let began = Instant::now();
        let mut requests = KeyframeRequests::default();
        let mut sent = 0;
        for millisecond in 0..10_000 {
            let now = began + Duration::from_millis(millisecond);
            if requests.is_due(now) {
                requests.sent(now);
                sent += 1;
            }
        }
        assert_eq!(sent, 40);
    }
}
