//! Peer ids and invites, in the encoding of tickets and allow lists (protocol.md §6).

use std::fmt;

use zeroize::{Zeroize, ZeroizeOnDrop};

use super::base32;

/// The public key of an identity.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PeerId(pub [u8; 32]);

impl PeerId {
    /// Parses the 52 characters of a peer id.
    pub fn parse(text: &str) -> Option<Self> {
        base32::decode(text).map(Self)
    }

    /// Returns the first 10 characters: enough to recognise a known peer in a log, never enough to trust one.
    pub fn short(&self) -> String {
        let mut text = self.to_string();
        text.truncate(10);
        text
    }
}

impl fmt::Display for PeerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&base32::encode(&self.0))
    }
}

impl fmt::Debug for PeerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A 128-bit secret that admits an unknown peer. It cannot be printed by accident.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct Invite([u8; 16]);

impl Invite {
    /// Creates an invite from 16 random bytes.
    pub fn new(random: [u8; 16]) -> Self {
        Self(random)
    }

    /// Parses the 26 characters of an invite.
    pub fn parse(text: &str) -> Option<Self> {
        base32::decode(text).map(Self)
    }

    /// Returns the invite's characters. They are secret: for use in a ticket only.
    pub fn reveal(&self) -> String {
        base32::encode(&self.0)
    }

    pub(crate) fn bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

impl PartialEq for Invite {
    fn eq(&self, other: &Self) -> bool {
        subtle::ConstantTimeEq::ct_eq(&self.0[..], &other.0[..]).into()
    }
}

impl Eq for Invite {}
