//! Sessions with keys that the vectors give.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;

use super::config::{Carrier, RekeyPolicy, SessionConfig};
use super::keyring::KeyRing;
use super::machine::{Established, Session, State};
use super::{Facts, Handled, Input};
use crate::clock::Now;
use crate::keys::{EpochSecret, HandshakeConfig, Identity, Peer, PeerId, Role, Secret, Side};
use crate::seal::suite::RECOMMENDED;
use crate::seal::{SealLimits, Suite};
use crate::sim::InsecureMechanism;
use crate::vectors::{Hex, load};

#[derive(Deserialize)]
struct File {
    key_sets: BTreeMap<String, KeySet>,
    connections: Vec<Connection>,
}

#[derive(Deserialize)]
struct KeySet {
    suite: u8,
    direction: String,
    epochs: Vec<Epoch>,
}

#[derive(Deserialize)]
struct Epoch {
    epoch: u64,
    secret: Hex,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Connection {
    name: String,
    expect: String,
    #[serde(rename = "why")]
    _why: String,
    key_set: String,
    steps: Vec<Step>,
    ends_after: Option<usize>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    record: Hex,
    expect: String,
}

fn now(millis: u64) -> Now {
    Now {
        monotonic: Duration::from_millis(millis),
        wall: 1_000_000 * millis,
    }
}

/// An established session whose epochs are given: the first is current, the second the next.
fn session(suite: Suite, side: Side, role: Role, mut secrets: Vec<EpochSecret>) -> Session {
    let config = SessionConfig {
        handshake: HandshakeConfig {
            role,
            identity: Arc::new(Identity::from_seed(&[1; 32])),
            suites: vec![suite],
            mechanisms: vec![Arc::new(InsecureMechanism::new(1))],
            pinned: None,
            invite: None,
        },
        side,
        carrier: Carrier::Stream,
        rekey: RekeyPolicy::default(),
    };
    let next = secrets.split_off(1).pop();
    let first = secrets.pop().expect("one epoch at least");
    let mut ring = KeyRing::new(first, suite, side, SealLimits::COUNTER, Duration::ZERO);
    if let Some(next) = next {
        ring.install_next(next);
    }
    let facts = Facts {
        peer: Peer {
            id: PeerId([2; 32]),
            invited: false,
        },
        suite,
        mechanism: "insecure-simulation",
        session_id: [0; 8],
    };
    let mechanism = Arc::clone(&config.handshake.mechanisms[0]);
    let established = Established { ring, facts, mechanism };
    Session::new(config, State::Established(Box::new(established)), now(0))
}

#[test]
fn connections_end_after_the_record_after_which_the_reference_ends_them() {
    let file = load::<File>("records");
    assert_eq!(file.connections.len(), 5);
    for case in &file.connections {
        let set = &file.key_sets[&case.key_set];
        let suite = *RECOMMENDED.iter().find(|suite| suite.id == set.suite).expect("a suite");
        let side = if set.direction == "i" {
            Side::Responder
        } else {
            Side::Initiator
        };
        let secret = |epoch: &Epoch| EpochSecret::new(Secret::from_bytes(&epoch.secret.array()), epoch.epoch);
        let mut session = session(suite, side, Role::Publisher, set.epochs.iter().map(secret).collect());
        for (number, step) in case.steps.iter().enumerate() {
            let mut record = step.record.0.clone();
            let handled = session.handle(now(number as u64), Input::Message(&mut record));
            let ends = case.ends_after == Some(number);
            match &handled {
                Ok(Handled::Refused(reason)) => assert_eq!(reason.to_string(), step.expect, "{}: {number}", case.name),
                Ok(_) => assert_eq!(step.expect, "ok", "{}: {number}", case.name),
                Err(_) => assert!(ends, "{}: ended after step {number}", case.name),
            }
            assert_eq!(
                (handled.is_err(), session.is_over()),
                (ends, ends),
                "{}: {number}",
                case.name
            );
        }
        assert_eq!(
            case.expect,
            if session.is_over() { "ends" } else { "ok" },
            "{}",
            case.name
        );
    }
}
