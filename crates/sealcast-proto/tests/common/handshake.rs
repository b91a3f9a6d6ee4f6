//! The structures of `vectors/handshake.json`, and driving one end through what a case says it saw.

use std::collections::BTreeMap;
use std::sync::Arc;

use sealcast_proto::keys::{
    HandshakeConfig, HandshakeError, Identity, Initiator, InitiatorStep, Invite, Mechanism, Peer, PeerId, Responder,
    ResponderStep, Role,
};
use sealcast_proto::seal::Suite;
use sealcast_proto::seal::suite::{AES_128_GCM, RECOMMENDED};
use serde::Deserialize;

use super::vectors::Hex;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct File {
    pub(crate) configs: BTreeMap<String, Config>,
    pub(crate) transcripts: Vec<Transcript>,
    pub(crate) refused: Vec<Refused>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Config {
    pub(crate) role: u8,
    pub(crate) identity_seed: Hex,
    pub(crate) peer_id: Hex,
    pub(crate) invite: Option<Hex>,
    pub(crate) suites: Vec<u8>,
    pub(crate) mechanisms: Vec<u8>,
    pub(crate) random: Hex,
    pub(crate) pinned_peer: Option<Hex>,
    pub(crate) share_mechanism: Option<u8>,
    pub(crate) cookie: Option<Hex>,
}

/// A key pair of the initiator; `secrets` by the names of vectors/README.md.
#[derive(Clone, Deserialize)]
pub(crate) struct KeyPair {
    pub(crate) hello: u8,
    pub(crate) mechanism: u8,
    pub(crate) share: Hex,
    #[serde(flatten)]
    pub(crate) secrets: BTreeMap<String, Hex>,
}

/// What the responder got out of a mechanism; `secrets` as in [`KeyPair`].
#[derive(Clone, Deserialize)]
pub(crate) struct Encapsulation {
    pub(crate) ciphertext: Hex,
    pub(crate) ss: Hex,
    #[serde(flatten)]
    pub(crate) secrets: BTreeMap<String, Hex>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Message {
    pub(crate) from: String,
    pub(crate) kind: String,
    pub(crate) bytes: Hex,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Transcript {
    pub(crate) name: String,
    pub(crate) expect: String,
    #[serde(rename = "why")]
    pub(crate) _why: Option<String>,
    pub(crate) initiator: String,
    pub(crate) responder: String,
    pub(crate) key_pairs: Vec<KeyPair>,
    pub(crate) encapsulation: Encapsulation,
    pub(crate) suite: u8,
    pub(crate) mechanism: u8,
    pub(crate) messages: Vec<Message>,
    pub(crate) transcript: Hex,
    pub(crate) ss: Hex,
    pub(crate) th1: Hex,
    pub(crate) th2: Hex,
    pub(crate) th3: Hex,
    pub(crate) hs: Hex,
    pub(crate) reply_key: Hex,
    pub(crate) reply_iv: Hex,
    pub(crate) finish_key: Hex,
    pub(crate) finish_iv: Hex,
    pub(crate) epoch_0: Hex,
    pub(crate) session_id: Hex,
    pub(crate) identity_r: Hex,
    pub(crate) signed_r: Hex,
    pub(crate) signature_r: Hex,
    pub(crate) identity_i: Hex,
    pub(crate) signed_i: Hex,
    pub(crate) signature_i: Hex,
    pub(crate) invited_byte: u8,
    pub(crate) proof: Hex,
    pub(crate) invited: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Exchanged {
    pub(crate) direction: String,
    pub(crate) bytes: Hex,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Refused {
    pub(crate) name: String,
    pub(crate) expect: String,
    #[serde(rename = "why")]
    pub(crate) _why: String,
    pub(crate) receiver: String,
    pub(crate) config: String,
    pub(crate) exchange: Vec<Exchanged>,
    pub(crate) key_pairs: Option<Vec<KeyPair>>,
    pub(crate) encapsulation: Option<Encapsulation>,
    pub(crate) message: Hex,
    pub(crate) invited: Option<bool>,
    pub(crate) peer: Option<Hex>,
}

fn suite(id: u8) -> Suite {
    let known = RECOMMENDED.into_iter().find(|suite| suite.id == id);
    known.unwrap_or(Suite {
        id,
        name: "offered but unknown",
        ..AES_128_GCM
    })
}

/// The configuration of an end, with `mechanism` for each identifier it offers.
pub(crate) fn configuration(config: &Config, mechanism: &dyn Fn(u8) -> Arc<dyn Mechanism>) -> HandshakeConfig {
    let identity = Identity::from_seed(&config.identity_seed.array());
    assert_eq!(identity.peer_id(), PeerId(config.peer_id.array()));
    HandshakeConfig {
        role: match config.role {
            1 => Role::Publisher,
            2 => Role::Viewer,
            other => panic!("role {other}"),
        },
        identity: Arc::new(identity),
        suites: config.suites.iter().copied().map(suite).collect(),
        mechanisms: config.mechanisms.iter().copied().map(mechanism).collect(),
        pinned: config.pinned_peer.as_ref().map(|peer| PeerId(peer.array())),
        invite: config.invite.as_ref().map(|invite| Invite::new(invite.array())),
    }
}

/// The machine of an initiator and its hello.
pub(crate) fn initiator(config: &Config, mechanism: &dyn Fn(u8) -> Arc<dyn Mechanism>) -> (Initiator, Vec<u8>) {
    let guess = config.share_mechanism.expect("initiators have a first guess");
    let configured = configuration(config, mechanism);
    Initiator::guessing(configured, config.random.array(), guess).expect("the configuration is complete")
}

/// The machine of a responder.
pub(crate) fn responder(config: &Config, mechanism: &dyn Fn(u8) -> Arc<dyn Mechanism>) -> Responder {
    let cookie = config
        .cookie
        .clone()
        .expect("responders say whether they want a cookie");
    Responder::new(configuration(config, mechanism), config.random.array(), cookie.0)
}

/// What the end of a case makes of its last message, after everything it saw before came out as recorded.
pub(crate) fn outcome(
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
