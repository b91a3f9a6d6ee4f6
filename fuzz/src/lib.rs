//! Common parts of the fuzz targets: two ends whose behaviour is reproducible byte for byte.

mod alone;

pub use alone::{handshake, wait_until};

use std::sync::Arc;
use std::time::Duration;

use sealcast::media::Codec;
use sealcast::source::{annexb, mjpeg, obu};
use sealcast_proto::clock::Now;
use sealcast_proto::keys::{
    HandshakeConfig, HelloKeys, Identity, Invite, Mechanism, PresharedKey, Role, Side, Wish, ticket_mac,
};
use sealcast_proto::seal::{Nonce, OpenFailed, PacketKey, Suite, suite};
use sealcast_proto::session::{Carrier, Entry, RekeyPolicy, Session, SessionConfig};
use sealcast_proto::sim::{Direction, InsecureMechanism, LinkProfile, Verdict, WORLD_ADDRESS, World};
use sealcast_proto::unit::{Level, Permille, Selection, Unit};
use sealcast_proto::wire::{COOKIE_LEN, RetryCookies, TAG_LEN};

/// The start time of both clocks.
pub const START: Now = Now {
    monotonic: Duration::from_secs(100),
    wall: 1_700_000_000_000_000_000,
};

/// Random fields of the two ends.
pub const RANDOM_INITIATOR: [u8; 32] = [3; 32];
/// See [`RANDOM_INITIATOR`].
pub const RANDOM_RESPONDER: [u8; 32] = [4; 32];

/// The connection number of all sessions over datagrams.
pub const CONNECTION: u32 = 0xC0FF_EE00;

/// A suite that neither encrypts nor authenticates, so that every input reaches the code behind authentication.
pub const NULL: Suite = Suite {
    id: 250,
    name: "insecure-null",
    key_len: 16,
    block_limit: None,
    make_key: |_| Box::new(NullKey),
};

struct NullKey;

impl PacketKey for NullKey {
    fn seal(&self, _: Nonce, _: &[u8], _: &mut [u8]) -> [u8; TAG_LEN] {
        [0; TAG_LEN]
    }

    fn open(&self, _: Nonce, _: &[u8], _: &mut [u8]) -> Result<(), OpenFailed> {
        Ok(())
    }
}

/// The cookie generator of a responder, and the cookie that it issues.
pub fn cookies() -> (RetryCookies, [u8; COOKIE_LEN]) {
    let cookies = RetryCookies::new(ticket_mac(&responder().peer_id()), [6; 32]);
    let cookie = cookies.cookie(&WORLD_ADDRESS, CONNECTION);
    (cookies, cookie)
}

/// A fragment of a handshake message, as in a datagram.
pub fn fragment(cookie: &[u8; COOKIE_LEN], message: u8, index: u8, count: u8, part: &[u8]) -> Vec<u8> {
    let head = [message, index, count];
    [&CONNECTION.to_be_bytes()[..], &[0x06], cookie, &head, part].concat()
}

/// Bytes of a fragment before its part.
pub const FRAGMENT_HEADER: usize = 4 + 1 + COOKIE_LEN + 3;

/// The identity of every responder.
fn responder() -> Identity {
    Identity::from_seed(&[2; 32])
}

/// The two ends of a connection, with matching configurations.
pub struct Ends {
    /// Opens the connection.
    pub initiator: SessionConfig,
    /// Accepts it.
    pub responder: SessionConfig,
}

impl Ends {
    /// Two ends; the initiator pins the responder's identity. `publishes`: true if the initiator is the publisher.
    pub fn new(publishes: bool, carrier: Carrier) -> Self {
        let (first, second) = (Arc::new(Identity::from_seed(&[1; 32])), Arc::new(responder()));
        let pinned = Some(second.peer_id());
        let role = if publishes { Role::Publisher } else { Role::Viewer };
        Self {
            initiator: config(role, first, Side::Initiator, carrier, pinned),
            responder: config(role.other(), second, Side::Responder, carrier, None),
        }
    }

    /// As [`Ends::new`], over datagrams.
    pub fn on_datagrams(publishes: bool) -> Self {
        let (_, cookie) = cookies();
        let (connection, random) = (CONNECTION, [7; COOKIE_LEN]);
        let mut ends = Self::new(publishes, Carrier::Datagrams(Entry::Knock { connection, random }));
        ends.responder.carrier = Carrier::Datagrams(Entry::Shown { connection, cookie });
        ends
    }

    /// Both sessions on datagrams, over a link.
    pub fn world(&self, profile: &LinkProfile, seed: u64) -> World {
        let (initiator, responder) = self.sessions();
        let mut world = World::over(initiator, responder, profile, seed, START);
        world.cookies = Some(cookies().0);
        world
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
        hello_keys: Arc::new(HelloKeys::new(
            &responder().peer_id(),
            [&PresharedKey::from_invite(&Invite::new([9; 16]))],
        )),
        wish: Wish::default(),
    };
    // Small limits, so that rekeying happens within one input.
    let rekey = RekeyPolicy::new(16, Duration::from_secs(2)).expect("within the limits");
    SessionConfig {
        handshake,
        side,
        carrier,
        rekey,
        delivery: sealcast_proto::session::Delivery::default(),
        unit: Unit::Frame,
        selection_seed: 1,
        shape: None,
        group: None,
    }
}

/// The selection for two bytes of input.
pub fn selection(mode: u8, share: u8) -> Selection {
    match mode % 7 {
        0 => Selection::All,
        1 => Selection::None,
        2 => Selection::Rate(Permille::new(u16::from(share) * 3).expect("at most 765")),
        3 => Selection::Keyframes,
        4 => Selection::Headers,
        5 => Selection::HeadersAndKeyframes,
        _ => Selection::Level(Level::ALL[usize::from(share % 4)]),
    }
}

/// The unit for a number of the input.
pub fn unit(number: u16) -> Unit {
    match number {
        0 => Unit::Frame,
        1 => Unit::Packet,
        bytes => Unit::Chunk(bytes),
    }
}

/// The frames of a stream as a file holds it; all of it as one frame if it cannot be split.
pub fn frames(codec: Codec, stream: &[u8]) -> Vec<Vec<u8>> {
    let split = match codec {
        Codec::H264 => annexb::split_access_units(stream),
        Codec::Mjpeg => mjpeg::split_images(stream),
        Codec::H265 => annexb::split_h265_units(stream),
        Codec::Av1 => obu::split_temporal_units(stream),
    };
    let whole = || vec![stream.to_vec()];
    split.map_or_else(
        |_| whole(),
        |frames| frames.iter().map(|frame| frame.to_vec()).collect(),
    )
}

/// The network's action on a message.
#[derive(Clone, Copy, Debug, arbitrary::Arbitrary)]
pub enum Act {
    /// It arrives.
    Pass,
    /// It is lost.
    Drop,
    /// It arrives twice.
    Repeat,
    /// It arrives, changed.
    Edit(Edit),
}

/// A judge that delivers `peace` messages, then applies `acts`, then delivers everything.
pub fn judge(peace: u32, acts: Vec<Act>) -> impl FnMut(Direction, &mut Vec<u8>) -> Verdict {
    let mut passed = 0_u32;
    let mut acts = acts.into_iter();
    move |_: Direction, message: &mut Vec<u8>| {
        passed += 1;
        if passed <= peace {
            return Verdict::Deliver;
        }
        match acts.next() {
            None | Some(Act::Pass) => Verdict::Deliver,
            Some(Act::Drop) => Verdict::Drop,
            Some(Act::Repeat) => Verdict::Duplicate,
            Some(Act::Edit(edit)) => {
                edit.apply(message);
                Verdict::Deliver
            }
        }
    }
}

/// A change to a message.
#[derive(Clone, Copy, Debug, arbitrary::Arbitrary)]
pub enum Edit {
    /// XORs one byte.
    Flip {
        /// Its position, modulo the length.
        at: u16,
        /// The value to XOR; 0 changes nothing.
        with: u8,
    },
    /// Truncates the message.
    Cut(u16),
    /// Inserts a byte.
    Insert {
        /// Its position, modulo the length.
        at: u16,
        /// Its value.
        byte: u8,
    },
}

impl Edit {
    /// Applies the change.
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
