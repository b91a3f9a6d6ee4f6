//! Key sheets, byte for byte (groups.md §6).

use super::node::{ARITY, MAX_MEMBERS, Node};
use super::secret::{Group, GroupName, RUN_LEN, WRAPPED_LEN};
use crate::keys::{Identity, PeerId, SIGNATURE_LEN, sha256};
use crate::wire::{MAX_STREAM, Malformed, Reader};

/// Offset of the scope in a sheet.
const SCOPE_AT: usize = 2;
const KIND: u8 = 0x20;
const VERSION: u8 = 1;
/// Length of everything before the wraps, in bytes.
const HEAD_LEN: usize = 4 + 4 + 32 + RUN_LEN + 8 + 8 + 2;
const WRAP_LEN: usize = 4 + WRAPPED_LEN;
/// Maximum number of wraps: all nodes below the root.
const MAX_WRAPS: usize = (MAX_MEMBERS * ARITY as usize - ARITY as usize) / (ARITY as usize - 1);

/// Maximum length of a sheet in bytes: a full sheet of a full group.
pub const MAX_SHEET: usize = HEAD_LEN + MAX_WRAPS * WRAP_LEN + SIGNATURE_LEN;

/// Part of the tree that a sheet shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// All of it: who is a member can open it without any sheet before.
    Full,
    /// Parts that were drawn anew in this epoch.
    Update,
    /// One leaf and what is above it: for one member.
    Path,
}

impl Scope {
    fn byte(self) -> u8 {
        match self {
            Self::Full => 1,
            Self::Update => 2,
            Self::Path => 3,
        }
    }

    /// Returns how much of the tree a sheet shows. `None` if it is malformed there. Nothing else of it is looked at.
    pub fn of_sheet(sheet: &[u8]) -> Option<Self> {
        Self::of(*sheet.get(SCOPE_AT)?)
    }

    fn of(byte: u8) -> Option<Self> {
        [Self::Full, Self::Update, Self::Path]
            .into_iter()
            .find(|scope| scope.byte() == byte)
    }
}

/// The fields before the wraps.
#[derive(Clone, Copy)]
pub(super) struct Head {
    pub(super) scope: Scope,
    pub(super) suite: u8,
    pub(super) group: Group,
    pub(super) epoch: u64,
    pub(super) effect: u64,
}

/// Wraps by node, in ascending order.
pub(super) type Wraps = Vec<(Node, [u8; WRAPPED_LEN])>;

impl Head {
    /// The sheet with these wraps, which are in order.
    pub(super) fn sign(&self, wraps: &[(Node, [u8; WRAPPED_LEN])], camera: &Identity) -> Vec<u8> {
        let count = u16::try_from(wraps.len()).expect("a tree has fewer nodes");
        let mut sheet = Vec::with_capacity(HEAD_LEN + wraps.len() * WRAP_LEN + SIGNATURE_LEN);
        sheet.extend_from_slice(&[KIND, VERSION, self.scope.byte(), self.suite]);
        sheet.extend_from_slice(&self.group.name.stream.to_be_bytes());
        sheet.extend_from_slice(&self.group.name.camera.0);
        sheet.extend_from_slice(&self.group.run);
        sheet.extend_from_slice(&self.epoch.to_be_bytes());
        sheet.extend_from_slice(&self.effect.to_be_bytes());
        sheet.extend_from_slice(&count.to_be_bytes());
        for (node, wrapped) in wraps {
            sheet.extend_from_slice(&node.number().to_be_bytes());
            sheet.extend_from_slice(wrapped);
        }
        let signature = camera.sign(&signed(&sheet));
        sheet.extend_from_slice(&signature);
        sheet
    }
}

/// Bytes that the camera signs for a sheet that ends before its signature.
pub(super) fn signed(sheet: &[u8]) -> Vec<u8> {
    [&b"sealcast2 key sheet\0"[..], &sha256(&[sheet])].concat()
}

/// A sheet whose form has been checked, and nothing else.
pub(super) struct Sheet<'a> {
    pub(super) head: Head,
    pub(super) wraps: Wraps,
    unsigned: &'a [u8],
    signature: [u8; SIGNATURE_LEN],
}

impl<'a> Sheet<'a> {
    pub(super) fn parse(bytes: &'a [u8]) -> Result<Self, Malformed> {
        if bytes.len() > MAX_SHEET {
            return Err(Malformed);
        }
        let (unsigned, signature) = bytes.split_last_chunk::<SIGNATURE_LEN>().ok_or(Malformed)?;
        let mut reader = Reader::new(unsigned);
        if (reader.u8()?, reader.u8()?) != (KIND, VERSION) {
            return Err(Malformed);
        }
        let scope = Scope::of(reader.u8()?).ok_or(Malformed)?;
        let suite = reader.u8()?;
        let stream = reader.u32()?;
        if !(1..=MAX_STREAM).contains(&stream) {
            return Err(Malformed);
        }
        let camera = PeerId(reader.array()?);
        let name = GroupName { camera, stream };
        let head = Head {
            scope,
            suite,
            group: Group {
                name,
                run: reader.array()?,
            },
            epoch: reader.u64()?,
            effect: reader.u64()?,
        };
        let count = usize::from(reader.u16()?);
        let mut wraps = Wraps::with_capacity(count.min(unsigned.len() / WRAP_LEN));
        for _ in 0..count {
            let node = Node::below_root(reader.u32()?).ok_or(Malformed)?;
            if wraps.last().is_some_and(|(last, _)| *last >= node) {
                return Err(Malformed);
            }
            wraps.push((node, reader.array()?));
        }
        reader.finish()?;
        let sheet = Self {
            head,
            wraps,
            unsigned,
            signature: *signature,
        };
        if sheet.reaches_the_root() {
            Ok(sheet)
        } else {
            Err(Malformed)
        }
    }

    /// Whether the wraps above every wrap are there.
    fn reaches_the_root(&self) -> bool {
        let parents = self.wraps.iter().filter_map(|(node, _)| node.parent());
        let mut inner = parents.filter(|parent| *parent != Node::ROOT);
        inner.all(|parent| self.wrap(parent).is_some())
    }

    pub(super) fn verifies(&self) -> bool {
        let camera = &self.head.group.name.camera;
        camera.verifies(&signed(self.unsigned), &self.signature)
    }

    /// The wrap for who knows a node's secret.
    pub(super) fn wrap(&self, node: Node) -> Option<&[u8; WRAPPED_LEN]> {
        let at = self.wraps.binary_search_by_key(&node, |(node, _)| *node).ok()?;
        Some(&self.wraps[at].1)
    }

    /// Whether a node's secret was drawn anew, as an update shows it: one of its children has a wrap.
    pub(super) fn renews(&self, node: Node) -> bool {
        node.children().any(|child| self.wrap(child).is_some())
    }
}
