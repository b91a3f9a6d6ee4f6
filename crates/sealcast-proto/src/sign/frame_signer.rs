//! A camera's statements about its frames, one after the other (signatures.md §2).

use super::statement::{FrameProof, Statement};
use super::{FrameDigest, Hash};
use crate::keys::Identity;

/// Facts about a frame that the camera has sealed.
#[derive(Clone, Copy, Debug)]
pub struct OutgoingStatement {
    /// Full number of the epoch under which the records are sealed.
    pub epoch: u64,
    /// Number of the frame in its stream.
    pub frame: u64,
    /// True for a keyframe, which begins a group of pictures.
    pub keyframe: bool,
    /// Its records.
    pub digest: FrameDigest,
    /// Root over the challenges to answer ([`Batch::root`](crate::live::Batch::root)), if there are any.
    pub liveness: Option<Hash>,
}

/// Reason why a frame is not signed. The caller misused the interface; nothing is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignError {
    /// The first frame is not a keyframe: it belongs to no group of pictures.
    #[error("the first frame that is signed must be a keyframe")]
    NoKeyframe,
    /// Frames were signed with this or a higher number, or in a later epoch.
    #[error("a frame's number or epoch went back")]
    Order,
    /// The group of pictures has 2³² frames, or groups have run out.
    #[error("the numbers of frames in a group, or of groups, have run out")]
    Numbers,
}

/// Makes the statements of a stream and signs them. It counts groups of pictures and their frames, so no two statements
/// have the same numbers.
pub struct FrameSigner {
    stream: u16,
    next_group: u64,
    /// The frame signed last.
    last: Option<Statement>,
}

impl FrameSigner {
    /// A signer for a stream, 1 to 15. `first_group` is the number of its first group of pictures: higher than any that
    /// the camera's stream had before, in earlier runs too.
    pub fn new(stream: u16, first_group: u64) -> Self {
        Self {
            stream,
            next_group: first_group,
            last: None,
        }
    }

    /// States what a frame is, and signs the statement. The proof is the payload of the frame's
    /// `signed` record.
    ///
    /// # Errors
    /// [`SignError`]; the signer is unchanged then.
    pub fn sign(
        &mut self,
        identity: &Identity,
        outgoing: &OutgoingStatement,
    ) -> Result<(Statement, FrameProof), SignError> {
        let OutgoingStatement { epoch, frame, .. } = *outgoing;
        let grows = |last: &Statement| epoch > last.epoch || (epoch == last.epoch && frame > last.frame);
        if !self.last.as_ref().is_none_or(grows) {
            return Err(SignError::Order);
        }
        let (group, index) = match &self.last {
            _ if outgoing.keyframe => (self.next_group, 0),
            None => return Err(SignError::NoKeyframe),
            Some(last) => (last.group, last.index.checked_add(1).ok_or(SignError::Numbers)?),
        };
        if outgoing.keyframe {
            self.next_group = group.checked_add(1).ok_or(SignError::Numbers)?;
        }
        Ok(self.state(identity, outgoing, (group, index)))
    }

    /// As [`sign`](Self::sign), for a packet of sound that is made in this group of pictures: what it states of
    /// keyframes is not looked at, since its place in the group follows from the packets before.
    ///
    /// # Errors
    /// [`SignError`]; the signer is unchanged then.
    pub fn sign_sound(
        &mut self,
        identity: &Identity,
        outgoing: &OutgoingStatement,
        group: u64,
    ) -> Result<(Statement, FrameProof), SignError> {
        let OutgoingStatement { epoch, frame, .. } = *outgoing;
        let index = match &self.last {
            None => 0,
            Some(last) if epoch < last.epoch || (epoch == last.epoch && frame <= last.frame) || group < last.group => {
                return Err(SignError::Order);
            }
            Some(last) if group == last.group => last.index.checked_add(1).ok_or(SignError::Numbers)?,
            Some(_) => 0,
        };
        Ok(self.state(identity, outgoing, (group, index)))
    }

    fn state(
        &mut self,
        identity: &Identity,
        outgoing: &OutgoingStatement,
        (group, index): (u64, u32),
    ) -> (Statement, FrameProof) {
        let OutgoingStatement { epoch, frame, .. } = *outgoing;
        let statement = Statement {
            stream: self.stream,
            index,
            epoch,
            group,
            frame,
            digest: outgoing.digest,
            liveness: outgoing.liveness,
        };
        self.last = Some(statement);
        let signature = identity.sign(&statement.signed());
        (statement, FrameProof::new(&statement, signature))
    }
}
