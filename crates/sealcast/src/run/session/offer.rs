//! The settings that an end uses in every handshake.

use std::sync::Arc;
use std::time::{Duration, Instant};

use sealcast_proto::keys::{
    HandshakeConfig, HelloKeys, Identity, Mechanism, PeerId, PresharedKey, PskName, Role, Side, Wish, WishedMedia,
};
use sealcast_proto::seal::Suite;
use sealcast_proto::session::{
    Carrier, Delivery, Fec, GroupPolicy, Mtu, OpenedBy, QuicMedia, RekeyPolicy, Session, SessionConfig,
};
use sealcast_proto::unit::Unit;
use sealcast_proto::wire::Ticket;

use super::observe::Observation;
use crate::failure::{Failure, FailureKind, Result};
use crate::file_lock::FileLock;
use crate::keys::peers::{KnownEnd, KnownPeers, Turn};
use crate::keys::{entropy, files};
use crate::run::media::delay_rate::{DelayBasedRate, Queues};
use crate::run::media::shape::Shape;
use crate::transport::Reach;

/// Longest wait for another program with the same identity that is being enrolled.
const ENROLMENT_PATIENCE: Duration = Duration::from_secs(10);
/// Interval of the looks whether it is.
const LOOK: Duration = Duration::from_millis(20);

/// A session's carrier, and the delivery of media on it.
#[derive(Clone, Copy)]
pub(crate) struct CarrierConfig {
    pub(crate) carrier: Carrier,
    pub(crate) delivery: Delivery,
}

impl CarrierConfig {
    /// The estimator of the path's capacity, if the session does not measure it.
    pub(crate) fn delay_rate(self) -> Option<DelayBasedRate> {
        let queues = match self.carrier {
            Carrier::Stream => Queues::OF_MARKS,
            Carrier::Quic(QuicMedia::Streams) => Queues::OF_QUIC,
            Carrier::Datagrams(_) | Carrier::Quic(QuicMedia::Datagrams(_)) => return None,
        };
        self.delivery.rate.map(|bounds| DelayBasedRate::new(bounds, queues))
    }

    /// The delivery without the functions that the carrier itself provides.
    fn suited_delivery(self) -> Delivery {
        match self.carrier {
            Carrier::Stream | Carrier::Datagrams(_) => self.delivery,
            // QUIC discovers the maximum packet size itself.
            Carrier::Quic(QuicMedia::Datagrams(_)) => Delivery {
                mtu: Mtu::Discover,
                ..self.delivery
            },
            Carrier::Quic(QuicMedia::Streams) => Delivery {
                fec: Fec::Off,
                nack: false,
                rate: None,
                mtu: Mtu::Discover,
                ..self.delivery
            },
        }
    }
}

/// The settings that each end uses in every handshake.
#[derive(Clone)]
pub struct Offer {
    /// This end's identity.
    pub identity: Arc<Identity>,
    /// Suites, best first.
    pub suites: Vec<Suite>,
    /// Mechanisms, best first.
    pub mechanisms: Vec<Arc<dyn Mechanism>>,
    /// Limits after which a new epoch begins.
    pub rekey: RekeyPolicy,
    /// Unit of sealing.
    pub unit: Unit,
    /// Seed of the random draws of a selection by rate; not a secret.
    pub selection_seed: u64,
    /// Shape of the traffic: what the sizes and times of the records show.
    pub shape: Shape,
    /// Store of the secrets of this end's enrolments, when it connects.
    pub known: KnownPeers,
    /// Which groups this end joins, when it watches.
    pub group: Option<GroupPolicy>,
    /// Wish of this end, when it watches.
    pub wish: Wish,
    /// True if somebody waits for this end, so that it ends when it is refused in the same way again and again.
    pub attended: bool,
}

/// A session of the connecting end.
pub(crate) struct Initiated {
    pub(crate) session: Session,
    /// Time taken to generate its key pair, and to write the first message.
    pub(crate) keygen: Duration,
    /// Knowledge of the other end.
    pub(crate) known: KnownEnd,
}

impl Offer {
    /// Joins the groups that `policy` says. Where the program opens their frames, they come another way than by the
    /// session, which then brings none.
    pub fn join_groups(&mut self, policy: GroupPolicy) {
        self.group = Some(policy);
        self.wish.media = match policy.opened_by {
            OpenedBy::Session => WishedMedia::Frames,
            OpenedBy::Program => WishedMedia::NothingYet,
        };
    }

    pub(crate) fn session(
        &self,
        role: Role,
        side: Side,
        pinned: Option<PeerId>,
        hello_keys: Arc<HelloKeys>,
        carrier_config: CarrierConfig,
    ) -> SessionConfig {
        SessionConfig {
            handshake: HandshakeConfig {
                role,
                identity: Arc::clone(&self.identity),
                suites: self.suites.clone(),
                mechanisms: self.mechanisms.clone(),
                pinned,
                hello_keys,
                wish: self.wish,
            },
            side,
            carrier: carrier_config.carrier,
            rekey: self.rekey,
            delivery: carrier_config.suited_delivery(),
            unit: self.unit,
            selection_seed: self.selection_seed,
            shape: self.shape.cells(),
            group: self.group,
        }
    }

    /// Wait while another program with this identity is being enrolled by the same ticket, and then be the one; nothing
    /// is returned if there is no need.
    async fn turn(&self, ticket: &Ticket) -> Option<FileLock> {
        let deadline = Instant::now() + ENROLMENT_PATIENCE;
        loop {
            match self.known.turn(ticket) {
                Turn::Own(turn) => return Some(turn),
                Turn::Others if Instant::now() < deadline => tokio::time::sleep(LOOK).await,
                Turn::Others | Turn::Unneeded => return None,
            }
        }
    }

    /// Returns true if an attempt, which proved this, was refused for its invite, and this identity has an enrolment of
    /// that end all the same: by the invite, if another program was enrolled meanwhile, or by an earlier one, which is
    /// proved from then on. Otherwise the failure says which other identity of this account has it.
    pub(crate) fn looks_again(&self, reach: &mut Reach, proved: Option<PskName>, failure: &mut Failure) -> bool {
        let ticket = reach.ticket();
        let invite = ticket
            .invite
            .as_ref()
            .map(|invite| PresharedKey::from_invite(invite).name());
        if failure.kind != FailureKind::Refused || invite.is_none() || proved != invite {
            return false;
        }
        if self.known.end_of(ticket).1.is_enrolled() {
            tracing::info!("{}: trying again by the enrolment that this identity has", failure.what);
            return true;
        }
        let mut without = ticket.clone();
        without.invite = None;
        if self.known.end_of(&without).1.is_enrolled() {
            let failed = &failure.what;
            tracing::info!("{failed}: trying again by the enrolment that this identity has of an earlier ticket");
            reach.leave_out_invite();
            return true;
        }
        if let Some(other) = self.known.enrolled_instead(ticket) {
            let whose = match files::file_of(&other) {
                Some(file) => format!("in {}", file.display()),
                None => format!("{other}"),
            };
            failure.hint = format!(
                "another program of this account, with the identity {whose}, was enrolled by the invite: ask for a \
                 ticket with a use for each"
            );
        }
        false
    }

    /// Create the session of the connecting end, which wishes that.
    pub(crate) async fn initiate(
        &self,
        (role, wish): (Role, Wish),
        ticket: &Ticket,
        carrier_config: CarrierConfig,
        observation: &Observation,
    ) -> Result<Initiated> {
        let turn = self.turn(ticket).await;
        let (psk, mut known) = self.known.end_of(ticket);
        known.hold(turn);
        let mut config = self.session(
            role,
            Side::Initiator,
            Some(ticket.peer),
            Arc::new(HelloKeys::new(&ticket.peer, &psk)),
            carrier_config,
        );
        config.handshake.wish = wish;
        let random = entropy::random()?;
        let began = Instant::now();
        let session = Session::initiate(config, random, observation.clock.now());
        let session = session.map_err(|error| {
            Failure::new(
                FailureKind::Internal,
                format!("the handshake cannot begin: {error}"),
                "please report this",
            )
        })?;
        Ok(Initiated {
            session,
            keygen: began.elapsed(),
            known,
        })
    }
}
