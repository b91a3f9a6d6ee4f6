//! Peer ids and invites, as tickets and allow lists write them (protocol.md §6).

use std::fmt;

use zeroize::{Zeroize, ZeroizeOnDrop};

use super::base32;

/// The public half of an identity.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PeerId(pub [u8; 32]);

impl PeerId {
    /// Read the 52 characters of a peer id.
    pub fn parse(text: &str) -> Option<Self> {
        base32::decode(text).map(Self)
    }

    /// The first characters, enough to recognise a known peer in a log, never enough to trust one.
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

/// A 128-bit secret that lets an unknown peer in. It cannot be printed by accident.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct Invite([u8; 16]);

impl Invite {
    /// An invite of 16 random bytes.
    pub fn new(random: [u8; 16]) -> Self {
        Self(random)
    }

    /// Read the 26 characters of an invite.
    pub fn parse(text: &str) -> Option<Self> {
        base32::decode(text).map(Self)
    }

    /// The invite's characters. Secret: for a ticket only.
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
