//! Pre-shared keys: what an invited or enrolled pair knows before the handshake (keys.md §4).

use std::fmt;

use aws_lc_rs::{constant_time, hmac};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use super::schedule::sha256;
use super::{Invite, PeerId, Secret};
use crate::wire::TicketMac;

/// Maximum number of pre-shared keys that a responder tries on one hello.
pub const MAX_PSKS: usize = 128;
/// Length of the binder in a hello in bytes.
pub(crate) const BINDER_LEN: usize = 16;

/// A secret of 32 bytes that both ends knew before the handshake. It cannot be printed.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct PresharedKey([u8; 32]);

/// Public name of a pre-shared key, for lists and logs. It does not reveal the key.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PskName(pub [u8; 8]);

impl PresharedKey {
    /// The pre-shared key that an enrolled pair kept from the handshake of the enrolment.
    pub fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The pre-shared key of an invite.
    pub fn from_invite(invite: &Invite) -> Self {
        let mut key = Self([0; 32]);
        Secret::extract(b"sealcast2 invite", invite.bytes()).expand(b"psk", &[], &mut key.0);
        key
    }

    /// Returns the secret bytes, to be written to a file that only its owner can read.
    pub fn reveal(&self) -> &[u8; 32] {
        &self.0
    }

    /// Returns the key's public name.
    pub fn name(&self) -> PskName {
        let mut name = [0; 8];
        self.early().expand(b"name", &[], &mut name);
        PskName(name)
    }

    fn early(&self) -> Secret {
        Secret::extract(b"sealcast2 early", &self.0)
    }
}

impl PskName {
    /// Parses 16 hexadecimal digits in lower case.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.len() == 16 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        let number = u64::from_str_radix(text, 16).ok().filter(|_| digits)?;
        Some(Self(number.to_be_bytes()))
    }
}

impl fmt::Display for PskName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", u64::from_be_bytes(self.0))
    }
}

impl fmt::Debug for PskName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// One pre-shared key, prepared for handshakes with one responder.
struct Prepared {
    name: PskName,
    binder: hmac::Key,
    salt: Zeroizing<[u8; 32]>,
}

impl Prepared {
    fn new(responder: &PeerId, psk: &PresharedKey) -> Self {
        let early = psk.early();
        let mut binder = Zeroizing::new([0; 32]);
        early.expand(b"binder", &responder.0, binder.as_mut());
        Self {
            name: psk.name(),
            binder: hmac::Key::new(hmac::HMAC_SHA256, binder.as_ref()),
            salt: handshake_salt(&early),
        }
    }

    fn binder(&self, head_hash: &[u8; 32]) -> [u8; BINDER_LEN] {
        let tag = hmac::sign(&self.binder, head_hash);
        tag.as_ref()
            .first_chunk()
            .copied()
            .expect("HMAC-SHA-256 gives 32 bytes")
    }
}

fn handshake_salt(early: &Secret) -> Zeroizing<[u8; 32]> {
    let mut salt = Zeroizing::new([0; 32]);
    early.expand(b"handshake", &[], salt.as_mut());
    salt
}

/// The keys of hellos to one responder: of the MAC that each must carry, and of the binders that show a pre-shared key.
/// Deriving them costs as much as half a handshake, so they are made once and shared by many.
pub struct HelloKeys {
    mac: TicketMac,
    psks: Vec<Prepared>,
    /// The salt of a handshake without a pre-shared key.
    unshared: Zeroizing<[u8; 32]>,
}

/// The pre-shared key that a handshake uses.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Psk {
    None,
    /// The one of this index.
    At(usize),
}

impl HelloKeys {
    /// Derives the keys of hellos to `responder`, this end or the other. `psks` are the pre-shared keys: all that a
    /// responder knows, of which only the first [`MAX_PSKS`] count, and at most one at an initiator.
    pub fn new<'k>(responder: &PeerId, psks: impl IntoIterator<Item = &'k PresharedKey>) -> Self {
        let prepare = |psk| Prepared::new(responder, psk);
        Self {
            mac: ticket_mac(responder),
            psks: psks.into_iter().take(MAX_PSKS).map(prepare).collect(),
            unshared: handshake_salt(&PresharedKey([0; 32]).early()),
        }
    }

    /// The key of the MACs.
    pub fn mac(&self) -> &TicketMac {
        &self.mac
    }

    /// The pre-shared key that an initiator uses.
    pub(crate) fn own(&self) -> Psk {
        if self.psks.is_empty() { Psk::None } else { Psk::At(0) }
    }

    /// Appends the binder, and the MAC, to the head of a hello.
    pub(crate) fn finish_hello(&self, hello: &mut Vec<u8>) {
        let binder = match self.psks.first() {
            Some(psk) => psk.binder(&sha256(&[hello])),
            None => [0; BINDER_LEN],
        };
        hello.extend_from_slice(&binder);
        self.mac.finish_hello(hello);
    }

    /// The pre-shared key that made the binder of this hello's head, or `None` if there is no such key here.
    pub(crate) fn find(&self, head: &[u8], binder: &[u8; BINDER_LEN]) -> Option<Psk> {
        if *binder == [0; BINDER_LEN] {
            return Some(Psk::None);
        }
        let head_hash = sha256(&[head]);
        let made = |psk: &Prepared| constant_time::verify_slices_are_equal(&psk.binder(&head_hash), binder).is_ok();
        // All are tried, so that the time does not tell which one it was.
        let tried = self.psks.iter().enumerate();
        tried.fold(None, |found, (at, psk)| made(psk).then_some(Psk::At(at)).or(found))
    }

    pub(crate) fn name(&self, psk: Psk) -> Option<PskName> {
        match psk {
            Psk::None => None,
            Psk::At(at) => Some(self.psks[at].name),
        }
    }

    /// `hs`, the secret of a handshake with this pre-shared key.
    pub(crate) fn handshake_secret(&self, psk: Psk, shared: &super::SharedSecret) -> Secret {
        let salt = match psk {
            Psk::None => &self.unshared,
            Psk::At(at) => &self.psks[at].salt,
        };
        Secret::extract(salt.as_ref(), shared.as_bytes())
    }
}

/// The key of the MACs of hellos and knocks to this responder.
pub fn ticket_mac(responder: &PeerId) -> TicketMac {
    let mut key = [0; 32];
    Secret::extract(b"sealcast2 mac", &responder.0).expand(b"mac", &[], &mut key);
    TicketMac::new(&key)
}
