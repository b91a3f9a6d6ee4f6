//! What the fuzz targets share: two ends that can be repeated, byte for byte.

use std::sync::Arc;
use std::time::Duration;

use sealcast_proto::clock::Now;
use sealcast_proto::keys::{HandshakeConfig, Identity, Invite, Mechanism, Role, Side};
use sealcast_proto::seal::suite;
use sealcast_proto::session::{Carrier, RekeyPolicy, Session, SessionConfig};
use sealcast_proto::sim::InsecureMechanism;
use sealcast_proto::unit::{Permille, Selection, Unit};

/// Where both clocks stand at first.
pub const START: Now = Now {
    monotonic: Duration::from_secs(100),
    wall: 1_700_000_000_000_000_000,
};

/// Random fields of the two ends.
pub const RANDOM_INITIATOR: [u8; 32] = [3; 32];
/// See [`RANDOM_INITIATOR`].
pub const RANDOM_RESPONDER: [u8; 32] = [4; 32];

/// The two ends of a connection, configured to find together.
pub struct Ends {
    /// Opens the connection.
    pub initiator: SessionConfig,
    /// Accepts it.
    pub responder: SessionConfig,
}

impl Ends {
    /// An end that pins the other. `publishes` says whether the initiator is the publisher.
    pub fn new(publishes: bool, carrier: Carrier) -> Self {
        let (first, second) = (
            Arc::new(Identity::from_seed(&[1; 32])),
            Arc::new(Identity::from_seed(&[2; 32])),
        );
        let pinned = Some(second.peer_id());
        let role = if publishes { Role::Publisher } else { Role::Viewer };
        Self {
            initiator: config(role, first, Side::Initiator, carrier, pinned),
            responder: config(role.other(), second, Side::Responder, carrier, None),
        }
    }

    /// Both sessions, before their first message.
    pub fn sessions(&self) -> (Session, Session) {
        let initiator = Session::initiate(self.initiator.clone(), RANDOM_INITIATOR, START);
        let responder = Session::respond(self.responder.clone(), RANDOM_RESPONDER, START);
        (initiator.expect("the configuration is complete"), responder)
    }
}

fn config(
    role: Role,
    identity: Arc<Identity>,
    side: Side,
    carrier: Carrier,
    pinned: Option<sealcast_proto::keys::PeerId>,
) -> SessionConfig {
    let mechanism: Arc<dyn Mechanism> = Arc::new(InsecureMechanism::new(7));
    let handshake = HandshakeConfig {
        role,
        identity,
        suites: vec![suite::AEGIS_128X4, suite::AES_128_GCM],
        mechanisms: vec![mechanism],
        pinned,
        invite: Some(Invite::new([9; 16])),
    };
    // Few records and little time, so that rekeying happens within one input.
    let rekey = RekeyPolicy::new(16, Duration::from_secs(2)).expect("within the limits");
    SessionConfig {
        handshake,
        side,
        carrier,
        rekey,
        delivery: sealcast_proto::session::Delivery::default(),
        unit: Unit::Frame,
        selection_seed: 1,
    }
}

/// The selection that two bytes name.
pub fn selection(mode: u8, share: u8) -> Selection {
    match mode % 6 {
        0 => Selection::All,
        1 => Selection::None,
        2 => Selection::Rate(Permille::new(u16::from(share) * 3).expect("at most 765")),
        3 => Selection::Keyframes,
        4 => Selection::Headers,
        _ => Selection::HeadersAndKeyframes,
    }
}

/// The unit that a number names.
pub fn unit(number: u16) -> Unit {
    match number {
        0 => Unit::Frame,
        1 => Unit::Packet,
        bytes => Unit::Chunk(bytes),
    }
}

/// A change that a network can make to a message.
#[derive(Clone, Copy, Debug, arbitrary::Arbitrary)]
pub enum Edit {
    /// One byte becomes another.
    Flip {
        /// Where, counted round and round.
        at: u16,
        /// What it is combined with; 0 changes nothing.
        with: u8,
    },
    /// The end is missing.
    Cut(u16),
    /// Something stands in between.
    Insert {
        /// Where, counted round and round.
        at: u16,
        /// What.
        byte: u8,
    },
}

impl Edit {
    /// Make the change.
    pub fn apply(self, message: &mut Vec<u8>) {
        let place = |at: u16, length: usize| usize::from(at) % length.max(1);
        match self {
            Self::Flip { at, with } => {
                let at = place(at, message.len());
                if let Some(byte) = message.get_mut(at) {
                    *byte ^= with;
                }
            }
            Self::Cut(length) => message.truncate(place(length, message.len())),
            Self::Insert { at, byte } => message.insert(place(at, message.len() + 1), byte),
        }
    }
}
