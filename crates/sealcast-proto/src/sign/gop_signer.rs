//! Collects the statements of a group of pictures until it is signed as a whole (signatures.md §5).

use super::certificate::GOP_SIGNATURE_LEN;
use super::gop_message::{GopSignature, Head, MAX_PART_FRAMES};
use super::merkle::{Hash, Tree};
use super::statement::Statement;
use crate::wire::PeerId;

/// Frames that are complete, and wait for their signature. Signing takes a millisecond or several, so it is done where
/// it holds up no frame; the result may be made on another thread.
#[derive(Clone, Debug)]
pub struct UnsignedPart {
    head: Head,
    content: Vec<u8>,
    leaves: Vec<Hash>,
}

impl UnsignedPart {
    /// Bytes to sign: with ML-DSA-65 (FIPS 204, pure, empty context), and the key of [`gop_seed`](super::gop_seed).
    pub fn content(&self) -> &[u8] {
        &self.content
    }

    /// The message for the viewers.
    pub fn signed(self, signature: &[u8; GOP_SIGNATURE_LEN]) -> GopSignature {
        GopSignature {
            head: self.head,
            signature: Box::new(*signature),
            leaves: self.leaves,
        }
    }
}

/// Collects the statements of a stream that a [`FrameSigner`](super::FrameSigner) makes, in their order.
pub struct GopSigner {
    camera: PeerId,
    /// The first statement of the part that is collected.
    began: Option<Statement>,
    leaves: Vec<Hash>,
    previous: Hash,
}

impl GopSigner {
    /// A signer for a stream of the camera with this identity.
    pub fn new(camera: PeerId) -> Self {
        Self {
            camera,
            began: None,
            leaves: Vec::with_capacity(MAX_PART_FRAMES),
            previous: [0; 32],
        }
    }

    /// Adds a statement. Returns the part that is complete now: the group before, if this is a keyframe, or this
    /// group's frames, if there are [`MAX_PART_FRAMES`] of them. It hashes each frame once, and a part in some 50 µs.
    pub fn push(&mut self, statement: &Statement) -> Option<UnsignedPart> {
        let before = if statement.keyframe() { self.close() } else { None };
        self.began.get_or_insert(*statement);
        self.leaves.push(statement.leaf());
        if self.leaves.len() == MAX_PART_FRAMES {
            return self.close();
        }
        before
    }

    /// Ends the part that is collected: at the end of the stream. `None` if no frame waits.
    pub fn close(&mut self) -> Option<UnsignedPart> {
        let began = self.began.take()?;
        let leaves = std::mem::take(&mut self.leaves);
        let root = Tree::new(leaves.clone())?.root();
        let head = Head {
            stream: began.stream,
            count: leaves.len() as u16,
            first: began.index,
            group: began.group,
            previous: std::mem::replace(&mut self.previous, root),
        };
        Some(UnsignedPart {
            head,
            content: head.content(&self.camera, &root),
            leaves,
        })
    }
}
