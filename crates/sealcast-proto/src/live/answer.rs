//! Challenges, and the answers that lead from one to a root that the camera signed (signatures.md §6).

use crate::sign::Hash;
use crate::sign::merkle::{leaf, path_length, root_of_path};
use crate::wire::{Malformed, Reader};

const VERSION: u8 = 1;

/// Length of a challenge in bytes.
pub const CHALLENGE_LEN: usize = 16;

/// Maximum number of challenges that one root covers.
pub const MAX_CHALLENGERS: u16 = 16_384;

/// Maximum number of hashes in an answer: log₂ of [`MAX_CHALLENGERS`].
pub const MAX_PATH: usize = 14;

const HEAD_LEN: usize = 9;

/// Length of the longest answer in bytes.
pub const MAX_ANSWER: usize = HEAD_LEN + 32 * MAX_PATH;

const LABEL: &[u8] = b"sealcast2 challenge\0";

/// Random bytes that nobody knew before the viewer sent them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Challenge(pub [u8; CHALLENGE_LEN]);

impl Challenge {
    pub(super) fn leaf(&self) -> Hash {
        leaf(LABEL, &self.0)
    }

    /// The first bytes, by which a viewer finds the challenge that is answered.
    pub(super) fn name(&self) -> [u8; 4] {
        let [a, b, c, d, ..] = self.0;
        [a, b, c, d]
    }
}

/// A camera's answer to a challenge. It proves something only together with a verified frame that has the root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    pub(super) name: [u8; 4],
    /// Number of challenges that the root covers, 1 to [`MAX_CHALLENGERS`].
    pub(super) count: u16,
    /// Place of this one, below `count`.
    pub(super) index: u16,
    pub(super) path: Vec<Hash>,
}

impl Answer {
    /// The answer's bytes: 9, and 32 for each hash of the path.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(HEAD_LEN + 32 * self.path.len());
        out.push(VERSION);
        out.extend_from_slice(&self.name);
        out.extend_from_slice(&self.count.to_be_bytes());
        out.extend_from_slice(&self.index.to_be_bytes());
        out.extend_from_slice(self.path.as_flattened());
        out
    }

    /// Parses an answer.
    ///
    /// # Errors
    /// [`Malformed`]: another version, an impossible place, or a path that is not as long as the place requires.
    pub fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(bytes);
        let version = reader.u8()?;
        let (name, count, index) = (reader.array()?, reader.u16()?, reader.u16()?);
        if version != VERSION || count > MAX_CHALLENGERS || index >= count {
            return Err(Malformed);
        }
        let length = path_length(index.into(), count.into());
        let path = (0..length).map(|_| reader.array()).collect::<Result<_, _>>()?;
        reader.finish()?;
        Ok(Self {
            name,
            count,
            index,
            path,
        })
    }

    /// The root to which the answer leads from a challenge.
    pub(super) fn root(&self, challenge: &Challenge) -> Option<Hash> {
        root_of_path(challenge.leaf(), self.index.into(), self.count.into(), &self.path)
    }
}
