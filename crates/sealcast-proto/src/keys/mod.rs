//! Identities, the key schedule and the handshake (`docs/keys.md`, `docs/protocol.md` §3).

mod epoch;
mod handshake;
mod identity;
mod mechanism;
mod messages;
mod psk;
mod schedule;
mod transcript;

pub use epoch::{EpochKeys, EpochSecret, Side};
pub use handshake::{
    Agreed, HandshakeConfig, HandshakeError, Initiator, InitiatorStep, Peer, Responder, ResponderStep,
};
pub use identity::{Identity, IdentityError};
pub use mechanism::{DecapsulationKey, Mechanism, MechanismError, SharedSecret};
pub use messages::{ALERT, Role};
pub use psk::{MAX_PSKS, PresharedKey, PskName};
pub use schedule::Secret;

pub use crate::wire::{Invite, PeerId};
