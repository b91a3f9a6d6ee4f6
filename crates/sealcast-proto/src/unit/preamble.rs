//! The timestamps in front of every frame.

use crate::wire::{Malformed, Reader};

/// Length of the preamble in bytes.
pub const PREAMBLE_LEN: usize = 40;

/// The data sealed in front of the frame itself (protocol.md §5). Timestamps are nanoseconds of the sender's wall
/// clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Preamble {
    /// Number of the frame in its stream, counted by the source.
    pub frame: u64,
    /// Presentation time since the stream began, ns.
    pub media_time: u64,
    /// Time at which the picture was complete at the source.
    pub captured: u64,
    /// Time at which it had been encoded.
    pub encoded: u64,
    /// Time that sealing the previous frame took, ns; 0 for the first.
    pub previous_seal: u32,
    /// Time that handing the previous frame to the network took, ns; 0 for the first.
    pub previous_send: u32,
}

impl Preamble {
    /// The preamble's bytes.
    pub fn to_bytes(self) -> [u8; PREAMBLE_LEN] {
        let mut bytes = [0; PREAMBLE_LEN];
        let stamps = [self.frame, self.media_time, self.captured, self.encoded];
        for (slot, stamp) in bytes.chunks_exact_mut(8).zip(stamps) {
            slot.copy_from_slice(&stamp.to_be_bytes());
        }
        bytes[32..36].copy_from_slice(&self.previous_seal.to_be_bytes());
        bytes[36..40].copy_from_slice(&self.previous_send.to_be_bytes());
        bytes
    }

    /// Splits the payload of a frame's first record into the preamble and the frame's bytes.
    ///
    /// # Errors
    /// [`Malformed`] if the payload is shorter than a preamble.
    pub fn split(payload: &[u8]) -> Result<(Self, &[u8]), Malformed> {
        let (head, frame) = payload.split_at_checked(PREAMBLE_LEN).ok_or(Malformed)?;
        let mut reader = Reader::new(head);
        let preamble = Self {
            frame: reader.u64()?,
            media_time: reader.u64()?,
            captured: reader.u64()?,
            encoded: reader.u64()?,
            previous_seal: reader.u32()?,
            previous_send: reader.u32()?,
        };
        reader.finish()?;
        Ok((preamble, frame))
    }
}
