//! Timeouts of a session.

use std::time::Duration;

use super::datagram_handshake::DatagramHandshake;
use super::liveness::Silence;
use super::machine::{Session, State};
use super::{Event, HANDSHAKE_TIMEOUT, Output, SessionError};
use crate::clock::Now;
use crate::keys::HandshakeError;
use crate::wire::Control;

impl Session {
    pub(super) fn handle_timeout(&mut self, now: Now) -> Result<(), SessionError> {
        match &mut self.state {
            State::Over => {
                self.repeat_farewell(now);
                return Ok(());
            }
            State::Established(established) => established.ring.retire(now.monotonic),
            _ => return self.handshake_timeout(now),
        }
        match self.liveness.silence(now.monotonic) {
            Some(Silence::Lost) => return Err(SessionError::PeerLost),
            Some(Silence::Stalled) => self.stalled(),
            None => {}
        }
        self.flow_timeout(now)?;
        if self.age(now) >= self.config.rekey.hard_age() {
            return Err(SessionError::KeyLimit);
        }
        if let Some(offer) = self.leader.repeat_offer(now.monotonic) {
            self.send_control_bytes(now, &offer)?;
        }
        self.repeat_selection(now)?;
        self.repeat_keyframe_request(now)?;
        self.switch_if_due(now, false);
        self.rekey_if_due(now)?;
        if self.liveness.take_ping(now) {
            self.send_control(now, &Control::Ping { t1: now.wall })?;
            let stalled = self.liveness.is_stalled();
            let handshake = self.datagram_handshake.as_mut().filter(|_| stalled);
            let knock = handshake.and_then(DatagramHandshake::ask);
            self.out.extend(knock.map(Output::Transmit));
        }
        self.repeat_group(now)?;
        self.repeat_join(now)?;
        self.multicast_timeout(now)?;
        self.challenge_if_due(now);
        self.data_timeout(now)?;
        // Last, so that all the above is in these cells.
        self.send_cells(now)
    }

    fn handshake_timeout(&mut self, now: Now) -> Result<(), SessionError> {
        let doubt = self
            .datagram_handshake
            .as_ref()
            .and_then(|datagram_handshake| datagram_handshake.failed(now.monotonic));
        if let Some(reason) = doubt {
            return Err(reason.into());
        }
        if now.monotonic >= self.began + HANDSHAKE_TIMEOUT {
            let late = self.datagram_handshake.as_ref().map(DatagramHandshake::late);
            return Err(late.unwrap_or(HandshakeError::Timeout).into());
        }
        let agreed = !matches!(self.state, State::Initiating(_));
        let again = self
            .datagram_handshake
            .as_mut()
            .map(|datagram_handshake| datagram_handshake.again(now.monotonic, agreed));
        self.transmit_all(again.unwrap_or_default());
        Ok(())
    }

    fn stalled(&mut self) {
        if let Some(outbound) = &mut self.outbound {
            outbound.drop_unsent();
        }
        self.out.push_back(Output::Event(Event::Stalled));
    }

    /// Time of the next [`Input::Timeout`](super::Input::Timeout), as [`poll`](Self::poll) returns it once it is
    /// drained; [`Duration::MAX`] for never. Always later than a timeout that has just been handled.
    pub fn deadline(&self) -> Duration {
        let State::Established(established) = &self.state else {
            return if self.is_over() {
                self.farewell.as_ref().map_or(Duration::MAX, |farewell| farewell.next)
            } else {
                let datagram_handshake = self
                    .datagram_handshake
                    .as_ref()
                    .map_or(Duration::MAX, |datagram_handshake| datagram_handshake.deadline());
                datagram_handshake.min(self.began + HANDSHAKE_TIMEOUT)
            };
        };
        let hard = established.ring.since + self.config.rekey.hard_age();
        let retirement = established.ring.retirement().unwrap_or(Duration::MAX);
        let rekey = self.rekey_deadline();
        let asking = self.asking_keyframe.deadline();
        let flow = self.flow_deadline().min(self.selection_deadline()).min(asking);
        let group = self.group_deadline().min(self.group_channel_deadline());
        let group = group.min(self.multicast_deadline()).min(self.data_deadline());
        let flow = flow.min(self.shape_deadline()).min(group);
        self.liveness.deadline().min(rekey).min(hard).min(retirement).min(flow)
    }
}
