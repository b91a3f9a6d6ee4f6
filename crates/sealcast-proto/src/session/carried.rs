//! A group's frames on their way to an archive's node where media may be lost (archive.md §8). The node cannot read the
//! numbers by which members ask for what they miss, so each frame is sealed once more, for its session.

use super::machine::Session;
use super::outgoing::OutgoingUnit;
use super::{SealedRecords, SessionError};
use crate::clock::Now;
use crate::group_media::SealedFrame;
use crate::unit::{MAX_FRAME, Preamble, SOUND_STREAM};
use crate::wire::MediaFrom;

impl Session {
    /// Publisher: true if the viewer is an archive's node whose media may be lost.
    pub(super) fn carries_sealed(&self) -> bool {
        self.unordered() && matches!(self.joined, Some((_, MediaFrom::Sealed)))
    }

    /// Publisher: seals a frame of the group, whole, for an archive's node.
    pub(super) fn carry(
        &mut self,
        now: Now,
        frame: &SealedFrame,
        out: &mut Vec<u8>,
    ) -> Result<SealedRecords, SessionError> {
        let Some((picture, _)) = self.joined else {
            return Err(SessionError::Misuse);
        };
        let (stream, counted) = match frame.sound {
            true => (SOUND_STREAM, &mut self.carried.sounds),
            false => (picture.into(), &mut self.carried.pictures),
        };
        let number = *counted;
        *counted += 1;
        if frame.bytes.len() > MAX_FRAME {
            // The gap in the numbers tells the node.
            return Ok(SealedRecords::default());
        }
        let unit = OutgoingUnit {
            stream,
            codec: None,
            keyframe: frame.keyframe || frame.sound,
            preamble: Preamble {
                frame: number,
                captured: now.wall,
                encoded: now.wall,
                ..Preamble::default()
            },
            data: &frame.bytes,
            sound: frame.sound,
        };
        self.seal_unit(now, &unit, out)
    }
}
