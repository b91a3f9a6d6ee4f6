//! Opens the frames of an archive (archive.md §6).

use std::collections::BTreeMap;
use std::time::Duration;

use super::contents::FrameBlock;
use crate::seal::{MediaKey, Opener, Refusal, Sealed, SealedFrame};
use crate::sign::{FrameHasher, FrameProof, FrameRefusal, FrameVerifier, ReceivedFrame, Statement, record_hash};
use crate::unit::{Assembled, AssembledFrame, Description, FrameOrder, MAX_FRAME, Preamble, SOUND_STREAM, UnitHeader};
use crate::wire::{Accept, HEADER_LEN, Header, Malformed, PeerId, TAG_LEN, append};

/// Longest description: its parameter sets have a length of 16 bits.
const MAX_DESCRIPTION: usize = (1 << 16) + 64;

/// Result of checking a camera's signature of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// The camera signed it, with Ed25519.
    Signed,
    /// It has none.
    None,
    /// It has one without a signature, as earlier versions made: the frame was shown before it was proved, and the
    /// signature of its group of pictures may prove it.
    Later,
    /// It has one that does not fit: somebody else made or moved it.
    Forged(FrameRefusal),
}

/// A frame that was opened.
pub struct Opened {
    /// The descriptions before the frame, if it has any: of its stream, and of the other.
    pub infos: Vec<Description>,
    /// The frame; `None` if it cannot be decoded since earlier ones are missing.
    pub frame: Option<AssembledFrame>,
    /// Its stream.
    pub stream: u32,
    /// Number of frames missing between this one and the one before it on its stream, as far as the camera's numbers
    /// tell.
    pub missing: u64,
    /// Result of checking the camera's signature.
    pub proof: Proof,
    /// Statement of the camera about it, or of somebody else if the proof is not [`Proof::Signed`].
    pub statement: Option<Statement>,
    /// The camera.
    pub camera: PeerId,
}

/// Reason why a frame cannot be played.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unplayable {
    /// Its key does not stand before it.
    #[error("its key is missing")]
    NoKey,
    /// A record does not open.
    #[error("a record does not open: {0}")]
    Record(#[from] Refusal),
    /// Its records make no frame.
    #[error("its records make no frame")]
    Malformed,
}

impl From<Malformed> for Unplayable {
    fn from(Malformed: Malformed) -> Self {
        Self::Malformed
    }
}

struct Held {
    camera: PeerId,
    epoch: u64,
    opener: Opener,
}

/// Those of one camera's streams.
type Verifiers = Option<(PeerId, BTreeMap<u16, FrameVerifier>)>;

/// Opens frames, one after the other, across segments.
pub struct Player {
    /// By the low 16 bits of the epoch, and whether they are those of a group's sound.
    keys: BTreeMap<(u16, bool), Held>,
    order: FrameOrder,
    verifiers: Verifiers,
}

impl Default for Player {
    fn default() -> Self {
        Self {
            keys: BTreeMap::new(),
            order: FrameOrder::new(),
            verifiers: None,
        }
    }
}

/// The parts of a frame as they are opened.
#[derive(Default)]
struct Parts {
    infos: Vec<Description>,
    description: Vec<u8>,
    frame: Option<AssembledFrame>,
    whole: bool,
    hasher: FrameHasher,
    proof: Option<Vec<u8>>,
    of: Option<(PeerId, u64, u16)>,
}

impl Player {
    /// A new player. The first frame that it returns is a keyframe.
    pub fn new() -> Self {
        Self::default()
    }

    /// Another segment begins, with keys of its own. `follows` if it continues the one before without a gap.
    pub fn begin_segment(&mut self, follows: bool) {
        self.keys.clear();
        if !follows {
            self.order.begin_anew();
        }
    }

    /// The segment that begins was recorded in another session than the one before, or later: that frames are not there
    /// says nothing.
    pub fn resume(&mut self) {
        self.order.forget_numbers();
    }

    /// Takes a key of the segment.
    pub fn key(&mut self, key: &MediaKey) {
        let held = Held {
            camera: key.camera(),
            epoch: key.epoch(),
            opener: Opener::of(key),
        };
        self.keys.insert((key.epoch() as u16, key.is_of_sound()), held);
    }

    /// Opens the descriptions that the frames after it need; there is at least one.
    ///
    /// # Errors
    /// [`Unplayable`].
    pub fn description(&mut self, block: &FrameBlock<'_>) -> Result<Vec<Description>, Unplayable> {
        let mut parts = Parts::default();
        for record in block.records() {
            self.record(record, block.units, &mut parts)?;
        }
        for description in &parts.infos {
            self.order.described(description);
        }
        Some(parts.infos)
            .filter(|infos| !infos.is_empty())
            .ok_or(Unplayable::Malformed)
    }

    /// Opens a frame.
    ///
    /// # Errors
    /// [`Unplayable`]; nothing that depends on it is returned.
    pub fn frame(&mut self, block: &FrameBlock<'_>) -> Result<Opened, Unplayable> {
        let opened = self.open(block);
        if opened.is_err() {
            self.order.lost();
        }
        opened
    }

    fn open(&mut self, block: &FrameBlock<'_>) -> Result<Opened, Unplayable> {
        let mut parts = Parts::default();
        for record in block.records() {
            self.record(record, block.units, &mut parts)?;
        }
        let (Some(frame), true, Some(of)) = (parts.frame.take(), parts.whole, parts.of) else {
            return Err(Unplayable::Malformed);
        };
        if frame.keyframe != block.keyframe {
            return Err(Unplayable::Malformed);
        }
        let (proof, statement) = self.verify(&parts, of);
        for description in &parts.infos {
            self.order.described(description);
        }
        let stream = frame.stream;
        let (frame, missing) = match self.order.next(frame)? {
            Assembled::Undecodable { skipped, .. } => (None, skipped),
            Assembled::Frame(frame) => {
                let skipped = frame.skipped;
                (Some(frame), skipped)
            }
            _ => (None, 0),
        };
        Ok(Opened {
            infos: parts.infos,
            frame,
            stream,
            missing,
            proof,
            statement,
            camera: of.0,
        })
    }

    /// Checks the signature of a frame that nobody opens here: it is over the records as they came, and in clear.
    /// `camera` is the one that should have signed it.
    pub fn witness(&mut self, camera: PeerId, block: &FrameBlock<'_>) -> (Proof, Option<Statement>) {
        let mut parts = Parts::default();
        let mut stream = 0;
        for record in block.records() {
            let mut bytes = record.to_vec();
            let Ok(sealed) = Sealed::parse(&mut bytes, Accept::Signed { clear: true }) else {
                return (Proof::None, None);
            };
            let header = sealed.unverified_header();
            if header.flags.proof() {
                parts.proof = proof_of(record, block.units);
            } else {
                parts.hasher.push_hash(&record_hash(record));
                stream = header.stream as u16;
            }
        }
        let proof = parts.proof.as_deref().map(FrameProof::parse);
        let Some(Ok(FrameProof { epoch, .. })) = proof else {
            return (Proof::None, None);
        };
        self.verify(&parts, (camera, epoch, stream))
    }

    fn record(&mut self, record: &[u8], units: bool, parts: &mut Parts) -> Result<(), Unplayable> {
        let hash = record_hash(record);
        let mut bytes = record.to_vec();
        // A record that was in clear was allowed to be, or it would not have been kept.
        let sealed = Sealed::parse(&mut bytes, Accept::Signed { clear: true })?;
        let header = sealed.unverified_header();
        // Of a session, one key opens all streams.
        let own = header.stream == SOUND_STREAM && self.keys.contains_key(&(header.epoch, true));
        let held = self.keys.get_mut(&(header.epoch, own)).ok_or(Unplayable::NoKey)?;
        let mut opened = held.opener.open(sealed)?;
        parts.of.get_or_insert((held.camera, held.epoch, header.stream as u16));
        let last_part = if units {
            let unit = opened.take_unit_header()?;
            unit.index + 1 == unit.sources
        } else {
            true
        };
        if header.flags.proof() {
            parts.proof = Some(opened.payload().to_vec());
            // The records of the frame itself decide on its epoch.
            return Ok(());
        }
        parts.hasher.push_hash(&hash);
        if header.flags.codec_config() {
            return parts.describe(header.stream, opened.payload(), last_part);
        }
        parts.of = Some((held.camera, held.epoch, header.stream as u16));
        parts.extend(header, opened.payload())
    }

    /// Checks the frame's signature, if it has one.
    fn verify(&mut self, parts: &Parts, (camera, epoch, stream): (PeerId, u64, u16)) -> (Proof, Option<Statement>) {
        let (Some(proof), Some(digest)) = (&parts.proof, parts.hasher.clone().finish()) else {
            return (Proof::None, None);
        };
        match FrameProof::parse(proof) {
            Ok(proof) if proof.signature.is_some() => {}
            Ok(proof) => return (Proof::Later, proof.claimed(stream, epoch, digest)),
            Err(Malformed) => return (Proof::None, None),
        }
        if self.verifiers.as_ref().is_none_or(|(of, _)| *of != camera) {
            self.verifiers = Some((camera, BTreeMap::new()));
        }
        let Some((_, verifiers)) = &mut self.verifiers else {
            return (Proof::None, None);
        };
        let new = || FrameVerifier::new(camera, stream);
        let verifier = verifiers.entry(stream).or_insert_with(new);
        match verifier.verify(&ReceivedFrame { digest, stream, epoch }, Some(proof)) {
            Ok(verified) => (Proof::Signed, Some(*verified.statement())),
            Err(reason) => (Proof::Forged(reason), None),
        }
    }
}

/// The payload of a record in clear, whose form was checked; `None` if it is none.
fn proof_of(record: &[u8], units: bool) -> Option<Vec<u8>> {
    let payload = record.get(HEADER_LEN..record.len().checked_sub(TAG_LEN)?)?;
    match units {
        true => UnitHeader::split(payload, false).ok().map(|(_, rest)| rest.to_vec()),
        false => Some(payload.to_vec()),
    }
}

impl Parts {
    fn describe(&mut self, stream: u32, part: &[u8], last: bool) -> Result<(), Unplayable> {
        if self.frame.is_some() || self.description.len() + part.len() > MAX_DESCRIPTION {
            return Err(Unplayable::Malformed);
        }
        self.description.extend_from_slice(part);
        if last {
            self.infos
                .push(Description::parse(stream, &std::mem::take(&mut self.description))?);
        }
        Ok(())
    }

    fn extend(&mut self, header: Header, payload: &[u8]) -> Result<(), Unplayable> {
        if self.whole {
            return Err(Unplayable::Malformed);
        }
        self.whole = header.flags.last();
        let Some(frame) = &mut self.frame else {
            let (preamble, part) = Preamble::split(payload)?;
            let mut data = Vec::new();
            append(&mut data, part);
            self.frame = Some(AssembledFrame {
                stream: header.stream,
                preamble,
                keyframe: header.flags.keyframe(),
                sealed_at: header.timestamp,
                arrived: Duration::ZERO,
                skipped: 0,
                data,
                units: Vec::new(),
                sealed: SealedFrame::default(),
            });
            return Ok(());
        };
        // In packets, only the flags of a block's records tell where the frame begins and ends.
        if frame.data.len() + payload.len() > MAX_FRAME || frame.stream != header.stream {
            return Err(Unplayable::Malformed);
        }
        append(&mut frame.data, payload);
        frame.sealed_at = header.timestamp;
        Ok(())
    }
}
