//! The check of every frame before it is released (signatures.md §4).

use super::statement::{FrameProof, Statement, check};
use super::{FrameDigest, FrameRefusal, FrameRefusalCounts};
use crate::unit::SOUND_STREAM;
use crate::wire::PeerId;

/// Facts about a frame that has arrived, as a viewer, relay or archive knows them.
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

/// Verifies the frames of one stream of one camera, one after the other, as they come. Gaps are allowed.
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
        match checked {
            Ok(statement) => {
                self.last = Some(statement);
                self.accepted += 1;
            }
            Err(reason) => self.refused.count(reason),
        }
        checked.map(Verified)
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

    fn verified(&self, frame: &ReceivedFrame, proof: Option<&[u8]>) -> Result<Statement, FrameRefusal> {
        let proof = FrameProof::parse(proof.ok_or(FrameRefusal::Unsigned)?).map_err(|_| FrameRefusal::Malformed)?;
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
