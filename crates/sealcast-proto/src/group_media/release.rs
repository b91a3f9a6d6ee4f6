//! Releases the frames of a group that the camera signed, and nothing else.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use super::{GroupRefusal, GroupStart};
use crate::group::{GroupName, Member};
use crate::seal::SealedRecord;
use crate::sign::{
    FrameHasher, FrameRefusal, FrameRefusalCounts, FrameVerifier, Hash, ReceivedFrame, SignMode, Verified,
};
use crate::unit::{Assembled, SOUND_STREAM};
use crate::wire::{Accept, PeerId};

/// A frame whose records come, until its proof does.
struct Unproven {
    epoch: u64,
    hasher: FrameHasher,
    info: Option<Assembled>,
    /// True once a record of the frame itself came.
    begun: bool,
    /// Once all of them came.
    frame: Option<Assembled>,
}

/// Takes descriptions, frames and proofs in the order in which the camera sealed them. Where the camera signs nothing,
/// everything is released at once.
pub(super) struct Release {
    sign: SignMode,
    stream: u16,
    /// True for sound, of which nothing depends on what was lost before it.
    sound: bool,
    verifier: FrameVerifier,
    unproven: Option<Unproven>,
    /// True if the viewer has acknowledged that some records are in clear.
    accepts_clear: bool,
    /// A frame is missing, so those that are no keyframes cannot be decoded.
    broken: bool,
    out: VecDeque<Assembled>,
    /// The statement of the frame that was released last, for the program's own use of it.
    verified: Option<Verified>,
    /// Earliest beginning: an earlier one was there before the viewer started, and is refused.
    floor: Option<GroupStart>,
    /// The newest group of which the beginning was released.
    newest: Option<GroupStart>,
}

impl Release {
    /// For the group's stream.
    pub(super) fn new(group: GroupName) -> Self {
        let stream = group.stream as u16;
        Self {
            sound: false,
            ..Self::of(group.camera, stream)
        }
    }

    /// For the sound beside it.
    pub(super) fn of_sound(group: GroupName) -> Self {
        Self::of(group.camera, SOUND_STREAM as u16)
    }

    fn of(camera: PeerId, stream: u16) -> Self {
        Self {
            // No key opens anything before the terms say more.
            sign: SignMode::Off,
            stream,
            sound: true,
            verifier: FrameVerifier::new(camera, stream),
            unproven: None,
            accepts_clear: false,
            broken: false,
            out: VecDeque::new(),
            verified: None,
            floor: None,
            newest: None,
        }
    }

    /// From here on, nothing is released that begins earlier.
    pub(super) fn begin_at(&mut self, floor: Option<GroupStart>) {
        self.floor = floor;
    }

    /// The newest group of which the beginning was released.
    pub(super) fn newest(&self) -> Option<GroupStart> {
        self.newest
    }

    /// The same as [`reach`](Self::reach) where frames are not signed, and nobody knows their group's number.
    pub(super) fn reach_unsigned(&mut self, epoch: u64, begins: bool) -> Result<(), GroupRefusal> {
        let group = self.floor.map_or(0, |floor| floor.group);
        self.reach(GroupStart { epoch, group }, begins)
    }

    /// Notes where a frame belongs which is about to be released. `begins` if it is the first of its group.
    ///
    /// # Errors
    /// [`GroupRefusal::Rewound`]: it is older than what the viewer had before it started.
    pub(super) fn reach(&mut self, at: GroupStart, begins: bool) -> Result<(), GroupRefusal> {
        if self.floor.is_some_and(|floor| !at.reaches(floor)) {
            return Err(GroupRefusal::Rewound);
        }
        if begins {
            self.newest = self.newest.max(Some(at));
        }
        Ok(())
    }

    /// From here on, the camera signs this.
    pub(super) fn expect(&mut self, sign: SignMode) {
        if std::mem::replace(&mut self.sign, sign) != sign {
            self.missed();
        }
    }

    /// True if frames are released only with their proof.
    pub(super) fn is_signed(&self) -> bool {
        self.sign.frames()
    }

    /// The records in clear that are accepted.
    pub(super) fn accept(&self) -> Accept {
        let clear = self.accepts_clear;
        if self.is_signed() {
            Accept::Signed { clear }
        } else {
            Accept::Group { clear }
        }
    }

    pub(super) fn accept_clear(&mut self, accepts: bool) {
        self.accepts_clear = accepts;
    }

    pub(super) fn next(&mut self) -> Option<Assembled> {
        self.out.pop_front()
    }

    pub(super) fn take_verified(&mut self) -> Option<Verified> {
        self.verified.take()
    }

    pub(super) fn refused(&self) -> &FrameRefusalCounts {
        self.verifier.refused()
    }

    pub(super) fn accepted(&self) -> u64 {
        self.verifier.accepted()
    }

    /// Something is missing.
    pub(super) fn lost(&mut self) {
        self.unproven = None;
        self.tell_lost();
    }

    /// Records are missing, of this stream or of the other: the numbers of its frames tell, but for one that waits for
    /// its proof.
    pub(super) fn missed(&mut self) {
        if self.unproven.is_some() {
            self.lost();
        }
    }

    fn tell_lost(&mut self) {
        if !self.sound {
            self.broken = true;
            self.out.push_back(Assembled::Lost);
        }
    }

    /// Releases what needs no proof.
    pub(super) fn pass(&mut self, media: Assembled) {
        // The camera seals no sound that needs other sound, and no picture depends on it.
        let of_nobody = self.sound && matches!(media, Assembled::Lost | Assembled::Undecodable { .. });
        if !of_nobody {
            self.out.push_back(media);
        }
    }

    /// A description or a frame begins. Returns false if the frame before has no proof: what comes now may depend on
    /// it.
    pub(super) fn begin(&mut self, epoch: u64, description: bool) -> bool {
        let follows_description = |unproven: &Unproven| unproven.epoch == epoch && !unproven.begun;
        if !description && self.unproven.as_ref().is_some_and(follows_description) {
            return true;
        }
        let before = self.unproven.replace(Unproven {
            epoch,
            hasher: FrameHasher::new(),
            info: None,
            begun: false,
            frame: None,
        });
        if before.is_none() {
            return true;
        }
        self.verifier.unsigned();
        self.tell_lost();
        false
    }

    /// The next record of what began, by its hash, and what it completes.
    pub(super) fn add(&mut self, epoch: u64, hash: &Hash, completes: Option<Assembled>) {
        let Some(unproven) = self.unproven.as_mut().filter(|unproven| unproven.epoch == epoch) else {
            return;
        };
        unproven.hasher.push_hash(hash);
        match completes {
            Some(info @ (Assembled::Info(_) | Assembled::Sound(_))) => unproven.info = Some(info),
            Some(frame) => (unproven.begun, unproven.frame) = (true, Some(frame)),
            None => unproven.begun = true,
        }
    }

    /// A whole description or frame, with the hashes of its records.
    pub(super) fn add_whole(&mut self, epoch: u64, hashes: &[Hash], media: Assembled) {
        let describes = matches!(media, Assembled::Info(_) | Assembled::Sound(_));
        self.begin(epoch, describes);
        let Some((last, others)) = hashes.split_last() else {
            return;
        };
        for hash in others {
            match describes {
                true => self.add_to_description(epoch, hash),
                false => self.add(epoch, hash, None),
            }
        }
        self.add(epoch, last, Some(media));
    }

    /// The next record of a description that began, of which others follow.
    pub(super) fn add_to_description(&mut self, epoch: u64, hash: &Hash) {
        if let Some(unproven) = self.unproven.as_mut().filter(|unproven| unproven.epoch == epoch) {
            unproven.hasher.push_hash(hash);
        }
    }

    /// Releases the frame whose records came, if this proves it, or if nothing but that can. `epoch` is that of the
    /// record with the proof, `sealed` the record as it came, where such are kept.
    pub(super) fn prove(
        &mut self,
        now: Duration,
        member: &mut Member,
        (epoch, sealed): (u64, Option<Arc<SealedRecord>>),
        proof: &[u8],
    ) -> Result<(), GroupRefusal> {
        let Some(unproven) = self.unproven.take() else {
            // Its frame was lost, and counted then.
            return Ok(());
        };
        let digest = unproven.hasher.finish().ok_or(FrameRefusal::Records)?;
        let frame = ReceivedFrame {
            digest,
            stream: self.stream,
            epoch: unproven.epoch,
        };
        let verified = self.verifier.verify(&frame, Some(proof))?;
        if epoch != unproven.epoch || !member.allows(epoch, verified.statement().group) {
            return Err(FrameRefusal::Epoch.into());
        }
        let (group, begins) = (verified.statement().group, verified.statement().keyframe());
        self.reach(GroupStart { epoch, group }, begins)?;
        self.verified = Some(verified);
        member.confirm(now, epoch);
        unproven.info.into_iter().for_each(|info| self.pass(info));
        if let Some(frame) = unproven.frame {
            let frame = self.decodable(frame);
            self.pass(with_proof(frame, sealed));
        }
        Ok(())
    }

    /// The frame, if nothing that it may depend on is missing.
    fn decodable(&mut self, frame: Assembled) -> Assembled {
        match frame {
            Assembled::Frame(frame) if self.broken && !frame.keyframe => Assembled::Undecodable {
                frame: frame.preamble.frame,
                skipped: frame.skipped,
            },
            Assembled::Frame(frame) => {
                self.broken = false;
                Assembled::Frame(frame)
            }
            other => other,
        }
    }
}

/// The frame with the record of its proof, where such are kept.
fn with_proof(mut media: Assembled, proof: Option<Arc<SealedRecord>>) -> Assembled {
    if let Assembled::Frame(frame) = &mut media {
        frame.sealed.records.extend(proof);
    }
    media
}
