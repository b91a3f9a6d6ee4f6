//! Why a handshake failed, and whose fault it was.

use crate::keys::{MechanismError, PeerId};
use crate::wire::Malformed;

/// Why a handshake failed. Every variant but the last two is something the peer, or somebody between, did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HandshakeError {
    /// A message that does not have its form, or the wrong message: perhaps no sealcast at all.
    #[error("it does not speak the sealcast handshake")]
    Malformed,
    /// Another protocol version.
    #[error("it speaks another version of the protocol")]
    Version,
    /// Both ends publish or both watch.
    #[error("both ends have the same role: a publisher talks to a viewer")]
    Role,
    /// No suite that both accept.
    #[error("no suite is accepted by both ends")]
    NoCommonSuite,
    /// No mechanism that both accept.
    #[error("no key mechanism is accepted by both ends")]
    NoCommonMechanism,
    /// It chose what was not offered.
    #[error("it chose a suite or mechanism that was not offered")]
    NotOffered,
    /// Its public key or ciphertext is not one.
    #[error("its public key or ciphertext is not valid")]
    Share,
    /// A sealed part does not open: altered on the way, or made without the key.
    #[error("a sealed part of the handshake was altered on the way")]
    Sealed,
    /// It is not the pinned peer.
    #[error("it is {0}, not the peer in the ticket")]
    WrongPeer(PeerId),
    /// It has our own identity: a reflection.
    #[error("it claims to be ourselves")]
    OwnIdentity,
    /// Its signature does not fit: an impostor, or offers were altered on the way.
    #[error("its signature does not fit")]
    Signature,
    /// A second retry, a retry that asks for nothing new, or a second hello that differs from the first.
    #[error("it broke the rules for repeating a hello")]
    Retry,
    /// It refused the handshake, without saying why.
    #[error("it refused the handshake")]
    Alert,
    /// It did not complete the handshake in time.
    #[error("it did not complete the handshake within 5 s")]
    Timeout,
    /// The cryptographic library failed here.
    #[error("the cryptographic library failed on this machine")]
    Library,
    /// The program offered nothing, or called out of turn: our own bug.
    #[error("the handshake was used out of turn")]
    Misuse,
}

impl From<Malformed> for HandshakeError {
    fn from(_: Malformed) -> Self {
        Self::Malformed
    }
}

impl From<MechanismError> for HandshakeError {
    fn from(error: MechanismError) -> Self {
        match error {
            MechanismError::Peer => Self::Share,
            MechanismError::Library => Self::Library,
        }
    }
}

impl HandshakeError {
    /// One word, for counters, logs and `vectors/handshake.json`.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Malformed => "malformed",
            Self::Version => "version",
            Self::Role => "role",
            Self::NoCommonSuite => "no-common-suite",
            Self::NoCommonMechanism => "no-common-mechanism",
            Self::NotOffered => "not-offered",
            Self::Share => "share",
            Self::Sealed => "sealed",
            Self::WrongPeer(_) => "wrong-peer",
            Self::OwnIdentity => "own-identity",
            Self::Signature => "signature",
            Self::Retry => "retry",
            Self::Alert => "alert",
            Self::Timeout => "timeout",
            Self::Library => "library",
            Self::Misuse => "misuse",
        }
    }
}
