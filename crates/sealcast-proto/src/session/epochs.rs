//! Rekeying: when to begin a new epoch, and the messages that agree on it (protocol.md §4, Rekeying).

use std::time::Duration;

use super::machine::{Session, State};
use super::rekey::RekeyCause;
use super::{Carrier, Event, Output, RekeyPolicy, SessionError};
use crate::clock::Now;
use crate::keys::HandshakeError;
use crate::wire::Control;

/// Time past the soft age after which a viewer asks for a new epoch, if the publisher has not begun one.
const VIEWER_PATIENCE: Duration = Duration::from_secs(10);

impl Session {
    /// Begin a new epoch for the program, or ask the publisher for one. If one is under way already, it serves as well.
    pub(super) fn rekey_on_demand(&mut self, now: Now) -> Result<(), SessionError> {
        if !self.is_established() {
            Err(SessionError::Misuse)
        } else if !self.leads() {
            self.send_control(now, &Control::RekeyRequest)
        } else if self.leader.idle() {
            self.begin_rekey(now, RekeyCause::Demand)
        } else {
            Ok(())
        }
    }

    /// Begin a new epoch, or ask for one, if a soft limit is reached.
    pub(super) fn rekey_if_due(&mut self, now: Now) -> Result<(), SessionError> {
        let State::Established(established) = &self.state else {
            return Ok(());
        };
        let (policy, ring) = (&self.config.rekey, &established.ring);
        let age = self.age(now);
        let used = ring.current.sealed() >= policy.soft_records()
            || RekeyPolicy::cells_used_up(ring.current.cell_sealer.sealed());
        if !self.leads() {
            let due = age >= policy.soft_age() + VIEWER_PATIENCE || used;
            if due && !ring.has_next() && self.follower.may_ask(now.monotonic) {
                return self.send_control(now, &Control::RekeyRequest);
            }
        } else if self.leader.idle() {
            if used {
                return self.begin_rekey(now, RekeyCause::Count);
            } else if age >= policy.offer_age() {
                return self.begin_rekey(now, RekeyCause::Time);
            }
        }
        Ok(())
    }

    /// Viewer: ask for a new epoch, because a record of an unknown epoch arrived. The record may be forged, but a
    /// request costs little.
    pub(super) fn ask_for_epoch(&mut self, now: Now) -> Result<(), SessionError> {
        if self.is_established() && !self.leads() && self.follower.may_ask(now.monotonic) {
            self.send_control(now, &Control::RekeyRequest)?;
        }
        Ok(())
    }

    /// Publisher: seal under the agreed epoch from here on, if this is the right place. The best place is a keyframe;
    /// from halfway between the soft and the hard limit on there is no time left to wait for one.
    pub(super) fn switch_if_due(&mut self, now: Now, keyframe: bool) {
        let State::Established(established) = &self.state else {
            return;
        };
        let pressed = established.ring.current.sealed() >= self.config.rekey.pressing_records();
        if self.leader.should_switch(now.monotonic, keyframe || pressed) {
            self.switch_epoch(now);
        }
    }

    pub(super) fn begin_rekey(&mut self, now: Now, cause: RekeyCause) -> Result<(), SessionError> {
        let State::Established(established) = &self.state else {
            return Err(SessionError::Misuse);
        };
        let mechanism = &*established.mechanism;
        let signer = established.signer(&self.config.handshake.identity);
        let offer = self
            .leader
            .offer(now.monotonic, &signer, mechanism, cause)
            .map_err(HandshakeError::from)?;
        self.send_control_bytes(now, &offer)
    }

    /// Viewer: the publisher proposes the next epoch.
    pub(super) fn rekey_offered(
        &mut self,
        now: Now,
        offer: &[u8],
        epoch: u16,
        mechanism: u8,
        share: &[u8],
    ) -> Result<(), SessionError> {
        if let Some(answer) = self.follower.repeated(offer) {
            return self.send_control_bytes(now, &answer);
        }
        let State::Established(established) = &mut self.state else {
            return Err(SessionError::Misuse);
        };
        let expected = established.ring.next_wire_number();
        if self.config.carrier != Carrier::Stream && expected.wrapping_sub(epoch).wrapping_sub(1) < 1 << 15 {
            // A repeated offer that arrived after the switch to the epoch it offered.
            return Ok(());
        }
        if epoch != expected || mechanism != established.mechanism.id() || established.ring.has_next() {
            return Err(SessionError::PeerMisbehaved);
        }
        let signer = established.signer(&self.config.handshake.identity);
        if !signer.about(None).verifies(&established.facts.peer.id, offer) {
            return Err(SessionError::PeerMisbehaved);
        }
        let (current, mechanism) = (established.ring.secret(), &*established.mechanism);
        let agreed = self.follower.answer(current, &signer, offer, mechanism, share);
        let (answer, next) = agreed.map_err(HandshakeError::from)?;
        established.ring.install_next(next);
        self.send_control_bytes(now, &answer)
    }

    /// Publisher: the viewer answered the offer, so it has installed the next epoch's openers.
    pub(super) fn rekey_answered(
        &mut self,
        now: Now,
        answer: &[u8],
        epoch: u16,
        ciphertext: &[u8],
    ) -> Result<(), SessionError> {
        let State::Established(established) = &mut self.state else {
            return Err(SessionError::Misuse);
        };
        let offered = self
            .leader
            .offered()
            .filter(|_| epoch == established.ring.next_wire_number());
        let Some(offer) = offered else {
            // An offer that was sent twice is answered twice.
            return Ok(());
        };
        let signer = established.signer(&self.config.handshake.identity);
        if !signer.about(Some(offer)).verifies(&established.facts.peer.id, answer) {
            return Err(SessionError::PeerMisbehaved);
        }
        let (policy, ring) = (&self.config.rekey, &established.ring);
        let last_part = ring.since + policy.switch_age()..ring.since + policy.soft_age();
        let next = self
            .leader
            .answered(now.monotonic, last_part, ring.secret(), answer, ciphertext);
        let next = next.ok_or(SessionError::Misuse)?.map_err(HandshakeError::from)?;
        established.ring.install_next(next);
        Ok(())
    }

    pub(super) fn switch_epoch(&mut self, now: Now) {
        let State::Established(established) = &mut self.state else {
            return;
        };
        if let Some(epoch) = established.ring.switch(now.monotonic) {
            let cause = self.leader.switched();
            self.out.push_back(Output::Event(Event::Rekeyed { epoch, cause }));
        }
    }

    /// Time for which records have been sealed under the current epoch.
    pub(super) fn age(&self, now: Now) -> Duration {
        match &self.state {
            State::Established(established) => now.monotonic.saturating_sub(established.ring.since),
            _ => Duration::ZERO,
        }
    }

    /// Time at which the current epoch must be checked next. It is never a time that
    /// [`rekey_if_due`](Self::rekey_if_due) and [`switch_if_due`](Self::switch_if_due) have already handled.
    pub(super) fn rekey_deadline(&self) -> Duration {
        let State::Established(established) = &self.state else {
            return Duration::MAX;
        };
        let (policy, since) = (&self.config.rekey, established.ring.since);
        if self.leads() {
            return self.leader.deadline().unwrap_or(since + policy.offer_age());
        }
        if established.ring.has_next() {
            return Duration::MAX;
        }
        (since + policy.soft_age() + VIEWER_PATIENCE).max(self.follower.may_ask_at())
    }
}
