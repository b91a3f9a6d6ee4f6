//! Messages between two gateways on a session (protocol.md §9).

use super::machine::Session;
use super::{Event, Output, SessionError};
use crate::clock::Now;
use crate::rtsp::{GatewayMessage, MAX_GATEWAY_MESSAGE};
use crate::wire::Control;

impl Session {
    pub(super) fn tell_gateway(&mut self, now: Now, message: &[u8]) -> Result<(), SessionError> {
        if !self.is_established() || !(1..=MAX_GATEWAY_MESSAGE).contains(&message.len()) {
            return Err(SessionError::Misuse);
        }
        self.send_control(now, &Control::Gateway(message))?;
        // Packets of players travel as control messages, and so use up the control key.
        self.rekey_if_due(now)
    }

    pub(super) fn gateway_said(&mut self, message: &[u8]) -> Result<(), SessionError> {
        let message = GatewayMessage::parse(message).map_err(|_| SessionError::PeerMisbehaved)?;
        match message.is_of_viewer() {
            None => Ok(()),
            Some(of_viewer) if of_viewer == self.leads() => {
                self.out.push_back(Output::Event(Event::Gateway(message)));
                Ok(())
            }
            Some(_) => Err(SessionError::PeerMisbehaved),
        }
    }
}
