//! Reads and checks a segment (archive.md §5).

use super::block::{self, Kind, MAGIC, MacKey, NotRead};
use super::contents::{End, FrameBlock, Head, MAX_KEY_FILE};
use super::writer::{KeySealer, SegmentKey};
use crate::seal::{MediaKey, Suite};
use crate::sign::{Certificate, GopSignature, Hash};
use crate::wire::Orientation;

/// Maximum length of a segment in bytes. A writer begins another one far earlier.
pub const MAX_SEGMENT: usize = 512 << 20;

/// Maximum number of keys in a segment. A publisher changes them ten times a second at most.
const MAX_KEYS: u32 = 16_384;

/// Reason why reading a segment stopped. All blocks before it are as they were written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// It does not begin as one.
    #[error("is no segment of an archive")]
    NotASegment,
    /// It ends within a block.
    #[error("ends in the middle of a block, at byte {at}")]
    Cut {
        /// Offset of that block in bytes.
        at: usize,
    },
    /// A block is not the one that was written, or nothing should follow.
    #[error("was altered, or not completely written, from byte {at} on")]
    Altered {
        /// Offset of that block in bytes.
        at: usize,
    },
    /// A block was not made by who made the segment's key.
    #[error("has a forged block at byte {at}: its MAC does not fit the segment's key")]
    Forged {
        /// Offset of that block in bytes.
        at: usize,
    },
}

/// A block of a segment.
pub enum Block<'a> {
    /// A key, if the segment's key is known.
    Key(Option<MediaKey>),
    /// A key that its camera encrypted for the recipients, as an age file. What that holds is read by
    /// [`key_from_bytes`](super::key_from_bytes).
    WrappedKey {
        /// The full number of its epoch.
        epoch: u64,
        /// The age file.
        file: &'a [u8],
    },
    /// A frame.
    Frame(FrameBlock<'a>),
    /// The description that the frames after it need. It came before the segment began.
    Description(FrameBlock<'a>),
    /// The certificate of the key that signs groups of pictures. Its form is right, and nothing else is known of it.
    GopKey(&'a [u8]),
    /// The signature of a group of pictures, or of a part of one. Its form is right, and nothing else is known of it.
    GopSignature(&'a [u8]),
    /// Orientation of the pictures after it.
    Orientation(Orientation),
    /// The end. Nothing follows.
    End(End),
}

/// A segment in memory, read block by block.
pub struct Segment<'a> {
    bytes: &'a [u8],
    at: usize,
    link: Hash,
    head: Head,
    keys: u32,
    ended: bool,
    unlocked: Option<(MacKey, KeySealer, Vec<Suite>)>,
}

impl<'a> Segment<'a> {
    /// Reads the head.
    ///
    /// # Errors
    /// [`Fault`].
    pub fn new(bytes: &'a [u8]) -> Result<Self, Fault> {
        if !bytes.starts_with(MAGIC) {
            let begun = MAGIC.starts_with(&bytes[..bytes.len().min(MAGIC.len())]);
            return Err(if begun {
                Fault::Cut { at: 0 }
            } else {
                Fault::NotASegment
            });
        }
        let at = MAGIC.len();
        let raw = block::read(&bytes[at..], &block::first_link()).map_err(|why| fault(why, at))?;
        let head = Head::parse(raw.body).ok().filter(|_| raw.kind == Kind::Head);
        Ok(Self {
            bytes,
            at: at + raw.length,
            link: raw.link,
            head: head.ok_or(Fault::NotASegment)?,
            keys: 0,
            ended: false,
            unlocked: None,
        })
    }

    /// Contents of the segment's first block.
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// From here on, checks with the segment's key that its writer made each block, and opens the keys in it, of these
    /// suites. To be called first.
    ///
    /// # Errors
    /// [`Fault::Forged`]: the head was altered, or it is not the segment's key.
    pub fn unlock(&mut self, key: &SegmentKey, suites: &[Suite]) -> Result<(), Fault> {
        let at = MAGIC.len();
        let mac = key.mac(&self.head);
        let raw = block::read(&self.bytes[at..], &block::first_link()).map_err(|why| fault(why, at))?;
        if !raw.verifies(&mac) {
            return Err(Fault::Forged { at });
        }
        self.unlocked = Some((mac, key.keys(&self.head), suites.to_vec()));
        Ok(())
    }

    /// The next block; `None` after the last one. Whether the segment was completed, [`ended`](Self::ended) says.
    ///
    /// # Errors
    /// [`Fault`]; no block follows then.
    pub fn next_block(&mut self) -> Option<Result<Block<'a>, Fault>> {
        if self.at == self.bytes.len() {
            return None;
        }
        let block = self.read();
        if block.is_err() {
            self.bytes = &self.bytes[..self.at];
        }
        Some(block)
    }

    fn read(&mut self) -> Result<Block<'a>, Fault> {
        let at = self.at;
        let altered = Fault::Altered { at };
        if self.ended {
            return Err(altered);
        }
        let raw = block::read(&self.bytes[at..], &self.link).map_err(|why| fault(why, at))?;
        if self.unlocked.as_ref().is_some_and(|(mac, ..)| !raw.verifies(mac)) {
            return Err(Fault::Forged { at });
        }
        let block = match raw.kind {
            Kind::Head => return Err(altered),
            Kind::Key | Kind::WrappedKey if self.keys == MAX_KEYS => return Err(altered),
            Kind::WrappedKey => {
                let (epoch, file) = raw.body.split_first_chunk().ok_or(altered)?;
                if file.len() > MAX_KEY_FILE {
                    return Err(altered);
                }
                self.keys += 1;
                let epoch = u64::from_be_bytes(*epoch);
                Block::WrappedKey { epoch, file }
            }
            Kind::Key => {
                let opened = self.unlocked.as_ref();
                let opened = opened.map(|(_, sealer, suites)| sealer.open(self.keys, raw.body, suites));
                self.keys += 1;
                Block::Key(opened.transpose().map_err(|_| altered)?)
            }
            Kind::Frame => Block::Frame(FrameBlock::parse(raw.body).map_err(|_| altered)?),
            Kind::Description => Block::Description(FrameBlock::parse(raw.body).map_err(|_| altered)?),
            Kind::GopKey => {
                Certificate::parse(raw.body).map_err(|_| altered)?;
                Block::GopKey(raw.body)
            }
            Kind::GopSignature => {
                GopSignature::parse(raw.body).map_err(|_| altered)?;
                Block::GopSignature(raw.body)
            }
            Kind::Orientation => Block::Orientation(Orientation::from_bytes(raw.body).map_err(|_| altered)?),
            Kind::End => Block::End(End::parse(raw.body).map_err(|_| altered)?),
        };
        self.ended = matches!(block, Block::End(_));
        (self.at, self.link) = (at + raw.length, raw.link);
        Ok(block)
    }

    /// The link of the last block that was read.
    pub fn link(&self) -> Hash {
        self.link
    }

    /// Bytes that were read.
    pub fn read_to(&self) -> usize {
        self.at
    }

    /// True if the end was read: the segment was completed.
    pub fn ended(&self) -> bool {
        self.ended
    }
}

fn fault(why: NotRead, at: usize) -> Fault {
    match why {
        NotRead::Cut => Fault::Cut { at },
        NotRead::Altered => Fault::Altered { at },
    }
}
