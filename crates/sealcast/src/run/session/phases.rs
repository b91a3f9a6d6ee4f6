//! The phase of the stream, which follows from the states of all sessions of a run.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::observe::Observation;
use crate::meter::logs::Phase;

/// State of one session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// No handshake message has been sent or received, or the session is over.
    Silent,
    Handshaking,
    Established,
}

/// The number of sessions in each state that matters.
#[derive(Debug, Default)]
struct Counts {
    handshaking: usize,
    established: usize,
}

impl Counts {
    fn of(&mut self, state: State) -> Option<&mut usize> {
        match state {
            State::Silent => None,
            State::Handshaking => Some(&mut self.handshaking),
            State::Established => Some(&mut self.established),
        }
    }

    /// A handshake beside an established session is no phase of its own: most of what is used then, the stream uses.
    fn phase(&self) -> Phase {
        match (self.established, self.handshaking) {
            (0, 0) => Phase::Idle,
            (0, _) => Phase::Handshake,
            _ => Phase::Steady,
        }
    }
}

/// The sessions of a run by state.
#[derive(Debug, Default)]
pub(crate) struct Phases(Mutex<Counts>);

impl Phases {
    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The phase now.
    pub(crate) fn phase(&self) -> Phase {
        self.counts().phase()
    }

    /// Moves a session from one state to another. If this changes the phase, `entered` is told the new one before
    /// another change is possible, so changes are told in their order.
    fn change(&self, from: State, to: State, entered: impl FnOnce(Phase)) {
        let mut counts = self.counts();
        let before = counts.phase();
        if let Some(count) = counts.of(from) {
            *count -= 1;
        }
        if let Some(count) = counts.of(to) {
            *count += 1;
        }
        let after = counts.phase();
        if after != before {
            entered(after);
        }
    }
}

/// Contribution of one session to the phase; dropping it takes that away.
pub(crate) struct SessionPhase {
    observation: Arc<Observation>,
    state: State,
}

impl SessionPhase {
    /// A session that has neither sent nor received anything.
    pub(crate) fn new(observation: &Arc<Observation>) -> Self {
        Self {
            observation: Arc::clone(observation),
            state: State::Silent,
        }
    }

    pub(crate) fn observation(&self) -> &Arc<Observation> {
        &self.observation
    }

    /// The first handshake message is about to be sent or was received.
    pub(crate) fn handshakes(&mut self) {
        self.change(State::Handshaking);
    }

    /// The session is established.
    pub(crate) fn established(&mut self) {
        self.change(State::Established);
    }

    fn change(&mut self, to: State) {
        let observation = &self.observation;
        let from = std::mem::replace(&mut self.state, to);
        observation
            .phases()
            .change(from, to, |phase| observation.phase_entered(phase));
    }
}

impl Drop for SessionPhase {
    fn drop(&mut self) {
        self.change(State::Silent);
    }
}

#[cfg(test)]
mod tests {
    use super::super::observe::ObserveOptions;
    use super::super::observe::build_info;
    use super::*;
    use crate::meter::metrics::Metrics;

    #[tokio::test]
    async fn the_phase_is_that_of_the_session_that_is_furthest() {
        let metrics = Metrics::new(build_info());
        let observing = Observation::start("test", ObserveOptions::default(), metrics)
            .await
            .expect("nothing to open");
        let observation = observing.observation();
        let mut first = SessionPhase::new(&observation);
        assert_eq!(observation.phase(), Phase::Idle, "who is silent does not count");
        first.handshakes();
        assert_eq!(observation.phase(), Phase::Handshake);
        let mut second = SessionPhase::new(&observation);
        second.handshakes();
        first.established();
        assert_eq!(observation.phase(), Phase::Steady, "beside a handshake");
        drop(second);
        assert_eq!(observation.phase(), Phase::Steady);
        drop(first);
        assert_eq!(observation.phase(), Phase::Idle);
    }

    #[test]
    fn every_change_of_the_phase_is_told_once_and_in_order() {
        let phases = Phases::default();
        let mut told = Vec::new();
        for (from, to) in [
            (State::Silent, State::Handshaking),
            (State::Silent, State::Handshaking),
            (State::Handshaking, State::Established),
            (State::Handshaking, State::Silent),
            (State::Established, State::Silent),
        ] {
            phases.change(from, to, |phase| told.push(phase));
        }
        assert_eq!(told, [Phase::Handshake, Phase::Steady, Phase::Idle]);
    }
}
