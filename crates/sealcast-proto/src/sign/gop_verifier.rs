//! What the signatures of groups of pictures prove of the frames that were taken (signatures.md §5).

use std::collections::BTreeMap;

use super::certificate::GopKey;
use super::gop_message::{GopSignature, MAX_PART_FRAMES};
use super::merkle::Hash;
use super::statement::Statement;
use crate::unit::SOUND_STREAM;

/// Maximum number of parts of groups of which frames or signatures are remembered.
pub const MAX_OPEN_PARTS: usize = 4;

/// What a signature says of the frames of its part that were taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GopOutcome {
    /// All frames of the part were taken, and all are the camera's.
    Proven,
    /// The frames that were taken are the camera's. These were not, by their indexes in the group.
    Incomplete {
        /// Their indexes, in order.
        missing: Vec<u32>,
    },
    /// Frames were taken that the camera did not make.
    Forged {
        /// Their indexes, in order.
        forged: Vec<u32>,
    },
}

/// What is known after the signature of a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GopVerdict {
    /// The stream.
    pub stream: u16,
    /// Number of the group of pictures.
    pub group: u64,
    /// The outcome.
    pub outcome: GopOutcome,
    /// True if it follows the part that was verified before: no part between was left out.
    pub follows: bool,
}

/// Reason why a signature of a group is refused. It changes nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GopRefusal {
    /// It does not have the form of one.
    #[error("malformed")]
    Malformed,
    /// It is for another stream.
    #[error("stream")]
    Stream,
    /// It is not the camera's.
    #[error("signature")]
    Signature,
    /// The signature of this part was verified before.
    #[error("repeated")]
    Repeated,
}

/// What is known of a frame when it is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// The signature of its group is still to come.
    Waiting,
    /// The signature came before the frame, and covers it.
    Proven,
    /// The signature came before the frame, and the camera did not make this one.
    Forged,
}

/// A part of which frames were taken, or the signature is known.
#[derive(Default)]
struct Part {
    /// Leaves of the frames taken, by their index.
    taken: BTreeMap<u32, Hash>,
    /// Leaves of all frames, once the signature has been verified.
    signed: Option<Vec<Hash>>,
}

/// Remembers the frames that were taken, until the signature of their group comes, and signatures for frames that come
/// late.
pub struct GopVerifier {
    key: GopKey,
    stream: u16,
    /// By the group, and the index with which the part begins.
    parts: BTreeMap<(u64, u32), Part>,
    /// The newest part that was verified, and its root.
    newest: Option<((u64, u32), Hash)>,
    unproven: u64,
}

impl GopVerifier {
    /// A verifier for a stream of the camera with this key.
    pub fn new(key: GopKey, stream: u16) -> Self {
        Self {
            key,
            stream,
            parts: BTreeMap::new(),
            newest: None,
            unproven: 0,
        }
    }

    /// Remembers a frame that was taken.
    pub fn took(&mut self, statement: &Statement) -> Taken {
        let (index, leaf) = (statement.index, statement.leaf());
        let first = first_of(index);
        let part = self.parts.entry((statement.group, first)).or_default();
        part.taken.insert(index, leaf);
        let taken = match &part.signed {
            None => Taken::Waiting,
            Some(signed) if covers(signed, index, &leaf) => Taken::Proven,
            Some(_) => Taken::Forged,
        };
        self.forget_oldest();
        taken
    }

    /// Number of frames that went without a signature of their group.
    pub fn unproven(&self) -> u64 {
        self.unproven
    }

    /// Verifies the signature of a part, and compares the frames of it that were taken.
    ///
    /// # Errors
    /// [`GopRefusal`]; nothing is changed.
    pub fn verify(&mut self, message: &[u8]) -> Result<GopVerdict, GopRefusal> {
        let message = GopSignature::parse(message).map_err(|_| GopRefusal::Malformed)?;
        let head = message.head;
        if head.stream != self.stream {
            return Err(GopRefusal::Stream);
        }
        let root = message.root();
        let content = head.content(self.key.camera(), &root);
        if !self.key.verifies(&content, &message.signature) {
            return Err(GopRefusal::Signature);
        }
        let number = (head.group, head.first);
        let part = self.parts.entry(number).or_default();
        if part.signed.is_some() {
            return Err(GopRefusal::Repeated);
        }
        let outcome = outcome(head.first, &message.leaves, &part.taken);
        part.signed = Some(message.leaves);
        let follows = self.newest.is_none_or(|(_, newest)| newest == head.previous);
        if self.newest.is_none_or(|(newest, _)| newest < number) {
            self.newest = Some((number, root));
        }
        self.forget_oldest();
        Ok(GopVerdict {
            stream: head.stream,
            group: head.group,
            outcome,
            follows,
        })
    }

    fn forget_oldest(&mut self) {
        if self.parts.len() > MAX_OPEN_PARTS
            && let Some((_, oldest)) = self.parts.pop_first()
            && oldest.signed.is_none()
        {
            self.unproven += oldest.taken.len() as u64;
        }
    }
}

/// The verifiers of a camera's stream and of the sound beside it, whose groups are signed apart.
pub struct GopVerifiers {
    picture: GopVerifier,
    sound: GopVerifier,
}

impl GopVerifiers {
    /// Verifiers for this stream of the camera with this key, and for its sound.
    pub fn new(key: &GopKey, stream: u16) -> Self {
        Self {
            picture: GopVerifier::new(key.clone(), stream),
            sound: GopVerifier::new(key.clone(), SOUND_STREAM as u16),
        }
    }

    /// As [`GopVerifier::took`].
    pub fn took(&mut self, statement: &Statement) -> Taken {
        if statement.stream == self.picture.stream {
            self.picture.took(statement)
        } else {
            self.sound.took(statement)
        }
    }

    /// As [`GopVerifier::verify`].
    ///
    /// # Errors
    /// [`GopRefusal`]; nothing is changed.
    pub fn verify(&mut self, message: &[u8]) -> Result<GopVerdict, GopRefusal> {
        match self.picture.verify(message) {
            Err(GopRefusal::Stream) => self.sound.verify(message),
            verdict => verdict,
        }
    }
}

/// Index with which the part of a frame begins.
fn first_of(index: u32) -> u32 {
    index - index % MAX_PART_FRAMES as u32
}

/// True if the frame with this index has this leaf among those that are signed.
fn covers(signed: &[Hash], index: u32, leaf: &Hash) -> bool {
    signed.get((index - first_of(index)) as usize) == Some(leaf)
}

fn outcome(first: u32, signed: &[Hash], taken: &BTreeMap<u32, Hash>) -> GopOutcome {
    let others = taken.iter().filter(|(index, leaf)| !covers(signed, **index, leaf));
    let forged: Vec<u32> = others.map(|(index, _)| *index).collect();
    if !forged.is_empty() {
        return GopOutcome::Forged { forged };
    }
    let all = (0..signed.len() as u32).map(|at| first + at);
    let missing: Vec<u32> = all.filter(|index| !taken.contains_key(index)).collect();
    if missing.is_empty() {
        GopOutcome::Proven
    } else {
        GopOutcome::Incomplete { missing }
    }
}
