//! The check of every frame before it is released (signatures.md §4).

use super::statement::{FrameProof, Statement, check};
use super::{FrameDigest, FrameRefusal, FrameRefusalCounts};
use crate::unit::SOUND_STREAM;
use crate::wire::PeerId;

/// What a viewer, relay or archive knows of a frame that has arrived.
#[derive(Clone, Copy, Debug)]
pub struct ReceivedFrame {
    /// Its records, as they came.
    pub digest: FrameDigest,
    /// Their stream.
    pub stream: u16,
    /// Full number of the epoch whose key opened them. Without keys: the one that the proof names, if the headers' low
    /// 16 bits agree with it.
    pub epoch: u64,
}

/// A statement that the camera signed about a frame which is here, whole and in order. Only a [`FrameVerifier`] makes
/// one, and only with one may a frame be released.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verified(Statement);

impl Verified {
    /// The statement.
    pub fn statement(&self) -> &Statement {
        &self.0
    }
}

/// A statement about a frame that nobody has proved yet: the signature of the group of pictures will, or will not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claimed(Statement);

impl Claimed {
    /// The statement.
    pub fn statement(&self) -> &Statement {
        &self.0
    }
}

/// Verifies the frames of one stream of one camera, one after the other, as they come. Gaps are allowed.
///
/// Where frames are signed, only use [`verify`](Self::verify). [`claim`](Self::claim) is for a stream of which only
/// groups of pictures are signed: anybody who has the key can then make it refuse the camera's frames, by claiming
/// numbers that are too high.
pub struct FrameVerifier {
    camera: PeerId,
    stream: u16,
    /// The frame accepted last.
    last: Option<Statement>,
    accepted: u64,
    refused: FrameRefusalCounts,
}

impl FrameVerifier {
    /// A verifier for a stream of the camera with this identity. It has accepted no frame yet, and begins with a
    /// keyframe; sound begins anywhere.
    pub fn new(camera: PeerId, stream: u16) -> Self {
        Self {
            camera,
            stream,
            last: None,
            accepted: 0,
            refused: FrameRefusalCounts::default(),
        }
    }

    /// Verifies a frame with the payload of its `signed` record, or `None` if there is no such record.
    ///
    /// # Errors
    /// [`FrameRefusal`], which is counted and changes nothing else. The frame must not be released.
    pub fn verify(&mut self, frame: &ReceivedFrame, proof: Option<&[u8]>) -> Result<Verified, FrameRefusal> {
        let checked = self.verified(frame, proof);
        self.note(checked).map(Verified)
    }

    /// Like [`verify`](Self::verify), for a stream of which only groups of pictures are signed: checks everything but a
    /// signature of the frame.
    ///
    /// # Errors
    /// [`FrameRefusal`], except for [`Signature`](FrameRefusal::Signature).
    pub fn claim(&mut self, frame: &ReceivedFrame, proof: Option<&[u8]>) -> Result<Claimed, FrameRefusal> {
        let checked = parsed(proof).and_then(|proof| self.consistent(frame, &proof));
        self.note(checked).map(Claimed)
    }

    /// Like [`claim`](Self::claim), for a frame of which more must hold. `also` is asked last, of what the camera must
    /// have stated.
    ///
    /// # Errors
    /// [`FrameRefusal`], that of `also` among them.
    pub(crate) fn claim_if(
        &mut self,
        frame: &ReceivedFrame,
        proof: &FrameProof,
        also: impl FnOnce(&Statement) -> Result<(), FrameRefusal>,
    ) -> Result<Claimed, FrameRefusal> {
        let checked = self.consistent(frame, proof);
        let checked = checked.and_then(|statement| also(&statement).map(|()| statement));
        self.note(checked).map(Claimed)
    }

    /// Counts a frame that was refused before it came here.
    pub(crate) fn refuse(&mut self, reason: FrameRefusal) {
        self.refused.count(reason);
    }

    /// Forgets a frame that was accepted and is not the camera's, if it is the newest one: the camera's next frame
    /// follows `proved`, the newest of which that is known.
    pub(crate) fn disown(&mut self, forged: &Statement, proved: Option<Statement>) {
        if self.last.as_ref() == Some(forged) {
            self.last = proved;
        }
    }

    /// Counts a frame that was given up, since the next one came before its proof.
    pub(crate) fn unsigned(&mut self) {
        self.refused.count(FrameRefusal::Unsigned);
    }

    /// Number of frames accepted.
    pub fn accepted(&self) -> u64 {
        self.accepted
    }

    /// Counters of the frames refused.
    pub fn refused(&self) -> &FrameRefusalCounts {
        &self.refused
    }

    fn is_of_sound(&self) -> bool {
        u32::from(self.stream) == SOUND_STREAM
    }

    fn note(&mut self, checked: Result<Statement, FrameRefusal>) -> Result<Statement, FrameRefusal> {
        match checked {
            Ok(statement) => {
                self.last = Some(statement);
                self.accepted += 1;
            }
            Err(reason) => self.refused.count(reason),
        }
        checked
    }

    fn verified(&self, frame: &ReceivedFrame, proof: Option<&[u8]>) -> Result<Statement, FrameRefusal> {
        let proof = parsed(proof)?;
        let signature = proof.signature.ok_or(FrameRefusal::Unsigned)?;
        let statement = self.consistent(frame, &proof)?;
        if !self.camera.verifies(&statement.signed(), &signature) {
            return Err(FrameRefusal::Signature);
        }
        Ok(statement)
    }

    /// Checks everything that costs little. What a forger claims here is refused by the signature afterwards.
    fn consistent(&self, frame: &ReceivedFrame, proof: &FrameProof) -> Result<Statement, FrameRefusal> {
        if frame.stream != self.stream {
            return Err(FrameRefusal::Stream);
        }
        let over = |last: &Statement| proof.epoch < last.epoch;
        if proof.epoch != frame.epoch || self.last.as_ref().is_some_and(over) {
            return Err(FrameRefusal::Epoch);
        }
        if proof.records != frame.digest.records {
            return Err(FrameRefusal::Records);
        }
        if proof.check != check(&frame.digest) {
            return Err(FrameRefusal::Digest);
        }
        let passed = |last: &Statement| proof.epoch == last.epoch && proof.frame <= last.frame;
        if self.last.as_ref().is_some_and(passed) {
            return Err(FrameRefusal::Order);
        }
        let fits = match &self.last {
            // Sound needs nothing before it, so any packet may be the first, or come after one that was lost.
            Some(last) if self.is_of_sound() => (proof.group, proof.index) > (last.group, last.index),
            None if self.is_of_sound() => true,
            None => proof.index == 0,
            Some(last) if proof.index == 0 => proof.group > last.group,
            Some(last) => proof.group == last.group && proof.index > last.index,
        };
        if !fits {
            return Err(FrameRefusal::Group);
        }
        Ok(proof.statement(self.stream, frame.digest))
    }
}

fn parsed(proof: Option<&[u8]>) -> Result<FrameProof, FrameRefusal> {
    let proof = proof.ok_or(FrameRefusal::Unsigned)?;
    FrameProof::parse(proof).map_err(|_| FrameRefusal::Malformed)
}
