//! Peer ids and invites, in the encoding of tickets and allow lists (protocol.md §6).

use std::fmt;

use zeroize::{Zeroize, ZeroizeOnDrop};

use super::base32;

/// The public key of an identity.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PeerId(pub [u8; 32]);

/// The `y` coordinates of the eight points of small order: 0, 1, −1, and the two of the points of order 8 (keys.md §1),
/// little-endian.
const SMALL_ORDER: [[u8; 32]; 5] = {
    let mut minus_one = [0xFF; 32];
    minus_one[0] = 0xEC;
    minus_one[31] = 0x7F;
    let mut one = [0; 32];
    one[0] = 1;
    [
        [0; 32],
        one,
        minus_one,
        [
            0x26, 0xE8, 0x95, 0x8F, 0xC2, 0xB2, 0x27, 0xB0, 0x45, 0xC3, 0xF4, 0x89, 0xF2, 0xEF, 0x98, 0xF0, 0xD5, 0xDF,
            0xAC, 0x05, 0xD3, 0xC6, 0x33, 0x39, 0xB1, 0x38, 0x02, 0x88, 0x6D, 0x53, 0xFC, 0x05,
        ],
        [
            0xC7, 0x17, 0x6A, 0x70, 0x3D, 0x4D, 0xD8, 0x4F, 0xBA, 0x3C, 0x0B, 0x76, 0x0D, 0x10, 0x67, 0x0F, 0x2A, 0x20,
            0x53, 0xFA, 0x2C, 0x39, 0xCC, 0xC6, 0x4E, 0xC7, 0xFD, 0x77, 0x92, 0xAC, 0x03, 0x7A,
        ],
    ]
};

impl PeerId {
    /// The peer id with these bytes. `None` if the encoding is not canonical, or the point has a small order: anybody
    /// could sign for such an identity (keys.md §1).
    pub fn new(bytes: [u8; 32]) -> Option<Self> {
        let mut y = bytes;
        y[31] &= 0x7F;
        // 2²⁵⁵ − 19 and what is above it.
        let too_large = y[0] >= 0xED && y[1..31] == [0xFF; 30] && y[31] == 0x7F;
        (!too_large && !SMALL_ORDER.contains(&y)).then_some(Self(bytes))
    }

    /// Parses the 52 characters of a peer id. `None` also for the bytes that [`new`](Self::new) refuses.
    pub fn parse(text: &str) -> Option<Self> {
        base32::decode(text).and_then(Self::new)
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
