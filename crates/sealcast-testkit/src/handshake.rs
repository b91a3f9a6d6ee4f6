//! The structures of `vectors/handshake.json`, and functions that drive one end through a recorded case.

use std::collections::BTreeMap;
use std::sync::Arc;

use sealcast_proto::keys::{
    HandshakeConfig, HandshakeError, HelloKeys, Identity, Initiator, InitiatorStep, Invite, Mechanism, Peer, PeerId,
    PresharedKey, Responder, ResponderStep, Role, Wish, WishedMedia,
};
use sealcast_proto::seal::Suite;
use sealcast_proto::seal::suite::{AES_128_GCM, RECOMMENDED};
use sealcast_proto::wire::CameraName;
use serde::Deserialize;

use crate::vectors::Hex;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    pub configs: BTreeMap<String, Config>,
    pub transcripts: Vec<Transcript>,
    pub refused: Vec<Refused>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    pub role: u8,
    pub wish: Hex,
    pub identity_seed: Hex,
    pub peer_id: Hex,
    pub psks: Vec<Psk>,
    pub suites: Vec<u8>,
    pub mechanisms: Vec<u8>,
    pub random: Hex,
    pub pinned_peer: Option<Hex>,
    pub share_mechanism: Option<u8>,
    pub cookie: Option<Hex>,
}

/// A pre-shared key that an end knows.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Psk {
    Invite(Hex),
    Enrolment(Hex),
}

impl Psk {
    /// The key.
    pub fn key(&self) -> PresharedKey {
        match self {
            Self::Invite(invite) => PresharedKey::from_invite(&Invite::new(invite.array())),
            Self::Enrolment(key) => PresharedKey::new(key.array()),
        }
    }
}

/// A key pair of the initiator; `secrets` are named as in vectors/README.md.
#[derive(Clone, Deserialize)]
pub struct KeyPair {
    pub hello: u8,
    pub mechanism: u8,
    pub share: Hex,
    #[serde(flatten)]
    pub secrets: BTreeMap<String, Hex>,
}

/// A mechanism's result at the responder; `secrets` as in [`KeyPair`].
#[derive(Clone, Deserialize)]
pub struct Encapsulation {
    pub ciphertext: Hex,
    pub ss: Hex,
    #[serde(flatten)]
    pub secrets: BTreeMap<String, Hex>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Message {
    pub from: String,
    pub kind: String,
    pub bytes: Hex,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transcript {
    pub name: String,
    pub expect: String,
    #[serde(rename = "why")]
    pub _why: Option<String>,
    pub initiator: String,
    pub responder: String,
    pub key_pairs: Vec<KeyPair>,
    pub encapsulation: Encapsulation,
    pub suite: u8,
    pub mechanism: u8,
    pub messages: Vec<Message>,
    pub transcript: Hex,
    pub ss: Hex,
    pub th1: Hex,
    pub th2: Hex,
    pub th3: Hex,
    pub hs: Hex,
    pub reply_key: Hex,
    pub reply_iv: Hex,
    pub finish_key: Hex,
    pub finish_iv: Hex,
    pub epoch_0: Hex,
    pub session_id: Hex,
    pub wish_r: Hex,
    pub wish_i: Hex,
    pub identity_r: Hex,
    pub signed_r: Hex,
    pub signature_r: Hex,
    pub identity_i: Hex,
    pub signed_i: Hex,
    pub signature_i: Hex,
    pub psk: Hex,
    pub psk_name: Option<Hex>,
    pub early: Hex,
    pub mac_key: Hex,
    pub binder_key: Option<Hex>,
    pub binding: Hex,
    pub enrolment: Hex,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exchanged {
    pub direction: String,
    pub bytes: Hex,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Refused {
    pub name: String,
    pub expect: String,
    #[serde(rename = "why")]
    pub _why: String,
    pub receiver: String,
    pub config: String,
    pub exchange: Vec<Exchanged>,
    pub key_pairs: Option<Vec<KeyPair>>,
    pub encapsulation: Option<Encapsulation>,
    pub message: Hex,
}

fn suite(id: u8) -> Suite {
    let known = RECOMMENDED.into_iter().find(|suite| suite.id == id);
    known.unwrap_or(Suite {
        id,
        name: "offered but unknown",
        ..AES_128_GCM
    })
}

/// The configuration of an end; `mechanism` is called for each identifier that it offers.
pub fn configuration(config: &Config, mechanism: &dyn Fn(u8) -> Arc<dyn Mechanism>) -> HandshakeConfig {
    let identity = Identity::from_seed(&config.identity_seed.array());
    assert_eq!(identity.peer_id(), PeerId(config.peer_id.array()));
    let pinned = config.pinned_peer.as_ref().map(|peer| PeerId(peer.array()));
    let psks: Vec<PresharedKey> = config.psks.iter().map(Psk::key).collect();
    let hello_keys = Arc::new(HelloKeys::new(&pinned.unwrap_or(identity.peer_id()), &psks));
    HandshakeConfig {
        role: match config.role {
            1 => Role::Publisher,
            2 => Role::Viewer,
            other => panic!("role {other}"),
        },
        identity: Arc::new(identity),
        suites: config.suites.iter().copied().map(suite).collect(),
        mechanisms: config.mechanisms.iter().copied().map(mechanism).collect(),
        pinned,
        hello_keys,
        wish: wish(&config.wish.array()),
    }
}

/// A viewer's wish; a publisher has none, and does not look at it.
pub fn wish(bytes: &[u8; 66]) -> Wish {
    let media = match bytes[0] {
        0 | 1 => WishedMedia::Frames,
        2 => WishedMedia::Packets,
        3 => WishedMedia::NothingYet,
        4 => WishedMedia::Cameras,
        other => panic!("a wish of {other}"),
    };
    let name = &bytes[2..2 + usize::from(bytes[1])];
    let camera = std::str::from_utf8(name).ok().and_then(CameraName::new);
    let camera = camera.expect("a camera's name");
    Wish { media, camera }
}

/// The state machine of an initiator, and its hello.
pub fn initiator(config: &Config, mechanism: &dyn Fn(u8) -> Arc<dyn Mechanism>) -> (Initiator, Vec<u8>) {
    let guess = config.share_mechanism.expect("initiators have a first guess");
    let configured = configuration(config, mechanism);
    Initiator::guessing(configured, config.random.array(), guess).expect("the configuration is complete")
}

/// The state machine of a responder.
pub fn responder(config: &Config, mechanism: &dyn Fn(u8) -> Arc<dyn Mechanism>) -> Responder {
    let cookie = config
        .cookie
        .clone()
        .expect("responders say whether they want a cookie");
    Responder::new(configuration(config, mechanism), config.random.array(), cookie.0)
}

/// The result of a case's last message at its end, after all earlier messages gave the recorded results.
pub fn outcome(
    case: &Refused,
    config: &Config,
    mechanism: &dyn Fn(u8) -> Arc<dyn Mechanism>,
) -> Result<Option<Peer>, HandshakeError> {
    let mut seen = case.exchange.iter();
    let mut next = |direction: &str| {
        let exchanged = seen.next()?;
        assert_eq!(exchanged.direction, direction, "{}", case.name);
        Some(&exchanged.bytes.0)
    };
    match case.receiver.as_str() {
        "initiator" => {
            let (mut machine, hello) = initiator(config, mechanism);
            assert_eq!(next("out"), Some(&hello), "{}", case.name);
            while let Some(message) = next("in") {
                let InitiatorStep::Send(answer) = machine.handle(message).expect(&case.name) else {
                    panic!("{}: done too early", case.name)
                };
                assert_eq!(next("out"), Some(&answer), "{}", case.name);
            }
            machine.handle(&case.message.0).map(|step| match step {
                InitiatorStep::Send(_) => None,
                InitiatorStep::Done(_, agreed) => Some(agreed.peer),
            })
        }
        "responder" => {
            let mut machine = responder(config, mechanism);
            while let Some(message) = next("in") {
                let ResponderStep::Send(answer) = machine.handle(message).expect(&case.name) else {
                    panic!("{}: done too early", case.name)
                };
                assert_eq!(next("out"), Some(&answer), "{}", case.name);
            }
            machine.handle(&case.message.0).map(|step| match step {
                ResponderStep::Send(_) => None,
                ResponderStep::Done(agreed) => Some(agreed.peer),
            })
        }
        other => panic!("receiver {other}"),
    }
}
