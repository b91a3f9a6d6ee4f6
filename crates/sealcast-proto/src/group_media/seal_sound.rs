//! Sealing of the sound beside the picture: its records, and their proof.

use super::packets::{Target, meta};
use super::sealed_block::SealedBlock;
use super::sealed_frame::{GroupSealError, SealedFrame, Sealing};
use super::sealer::GroupSealer;
use crate::clock::Now;
use crate::seal::Exhausted;
use crate::session::{Content, OutgoingSound, OutgoingUnit, SealedRecords};
use crate::sign::{FrameHasher, OutgoingStatement, Statement};
use crate::unit::{MAX_FRAME, PICTURE_STREAM, SOUND_STREAM, Selection, SoundInfo};
use crate::wire::{Flags, LENGTH_PREFIX};

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
