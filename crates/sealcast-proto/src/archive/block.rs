//! Blocks: what a segment consists of, each linked to all before it (archive.md §2).

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use subtle::ConstantTimeEq;

use crate::keys::sha256;
use crate::sign::Hash;
use crate::wire::{Malformed, Reader};

/// First bytes of a segment.
pub(super) const MAGIC: &[u8; 20] = b"sealcast archive 01\n";

/// Maximum length of a block's body in bytes: a frame of 16 MiB in the shortest records that a publisher makes of it
/// has less than five times that length.
pub const MAX_BLOCK: usize = 96 << 20;

/// Length of what a block has besides its body, in bytes.
pub const BLOCK_OVERHEAD: usize = PREFIX + LINK + MAC;

const PREFIX: usize = 5;
const LINK: usize = 32;
const MAC: usize = 16;

/// Kind of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Head = 1,
    Key = 2,
    Frame = 3,
    End = 4,
    Description = 5,
    WrappedKey = 6,
    GopKey = 7,
    GopSignature = 8,
    Orientation = 9,
}

impl Kind {
    fn of(byte: u8) -> Result<Self, Malformed> {
        let all = [
            Self::Head,
            Self::Key,
            Self::Frame,
            Self::End,
            Self::Description,
            Self::WrappedKey,
            Self::GopKey,
            Self::GopSignature,
            Self::Orientation,
        ];
        all.into_iter().find(|kind| *kind as u8 == byte).ok_or(Malformed)
    }
}

/// The key of the blocks' MACs. It is wiped when dropped.
#[derive(Clone)]
pub(super) struct MacKey(Hmac<Sha256>);

impl MacKey {
    pub(super) fn new(key: &[u8; 32]) -> Self {
        Self(Hmac::new_from_slice(key).expect("HMAC takes keys of any length"))
    }

    fn of(&self, link: &Hash) -> [u8; MAC] {
        let tag = self.0.clone().chain_update(link).finalize().into_bytes();
        tag.first_chunk().copied().expect("HMAC-SHA-256 gives 32 bytes")
    }
}

/// The link of what stands before the first block.
pub(super) fn first_link() -> Hash {
    sha256(&[b"sealcast2 archive link\0", MAGIC])
}

fn next_link(before: &Hash, prefix: &[u8], body: &[u8]) -> Hash {
    sha256(&[before, prefix, body])
}

/// Appends a block to `out`, and returns its link.
pub(super) fn put(out: &mut Vec<u8>, kind: Kind, body: &[u8], before: &Hash, key: &MacKey) -> Hash {
    let length = u32::try_from(body.len()).expect("bodies are at most MAX_BLOCK");
    let start = out.len();
    out.push(kind as u8);
    out.extend_from_slice(&length.to_be_bytes());
    let link = next_link(before, &out[start..], body);
    out.extend_from_slice(body);
    out.extend_from_slice(&link);
    out.extend_from_slice(&key.of(&link));
    link
}

/// A block as it was read.
#[derive(Clone, Copy)]
pub(super) struct Raw<'a> {
    pub(super) kind: Kind,
    pub(super) body: &'a [u8],
    pub(super) link: Hash,
    mac: [u8; MAC],
    pub(super) length: usize,
}

impl Raw<'_> {
    /// True if its MAC is that of the writer, who alone knows the segment's key besides the recipients.
    pub(super) fn verifies(&self, key: &MacKey) -> bool {
        bool::from(key.of(&self.link)[..].ct_eq(&self.mac[..]))
    }
}

/// Reason why no block could be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NotRead {
    /// The bytes end within it.
    Cut,
    /// It is none, or not the one that was written here.
    Altered,
}

/// Reads the next block, which follows the one with the link `before`.
pub(super) fn read<'a>(bytes: &'a [u8], before: &Hash) -> Result<Raw<'a>, NotRead> {
    let (prefix, rest) = bytes.split_at_checked(PREFIX).ok_or(NotRead::Cut)?;
    let kind = Kind::of(prefix[0]).map_err(|_| NotRead::Altered)?;
    let length = u32::from_be_bytes(prefix[1..].try_into().expect("four bytes")) as usize;
    if length > MAX_BLOCK {
        return Err(NotRead::Altered);
    }
    let mut reader = Reader::new(rest);
    let mut take = || {
        let body = reader.bytes(length)?;
        Ok::<_, Malformed>((body, reader.array::<LINK>()?, reader.array::<MAC>()?))
    };
    let (body, link, mac) = take().map_err(|Malformed| NotRead::Cut)?;
    if next_link(before, prefix, body) != link {
        return Err(NotRead::Altered);
    }
    Ok(Raw {
        kind,
        body,
        link,
        mac,
        length: length + BLOCK_OVERHEAD,
    })
}
