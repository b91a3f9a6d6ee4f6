//! The state machine: its state and its public interface. The behaviour is in the modules beside it: the handshake
//! phase, records, control messages, epochs, timers, media and closing.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use super::control_fragments::ControlFragments;
use super::data::DataPart;
use super::datagram_handshake::DatagramHandshake;
use super::farewell::Farewell;
use super::flow::{Inbound, InboundCounts, Outbound, OutboundCounts, packet_unit};
use super::group_channel::GroupChannel;
use super::group_view::{GroupStanding, GroupView, UnopenedGroup};
use super::keyframe_request::{KeyframeRequester, KeyframeResponder};
use super::keyring::KeyRing;
use super::liveness::Liveness;
use super::multicast_view::{MulticastOffer, MulticastView};
use super::path::{Elsewhere, PathValidation};
use super::rekey::{RekeyInitiator, RekeyResponder, Signer};
use super::selection::{Following, Selecting};
use super::shape::Shaped;
use super::{Carrier, Facts, Handled, Input, Output, QuicMedia, SessionConfig, SessionError};
use crate::clock::{ClockFilter, Now};
use crate::keys::{Identity, Initiator, Mechanism, PresharedKey, Responder, Role, Side};
use crate::rate::StreamPath;
use crate::seal::RefusalCounts;
use crate::unit::{Assembler, Cutter};
use crate::wire::{BASE_DATAGRAM, MAX_RECORD, MediaFrom};
use zeroize::Zeroizing;

/// State that exists once the handshake agreed on keys.
pub(super) struct Established {
    pub(super) ring: KeyRing,
    pub(super) facts: Facts,
    pub(super) mechanism: Arc<dyn Mechanism>,
    pub(super) enrolment: Option<PresharedKey>,
    /// Names the session in signatures.
    pub(super) binding: [u8; 32],
    /// Secret of this session from which the member keys of groups are derived.
    pub(super) exporter: Zeroizing<[u8; 32]>,
}

impl Established {
    /// Signer of the exchange of the next epoch.
    pub(super) fn signer<'a>(&'a self, identity: &'a Identity) -> Signer<'a> {
        Signer {
            identity,
            binding: &self.binding,
            epoch: self.ring.secret().number() + 1,
        }
    }
}

/// The states, in the order in which a session passes through them.
pub(super) enum State {
    Initiating(Box<Initiator>),
    Responding(Box<Responder>),
    /// Initiator: the finish is sent, the welcome is awaited.
    ExpectWelcome(Box<Established>),
    /// Responder: the program decides about admission.
    AwaitAdmission(Box<Established>),
    Established(Box<Established>),
    Over,
}

/// Frames that were carried to an archive's node so far, of each stream: their numbers say what is missing.
#[derive(Clone, Copy, Default)]
pub(super) struct Carried {
    pub(super) pictures: u64,
    pub(super) sounds: u64,
}

/// One peer, from the first hello to the last record. The module's documentation says how to drive it.
pub struct Session {
    pub(super) config: SessionConfig,
    pub(super) state: State,
    pub(super) out: VecDeque<Output>,
    pub(super) leader: RekeyInitiator,
    pub(super) follower: RekeyResponder,
    pub(super) selecting: Selecting,
    pub(super) following: Following,
    pub(super) asking_keyframe: KeyframeRequester,
    pub(super) keyframes_asked: KeyframeResponder,
    pub(super) cutter: Cutter,
    pub(super) began: Duration,
    pub(super) liveness: Liveness,
    pub(super) clock: ClockFilter,
    pub(super) refusals: RefusalCounts,
    pub(super) refusals_in_a_row: u32,
    /// On datagrams: sends and receives handshake messages.
    pub(super) datagram_handshake: Option<DatagramHandshake>,
    /// Publisher's half, where media may be lost.
    pub(super) outbound: Option<Outbound>,
    /// Viewer's half, where media may be lost.
    pub(super) inbound: Option<Inbound>,
    /// Publisher, on a byte stream: what its marks tell of the path, once one was made.
    pub(super) stream_path: Option<Box<StreamPath>>,
    /// Viewer, on a byte stream: assembles frames.
    pub(super) assembler: Option<Assembler>,
    pub(super) parts: ControlFragments,
    /// Data channels, if the session has any.
    pub(super) data: Option<Box<DataPart>>,
    pub(super) farewell: Option<Farewell>,
    /// Cells, if the session's records travel in cells.
    pub(super) shaped: Option<Box<Shaped>>,
    /// Responder, on datagrams: the welcome as it was sent, for sending again.
    pub(super) welcome: Option<Vec<u8>>,
    /// True if the message that is being processed is authentic and newer than all before it.
    pub(super) heard_newest: bool,
    /// Origin of the message that is being processed, if that is not the peer's known address.
    pub(super) elsewhere: Option<Elsewhere>,
    pub(super) path_validation: PathValidation,
    /// Publisher: the viewer is a member of the group, or was offered to be one.
    pub(super) group: Option<GroupStanding>,
    /// Publisher: the stream whose group the viewer joined, and where its frames come from.
    pub(super) joined: Option<(u16, MediaFrom)>,
    /// Publisher: what an archive's node was given.
    pub(super) carried: Carried,
    /// Messages of the group, where they may be lost.
    pub(super) group_channel: GroupChannel,
    /// Viewer: the group whose media it gets.
    pub(super) group_view: Option<Box<GroupView>>,
    /// Viewer: since when media is not shown for want of a certificate.
    pub(super) withheld_since: Option<Duration>,
    /// Viewer: the group whose frames the session does not open.
    pub(super) unopened: Option<UnopenedGroup>,
    /// Publisher: what the viewer hears of the multicast group.
    pub(super) multicast_offer: Option<MulticastOffer>,
    /// Viewer: the multicast group.
    pub(super) multicast_view: Option<MulticastView>,
}

impl Session {
    /// Open a session as the end that opened the connection. `random` are 32 fresh random bytes.
    ///
    /// # Errors
    /// [`SessionError::Handshake`] if the configuration offers nothing or pins nobody, or the library fails.
    pub fn initiate(config: SessionConfig, random: [u8; 32], now: Now) -> Result<Self, SessionError> {
        let (initiator, hello) = Initiator::new(config.handshake.clone(), random)?;
        let mut session = Self::new(config, State::Initiating(Box::new(initiator)), now);
        session.send_handshake(now, hello);
        Ok(session)
    }

    /// Await a session as the end that accepted the connection. `random` are 32 fresh random bytes.
    pub fn respond(config: SessionConfig, random: [u8; 32], now: Now) -> Self {
        let responder = Responder::new(config.handshake.clone(), random, Vec::new());
        Self::new(config, State::Responding(Box::new(responder)), now)
    }

    pub(super) fn new(mut config: SessionConfig, state: State, now: Now) -> Self {
        let (datagram_handshake, unordered) = match config.carrier {
            Carrier::Stream => (None, None),
            Carrier::Datagrams(entry) => {
                let mac = config.handshake.hello_keys.mac().clone();
                let handshake = DatagramHandshake::new(entry, mac, now.monotonic);
                (Some(handshake), Some(BASE_DATAGRAM))
            }
            Carrier::Quic(QuicMedia::Streams) => (None, Some(MAX_RECORD)),
            Carrier::Quic(QuicMedia::Datagrams(limit)) => (None, Some(limit)),
        };
        let connection = datagram_handshake.as_ref().map(DatagramHandshake::connection);
        let publishes = config.handshake.role == Role::Publisher;
        let flow = |wanted: bool| unordered.filter(|_| wanted);
        if unordered.is_some() {
            config.unit = packet_unit(config.unit);
        }
        let cutter = Cutter::new(config.unit, config.selection_seed);
        Self {
            outbound: flow(publishes).map(|limit| Outbound::new(connection, limit, config.delivery, now.monotonic)),
            inbound: flow(!publishes).map(|_| Inbound::new(&config.delivery, now.monotonic)),
            assembler: (!publishes && unordered.is_none()).then(|| Assembler::new(config.delivery.tell_units)),
            stream_path: None,
            datagram_handshake,
            parts: ControlFragments::default(),
            data: None,
            farewell: None,
            shaped: None,
            welcome: None,
            heard_newest: false,
            elsewhere: None,
            path_validation: PathValidation::default(),
            group: None,
            joined: None,
            carried: Carried::default(),
            group_channel: GroupChannel::default(),
            group_view: None,
            withheld_since: None,
            unopened: None,
            multicast_offer: None,
            multicast_view: None,
            config,
            state,
            out: VecDeque::new(),
            leader: RekeyInitiator::default(),
            follower: RekeyResponder::default(),
            selecting: Selecting::default(),
            following: Following::default(),
            asking_keyframe: KeyframeRequester::default(),
            keyframes_asked: KeyframeResponder::default(),
            cutter,
            began: now.monotonic,
            liveness: Liveness::new(now.monotonic, unordered.is_some()),
            clock: ClockFilter::default(),
            refusals: RefusalCounts::default(),
            refusals_in_a_row: 0,
        }
    }

    /// True if media may flow.
    pub fn is_established(&self) -> bool {
        matches!(self.state, State::Established(_))
    }

    /// True if the session has ended.
    pub fn is_over(&self) -> bool {
        matches!(self.state, State::Over)
    }

    /// Results of the handshake, once the session is established.
    pub fn facts(&self) -> Option<&Facts> {
        match &self.state {
            State::Established(established) => Some(&established.facts),
            _ => None,
        }
    }

    /// The number of the epoch under which records are sealed, once there are keys.
    pub fn epoch(&self) -> Option<u64> {
        match &self.state {
            State::Established(established) => Some(established.ring.current.number),
            _ => None,
        }
    }

    /// Counters of the media that was sent, where media may be lost.
    pub fn outbound_counts(&self) -> Option<OutboundCounts> {
        self.outbound.as_ref().map(Outbound::counts)
    }

    /// Counters of the media that was received, where media may be lost.
    pub fn inbound_counts(&self) -> Option<InboundCounts> {
        self.inbound.as_ref().map(|inbound| inbound.counts)
    }

    /// True if its carrier tells nothing of the peer's silence, so that the session may stall.
    pub fn may_stall(&self) -> bool {
        self.liveness.stalls()
    }

    /// True if messages may arrive in any order, or not at all.
    pub(super) fn unordered(&self) -> bool {
        self.config.carrier != Carrier::Stream
    }

    /// Records refused so far, by reason.
    pub fn refusals(&self) -> RefusalCounts {
        self.refusals
    }

    /// The side of the connection: initiator or responder.
    pub fn side(&self) -> Side {
        self.config.side
    }

    /// True if this end publishes. The publisher decides when a new epoch begins.
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

    /// The next output; see the module's documentation.
    pub fn poll(&mut self) -> Output {
        self.out.pop_front().unwrap_or_else(|| Output::Timeout(self.deadline()))
    }

    /// True if [`poll`](Self::poll) has more to return than a timeout.
    pub fn has_output(&self) -> bool {
        !self.out.is_empty()
    }

    /// Process an input; see the module's documentation.
    ///
    /// # Errors
    /// [`SessionError`]: the session is over.
    pub fn handle(&mut self, now: Now, input: Input<'_>) -> Result<Handled, SessionError> {
        self.heard_newest = false;
        let handled = match input {
            Input::Message(message) => self.handle_message(now, message),
            Input::MessageFrom(elsewhere, message) => self.handle_from(now, elsewhere, message),
            Input::PartOfMessage => {
                self.liveness.part_came(now.monotonic);
                Ok(Handled::Done)
            }
            Input::Timeout => {
                let handled = self.handle_timeout(now);
                handled.map(|()| self.take_forged().unwrap_or(Handled::Done))
            }
            Input::Admit => self.admit(now).map(|()| Handled::Done),
            Input::Close(reason, text) => {
                self.close(now, reason, text);
                Ok(Handled::Done)
            }
            Input::RequestKeyframe(stream) => self.request_keyframe(now, stream).map(|()| Handled::Done),
            Input::Orient(orientation) => self.orient(now, orientation).map(|()| Handled::Done),
            Input::StateBudget(budget) => self.state_budget(now, budget).map(|()| Handled::Done),
            Input::TellAddresses(addresses) => self.tell_addresses(now, addresses).map(|()| Handled::Done),
            Input::TellCamera(state) => self.tell_camera(now, state).map(|()| Handled::Done),
            Input::TellCameras(names) => self.tell_cameras(now, names).map(|()| Handled::Done),
            Input::Data(channels) => self.say_data(now, channels).map(|()| Handled::Done),
            Input::Datagram(channel, bytes) => self.send_datagram(now, channel, bytes).map(|()| Handled::Done),
            Input::Rekey => self.rekey_on_demand(now).map(|()| Handled::Done),
            Input::Select(selection) => self.select(now, selection).map(|()| Handled::Done),
            Input::Gateway(message) => self.tell_gateway(now, message).map(|()| Handled::Done),
            Input::Group(message) => self.tell_group(now, message).map(|()| Handled::Done),
            Input::JoinGroup(media) => self.join_unopened(now, media).map(|()| Handled::Done),
            Input::Challenge(random) => self.send_challenge(now, random).map(|()| Handled::Done),
            Input::ListensToMulticast(listens) => self.listens_to_multicast(now, listens).map(|()| Handled::Done),
            Input::Multicast(record) => self.multicast_came(now, record),
        };
        handled.map_err(|error| self.fail(now, error))
    }
}
