//! Statement of a camera about a frame, and the proof that travels with it (signatures.md §2 and §3).

use super::digest::{FrameDigest, MAX_FRAME_RECORDS};
use super::merkle::{Hash, leaf};
use crate::wire::{Malformed, Reader};

/// Version of statements and proofs.
const VERSION: u8 = 1;

/// Bytes before a statement wherever it is signed or hashed.
pub(super) const LABEL: &[u8; 16] = b"sealcast2 frame\0";

/// Length of a statement in bytes.
const STATEMENT_LEN: usize = 100;

/// Length of the longest frame proof in bytes.
pub const MAX_FRAME_PROOF: usize = 134;

/// Bits of a proof's form.
const SIGNED: u8 = 0x01;
const LIVENESS: u8 = 0x02;

/// Hash in a statement that answers no challenge.
const NO_LIVENESS: Hash = [0; 32];

/// Statement of a camera about a frame. A verifier makes it of the proof and the records; only then can the signature
/// fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Statement {
    /// Stream of the records, 1 to 15.
    pub stream: u16,
    /// Number of the frame in its group of pictures, from 0 for the keyframe, without gaps.
    pub index: u32,
    /// Full number of the epoch under which the records are sealed.
    pub epoch: u64,
    /// Number of the group of pictures in the stream.
    pub group: u64,
    /// Number of the frame in the stream.
    pub frame: u64,
    /// Its records.
    pub digest: FrameDigest,
    /// Root over the challenges that the frame answers, if it answers any; never zeros.
    pub liveness: Option<Hash>,
}

impl Statement {
    /// True for a keyframe. It is the first frame of its group of pictures, and no other frame is a keyframe.
    pub fn keyframe(&self) -> bool {
        self.index == 0
    }

    /// The statement's bytes.
    pub fn to_bytes(&self) -> [u8; STATEMENT_LEN] {
        let mut bytes = [0; STATEMENT_LEN];
        bytes[0] = VERSION;
        bytes[1] = u8::from(self.keyframe());
        bytes[2..4].copy_from_slice(&self.stream.to_be_bytes());
        bytes[4..8].copy_from_slice(&self.index.to_be_bytes());
        bytes[8..16].copy_from_slice(&self.epoch.to_be_bytes());
        bytes[16..24].copy_from_slice(&self.group.to_be_bytes());
        bytes[24..32].copy_from_slice(&self.frame.to_be_bytes());
        bytes[32..36].copy_from_slice(&self.digest.records.to_be_bytes());
        bytes[36..68].copy_from_slice(&self.digest.digest);
        bytes[68..].copy_from_slice(&self.liveness.unwrap_or(NO_LIVENESS));
        bytes
    }

    /// Bytes that are signed with Ed25519.
    pub(super) fn signed(&self) -> [u8; LABEL.len() + STATEMENT_LEN] {
        let mut signed = [0; LABEL.len() + STATEMENT_LEN];
        signed[..LABEL.len()].copy_from_slice(LABEL);
        signed[LABEL.len()..].copy_from_slice(&self.to_bytes());
        signed
    }

    /// The statement's leaf in the tree of its group of pictures.
    pub(super) fn leaf(&self) -> Hash {
        leaf(LABEL, &self.to_bytes())
    }
}

/// The content of a frame's `signed` record: what of the statement does not follow from the frame's records, and the
/// signature. Nothing in it is trusted before the signature has been verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrameProof {
    /// See [`Statement::index`].
    pub index: u32,
    /// Number of the frame's records.
    pub records: u32,
    /// See [`Statement::epoch`].
    pub epoch: u64,
    /// See [`Statement::group`].
    pub group: u64,
    /// See [`Statement::frame`].
    pub frame: u64,
    /// First bytes of the frame's digest. They prove nothing, and tell altered records from a wrong signature.
    pub check: [u8; 4],
    /// See [`Statement::liveness`].
    pub liveness: Option<Hash>,
    /// Ed25519 signature of the statement. Only archives of earlier versions have proofs without.
    pub signature: Option<[u8; 64]>,
}

impl FrameProof {
    /// The proof of a statement.
    pub(super) fn new(statement: &Statement, signature: [u8; 64]) -> Self {
        Self {
            index: statement.index,
            records: statement.digest.records,
            epoch: statement.epoch,
            group: statement.group,
            frame: statement.frame,
            check: check(&statement.digest),
            liveness: statement.liveness,
            signature: Some(signature),
        }
    }

    /// The proof's bytes: 38, and 32 for a root, and 64 for a signature.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(MAX_FRAME_PROOF);
        let bit = |set: bool, value: u8| if set { value } else { 0 };
        let form = bit(self.signature.is_some(), SIGNED) | bit(self.liveness.is_some(), LIVENESS);
        out.extend_from_slice(&[VERSION, form]);
        out.extend_from_slice(&self.index.to_be_bytes());
        out.extend_from_slice(&self.records.to_be_bytes());
        out.extend_from_slice(&self.epoch.to_be_bytes());
        out.extend_from_slice(&self.group.to_be_bytes());
        out.extend_from_slice(&self.frame.to_be_bytes());
        out.extend_from_slice(&self.check);
        out.extend(self.liveness.iter().flatten());
        out.extend(self.signature.iter().flatten());
        out
    }

    /// Parses the payload of a `signed` record, after its unit header where there is one.
    ///
    /// # Errors
    /// [`Malformed`]: another version, form or length, a root of zeros, or an impossible number of records.
    pub fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(bytes);
        let [version, form] = reader.array()?;
        if version != VERSION || form & !(SIGNED | LIVENESS) != 0 {
            return Err(Malformed);
        }
        let mut proof = Self {
            index: reader.u32()?,
            records: reader.u32()?,
            epoch: reader.u64()?,
            group: reader.u64()?,
            frame: reader.u64()?,
            check: reader.array()?,
            liveness: None,
            signature: None,
        };
        if form & LIVENESS != 0 {
            proof.liveness = Some(reader.array()?);
        }
        if form & SIGNED != 0 {
            proof.signature = Some(reader.array()?);
        }
        reader.finish()?;
        let fits = (1..=MAX_FRAME_RECORDS).contains(&proof.records) && proof.liveness != Some(NO_LIVENESS);
        if fits { Ok(proof) } else { Err(Malformed) }
    }

    /// Statement of somebody about a frame with these records, if the proof is one of them. Nobody has proved it.
    pub(crate) fn claimed(&self, stream: u16, epoch: u64, digest: FrameDigest) -> Option<Statement> {
        let fits = (self.epoch, self.records, self.check) == (epoch, digest.records, check(&digest));
        fits.then(|| self.statement(stream, digest))
    }

    /// The statement that the camera must have made, if the frame has these records.
    pub(super) fn statement(&self, stream: u16, digest: FrameDigest) -> Statement {
        Statement {
            stream,
            index: self.index,
            epoch: self.epoch,
            group: self.group,
            frame: self.frame,
            digest,
            liveness: self.liveness,
        }
    }
}

/// The first bytes of a digest.
pub(super) fn check(digest: &FrameDigest) -> [u8; 4] {
    let [a, b, c, d, ..] = digest.digest;
    [a, b, c, d]
}
