//! Mechanisms without randomness. X25519 and P-256 compute with the recorded secrets. The others, which this crate
//! does not implement, return the recorded values; `keys/mechanism/vector_tests.rs` of the program checks the real
//! ones against the same cases.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use aws_lc_rs::agreement::{Algorithm, ECDH_P256, PrivateKey, UnparsedPublicKey, X25519, agree};
use sealcast_proto::keys::{DecapsulationKey, Mechanism, MechanismError, SharedSecret};

use crate::handshake::{Encapsulation, KeyPair};

/// The recorded values for all mechanisms of one end.
pub struct Recording {
    keys: Mutex<VecDeque<KeyPair>>,
    encapsulation: Option<Encapsulation>,
    /// The share for which `encapsulation` was made, if known.
    share: Option<Vec<u8>>,
    /// The result for a ciphertext that was not recorded.
    otherwise: Result<(), MechanismError>,
}

impl Recording {
    /// Made of the key pairs and the encapsulation of one end.
    pub fn new(
        keys: &[KeyPair],
        encapsulation: Option<&Encapsulation>,
        share: Option<&[u8]>,
        otherwise: Result<(), MechanismError>,
    ) -> Arc<Self> {
        for (index, pair) in keys.iter().enumerate() {
            assert_eq!(usize::from(pair.hello), index + 1);
        }
        Arc::new(Self {
            keys: Mutex::new(keys.iter().cloned().collect()),
            encapsulation: encapsulation.cloned(),
            share: share.map(<[u8]>::to_vec),
            otherwise,
        })
    }

    /// The mechanism of this identifier.
    pub fn mechanism(self: &Arc<Self>, id: u8) -> Arc<dyn Mechanism> {
        Arc::new(Recorded {
            id,
            recording: Arc::clone(self),
        })
    }
}

struct Recorded {
    id: u8,
    recording: Arc<Recording>,
}

struct RecordedKey {
    pair: KeyPair,
    recording: Arc<Recording>,
}

/// The curve of a mechanism, the name of its secrets, and the length of its public keys.
fn curve(id: u8) -> Option<(&'static Algorithm, &'static str, usize)> {
    match id {
        2 => Some((&X25519, "x25519_secret", 32)),
        3 => Some((&ECDH_P256, "p256_scalar", 65)),
        _ => None,
    }
}

/// Checks the form, since the library also accepts compressed and hybrid points.
fn check_form(public: &[u8], length: usize) -> Result<(), MechanismError> {
    let fits = public.len() == length && (length != 65 || public[0] == 4);
    fits.then_some(()).ok_or(MechanismError::Peer)
}

fn exchange(algorithm: &'static Algorithm, secret: &[u8], peer: &[u8]) -> Result<SharedSecret, MechanismError> {
    let key = PrivateKey::from_private_key(algorithm, secret).expect("a recorded secret");
    agree(
        &key,
        UnparsedPublicKey::new(algorithm, peer),
        MechanismError::Peer,
        |secret| Ok(SharedSecret::new(&[secret])),
    )
}

impl Mechanism for Recorded {
    fn id(&self) -> u8 {
        self.id
    }

    fn name(&self) -> &'static str {
        "recorded"
    }

    fn generate(&self) -> Result<Box<dyn DecapsulationKey>, MechanismError> {
        let pair = self.recording.keys.lock().expect("one thread").pop_front();
        let pair = pair.expect("one key for each hello");
        assert_eq!(pair.mechanism, self.id, "a key of another mechanism was asked for");
        let recording = Arc::clone(&self.recording);
        Ok(Box::new(RecordedKey { pair, recording }))
    }

    fn encapsulate(&self, share: &[u8]) -> Result<(Vec<u8>, SharedSecret), MechanismError> {
        let recorded = self.recording.encapsulation.as_ref();
        if let Some((algorithm, secret, length)) = curve(self.id) {
            check_form(share, length)?;
            let any = super::vectors::Hex(vec![7; 32]);
            let secret = recorded.map_or(&any, |recorded| &recorded.secrets[secret]);
            let ss = exchange(algorithm, &secret.0, share)?;
            let Some(recorded) = recorded else {
                return Ok((vec![0; length], ss));
            };
            assert_eq!(ss.as_bytes(), recorded.ss.0);
            return Ok((recorded.ciphertext.0.clone(), ss));
        }
        let recorded = recorded.ok_or(MechanismError::Peer)?;
        assert!(
            self.recording.share.as_ref().is_none_or(|known| known == share),
            "another share"
        );
        Ok((recorded.ciphertext.0.clone(), SharedSecret::new(&[&recorded.ss.0])))
    }
}

impl DecapsulationKey for RecordedKey {
    fn share(&self) -> &[u8] {
        &self.pair.share.0
    }

    fn decapsulate(&self, ciphertext: &[u8]) -> Result<SharedSecret, MechanismError> {
        if let Some((algorithm, secret, length)) = curve(self.pair.mechanism) {
            check_form(ciphertext, length)?;
            return exchange(algorithm, &self.pair.secrets[secret].0, ciphertext);
        }
        let recorded = self.recording.encapsulation.as_ref();
        match recorded.filter(|recorded| recorded.ciphertext.0 == ciphertext) {
            Some(recorded) => Ok(SharedSecret::new(&[&recorded.ss.0])),
            None => self.recording.otherwise.map(|()| SharedSecret::new(&[&[0x55; 32]])),
        }
    }
}
