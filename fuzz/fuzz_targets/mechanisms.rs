//! Shares and ciphertexts of the real mechanisms, as strangers and peers send them, alone and within a handshake that
//! the network alters. What is altered gives an error or another secret; nothing panics.
#![no_main]

use std::sync::{Arc, LazyLock};

use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use sealcast::keys::mechanism;
use sealcast_fuzz::{Edit, Ends, RANDOM_INITIATOR, RANDOM_RESPONDER};
use sealcast_proto::keys::{DecapsulationKey, Initiator, InitiatorStep, Mechanism, Responder, ResponderStep};
use sealcast_proto::session::Carrier;

const NAMES: [&str; 6] = [
    "x25519-mlkem768",
    "sntrup761-x25519",
    "x25519",
    "p256",
    "mlkem768",
    "rsa2048",
];

#[derive(Debug, Arbitrary)]
struct Plan {
    mechanism: u8,
    act: Act,
}

#[derive(Debug, Arbitrary)]
enum Act {
    /// A share of the peer.
    Share(Change),
    /// A ciphertext of the peer.
    Ciphertext(Change),
    /// A handshake, with the network's changes to its three messages.
    Handshake([Option<Edit>; 3]),
}

#[derive(Debug, Arbitrary)]
enum Change {
    Edits(Vec<Edit>),
    /// Of the right length.
    Content(Vec<u8>),
    Bytes(Vec<u8>),
}

impl Change {
    fn of(self, genuine: &[u8]) -> Vec<u8> {
        let mut changed = genuine.to_vec();
        match self {
            Self::Edits(edits) => edits.into_iter().take(8).for_each(|edit| edit.apply(&mut changed)),
            Self::Content(bytes) => changed.iter_mut().zip(bytes).for_each(|(to, byte)| *to = byte),
            Self::Bytes(bytes) => changed = bytes,
        }
        changed
    }
}

struct Known {
    mechanism: Arc<dyn Mechanism>,
    key: Box<dyn DecapsulationKey>,
    ciphertext: Vec<u8>,
    secret: Vec<u8>,
}

thread_local! {
    /// Made once: an RSA key takes a tenth of a second.
    static ALL: LazyLock<Vec<Known>> = LazyLock::new(|| {
        NAMES.map(|name| {
            let mechanism = mechanism::by_name(name).expect("a known name");
            let key = mechanism.generate().expect("randomness");
            let (ciphertext, secret) = mechanism.encapsulate(key.share()).expect("its own share");
            let secret = secret.as_bytes().to_vec();
            Known { mechanism, key, ciphertext, secret }
        }).into()
    });
}

fuzz_target!(|plan: Plan| {
    ALL.with(|all| {
        let known = &all[usize::from(plan.mechanism) % all.len()];
        match plan.act {
            Act::Share(change) => {
                let share = change.of(known.key.share());
                let made = known.mechanism.encapsulate(&share);
                if share == known.key.share() {
                    let (ciphertext, secret) = made.expect("its own share");
                    let opened = known.key.decapsulate(&ciphertext).expect("a genuine ciphertext");
                    assert_eq!(opened.as_bytes(), secret.as_bytes());
                }
            }
            Act::Ciphertext(change) => {
                let ciphertext = change.of(&known.ciphertext);
                let opened = known.key.decapsulate(&ciphertext);
                if ciphertext == known.ciphertext {
                    assert_eq!(opened.expect("a genuine ciphertext").as_bytes(), known.secret);
                } else if !known.mechanism.name().contains("25519") && known.mechanism.name() != "p256" {
                    // A point has several spellings, or a twin with the same secret; the transcript tells them apart.
                    let same = opened.is_ok_and(|secret| secret.as_bytes() == known.secret);
                    assert!(!same, "another ciphertext gives the same secret");
                }
            }
            // An RSA key for each would take all the time.
            Act::Handshake(edits) if known.mechanism.name() != "rsa2048" => handshake(known, edits),
            Act::Handshake(_) => {}
        }
    });
});

fn handshake(known: &Known, edits: [Option<Edit>; 3]) {
    let mut ends = Ends::new(true, Carrier::Stream);
    ends.initiator.handshake.mechanisms = vec![Arc::clone(&known.mechanism)];
    ends.responder.handshake.mechanisms = vec![Arc::clone(&known.mechanism)];
    let mut touched = false;
    let mut edits = edits.into_iter();
    let mut carry = |message: Vec<u8>| {
        let mut arrived = message.clone();
        if let Some(edit) = edits.next().flatten() {
            edit.apply(&mut arrived);
        }
        touched |= arrived != message;
        arrived
    };
    let (mut initiator, hello) = Initiator::new(ends.initiator.handshake, RANDOM_INITIATOR).expect("complete");
    let mut responder = Responder::new(ends.responder.handshake, RANDOM_RESPONDER, Vec::new());
    let finished = (|| {
        let Ok(ResponderStep::Send(reply)) = responder.handle(&carry(hello)) else {
            return None;
        };
        let Ok(InitiatorStep::Done(finish, ours)) = initiator.handle(&carry(reply)) else {
            return None;
        };
        let Ok(ResponderStep::Done(theirs)) = responder.handle(&carry(finish)) else {
            return None;
        };
        Some((ours, theirs))
    })();
    match finished {
        Some((ours, theirs)) => {
            assert!(!touched, "both ends finished what the network had altered");
            assert_eq!(ours.session_id, theirs.session_id);
        }
        None => assert!(touched, "the ends failed undisturbed"),
    }
}
