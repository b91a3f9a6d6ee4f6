//! Claim of each end about itself in its sealed part (keys.md §4).

use super::{HandshakeConfig, HandshakeError};
use crate::keys::schedule::SealedPart;
use crate::keys::wish::{WISH_LEN, Wish};
use crate::keys::{PeerId, Role, Secret};

/// An end's identity and wish, signed.
pub(super) struct Claim {
    /// The identity that it claims; nothing about it is checked yet.
    pub(super) identity: [u8; 32],
    wish: [u8; WISH_LEN],
    signature: [u8; 64],
}

impl Claim {
    /// Returns the sealed part of this end, under the transcript hash `th`.
    pub(super) fn seal(part: SealedPart, config: &HandshakeConfig, hs: &Secret, th: &[u8; 32]) -> Vec<u8> {
        let identity = config.identity.peer_id();
        let wish = match config.role {
            Role::Viewer => config.wish.to_bytes(),
            Role::Publisher => [0; WISH_LEN],
        };
        let signature = config
            .identity
            .sign(&signed_bytes(part, config.role, th, &identity.0, &wish));
        part.seal(hs, th, [&identity.0[..], &wish, &signature].concat())
    }

    /// Opens the sealed part of the other end.
    pub(super) fn open(part: SealedPart, hs: &Secret, th: &[u8; 32], sealed: &[u8]) -> Result<Self, HandshakeError> {
        let bytes = part.open(hs, th, sealed).ok_or(HandshakeError::Sealed)?;
        let (identity, rest) = bytes.split_first_chunk().ok_or(HandshakeError::Malformed)?;
        let (wish, signature) = rest.split_first_chunk().ok_or(HandshakeError::Malformed)?;
        Ok(Self {
            identity: *identity,
            wish: *wish,
            signature: signature.try_into().map_err(|_| HandshakeError::Malformed)?,
        })
    }

    /// Checks the signature, by `id`, and then the wish. Returns the wish: a viewer has one, a publisher none.
    pub(super) fn verify(
        &self,
        part: SealedPart,
        role: Role,
        th: &[u8; 32],
        id: &PeerId,
    ) -> Result<Option<Wish>, HandshakeError> {
        if !id.verifies(&signed_bytes(part, role, th, &id.0, &self.wish), &self.signature) {
            return Err(HandshakeError::Signature);
        }
        match role {
            Role::Viewer => Wish::parse(&self.wish).map(Some).ok_or(HandshakeError::Wish),
            Role::Publisher if self.wish == [0; WISH_LEN] => Ok(None),
            Role::Publisher => Err(HandshakeError::Wish),
        }
    }
}

/// Returns the bytes that an end signs: side, role, transcript hash, identity and wish.
fn signed_bytes(part: SealedPart, role: Role, th: &[u8; 32], identity: &[u8; 32], wish: &[u8; WISH_LEN]) -> Vec<u8> {
    let side: &[u8] = match part {
        SealedPart::Reply => b"responder ",
        SealedPart::Finish => b"initiator ",
    };
    let role = role.name().as_bytes();
    [b"sealcast2 ", side, role, &[0], th, identity, wish].concat()
}
