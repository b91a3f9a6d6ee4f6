//! The secrets of a group and what is derived from them (groups.md §3 to §5).

use aws_lc_rs::aead;
use subtle::ConstantTimeEq;
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use super::node::Node;
use crate::keys::{PeerId, Secret};
use crate::seal::suite::MAX_KEY_LEN;
use crate::seal::{MediaKey, Opener, PacketKey, SealLimits, Sealer, Suite};
use crate::unit::{PICTURE_STREAM, SOUND_STREAM};
use crate::wire::{Kind, TAG_LEN};

/// Length of a secret in bytes.
pub(super) const SECRET_LEN: usize = 32;
/// Length of a wrapped secret in bytes.
pub(super) const WRAPPED_LEN: usize = SECRET_LEN + TAG_LEN;
/// Length of a run's random bytes.
pub const RUN_LEN: usize = 16;

const GROUP_LEN: usize = 32 + 4 + RUN_LEN;

/// Name of a group: one stream of one camera.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupName {
    /// The camera, which leads the group.
    pub camera: PeerId,
    /// The number of its stream, 1 to 15.
    pub stream: u32,
}

impl GroupName {
    /// True if records of this stream are the group's sound: that of a camera's picture.
    pub(crate) fn has_sound(&self, stream: u32) -> bool {
        self.stream == PICTURE_STREAM && stream == SOUND_STREAM
    }
}

/// A group in one run of its leader. It enters every derivation.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Group {
    pub(super) name: GroupName,
    pub(super) run: [u8; RUN_LEN],
}

impl Group {
    /// The name under which the keys of the sound's records are derived, from the same group secrets.
    pub(super) fn sound(&self) -> Self {
        let name = GroupName {
            stream: SOUND_STREAM,
            ..self.name
        };
        Self { name, ..*self }
    }

    fn bytes(&self) -> [u8; GROUP_LEN] {
        let mut bytes = [0; GROUP_LEN];
        bytes[..32].copy_from_slice(&self.name.camera.0);
        bytes[32..36].copy_from_slice(&self.name.stream.to_be_bytes());
        bytes[36..].copy_from_slice(&self.run);
        bytes
    }

    fn context(&self, epoch: u64, node: Node) -> [u8; GROUP_LEN + 12] {
        let mut context = [0; GROUP_LEN + 12];
        context[..GROUP_LEN].copy_from_slice(&self.bytes());
        context[GROUP_LEN..].copy_from_slice(&place(epoch, node));
        context
    }
}

/// A node in an epoch: the nonce of its wrap, and the end of a context.
fn place(epoch: u64, node: Node) -> [u8; 12] {
    let mut place = [0; 12];
    place[..8].copy_from_slice(&epoch.to_be_bytes());
    place[8..].copy_from_slice(&node.number().to_be_bytes());
    place
}

/// The secret that a member shares with the leader for one group. It cannot be printed.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct MemberKey(pub(super) NodeSecret);

impl MemberKey {
    /// Derives it from 32 bytes that only the two ends know: the enrolment of an enrolled viewer, or the exporter of a
    /// session (groups.md §5).
    pub fn derive(shared: &[u8; 32], group: &GroupName) -> Self {
        let mut context = [0; 36];
        context[..32].copy_from_slice(&group.camera.0);
        context[32..].copy_from_slice(&group.stream.to_be_bytes());
        Self(NodeSecret(*shared).derive(b"group member", &context))
    }
}

/// Kind of the records that a key of an epoch seals. Repair records have a key of their own, so that the numbers of the
/// others have no gaps for who gets no repair records.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyUse {
    Media,
    Repair,
}

impl KeyUse {
    fn labels(self) -> [&'static [u8]; 2] {
        match self {
            Self::Media => [b"group media key", b"group media base"],
            Self::Repair => [b"group repair key", b"group repair base"],
        }
    }
}

/// The secret of a node in one epoch. It cannot be printed.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub(super) struct NodeSecret([u8; SECRET_LEN]);

impl NodeSecret {
    #[cfg(test)]
    pub(super) fn new(bytes: [u8; SECRET_LEN]) -> Self {
        Self(bytes)
    }

    #[cfg(test)]
    pub(super) fn bytes(&self) -> &[u8; SECRET_LEN] {
        &self.0
    }

    fn derive(&self, label: &[u8], context: &[u8]) -> Self {
        let mut derived = Self([0; SECRET_LEN]);
        Secret::from_bytes(&self.0).expand(label, context, &mut derived.0);
        derived
    }

    /// The secret of a node that is drawn anew, from a seed that no other epoch has.
    pub(super) fn fresh(seed: &[u8; 32], group: &Group, epoch: u64, node: Node) -> Self {
        let mut fresh = Self([0; SECRET_LEN]);
        Secret::from_bytes(seed).expand(b"group node", &group.context(epoch, node), &mut fresh.0);
        fresh
    }

    /// The secret after the steps from epoch `from` to epoch `to`. Callers bound their number with
    /// [`MAX_RATCHET`](super::MAX_RATCHET).
    pub(super) fn ratcheted(&self, group: &Group, node: Node, from: u64, to: u64) -> Self {
        (from..to).fold(self.clone(), |secret, epoch| {
            secret.derive(b"group ratchet", &group.context(epoch + 1, node))
        })
    }

    /// The key of the wraps that are made for who knows this secret.
    pub(super) fn wrap_key(&self, group: &Group) -> WrapKey {
        let key = self.derive(b"group wrap", &group.bytes());
        let key = aead::UnboundKey::new(&aead::AES_256_GCM, &key.0).expect("AES-256 keys have 32 bytes");
        WrapKey(aead::LessSafeKey::new(key))
    }

    /// The sealer of an epoch whose group secret this is. Callers make one for each epoch and use.
    pub(super) fn sealer(&self, group: &Group, epoch: u64, suite: &Suite, limits: SealLimits, of: KeyUse) -> Sealer {
        let (key, base) = self.packet_key(group, epoch, suite, of);
        Sealer::new(key, base, Kind::Media, epoch as u16, limits)
    }

    /// The opener of an epoch whose group secret this is.
    pub(super) fn opener(&self, group: &Group, epoch: u64, suite: &Suite, of: KeyUse) -> Opener {
        let (key, base) = self.packet_key(group, epoch, suite, of);
        Opener::new(key, base)
    }

    /// The key of an epoch's media, as an archive keeps it.
    pub(super) fn media_key(&self, group: &Group, epoch: u64, suite: &Suite) -> Option<MediaKey> {
        let (key, base) = self.key_bytes(group, epoch, suite, KeyUse::Media);
        let media_key = MediaKey::new(group.name.camera, epoch, *suite, &key[..suite.key_len], base);
        media_key.map(|key| match group.name.stream {
            SOUND_STREAM => key.of_sound(),
            _ => key,
        })
    }

    fn packet_key(&self, group: &Group, epoch: u64, suite: &Suite, of: KeyUse) -> (Box<dyn PacketKey>, [u8; 8]) {
        let (key, base) = self.key_bytes(group, epoch, suite, of);
        ((suite.make_key)(&key[..suite.key_len]), base)
    }

    fn key_bytes(
        &self,
        group: &Group,
        epoch: u64,
        suite: &Suite,
        of: KeyUse,
    ) -> (Zeroizing<[u8; MAX_KEY_LEN]>, [u8; 8]) {
        let mut context = [0; 1 + GROUP_LEN + 8];
        context[0] = suite.id;
        context[1..=GROUP_LEN].copy_from_slice(&group.bytes());
        context[1 + GROUP_LEN..].copy_from_slice(&epoch.to_be_bytes());
        let secret = Secret::from_bytes(&self.0);
        let mut key = Zeroizing::new([0; MAX_KEY_LEN]);
        let used = &mut key[..suite.key_len];
        let mut base = [0; 8];
        let [key_label, base_label] = of.labels();
        secret.expand(key_label, &context, used);
        secret.expand(base_label, &context, &mut base);
        (key, base)
    }
}

impl PartialEq for NodeSecret {
    fn eq(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

/// Wraps the secrets of parents for who knows a node's secret. An epoch and a node determine what is wrapped, so a
/// nonce never serves two plaintexts (groups.md §4).
pub(super) struct WrapKey(aead::LessSafeKey);

impl WrapKey {
    pub(super) fn wrap(&self, epoch: u64, node: Node, parent: &NodeSecret) -> [u8; WRAPPED_LEN] {
        let nonce = aead::Nonce::assume_unique_for_key(place(epoch, node));
        let mut wrapped = [0; WRAPPED_LEN];
        let (secret, tag) = wrapped.split_at_mut(SECRET_LEN);
        secret.copy_from_slice(&parent.0);
        let made = self
            .0
            .seal_in_place_separate_tag(nonce, aead::Aad::empty(), secret)
            .expect("a secret is short");
        tag.copy_from_slice(made.as_ref());
        wrapped
    }

    pub(super) fn unwrap(&self, epoch: u64, node: Node, wrapped: &[u8; WRAPPED_LEN]) -> Option<NodeSecret> {
        let nonce = aead::Nonce::assume_unique_for_key(place(epoch, node));
        let mut bytes = Zeroizing::new(*wrapped);
        self.0.open_in_place(nonce, aead::Aad::empty(), bytes.as_mut()).ok()?;
        let mut secret = NodeSecret([0; SECRET_LEN]);
        secret.0.copy_from_slice(&bytes[..SECRET_LEN]);
        Some(secret)
    }
}
