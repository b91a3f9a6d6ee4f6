//! Checks the real mechanisms against `vectors/handshake.json`, and the lengths of protocol.md §3.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};

use sealcast_proto::keys::{DecapsulationKey, Mechanism, MechanismError, SharedSecret};
use sealcast_testkit::handshake::{self, File, KeyPair, outcome};
use sealcast_testkit::vectors::load;

use super::{Ecdh, Hybrid, MlKem768, Rsa2048, Sntrup761, by_name, names};

/// Identifier, name, lengths of share, ciphertext and secret: the table of protocol.md §3.
const TABLE: [(u8, &str, usize, usize, usize); 6] = [
    (1, "x25519-mlkem768", 1216, 1120, 64),
    (2, "x25519", 32, 32, 32),
    (3, "p256", 65, 65, 32),
    (4, "mlkem768", 1184, 1088, 32),
    (5, "sntrup761-x25519", 1190, 1071, 64),
    (16, "rsa2048", 294, 256, 32),
];

fn real(id: u8) -> Arc<dyn Mechanism> {
    let name = TABLE
        .iter()
        .find(|row| row.0 == id)
        .expect("a mechanism of the table")
        .1;
    by_name(name).expect("the program has it")
}

/// The real key of a recorded key pair.
fn key(pair: &KeyPair) -> Box<dyn DecapsulationKey> {
    let secret = |name: &str| &pair.secrets[name].0[..];
    let curve = || Ecdh::x25519().key_from_secret(secret("x25519_secret"));
    let lattice = || MlKem768.key_from_secret(secret("mlkem768_dk"));
    let key = match pair.mechanism {
        1 => lattice().and_then(|lattice| Ok(Hybrid::x25519_mlkem768().key_of_parts(lattice, curve()?))),
        2 => curve(),
        3 => Ecdh::p256().key_from_secret(secret("p256_scalar")),
        4 => lattice(),
        5 => Sntrup761
            .key_from_secret(secret("sntrup761_secret"))
            .and_then(|lattice| Ok(Hybrid::sntrup761_x25519().key_of_parts(lattice, curve()?))),
        16 => Rsa2048.key_from_secret(secret("rsa2048_pkcs8")),
        other => panic!("mechanism {other}"),
    };
    let key = key.expect("a recorded secret");
    assert_eq!(key.share(), pair.share.0, "the share of a recorded secret");
    key
}

/// A real mechanism that returns recorded key pairs.
struct WithKeys {
    id: u8,
    keys: Arc<Mutex<VecDeque<KeyPair>>>,
}

impl Mechanism for WithKeys {
    fn id(&self) -> u8 {
        self.id
    }

    fn name(&self) -> &'static str {
        "recorded"
    }

    fn generate(&self) -> Result<Box<dyn DecapsulationKey>, MechanismError> {
        let pair = self.keys.lock().expect("one thread").pop_front();
        Ok(key(&pair.expect("one key for each hello")))
    }

    fn encapsulate(&self, share: &[u8]) -> Result<(Vec<u8>, SharedSecret), MechanismError> {
        real(self.id).encapsulate(share)
    }
}

#[test]
fn recorded_ciphertexts_give_the_recorded_secrets() {
    let mut seen = BTreeMap::new();
    for case in load::<File>("handshake").transcripts {
        let pair = case.key_pairs.last().expect("one hello at least");
        let secret = key(pair).decapsulate(&case.encapsulation.ciphertext.0);
        assert_eq!(
            secret.expect("a good ciphertext").as_bytes(),
            case.ss.0,
            "{}",
            case.name
        );
        for earlier in &case.key_pairs {
            key(earlier);
        }
        *seen.entry(case.mechanism).or_insert(0) += 1;
    }
    assert_eq!(seen.values().sum::<usize>(), 33);
    assert_eq!(seen.keys().copied().collect::<Vec<_>>(), TABLE.map(|row| row.0));
}

/// Every case that depends on a mechanism: invalid shares and ciphertexts, and those that lead to a different secret.
#[test]
fn bad_shares_and_ciphertexts_are_refused_as_by_the_reference() {
    let file = load::<File>("handshake");
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for case in &file.refused {
        // The responder's reply is random here, so messages after it cannot be compared.
        let replied = case.encapsulation.is_some();
        let about_keys = matches!(
            case.expect.as_str(),
            "share" | "sealed" | "signature" | "wrong-peer" | "own-identity"
        );
        if replied || !about_keys {
            continue;
        }
        let keys = case.key_pairs.clone().unwrap_or_default().into();
        let keys: Arc<Mutex<VecDeque<KeyPair>>> = Arc::new(Mutex::new(keys));
        let mechanism = |id| -> Arc<dyn Mechanism> {
            let keys = Arc::clone(&keys);
            Arc::new(WithKeys { id, keys })
        };
        let error = outcome(case, &file.configs[&case.config], &mechanism).expect_err(&case.name);
        assert_eq!(error.reason(), case.expect, "{}", case.name);
        *counts.entry(&case.expect).or_default() += 1;
    }
    assert_eq!(counts["share"], 100, "{counts:?}");
    let replied = |case: &&handshake::Refused| case.encapsulation.is_none() && case.expect == "sealed";
    assert_eq!(counts["sealed"], file.refused.iter().filter(replied).count());
}

#[test]
fn every_mechanism_agrees_with_itself_at_the_lengths_of_the_table() {
    assert_eq!(names().count(), TABLE.len());
    for (id, name, share, ciphertext, secret) in TABLE {
        let mechanism = by_name(name).expect("the program has it");
        assert_eq!((mechanism.id(), mechanism.name()), (id, name));
        let key = mechanism.generate().expect("the library works");
        assert_eq!(key.share().len(), share, "{name}: share");
        let (sent, theirs) = mechanism.encapsulate(key.share()).expect("a good share");
        assert_eq!(sent.len(), ciphertext, "{name}: ciphertext");
        let ours = key.decapsulate(&sent).expect("a good ciphertext");
        assert_eq!(
            (ours.as_bytes(), ours.as_bytes().len()),
            (theirs.as_bytes(), secret),
            "{name}"
        );
    }
}

#[test]
fn keys_and_ciphertexts_are_fresh_each_time() {
    for (_, name, ..) in TABLE {
        let mechanism = by_name(name).expect("the program has it");
        let (one, two) = (
            mechanism.generate().expect("works"),
            mechanism.generate().expect("works"),
        );
        assert_ne!(one.share(), two.share(), "{name}");
        let (first, one_secret) = mechanism.encapsulate(one.share()).expect("works");
        let (second, two_secret) = mechanism.encapsulate(one.share()).expect("works");
        assert_ne!(first, second, "{name}");
        assert_ne!(one_secret.as_bytes(), two_secret.as_bytes(), "{name}");
    }
}
