//! Frames of one stream that need not wait for what is missing of the other, at the viewer.

use super::inbound::{Inbound, stream_bit};
use crate::wire::Malformed;

impl Inbound {
    /// Where there is sound beside a picture, hands out the frames of one that need not wait for what is missing of the
    /// other: a frame whose number is the next of its stream misses nothing. Each call looks at the blocks that are
    /// held, `MAX_BLOCKS` at most.
    pub(super) fn pass_by(&mut self) -> Result<(), Malformed> {
        if !self.order.carries_sound() {
            return Ok(());
        }
        // Those before the first are of the other stream, or it would not be the next of its own.
        let mut at = self.blocks.keys().copied().find(|&first| self.may_pass(first));
        while let Some(first) = at {
            if self.may_pass(first) {
                let proof = self.proof_after(first);
                self.hand_out_early(first)?;
                if let Some(proof) = proof {
                    self.hand_out_early(proof)?;
                }
            }
            at = self.blocks.range(first + 1..).next().map(|(&next, _)| next);
        }
        Ok(())
    }

    /// True if the block that begins with this number need not wait for those before it. Where frames are proved, its
    /// proof must be there as well, that of the frame before it must have been handed out, and it has no description
    /// before it, which is proved with it.
    fn may_pass(&self, first: u64) -> bool {
        let Some(block) = self.blocks.get(&first) else {
            return false;
        };
        let follows = |frame| self.order.follows(block.stream, frame, block.keyframe);
        let provable = || self.unproven & stream_bit(block.stream) == 0 && self.proof_after(first).is_some();
        block.whole_frame().is_some_and(follows) && (!self.proved || provable())
    }

    /// The number of the proof of the frame that begins with this number, if that is there and the frame has no
    /// description before it.
    fn proof_after(&self, first: u64) -> Option<u64> {
        let block = self.blocks.get(&first)?;
        let at = first + block.len();
        let proof = self.blocks.get(&at).filter(|proof| proof.proof && !proof.taken)?;
        let alone = proof.complete() && !proof.keyframe && proof.stream == block.stream;
        alone.then_some(at)
    }

    fn hand_out_early(&mut self, first: u64) -> Result<(), Malformed> {
        let Some(block) = self.blocks.get_mut(&first) else {
            return Ok(());
        };
        let held = block.held();
        let taken = block.take();
        self.held = self.held + block.held() - held;
        self.hand_out(taken)
    }
}
