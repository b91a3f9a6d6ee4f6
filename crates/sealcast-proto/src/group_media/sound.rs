//! The camera's half for the sound beside the picture: it has keys, numbers and signatures of its own, so that what is
//! lost of one stream leaves the other whole (groups.md §3).

use super::packets::{SealedBlock, Target};
use super::sealer::meta;
use super::{GroupSealError, GroupSealer, SealedFrame, Sealing};
use crate::clock::Now;
use crate::keys::PeerId;
use crate::seal::Exhausted;
use crate::session::{Content, OutgoingSound, OutgoingUnit, SealedRecords};
use crate::sign::{FrameHasher, FrameSigner, GopSigner, MAX_PART_FRAMES, OutgoingStatement, SignMode, Statement};
use crate::unit::{MAX_FRAME, PICTURE_STREAM, SOUND_STREAM, Selection, SoundInfo};
use crate::wire::{Flags, LENGTH_PREFIX};

/// Packets of sound after which its description stands again, where no group of pictures begins before: some five
/// seconds. It is the length of a part that is signed with ML-DSA, so both are cut at the same places.
const DESCRIBED_EVERY: u32 = MAX_PART_FRAMES as u32;

/// State of the sound so far.
pub(super) struct SoundSealer {
    signer: FrameSigner,
    gops: Option<GopSigner>,
    /// The description before the last packet that had one.
    described: Option<SoundInfo>,
    /// The group of pictures in which the last packet was made, and its index there.
    last: Option<(u64, u32)>,
    /// Number of the next packets that begin with a description.
    next: u64,
}

impl SoundSealer {
    /// No sound yet. `first` is the number of the first group of pictures.
    pub(super) fn new(camera: PeerId, sign: SignMode, first: u64) -> Self {
        Self {
            signer: FrameSigner::new(SOUND_STREAM as u16, first),
            gops: sign.gops().then(|| GopSigner::new(camera)),
            described: None,
            last: None,
            next: first,
        }
    }

    /// Signer that collects packets for the signature of groups of pictures.
    pub(super) fn gops(&mut self) -> Option<&mut GopSigner> {
        self.gops.as_mut()
    }

    /// Counts a packet in this group of pictures. Returns true if its description stands before it.
    fn count(&mut self, group: u64, info: &SoundInfo) -> bool {
        let index = match self.last {
            Some((last, index)) if last == group => index.wrapping_add(1),
            _ => 0,
        };
        self.last = Some((group, index));
        let begins = index.is_multiple_of(DESCRIBED_EVERY) || self.described.as_ref() != Some(info);
        if begins {
            self.described = Some(info.clone());
            self.next += 1;
        }
        begins
    }
}

/// The records of a packet, as they are sealed.
#[derive(Default)]
struct Sealed {
    bytes: Vec<u8>,
    blocks: Vec<SealedBlock>,
    records: SealedRecords,
}

impl GroupSealer {
    /// Seals and signs a packet of sound, which is always encrypted. `info` is its description. Returns `None` before
    /// the first keyframe, and where the group's stream is not that of a picture.
    ///
    /// # Errors
    /// [`GroupSealError`].
    pub fn seal_sound(
        &mut self,
        now: Now,
        info: &SoundInfo,
        sound: &OutgoingSound<'_>,
    ) -> Result<Option<Sealing>, GroupSealError> {
        if !self.begun || u32::from(self.config.stream) != PICTURE_STREAM {
            return Ok(None);
        }
        if sound.data.len() + sound.preamble.padding as usize > MAX_FRAME || !info.is_valid() {
            return Err(GroupSealError::Misuse);
        }
        self.switch_if_due(now, false);
        let group = self.next_group - 1;
        let begins = self.sound.count(group, info);
        let description = begins.then(|| info.to_bytes());
        let mut hasher = self.config.sign.frames().then(FrameHasher::new);
        let mut sealed = Sealed::default();
        let unit = OutgoingUnit::from(sound);
        if self.in_packets {
            self.seal_sound_packets(now, description.as_deref(), &unit, &mut sealed, &mut hasher)?;
        } else {
            self.seal_sound_records(now, description.as_deref(), &unit, &mut sealed, &mut hasher)?;
        }
        let mut part = None;
        if let Some(digest) = hasher.and_then(FrameHasher::finish) {
            let outgoing = OutgoingStatement {
                epoch: self.current.epoch,
                frame: sound.preamble.frame,
                keyframe: begins,
                digest,
                liveness: None,
            };
            let statement = self.prove_sound(now, &outgoing, group, &mut sealed)?;
            part = self.sound.gops().and_then(|gops| gops.push(&statement));
        }
        let Sealed { bytes, blocks, records } = sealed;
        let frame = SealedFrame {
            bytes,
            blocks,
            sound: true,
            keyframe: begins,
            group: self.sound.next - 1,
            records,
        };
        let answers = None;
        Ok(Some(Sealing { frame, answers, part }))
    }

    fn seal_sound_records(
        &mut self,
        now: Now,
        description: Option<&[u8]>,
        unit: &OutgoingUnit<'_>,
        into: &mut Sealed,
        hasher: &mut Option<FrameHasher>,
    ) -> Result<(), Exhausted> {
        let sealer = &mut self.current.sound.sealer;
        let bytes = &mut into.bytes;
        let mut seal = |flags: Flags, _: bool, parts: &[&[u8]]| {
            let start = bytes.len() + LENGTH_PREFIX;
            sealer.seal_framed(meta(now, SOUND_STREAM, flags), parts, bytes)?;
            if let Some(hasher) = hasher {
                hasher.push(&bytes[start..]);
            }
            Ok(SealedRecords {
                records: 1,
                in_clear: 0,
            })
        };
        if let Some(description) = description {
            into.records += seal(Flags::CONFIG, true, &[description])?;
        }
        into.records += unit.seal_each(self.config.unit, &mut self.cutter, Selection::All, &mut seal)?;
        Ok(())
    }

    /// Seals a packet in records that fit packets of the network.
    fn seal_sound_packets(
        &mut self,
        now: Now,
        description: Option<&[u8]>,
        unit: &OutgoingUnit<'_>,
        sealed: &mut Sealed,
        hasher: &mut Option<FrameHasher>,
    ) -> Result<(), Exhausted> {
        let sound = &mut self.current.sound;
        let mut into = Target {
            now,
            sealers: (&mut sound.sealer, &mut sound.repairs),
            selection: Selection::All,
            bytes: &mut sealed.bytes,
            blocks: &mut sealed.blocks,
            hasher: hasher.as_mut(),
        };
        if let Some(description) = description {
            let of = (SOUND_STREAM, false);
            sealed.records += self.packets.seal_whole(&mut into, Content::Config, of, description)?;
        }
        sealed.records += self.packets.seal(&mut into, &mut self.cutter, unit)?;
        Ok(())
    }

    /// Signs a packet whose records are sealed, and appends the record with its proof.
    fn prove_sound(
        &mut self,
        now: Now,
        outgoing: &OutgoingStatement,
        group: u64,
        sealed: &mut Sealed,
    ) -> Result<Statement, GroupSealError> {
        let (statement, proof) = self.sound.signer.sign_sound(&self.config.identity, outgoing, group)?;
        let proof = proof.to_bytes();
        let sound = &mut self.current.sound;
        if self.in_packets {
            let mut into = Target {
                now,
                sealers: (&mut sound.sealer, &mut sound.repairs),
                selection: Selection::All,
                bytes: &mut sealed.bytes,
                blocks: &mut sealed.blocks,
                hasher: None,
            };
            let of = (SOUND_STREAM, outgoing.keyframe);
            sealed.records += self.packets.seal_whole(&mut into, Content::Proof, of, &proof)?;
        } else {
            let meta = meta(now, SOUND_STREAM, Flags::signed(outgoing.keyframe));
            sound.sealer.seal_framed(meta, &[&proof], &mut sealed.bytes)?;
            sealed.records.records += 1;
        }
        Ok(statement)
    }
}
