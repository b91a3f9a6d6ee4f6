//! Identities, the key schedule and the handshake (`docs/spec/keys.md`, `docs/spec/protocol.md` §3).

mod binder;
mod epoch;
mod handshake;
mod identity;
mod mechanism;
mod messages;
mod psk;
mod rekey_signature;
mod schedule;
mod transcript;
#[cfg(test)]
mod vector_tests;
mod wish;

pub use epoch::{DataKeys, EpochKeys, EpochSecret, Side};
pub use handshake::{
    Agreed, HandshakeConfig, HandshakeError, Initiator, InitiatorStep, Peer, Responder, ResponderStep,
};
pub use identity::{Identity, IdentityError};
pub use mechanism::{DecapsulationKey, Mechanism, MechanismError, SharedSecret};
pub use messages::Role;
pub(crate) use messages::{ALERT, ALERT_PSK, alerted};
pub use psk::{HelloKeys, MAX_PSKS, PresharedKey, PskName, ticket_mac};
pub(crate) use rekey_signature::{RekeySignature, SIGNATURE_LEN};
pub use schedule::Secret;
pub(crate) use schedule::sha256;
pub use wish::{Wish, WishedMedia};

pub use crate::wire::{Invite, PeerId};
