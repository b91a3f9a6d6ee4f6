//! The machine itself: what it holds, and what may be asked of it. What it does stands beside, by concern: the
//! handshake phase, records, control messages, epochs, timers, media and closing.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use super::keyring::KeyRing;
use super::liveness::Liveness;
use super::rekey::{Follower, Leader};
use super::selection::{Following, Selecting};
use super::{Facts, Handled, Input, Output, SessionConfig, SessionError};
use crate::clock::{ClockFilter, Now};
use crate::keys::{Initiator, Mechanism, Responder, Role, Side};
use crate::seal::RefusalCounts;
use crate::unit::Cutter;

/// What there is once the handshake agreed on keys.
pub(super) struct Established {
    pub(super) ring: KeyRing,
    pub(super) facts: Facts,
    pub(super) mechanism: Arc<dyn Mechanism>,
}

/// The states, in the order in which a session passes through them.
pub(super) enum State {
    Initiating(Box<Initiator>),
    Responding(Box<Responder>),
    /// Initiator: the finish is sent, the welcome awaited.
    ExpectWelcome(Box<Established>),
    /// Responder: the program decides.
    AwaitAdmission(Box<Established>),
    Established(Box<Established>),
    Over,
}

/// One peer, from the first hello to the last record. The module's documentation says how to drive it.
pub struct Session {
    pub(super) config: SessionConfig,
    pub(super) state: State,
    pub(super) out: VecDeque<Output>,
    pub(super) leader: Leader,
    pub(super) follower: Follower,
    pub(super) selecting: Selecting,
    pub(super) following: Following,
    pub(super) cutter: Cutter,
    pub(super) began: Duration,
    pub(super) liveness: Liveness,
    pub(super) clock: ClockFilter,
    pub(super) refusals: RefusalCounts,
    pub(super) refusals_in_a_row: u32,
}

impl Session {
    /// Open a session as the end that opened the connection. `random` are 32 fresh random bytes.
    ///
    /// # Errors
    /// [`SessionError::Handshake`] if the configuration offers nothing or pins nobody, or the library fails.
    pub fn initiate(config: SessionConfig, random: [u8; 32], now: Now) -> Result<Self, SessionError> {
        let (initiator, hello) = Initiator::new(config.handshake.clone(), random)?;
        let mut session = Self::new(config, State::Initiating(Box::new(initiator)), now);
        session.out.push_back(Output::Transmit(hello));
        Ok(session)
    }

    /// Await a session as the end that accepted the connection. `random` are 32 fresh random bytes.
    pub fn respond(config: SessionConfig, random: [u8; 32], now: Now) -> Self {
        let responder = Responder::new(config.handshake.clone(), random, Vec::new());
        Self::new(config, State::Responding(Box::new(responder)), now)
    }

    pub(super) fn new(config: SessionConfig, state: State, now: Now) -> Self {
        let cutter = Cutter::new(config.unit, config.selection_seed);
        Self {
            config,
            state,
            out: VecDeque::new(),
            leader: Leader::default(),
            follower: Follower::default(),
            selecting: Selecting::default(),
            following: Following::default(),
            cutter,
            began: now.monotonic,
            liveness: Liveness::new(now.monotonic),
            clock: ClockFilter::default(),
            refusals: RefusalCounts::default(),
            refusals_in_a_row: 0,
        }
    }

    /// Whether media may flow.
    pub fn is_established(&self) -> bool {
        matches!(self.state, State::Established(_))
    }

    /// Whether the session has ended.
    pub fn is_over(&self) -> bool {
        matches!(self.state, State::Over)
    }

    /// What was agreed, once established.
    pub fn facts(&self) -> Option<&Facts> {
        match &self.state {
            State::Established(established) => Some(&established.facts),
            _ => None,
        }
    }

    /// The number of the epoch that records are sealed under, once there are keys.
    pub fn epoch(&self) -> Option<u64> {
        match &self.state {
            State::Established(established) => Some(established.ring.current.number),
            _ => None,
        }
    }

    /// Records refused so far, by reason.
    pub fn refusals(&self) -> RefusalCounts {
        self.refusals
    }

    /// Which end of the connection this is.
    pub fn side(&self) -> Side {
        self.config.side
    }

    /// Whether this end publishes, and so leads from epoch to epoch.
    pub(super) fn leads(&self) -> bool {
        self.config.handshake.role == Role::Publisher
    }

    /// The keys, from the end of the handshake to the end of the session.
    pub(super) fn keys(&mut self) -> Option<&mut Established> {
        match &mut self.state {
            State::ExpectWelcome(keys) | State::AwaitAdmission(keys) | State::Established(keys) => Some(keys),
            State::Initiating(_) | State::Responding(_) | State::Over => None,
        }
    }

    /// What to do next; see the module's documentation.
    pub fn poll(&mut self) -> Output {
        self.out.pop_front().unwrap_or_else(|| Output::Timeout(self.deadline()))
    }

    /// Tell the session something; see the module's documentation.
    ///
    /// # Errors
    /// [`SessionError`]: the session is over.
    pub fn handle<'b>(&mut self, now: Now, input: Input<'b>) -> Result<Handled<'b>, SessionError> {
        let handled = match input {
            Input::Message(message) => self.handle_message(now, message),
            Input::PartOfMessage => {
                self.liveness.part_came(now.monotonic);
                Ok(Handled::Done)
            }
            Input::Timeout => self.handle_timeout(now).map(|()| Handled::Done),
            Input::Admit => self.admit(now).map(|()| Handled::Done),
            Input::Close(reason, text) => {
                self.close(now, reason, text);
                Ok(Handled::Done)
            }
            Input::RequestKeyframe(stream) => self.request_keyframe(now, stream).map(|()| Handled::Done),
            Input::Rekey => self.rekey_on_demand(now).map(|()| Handled::Done),
            Input::Select(selection) => self.select(now, selection).map(|()| Handled::Done),
        };
        handled.map_err(|error| self.fail(now, error))
    }
}
