//! Control messages, both ways (protocol.md §4).

use std::time::Duration;

use super::datagram_handshake::DatagramHandshake;
use super::delivery::MAX_BUDGET;
use super::machine::{Session, State};
use super::rekey::RekeyCause;
use super::{Event, Output, SessionError};
use crate::clock::{Exchange, Now};
use crate::keys::Side;
use crate::seal::{Exhausted, RecordMeta};
use crate::unit::Selection;
use crate::wire::datagram::datagram;
use crate::wire::{Address, Addresses, CameraName, CameraState, Control, Flags, MAX_CAMERAS, MAX_STREAM, Orientation};
use crate::words;

/// Length of the header before the bytes of a part.
const PART_HEADER: usize = 5;

impl Session {
    pub(super) fn handle_control(&mut self, now: Now, payload: &[u8]) -> Result<(), SessionError> {
        match Control::parse(payload).map_err(|_| SessionError::PeerMisbehaved)? {
            Control::Close { reason, text } => {
                let text = words::plain(text);
                self.out.push_back(Output::Event(Event::Closed { reason, text }));
                self.state = State::Over;
                Ok(())
            }
            Control::Welcome => self.welcomed(now),
            // It overtook the welcome, and is repeated if it matters.
            _ if !self.is_established() && self.unordered() => Ok(()),
            _ if !self.is_established() => Err(SessionError::PeerMisbehaved),
            Control::Ping { t1 } => {
                let (t2, t3) = (now.wall, now.wall);
                self.send_control(now, &Control::Pong { t1, t2, t3 })?;
                // Endless pings would use up this end's control key.
                self.rekey_if_due(now)
            }
            Control::Pong { t1, .. } if self.mark_answered(now, t1) => Ok(()),
            Control::Pong { t1, t2, t3 } => {
                self.ponged(Exchange {
                    sent: t1,
                    peer_received: t2,
                    peer_sent: t3,
                    received: now.wall,
                });
                Ok(())
            }
            Control::Unknown => Ok(()),
            Control::Part {
                message,
                index,
                count,
                bytes,
            } => match self.parts.take(message, index, count, bytes) {
                Some(whole) if whole.first() != Some(&PART) => self.handle_control(now, &whole),
                Some(_) => Err(SessionError::PeerMisbehaved),
                None => Ok(()),
            },
            Control::Gateway(message) => self.gateway_said(message),
            Control::Data(channels) => self.data_told(channels),
            Control::Group(message) => self.group_said(now, message),
            Control::PathChallenge { token } if self.config.side == Side::Initiator => {
                self.send_control(now, &Control::PathResponse { token })
            }
            Control::PathResponse { token } if self.config.side == Side::Responder => {
                self.path_answered(now, &token);
                Ok(())
            }
            Control::PathChallenge { .. } | Control::PathResponse { .. } => Err(SessionError::PeerMisbehaved),
            message if self.leads() => self.handle_of_viewer(now, payload, &message),
            Control::RekeyOffer {
                epoch,
                mechanism,
                share,
                ..
            } => self.rekey_offered(now, payload, epoch, mechanism, share),
            Control::Shape { publisher, viewer } => self.shape_announced(now, [publisher, viewer]),
            Control::Probe { token, .. } => self.send_control(now, &Control::ProbeAck { token }),
            Control::Selection { number, selection } => self.selection_told(now, number, selection),
            Control::Orientation(orientation) => self.tell(Event::Oriented(orientation)),
            Control::Camera(CameraState { on, since, why }) => {
                let why = words::plain(why);
                self.tell(Event::CameraTold { on, since, why })
            }
            Control::Cameras(names) => self.tell(Event::CamerasTold(names)),
            Control::Addresses(addresses) => self.addresses_told(addresses),
            _ => Err(SessionError::PeerMisbehaved),
        }
    }

    /// The peer can be reached at these addresses.
    fn addresses_told(&mut self, addresses: Addresses<'_>) -> Result<(), SessionError> {
        let addresses = addresses.understood();
        if addresses.len() > 1 {
            self.liveness.known_elsewhere();
        }
        self.tell(Event::AddressesTold(addresses))
    }

    /// Passes what the peer said on to the program.
    fn tell(&mut self, event: Event) -> Result<(), SessionError> {
        self.out.push_back(Output::Event(event));
        Ok(())
    }

    /// Publisher: process the messages that only a viewer sends.
    fn handle_of_viewer(&mut self, now: Now, payload: &[u8], message: &Control<'_>) -> Result<(), SessionError> {
        match *message {
            Control::KeyframeRequest { stream } => {
                // On a stream every request counts, since none is a repetition.
                if !self.says_twice() || self.keyframes_asked.is_new(now.monotonic, stream, self.round_trip()) {
                    self.out.push_back(Output::Event(Event::KeyframeRequested(stream)));
                }
                Ok(())
            }
            Control::RekeyRequest if self.leader.allow_request(now.monotonic) => {
                self.begin_rekey(now, RekeyCause::Demand)
            }
            Control::RekeyRequest => Ok(()),
            Control::Nack(numbers) => {
                self.outbound
                    .as_mut()
                    .ok_or(SessionError::PeerMisbehaved)?
                    .asked(numbers);
                Ok(())
            }
            Control::Feedback(feedback) => self.feedback_came(now, &feedback),
            Control::ProbeAck { token } => self.probe_acknowledged(now, token),
            Control::RekeyAnswer { epoch, ciphertext, .. } => self.rekey_answered(now, payload, epoch, ciphertext),
            Control::SelectionAck { number } => {
                self.selection_acknowledged(number);
                Ok(())
            }
            Control::Budget { milliseconds } if !self.unordered() => {
                let budget = Duration::from_millis(milliseconds.into());
                self.out.push_back(Output::Event(Event::BudgetStated(budget)));
                Ok(())
            }
            _ => Err(SessionError::PeerMisbehaved),
        }
    }

    /// A pong came. It counts if it answers a ping, once.
    fn ponged(&mut self, exchange: Exchange) {
        if !self.liveness.take_pong(exchange.sent) {
            return;
        }
        self.clock.sample(exchange);
        let estimate = self.clock.estimate();
        self.out
            .extend(estimate.map(|clock| Output::Event(Event::Clock(clock))));
    }

    /// Viewer: ask for a keyframe.
    pub(super) fn request_keyframe(&mut self, now: Now, stream: u32) -> Result<(), SessionError> {
        if !self.is_established() || self.leads() || !(1..=MAX_STREAM).contains(&stream) {
            return Err(SessionError::Misuse);
        }
        if self.says_twice() {
            let round_trip = self.round_trip();
            self.asking_keyframe.asked(now.monotonic, stream, round_trip);
        }
        self.send_control(now, &Control::KeyframeRequest { stream })
    }

    /// Viewer on a byte stream: say how long media may wait.
    pub(super) fn state_budget(&mut self, now: Now, budget: Duration) -> Result<(), SessionError> {
        if !self.is_established() || self.leads() || self.unordered() || budget > MAX_BUDGET {
            return Err(SessionError::Misuse);
        }
        let milliseconds = u16::try_from(budget.as_millis()).map_err(|_| SessionError::Misuse)?;
        self.send_control(now, &Control::Budget { milliseconds })
    }

    /// Publisher: say how pictures are turned before they are shown.
    pub(super) fn orient(&mut self, now: Now, orientation: Orientation) -> Result<(), SessionError> {
        if !self.is_established() || !self.leads() {
            return Err(SessionError::Misuse);
        }
        self.send_control(now, &Control::Orientation(orientation))
    }

    /// Publisher: say whether the camera gives pictures.
    pub(super) fn tell_camera(&mut self, now: Now, state: CameraState<'_>) -> Result<(), SessionError> {
        if !self.is_established() || !self.leads() {
            return Err(SessionError::Misuse);
        }
        self.send_control(now, &Control::Camera(state))?;
        self.rekey_if_due(now)
    }

    /// Publisher: tell the names of the cameras that the viewer may watch.
    pub(super) fn tell_cameras(&mut self, now: Now, names: Vec<CameraName>) -> Result<(), SessionError> {
        if !self.is_established() || !self.leads() || !(1..=MAX_CAMERAS).contains(&names.len()) {
            return Err(SessionError::Misuse);
        }
        self.send_control(now, &Control::Cameras(names))?;
        self.rekey_if_due(now)
    }

    /// Publisher: say where it can be reached.
    pub(super) fn tell_addresses(&mut self, now: Now, addresses: &[Address]) -> Result<(), SessionError> {
        if !self.is_established() || !self.leads() {
            return Err(SessionError::Misuse);
        }
        let texts: Vec<String> = addresses.iter().map(Address::to_string).collect();
        let addresses = Addresses::new(texts.iter().map(String::as_bytes));
        self.send_control(now, &Control::Addresses(addresses))?;
        self.rekey_if_due(now)
    }

    /// Viewer: repeat the keyframe request if that is due.
    pub(super) fn repeat_keyframe_request(&mut self, now: Now) -> Result<(), SessionError> {
        match self.asking_keyframe.take(now.monotonic) {
            Some(stream) => self.send_control(now, &Control::KeyframeRequest { stream }),
            None => Ok(()),
        }
    }

    /// True if control messages may be lost and are therefore repeated.
    pub(super) fn says_twice(&self) -> bool {
        self.datagram_handshake.is_some()
    }

    pub(super) fn send_control(&mut self, now: Now, message: &Control<'_>) -> Result<(), SessionError> {
        self.send_control_bytes(now, &message.to_bytes())
    }

    pub(super) fn send_control_bytes(&mut self, now: Now, payload: &[u8]) -> Result<(), SessionError> {
        let probe = payload.first() == Some(&PROBE);
        if self.says_twice() && payload.len() > self.longest_control() && !probe {
            return self.send_parts(now, payload);
        }
        let record = self.seal_control(now, payload)?;
        match self.writer_mut() {
            Some(writer) => writer.push_control(record),
            None => self.out.push_back(Output::Transmit(record)),
        }
        Ok(())
    }

    /// Seal a control message as one record, which is ready to be sent by itself, or in a cell if this end sends cells.
    pub(super) fn seal_control(&mut self, now: Now, payload: &[u8]) -> Result<Vec<u8>, SessionError> {
        let alone = self.datagram_handshake.as_ref().filter(|_| !self.is_shaped());
        let connection = alone.map(DatagramHandshake::connection);
        let established = self.keys().ok_or(SessionError::Misuse)?;
        let meta = RecordMeta {
            flags: Flags::CONTROL,
            stream: 0,
            timestamp: now.wall,
        };
        let mut record = connection.map_or_else(Vec::new, |connection| datagram(connection, payload.len()));
        let sealer = &mut established.ring.current.control_sealer;
        let sealed = sealer.seal(meta, &[payload], &mut record);
        sealed.map_err(|Exhausted| SessionError::KeyLimit)?;
        Ok(record)
    }

    /// Send a message in parts.
    pub(super) fn send_parts(&mut self, now: Now, payload: &[u8]) -> Result<(), SessionError> {
        let message = self.parts.sent;
        self.parts.sent = message.wrapping_add(1);
        let count = payload.len().div_ceil(self.longest_control() - PART_HEADER);
        let parts = payload.chunks(payload.len().div_ceil(count));
        for (index, bytes) in (0_u8..).zip(parts) {
            let count = count as u8;
            self.send_control(
                now,
                &Control::Part {
                    message,
                    index,
                    count,
                    bytes,
                },
            )?;
        }
        Ok(())
    }

    /// The selection that frames are sealed by now (publisher), or the newest one that the publisher announced
    /// (viewer).
    pub fn selection(&self) -> Selection {
        if self.leads() {
            self.selecting.in_force()
        } else {
            self.following.selection
        }
    }

    /// Publisher: change the selection. One that leaves something in clear takes effect when the viewer has
    /// acknowledged it; encrypting everything takes effect at once.
    pub(super) fn select(&mut self, now: Now, selection: Selection) -> Result<(), SessionError> {
        if !self.is_established() || !self.leads() || !self.shape_permits(selection) {
            return Err(SessionError::Misuse);
        }
        if self.selecting.wanted() == selection {
            return Ok(());
        }
        let before = self.selecting.in_force();
        let message = self.selecting.begin(now.monotonic, selection);
        if before != Selection::All {
            self.selection_changed(Selection::All);
        }
        // Once all numbers are used up, everything stays encrypted.
        message.map_or(Ok(()), |message| self.send_control(now, &message))
    }

    /// Publisher: announce the selection again if its acknowledgement is overdue.
    pub(super) fn repeat_selection(&mut self, now: Now) -> Result<(), SessionError> {
        match self.selecting.repeat(now.monotonic) {
            Some(message) => self.send_control(now, &message),
            None => Ok(()),
        }
    }

    /// Time at which [`repeat_selection`](Self::repeat_selection) is due next.
    pub(super) fn selection_deadline(&self) -> Duration {
        self.selecting.deadline()
    }

    /// Publisher: process an acknowledgement. One of an older selection, or of none, is ignored.
    pub(super) fn selection_acknowledged(&mut self, number: u16) {
        if let Some(selection) = self.selecting.acknowledged(number) {
            self.selection_changed(selection);
        }
    }

    /// Viewer: process the selection that the publisher announced.
    pub(super) fn selection_told(&mut self, now: Now, number: u16, selection: Selection) -> Result<(), SessionError> {
        let (acknowledge, news) = self.following.told(now.monotonic, number, selection)?;
        if news {
            self.selection_changed(selection);
        }
        if acknowledge {
            self.send_control(now, &Control::SelectionAck { number })?;
            // Endless announcements would use up this end's control key.
            self.rekey_if_due(now)?;
        }
        Ok(())
    }

    fn selection_changed(&mut self, selection: Selection) {
        self.out.push_back(Output::Event(Event::Selection(selection)));
    }
}

/// Message type of a probe, which is long on purpose.
const PROBE: u8 = 14;
/// Message type of a part of a longer control message.
const PART: u8 = 11;
