//! Reasons why a handshake fails, and the party at fault.

use crate::keys::{MechanismError, PeerId};
use crate::wire::Malformed;

/// Reason why a handshake failed. All variants except the last two are caused by the peer, or by somebody on the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HandshakeError {
    /// The MAC of a hello does not fit: its sender has no ticket of this end. It gets no answer.
    #[error("it has no ticket of this end")]
    Mac,
    /// The pre-shared key is not known to the responder: an invite that has expired, was used up or withdrawn, or an
    /// enrolment that was removed.
    #[error("the invite or the enrolment is not known there any more")]
    Psk,
    /// The identity is no valid peer id.
    #[error("its identity is no valid peer id")]
    Identity,
    /// A malformed or unexpected message: the peer may not speak this protocol at all.
    #[error("it does not speak the sealcast handshake")]
    Malformed,
    /// The peer uses another protocol version.
    #[error("it speaks another version of the protocol")]
    Version,
    /// Both ends are publishers, or both are viewers.
    #[error("both ends have the same role: a publisher talks to a viewer")]
    Role,
    /// No suite is accepted by both ends.
    #[error("no suite is accepted by both ends")]
    NoCommonSuite,
    /// No mechanism is accepted by both ends.
    #[error("no key mechanism is accepted by both ends")]
    NoCommonMechanism,
    /// The peer chose a suite or mechanism that was not offered.
    #[error("it chose a suite or mechanism that was not offered")]
    NotOffered,
    /// The peer's public key or ciphertext is not valid.
    #[error("its public key or ciphertext is not valid")]
    Share,
    /// A sealed part cannot be opened: it or an earlier message was altered in transit, or its sender lacks the key.
    #[error("a sealed part of the handshake was altered on the way, or its sender lacks the secret of the ticket")]
    Sealed,
    /// The peer is not the pinned one.
    #[error("it is {0}, not the peer in the ticket")]
    WrongPeer(PeerId),
    /// The peer has this end's own identity: a reflection attack.
    #[error("it has the same identity as this end")]
    OwnIdentity,
    /// The peer's signature is wrong: an impostor has the keys of the handshake, but not the identity's key.
    #[error("its signature does not fit")]
    Signature,
    /// A viewer's wish that this version does not know, or the wish of a publisher, which has none.
    #[error("it asks for something that this version does not know")]
    Wish,
    /// A second retry, a retry that asks for nothing new, or a second hello that differs from the first where it must
    /// not, or does not follow the retry.
    #[error("it broke the rules for repeating a hello")]
    Retry,
    /// The peer refused the handshake, without a reason.
    #[error("it refused the handshake")]
    Alert,
    /// The peer did not complete the handshake in time.
    #[error("it did not complete the handshake within 5 s")]
    Timeout,
    /// Over datagrams: nothing that fits came in time, but something that does not. Another program answers at the
    /// address, or it was altered in transit.
    #[error("what came within 5 s does not fit the handshake")]
    Unfit,
    /// The cryptographic library failed at this end.
    #[error("the cryptographic library failed on this machine")]
    Library,
    /// The configuration offers nothing valid, or a call was out of turn: our own bug.
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
    /// True if the reason follows from what somebody with the keys of this handshake said, or from an alert; false if
    /// altering a message on the way is enough for it.
    pub(crate) fn is_certain(self) -> bool {
        match self {
            Self::Identity | Self::WrongPeer(_) | Self::OwnIdentity | Self::Signature | Self::Wish => true,
            Self::Psk | Self::Alert | Self::Library | Self::Misuse => true,
            Self::Mac | Self::Malformed | Self::Version | Self::Role | Self::NoCommonSuite => false,
            Self::NoCommonMechanism | Self::NotOffered | Self::Share | Self::Sealed | Self::Retry => false,
            Self::Timeout | Self::Unfit => false,
        }
    }

    /// Returns one word for the reason, for counters, logs and `vectors/handshake.json`.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Mac => "mac",
            Self::Psk => "psk",
            Self::Identity => "identity",
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
            Self::Wish => "wish",
            Self::Retry => "retry",
            Self::Alert => "alert",
            Self::Timeout => "timeout",
            Self::Unfit => "unfit",
            Self::Library => "library",
            Self::Misuse => "misuse",
        }
    }
}
