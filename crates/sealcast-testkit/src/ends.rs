//! Two simulated ends.

use std::sync::Arc;
use std::time::Duration;

use sealcast_proto::clock::Now;
use sealcast_proto::keys::{
    HandshakeConfig, HelloKeys, Identity, Invite, Mechanism, PeerId, PresharedKey, Role, Side, Wish, ticket_mac,
};
use sealcast_proto::seal::suite;
use sealcast_proto::session::{Carrier, Delivery, Entry, RekeyPolicy, Session, SessionConfig};
use sealcast_proto::sim::{Direction, InsecureMechanism, LinkProfile, WORLD_ADDRESS, World};
use sealcast_proto::unit::{Codec, Unit};
use sealcast_proto::wire::RetryCookies;

/// The start time of every simulated world.
pub const START: Now = Now {
    monotonic: Duration::from_secs(100),
    wall: 1_700_000_000_000_000_000,
};

/// An identity derived from one byte.
pub fn identity(seed: u8) -> Arc<Identity> {
    Arc::new(Identity::from_seed(&[seed; 32]))
}

/// Configuration of the two ends.
pub struct Setup {
    /// The end that connects.
    pub viewer: SessionConfig,
    /// The end that answers.
    pub publisher: SessionConfig,
    /// One-way delay of messages.
    pub delay: Duration,
}

impl Default for Setup {
    /// A viewer that connects to a publisher whose identity it pins, over a stream.
    fn default() -> Self {
        let (viewer, publisher) = (identity(1), identity(2));
        let mechanism: Arc<dyn Mechanism> = Arc::new(InsecureMechanism::new(7));
        let hello_keys = hello_keys(publisher.peer_id(), Some(&Invite::new([9; 16])));
        let config = |role, identity, pinned, side| SessionConfig {
            handshake: HandshakeConfig {
                role,
                identity,
                suites: suite::RECOMMENDED.to_vec(),
                mechanisms: vec![Arc::clone(&mechanism)],
                pinned,
                hello_keys: Arc::clone(&hello_keys),
                wish: Wish::default(),
            },
            side,
            carrier: Carrier::Stream,
            rekey: RekeyPolicy::default(),
            delivery: Delivery::default(),
            unit: Unit::Frame,
            selection_seed: 1,
            shape: None,
            group: None,
        };
        let pinned = Some(publisher.peer_id());
        Self {
            viewer: config(Role::Viewer, viewer, pinned, Side::Initiator),
            publisher: config(Role::Publisher, publisher, None, Side::Responder),
            delay: Duration::from_millis(10),
        }
    }
}

/// The keys of hellos to `responder`, with this invite.
pub fn hello_keys(responder: PeerId, invite: Option<&Invite>) -> Arc<HelloKeys> {
    let psk = invite.map(PresharedKey::from_invite);
    Arc::new(HelloKeys::new(&responder, &psk))
}

impl Setup {
    /// The two ends, before the first message is delivered.
    pub fn world(self) -> World {
        let viewer = Session::initiate(self.viewer, [3; 32], START).expect("the configuration is complete");
        let publisher = Session::respond(self.publisher, [4; 32], START);
        World::new(viewer, publisher, self.delay, START)
    }

    /// The two ends over datagrams, on a link with this profile.
    pub fn datagrams(mut self, profile: &str, seed: u64) -> World {
        let profile: LinkProfile = profile.parse().expect("a profile");
        let publisher = self.publisher.handshake.identity.peer_id();
        let ticket = ticket_mac(&self.viewer.handshake.pinned.unwrap_or(publisher));
        let mut cookies = RetryCookies::new(ticket, [6; 32]);
        // The responder's cookie is of this secret alone.
        cookies.rotate([8; 32]);
        let connection = 0xC0FF_EE00;
        let random = [7; 16];
        self.viewer.carrier = Carrier::Datagrams(Entry::Knock { connection, random });
        let cookie = cookies.cookie(&WORLD_ADDRESS, connection);
        self.publisher.carrier = Carrier::Datagrams(Entry::Shown { connection, cookie });
        let viewer = Session::initiate(self.viewer, [3; 32], START).expect("the configuration is complete");
        let publisher = Session::respond(self.publisher, [4; 32], START);
        let mut world = World::over(viewer, publisher, &profile, seed, START);
        world.cookies = Some(cookies);
        world
    }

    /// The two ends after the handshake.
    pub fn established(self) -> World {
        let mut world = self.world();
        world.run_cleanly(Duration::from_millis(100));
        assert!(world.initiator.session.is_established() && world.responder.session.is_established());
        world
    }
}

/// Seals a frame at the publisher and puts its records on the link.
pub fn publish(world: &mut World, number: u64, keyframe: bool, data: &[u8]) {
    let mut out = Vec::new();
    let frame = sealcast_proto::session::OutgoingFrame {
        stream: 1,
        codec: Codec::H264,
        keyframe,
        preamble: sealcast_proto::unit::Preamble {
            frame: number,
            ..Default::default()
        },
        data,
    };
    let now = world.now;
    world
        .responder
        .session
        .seal_frame(now, &frame, &mut out)
        .expect("the key is good");
    for record in records(&out) {
        world.send(Direction::ToInitiator, record);
    }
}

/// Splits the output for a byte stream into messages.
pub fn records(mut stream: &[u8]) -> Vec<Vec<u8>> {
    let mut records = Vec::new();
    while let Some((prefix, rest)) = stream.split_first_chunk::<4>() {
        let (record, rest) = rest.split_at(u32::from_be_bytes(*prefix) as usize);
        records.push(record.to_vec());
        stream = rest;
    }
    records
}

/// True if the viewer seals under the publisher's epoch, or under the one before while the switch is in flight.
pub fn of_one_mind(world: &World) -> bool {
    let [viewer, publisher] = [&world.initiator, &world.responder].map(|end| end.session.epoch());
    viewer
        .zip(publisher)
        .is_some_and(|(viewer, publisher)| publisher - viewer <= 1)
}
