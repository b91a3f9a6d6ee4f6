//! The signature of a group of pictures, or of a part of a long one, as it is sent (signatures.md §5).

use super::certificate::GOP_SIGNATURE_LEN;
use super::merkle::{Hash, Tree};
use crate::wire::{MAX_STREAM, Malformed, PeerId, Reader};

const VERSION: u8 = 1;

/// Maximum number of frames that one signature covers. A longer group of pictures is signed in parts, so that one that
/// never ends is signed too. With all leaves a message stays below the longest control record.
pub const MAX_PART_FRAMES: usize = 256;

const HEAD_LEN: usize = 49;

/// Length of the longest signature of a group in bytes, with its leaves.
pub const MAX_GOP_SIGNATURE: usize = HEAD_LEN + GOP_SIGNATURE_LEN + 32 * MAX_PART_FRAMES;

const LABEL: &[u8] = b"sealcast2 gop\0";

/// Which frames a signature covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) stream: u16,
    /// Number of frames, 1 to [`MAX_PART_FRAMES`].
    pub(super) count: u16,
    /// Index of the first one in its group, a multiple of [`MAX_PART_FRAMES`].
    pub(super) first: u32,
    pub(super) group: u64,
    /// Root of the part that was signed before.
    pub(super) previous: Hash,
}

impl Head {
    fn to_bytes(self) -> [u8; HEAD_LEN] {
        let mut bytes = [0; HEAD_LEN];
        bytes[0] = VERSION;
        bytes[1..3].copy_from_slice(&self.stream.to_be_bytes());
        bytes[3..5].copy_from_slice(&self.count.to_be_bytes());
        bytes[5..9].copy_from_slice(&self.first.to_be_bytes());
        bytes[9..17].copy_from_slice(&self.group.to_be_bytes());
        bytes[17..].copy_from_slice(&self.previous);
        bytes
    }

    fn parse(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let version = reader.u8()?;
        let head = Self {
            stream: reader.u16()?,
            count: reader.u16()?,
            first: reader.u32()?,
            group: reader.u64()?,
            previous: reader.array()?,
        };
        let fits = version == VERSION
            && (1..=MAX_STREAM).contains(&u32::from(head.stream))
            && (1..=MAX_PART_FRAMES).contains(&usize::from(head.count))
            && (head.first as usize).is_multiple_of(MAX_PART_FRAMES);
        if fits { Ok(head) } else { Err(Malformed) }
    }

    /// Bytes that are signed with ML-DSA-65.
    pub(super) fn content(self, camera: &PeerId, root: &Hash) -> Vec<u8> {
        [LABEL, &camera.0, &self.to_bytes(), root].concat()
    }
}

/// The signature of a group of pictures or of a part of it, with the leaves of all its frames. It is verified by a
/// [`GopVerifier`](super::GopVerifier).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GopSignature {
    pub(super) head: Head,
    pub(super) signature: Box<[u8; GOP_SIGNATURE_LEN]>,
    pub(super) leaves: Vec<Hash>,
}

impl GopSignature {
    /// Number of the group of pictures.
    pub fn group(&self) -> u64 {
        self.head.group
    }

    /// The stream.
    pub fn stream(&self) -> u16 {
        self.head.stream
    }

    /// Indexes of its frames in the group.
    pub fn indexes(&self) -> std::ops::Range<u32> {
        self.head.first..self.head.first + u32::from(self.head.count)
    }

    /// The message's bytes, at most [`MAX_GOP_SIGNATURE`].
    pub fn to_bytes(&self) -> Vec<u8> {
        [
            &self.head.to_bytes()[..],
            &self.signature[..],
            self.leaves.as_flattened(),
        ]
        .concat()
    }

    /// Parses a message.
    ///
    /// # Errors
    /// [`Malformed`]: another version or length, or numbers out of their bounds.
    pub fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(bytes);
        let head = Head::parse(&mut reader)?;
        let signature = Box::new(reader.array()?);
        let leaves = (0..head.count).map(|_| reader.array()).collect::<Result<_, _>>()?;
        reader.finish()?;
        Ok(Self {
            head,
            signature,
            leaves,
        })
    }

    /// The root that follows from the leaves.
    pub(super) fn root(&self) -> Hash {
        Tree::new(self.leaves.clone()).map_or([0; 32], |tree| tree.root())
    }
}
