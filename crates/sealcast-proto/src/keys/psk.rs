//! Pre-shared keys: what an invited or enrolled pair knows before the handshake (keys.md §4).

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use subtle::ConstantTimeEq;
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

pub(crate) use super::binder::BINDER_LEN;
use super::binder::BinderKey;
use super::schedule::sha256;
use super::{Invite, PeerId, Secret};
use crate::wire::TicketMac;

/// Maximum number of pre-shared keys that a responder tries on one hello. Each takes some 0.2 µs where the processor
/// has instructions for SHA-256, and some 300 bytes of memory.
pub const MAX_PSKS: usize = 16_384;

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

/// One pre-shared key, and what of it a handshake needs once it was found. All [`HelloKeys`] that have it share this.
struct Known {
    psk: PresharedKey,
    name: PskName,
    salt: Zeroizing<[u8; 32]>,
}

/// Pre-shared keys, prepared for handshakes with one responder.
struct KnownKeys {
    known: Vec<Arc<Known>>,
    /// The key of the binders of each. They lie together because all of them are read for each hello.
    binders: Vec<BinderKey>,
}

impl KnownKeys {
    /// With room for so many: a list that grew would leave copies of secrets behind.
    fn with_room(keys: usize) -> Self {
        let keys = keys.min(MAX_PSKS);
        Self {
            known: Vec::with_capacity(keys),
            binders: Vec::with_capacity(keys),
        }
    }

    /// Derives what belongs to one more key.
    fn prepare(&mut self, responder: &PeerId, psk: &PresharedKey) {
        let early = psk.early();
        let mut binder = Zeroizing::new([0; 32]);
        early.expand(b"binder", &responder.0, binder.as_mut());
        self.binders.push(BinderKey::new(&binder));
        self.known.push(Arc::new(Known {
            psk: psk.clone(),
            name: psk.name(),
            salt: handshake_salt(&early),
        }));
    }

    /// Takes over the key of this number.
    fn keep(&mut self, others: &Self, at: usize) {
        self.binders.push(others.binders[at].clone());
        self.known.push(Arc::clone(&others.known[at]));
    }

    fn has(&self, at: usize, psk: &PresharedKey) -> bool {
        self.known.get(at).is_some_and(|known| known.psk.0 == psk.0)
    }
}

/// True if this key made the binder.
fn made(key: &BinderKey, head_hash: &[u8; 32], binder: &[u8; BINDER_LEN]) -> bool {
    // Of slices each byte is compared by itself, which takes half as long as making the binder.
    let differs = u128::from_ne_bytes(key.binder(head_hash)) ^ u128::from_ne_bytes(*binder);
    let differs = differs as u64 | (differs >> 64) as u64;
    differs.ct_eq(&0).into()
}

fn handshake_salt(early: &Secret) -> Zeroizing<[u8; 32]> {
    let mut salt = Zeroizing::new([0; 32]);
    early.expand(b"handshake", &[], salt.as_mut());
    salt
}

/// The keys of hellos to one responder: of the MAC that each must carry, and of the binders that show a pre-shared key.
/// Deriving them costs as much as half a handshake, and some 4 µs for each pre-shared key, so they are made once and
/// shared by many.
pub struct HelloKeys {
    responder: PeerId,
    mac: TicketMac,
    psks: KnownKeys,
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
        let psks = psks.into_iter();
        let mut keys = KnownKeys::with_room(psks.size_hint().0);
        for psk in psks.take(MAX_PSKS) {
            keys.prepare(responder, psk);
        }
        Self {
            responder: *responder,
            mac: ticket_mac(responder),
            psks: keys,
            unshared: handshake_salt(&PresharedKey([0; 32]).early()),
        }
    }

    /// The keys of hellos to the same responder with other pre-shared keys. What these here have is not derived again.
    pub fn renewed<'k>(&self, psks: impl IntoIterator<Item = &'k PresharedKey>) -> Self {
        let (before, psks) = (&self.psks, psks.into_iter());
        let mut keys = KnownKeys::with_room(psks.size_hint().0);
        // Most lists begin like the one before: what stands elsewhere is looked for only then.
        let mut places: Option<BTreeMap<&[u8; 32], usize>> = None;
        let mut next = 0;
        for psk in psks.take(MAX_PSKS) {
            if next < before.known.len() && !before.has(next, psk) {
                let numbered = before.known.iter().enumerate();
                let places = places.get_or_insert_with(|| numbered.map(|(at, known)| (&known.psk.0, at)).collect());
                if let Some(&at) = places.get(&psk.0) {
                    next = at;
                }
            }
            if before.has(next, psk) {
                keys.keep(before, next);
                next += 1;
            } else {
                keys.prepare(&self.responder, psk);
            }
        }
        Self {
            responder: self.responder,
            mac: ticket_mac(&self.responder),
            psks: keys,
            unshared: self.unshared.clone(),
        }
    }

    /// The key of the MACs.
    pub fn mac(&self) -> &TicketMac {
        &self.mac
    }

    /// The pre-shared key that an initiator uses.
    pub(crate) fn own(&self) -> Psk {
        if self.psks.known.is_empty() {
            Psk::None
        } else {
            Psk::At(0)
        }
    }

    /// Appends the binder, and the MAC, to the head of a hello.
    pub(crate) fn finish_hello(&self, hello: &mut Vec<u8>) {
        let binder = match self.psks.binders.first() {
            Some(key) => key.binder(&sha256(&[hello])),
            None => [0; BINDER_LEN],
        };
        hello.extend_from_slice(&binder);
        self.mac.finish_hello(hello);
    }

    /// The pre-shared key that made the binder of this hello's head, or `None` if there is no such key here. `before`
    /// is that of an earlier hello of the same handshake, which saves trying all of them.
    pub(crate) fn find(&self, head: &[u8], binder: &[u8; BINDER_LEN], before: Option<Psk>) -> Option<Psk> {
        if *binder == [0; BINDER_LEN] {
            return Some(Psk::None);
        }
        let head_hash = sha256(&[head]);
        if let Some(Psk::At(at)) = before
            && made(&self.psks.binders[at], &head_hash, binder)
        {
            return before;
        }
        // All are tried, so that the time does not tell which one it was.
        let tried = self.psks.binders.iter().enumerate();
        tried.fold(None, |found, (at, key)| {
            made(key, &head_hash, binder).then_some(Psk::At(at)).or(found)
        })
    }

    pub(crate) fn name(&self, psk: Psk) -> Option<PskName> {
        match psk {
            Psk::None => None,
            Psk::At(at) => Some(self.psks.known[at].name),
        }
    }

    /// `hs`, the secret of a handshake with this pre-shared key.
    pub(crate) fn handshake_secret(&self, psk: Psk, shared: &super::SharedSecret) -> Secret {
        let salt = match psk {
            Psk::None => &self.unshared,
            Psk::At(at) => &self.psks.known[at].salt,
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

#[cfg(test)]
mod tests {
    use super::*;

    const RESPONDER: PeerId = PeerId([2; 32]);

    fn psk(number: u32) -> PresharedKey {
        let mut bytes = [7; 32];
        bytes[..4].copy_from_slice(&number.to_be_bytes());
        PresharedKey(bytes)
    }

    /// Finds the key of a hello that was made with this one.
    fn found(keys: &HelloKeys, psk: &PresharedKey) -> Option<PskName> {
        let (head, mut hello) = (b"a head", b"a head".to_vec());
        HelloKeys::new(&RESPONDER, [psk]).finish_hello(&mut hello);
        let binder = hello[head.len()..].first_chunk().expect("a binder");
        keys.find(head, binder, None).and_then(|found| keys.name(found))
    }

    #[test]
    fn a_key_is_found_among_as_many_as_there_may_be() {
        let many: Vec<PresharedKey> = (0..=MAX_PSKS as u32).map(psk).collect();
        let keys = HelloKeys::new(&RESPONDER, &many);
        for at in [0, 1, MAX_PSKS / 2, MAX_PSKS - 1] {
            assert_eq!(found(&keys, &many[at]), Some(many[at].name()), "{at}");
        }
        assert_eq!(found(&keys, &many[MAX_PSKS]), None, "one too many");
    }

    #[test]
    fn renewed_keys_find_who_is_new_and_who_stayed_and_nobody_else() {
        let before = HelloKeys::new(&RESPONDER, &[1, 2, 3].map(psk));
        for (now, wanted) in [
            (&[1, 2, 3, 4][..], [true, true, true, true]),
            (&[4, 1, 3], [true, false, true, true]),
            (&[3, 4, 2], [false, true, true, true]),
            (&[2], [false, true, false, false]),
            (&[], [false; 4]),
        ] {
            let psks: Vec<PresharedKey> = now.iter().copied().map(psk).collect();
            let keys = before.renewed(&psks);
            let found = [1, 2, 3, 4].map(|number| found(&keys, &psk(number)) == Some(psk(number).name()));
            assert_eq!(found, wanted, "{now:?}");
        }
    }
}
