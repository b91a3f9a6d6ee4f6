//! The camera's half.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use super::packets::{Packets, Target, meta};
use super::sealed_block::SealedBlock;
use super::sealed_frame::{GroupSealError, SealedFrame, Sealing};
use super::sound::SoundSealer;
use crate::clock::Now;
use crate::group::{Announcement, InForce, Leader, LeaderConfig, LeaderError, MemberId, MemberKey, RUN_LEN};
use crate::keys::Identity;
use crate::live::{Batch, Challenge, Challenges, MAX_CHALLENGERS, NoSuchSlot};
use crate::seal::{Exhausted, MediaKey, SealLimits, Suite};
use crate::session::{Content, OutgoingFrame, OutgoingUnit, RepairNeed, SealedRecords};
use crate::sign::{FrameHasher, FrameSigner, GopSigner, OutgoingStatement, SignMode, Statement, UnsignedPart};
use crate::unit::{Cutter, MAX_FRAME, Selection, StreamInfo, Unit, Unsplit};
use crate::wire::{CameraName, Flags, LENGTH_PREFIX};

/// Maximum number of challenges that one frame answers: some 0.15 ms of hashing. The others wait for the next frame.
const MAX_ANSWERS: usize = 512;
/// Records under one epoch after which a new secret is drawn (keys.md §6).
const SOFT_RECORDS: u64 = 1 << 20;
/// Age of a group secret after which a new one is drawn (keys.md §6).
const SOFT_AGE: Duration = Duration::from_secs(600);
/// Numbers of groups of pictures for each epoch number that is reserved. A camera that begins anew has higher epoch
/// numbers, and so higher groups as well (signatures.md §2).
const GROUPS_PER_EPOCH: u64 = 1 << 20;

/// Settings of a [`GroupSealer`].
pub struct GroupSealerConfig {
    /// The camera's identity, which signs sheets and frames.
    pub identity: Arc<Identity>,
    /// The number of the camera's stream, 1 to 15.
    pub stream: u16,
    /// The suite of the media records.
    pub suite: Suite,
    /// Mode of signing.
    pub sign: SignMode,
    /// The camera's name among those of its publisher; none for an only one.
    pub camera_name: CameraName,
    /// Into what a frame is cut.
    pub unit: Unit,
    /// Seed of the random draws of a selection by rate; not a secret.
    pub selection_seed: u64,
}

/// A frame whose records are sealed, and which is not signed yet.
pub struct UnsignedFrame {
    bytes: Vec<u8>,
    blocks: Vec<SealedBlock>,
    keyframe: bool,
    records: SealedRecords,
    answers: Option<Batch>,
    /// Statement to sign, if anything is signed.
    outgoing: Option<OutgoingStatement>,
}

impl UnsignedFrame {
    /// Bytes of its records so far, each with its length.
    pub fn sealed_bytes(&self) -> usize {
        self.bytes.len()
    }
}

/// Seals the frames of a stream once for all members of its group. It is deterministic: the program passes times and
/// fresh random bytes in.
///
/// After [`admit`](Self::admit) and [`remove`](Self::remove), and at each [`deadline`](Self::deadline), call
/// [`announce`](Self::announce), and send what it has before the next frame.
pub struct GroupSealer {
    pub(super) config: GroupSealerConfig,
    leader: Leader,
    pub(super) current: InForce,
    /// The terms of this run.
    terms: Vec<u8>,
    /// When the current secret was drawn.
    drawn: Duration,
    signer: FrameSigner,
    gops: Option<GopSigner>,
    challenges: Challenges,
    pub(super) cutter: Cutter,
    pub(super) sound: SoundSealer,
    /// The parts of the stream that are encrypted.
    selection: Selection,
    /// Number of the group of pictures that begins next.
    pub(super) next_group: u64,
    /// True once a group of pictures has begun.
    pub(super) begun: bool,
    pub(super) packets: Packets,
    /// True if records must fit packets.
    pub(super) in_packets: bool,
}

impl GroupSealer {
    /// Creates a group without members. `numbers` are the epoch numbers that the program reserved on disk before this
    /// call (groups.md §1); `run` and `seed` are fresh random bytes.
    ///
    /// # Errors
    /// [`LeaderError::NoNumbers`] if `numbers` is empty.
    pub fn new(
        now: Now,
        config: GroupSealerConfig,
        numbers: Range<u64>,
        run: [u8; RUN_LEN],
        seed: &[u8; 32],
    ) -> Result<Self, LeaderError> {
        let next_group = numbers.start.saturating_mul(GROUPS_PER_EPOCH);
        let leader = LeaderConfig {
            identity: Arc::clone(&config.identity),
            stream: config.stream.into(),
            suite: config.suite,
            limits: SealLimits {
                records: 2 * SOFT_RECORDS,
                blocks: config.suite.block_limit.unwrap_or(SealLimits::COUNTER.blocks),
            },
        };
        let (leader, current) = Leader::new(leader, numbers, next_group, run, seed)?;
        let terms = leader.terms(config.sign, config.camera_name);
        let camera = config.identity.peer_id();
        Ok(Self {
            leader,
            current,
            terms,
            drawn: now.monotonic,
            signer: FrameSigner::new(config.stream, next_group),
            gops: config.sign.gops().then(|| GopSigner::new(camera)),
            challenges: Challenges::new(MAX_CHALLENGERS),
            cutter: Cutter::new(config.unit, config.selection_seed),
            sound: SoundSealer::new(camera, config.sign, next_group),
            selection: Selection::All,
            packets: Packets::new(config.unit),
            in_packets: false,
            next_group,
            begun: false,
            config,
        })
    }

    /// The terms of this run, for viewers (groups.md §6).
    pub fn terms(&self) -> &[u8] {
        &self.terms
    }

    /// Takes further epoch numbers, which the program has reserved on disk: those up to `end`, without it.
    pub fn reserve(&mut self, end: u64) {
        self.leader.reserve(end);
    }

    /// Returns how many reserved epoch numbers are left.
    pub fn numbers_left(&self) -> u64 {
        self.leader.numbers_left()
    }

    /// Makes a member, from the next epoch that is announced on.
    ///
    /// # Errors
    /// [`LeaderError::Known`] or [`LeaderError::Full`].
    pub fn admit(&mut self, now: Now, member: MemberId, key: MemberKey) -> Result<(), LeaderError> {
        self.leader.admit(now.monotonic, member, key)
    }

    /// Removes a member, or takes its admission back. What it asked for is forgotten.
    ///
    /// # Errors
    /// [`LeaderError::Unknown`].
    pub fn remove(&mut self, now: Now, member: MemberId) -> Result<(), LeaderError> {
        if let Ok(slot) = u16::try_from(member.0) {
            self.challenges.remove(slot);
        }
        self.leader.remove(now.monotonic, member)
    }

    /// Draws a new secret: the user asks for it.
    pub fn rekey(&mut self, now: Now) {
        self.leader.rekey(now.monotonic);
    }

    /// Takes the challenge of a member whose number is below [`MAX_CHALLENGERS`].
    ///
    /// # Errors
    /// [`NoSuchSlot`].
    pub fn challenged(&mut self, member: MemberId, challenge: Challenge) -> Result<(), NoSuchSlot> {
        let slot = u16::try_from(member.0).map_err(|_| NoSuchSlot)?;
        self.challenges.put(slot, challenge)
    }

    /// Announces the next epoch, if changes wait for one. `seed` are fresh random bytes.
    ///
    /// # Errors
    /// [`LeaderError::NoNumbers`]; the changes go on waiting.
    pub fn announce(&mut self, now: Now, seed: &[u8; 32]) -> Result<Option<Announcement>, LeaderError> {
        match self.announces(now) {
            true => self.leader.announce(now.monotonic, self.next_group, seed),
            false => Ok(None),
        }
    }

    /// True if [`announce`](Self::announce) has something to announce: fresh random bytes are not needed before.
    pub fn announces(&mut self, now: Now) -> bool {
        self.switch_if_due(now, false);
        let used_up = now.monotonic >= self.drawn + SOFT_AGE || self.records_sealed() >= SOFT_RECORDS;
        if used_up && self.leader.deadline().is_none() {
            self.drawn = now.monotonic;
            self.leader.rekey(now.monotonic);
        }
        self.leader.announces()
    }

    /// Returns the time at which [`announce`](Self::announce) is due.
    pub fn deadline(&self) -> Duration {
        self.leader.deadline().unwrap_or(self.drawn + SOFT_AGE)
    }

    /// Makes the sheet of the newest announced epoch for one member. `None` if it is none.
    pub fn path_sheet(&self, member: MemberId) -> Option<Vec<u8>> {
        self.leader.path_sheet(member)
    }

    /// Makes the full sheet of the newest announced epoch, for relays' caches.
    pub fn full_sheet(&self) -> Vec<u8> {
        self.leader.full_sheet()
    }

    /// Says what the worst path needs of those to members whose media travels in packets; `None` if there are no such
    /// members. While there are some, all members' records fit packets, since what is signed is one cutting.
    pub fn carry_in_packets(&mut self, worst: Option<RepairNeed>) {
        self.in_packets = worst.is_some();
        self.packets.need = worst.unwrap_or(RepairNeed::NONE);
    }

    /// Encrypts these parts of the frames that follow. All members that get them must have agreed to it, or they refuse
    /// what is in clear.
    pub fn select(&mut self, selection: Selection) {
        self.selection = selection;
    }

    /// Ends the parts of picture and sound that are collected for the signature of groups of pictures: nothing follows.
    pub fn close_parts(&mut self) -> impl Iterator<Item = UnsignedPart> {
        let gops = [self.gops.as_mut(), self.sound.gops()];
        gops.into_iter().flatten().filter_map(GopSigner::close)
    }

    /// The parts of the stream that are encrypted.
    pub fn selection(&self) -> Selection {
        self.selection
    }

    /// The slices and images that a level encrypted whole because they could not be split; `None` if there were none.
    pub fn unsplit(&self) -> Option<Unsplit> {
        self.cutter.unsplit()
    }

    /// Returns the epoch under which frames are sealed.
    pub fn epoch(&self) -> u64 {
        self.current.epoch
    }

    /// Returns the newest announced epoch.
    pub fn announced_epoch(&self) -> u64 {
        self.leader.epoch()
    }

    /// Returns the keys of media records that an archive needs from here on, of the picture and of the sound: those of
    /// the epoch in force, and of the newest announced one if that is another.
    pub fn archive_keys(&self) -> Vec<[MediaKey; 2]> {
        let mut keys = vec![self.current.media_keys()];
        if self.leader.epoch() != self.current.epoch {
            keys.push(self.leader.media_keys());
        }
        keys
    }

    /// Records under the present keys, of the stream that has more.
    fn records_sealed(&self) -> u64 {
        let InForce { sealer, sound, .. } = &self.current;
        sealer.sealed().max(sound.sealer.sealed())
    }

    /// Returns the number of members, as of the newest announced epoch.
    pub fn members(&self) -> usize {
        self.leader.members()
    }

    /// Signs frames with another identity than the camera's, as whoever knows the group's key could.
    #[cfg(test)]
    pub(crate) fn sign_as(&mut self, identity: Arc<Identity>) {
        self.config.identity = identity;
    }

    /// Seals and signs a frame: [`seal_unsigned`](Self::seal_unsigned) and [`sign`](Self::sign) in one.
    ///
    /// # Errors
    /// [`GroupSealError`].
    pub fn seal(
        &mut self,
        now: Now,
        info: &StreamInfo,
        frame: &OutgoingFrame<'_>,
    ) -> Result<Option<Sealing>, GroupSealError> {
        let sealed = self.seal_unsigned(now, info, frame)?;
        sealed.map(|sealed| self.sign(now, sealed)).transpose()
    }

    /// Seals a frame, which [`sign`](Self::sign) must follow before the next one. `info` is the stream's description,
    /// which a keyframe needs. Returns `None` for frames before the first keyframe: they belong to no group of
    /// pictures.
    ///
    /// # Errors
    /// [`GroupSealError`].
    pub fn seal_unsigned(
        &mut self,
        now: Now,
        info: &StreamInfo,
        frame: &OutgoingFrame<'_>,
    ) -> Result<Option<UnsignedFrame>, GroupSealError> {
        if !frame.keyframe && !self.begun {
            return Ok(None);
        }
        if frame.data.len() + frame.preamble.padding as usize > MAX_FRAME || !info.is_valid() {
            return Err(GroupSealError::Misuse);
        }
        self.switch_if_due(now, frame.keyframe);
        let (mut bytes, mut blocks) = (Vec::with_capacity(frame.data.len() + 512), Vec::new());
        let mut hasher = self.config.sign.frames().then(FrameHasher::new);
        let into = (&mut bytes, &mut blocks);
        let records = if self.in_packets {
            self.seal_packets(now, info, frame, into, &mut hasher)?
        } else {
            self.seal_records(now, info, frame, &mut bytes, &mut hasher)?
        };
        let answers = (self.config.sign.frames())
            .then(|| self.challenges.fold(MAX_ANSWERS))
            .flatten();
        let digest = hasher.and_then(FrameHasher::finish);
        let outgoing = digest.map(|digest| OutgoingStatement {
            epoch: self.current.epoch,
            frame: frame.preamble.frame,
            keyframe: frame.keyframe,
            digest,
            liveness: answers.as_ref().map(Batch::root),
        });
        self.begun = true;
        Ok(Some(UnsignedFrame {
            bytes,
            blocks,
            keyframe: frame.keyframe,
            records,
            answers,
            outgoing,
        }))
    }

    /// Signs a frame that was just sealed, if frames or groups of pictures are signed.
    ///
    /// # Errors
    /// [`GroupSealError`].
    pub fn sign(&mut self, now: Now, frame: UnsignedFrame) -> Result<Sealing, GroupSealError> {
        let UnsignedFrame {
            mut bytes,
            mut blocks,
            keyframe,
            mut records,
            answers,
            outgoing,
        } = frame;
        let statement = outgoing
            .map(|outgoing| self.prove(now, &outgoing, (&mut bytes, &mut blocks), &mut records))
            .transpose()?;
        let part = statement
            .zip(self.gops.as_mut())
            .and_then(|(statement, gops)| gops.push(&statement));
        if keyframe {
            self.next_group += 1;
        }
        let frame = SealedFrame {
            bytes,
            blocks,
            sound: false,
            keyframe,
            group: self.next_group - 1,
            records,
        };
        Ok(Sealing { frame, answers, part })
    }

    pub(super) fn switch_if_due(&mut self, now: Now, group_begins: bool) {
        if let Some(next) = self.leader.switch(now.monotonic, group_begins) {
            self.current = next;
        }
    }

    fn seal_records(
        &mut self,
        now: Now,
        info: &StreamInfo,
        frame: &OutgoingFrame<'_>,
        bytes: &mut Vec<u8>,
        hasher: &mut Option<FrameHasher>,
    ) -> Result<SealedRecords, Exhausted> {
        let (sealer, selection) = (&mut self.current.sealer, self.selection);
        let mut seal = |flags: Flags, encrypt: bool, parts: &[&[u8]]| {
            // Whatever the cutter says, all is encrypted unless a selection permits otherwise.
            let encrypt = encrypt || selection == Selection::All;
            let flags = if encrypt { flags } else { flags.in_clear() };
            let start = bytes.len() + LENGTH_PREFIX;
            sealer.seal_framed(meta(now, frame.stream, flags), parts, bytes)?;
            if let Some(hasher) = hasher {
                hasher.push(&bytes[start..]);
            }
            Ok(SealedRecords {
                records: 1,
                in_clear: u64::from(!encrypt),
            })
        };
        let mut sealed = SealedRecords::default();
        if frame.keyframe {
            self.cutter.describe(frame.stream, info);
            sealed += seal(Flags::CONFIG, selection.encrypts_description(), &[&info.to_bytes()])?;
        }
        let unit = OutgoingUnit::from(frame);
        sealed += unit.seal_each(self.config.unit, &mut self.cutter, selection, &mut seal)?;
        Ok(sealed)
    }

    /// Seals a frame in records that fit packets.
    fn seal_packets(
        &mut self,
        now: Now,
        info: &StreamInfo,
        frame: &OutgoingFrame<'_>,
        (bytes, blocks): (&mut Vec<u8>, &mut Vec<SealedBlock>),
        hasher: &mut Option<FrameHasher>,
    ) -> Result<SealedRecords, Exhausted> {
        let mut into = Target {
            now,
            sealers: (&mut self.current.sealer, &mut self.current.repairs),
            selection: self.selection,
            bytes,
            blocks,
            hasher: hasher.as_mut(),
        };
        let mut sealed = SealedRecords::default();
        if frame.keyframe {
            self.cutter.describe(frame.stream, info);
            let of = (frame.stream, false);
            sealed += self
                .packets
                .seal_whole(&mut into, Content::Config, of, &info.to_bytes())?;
        }
        sealed += self.packets.seal(&mut into, &mut self.cutter, &frame.into())?;
        Ok(sealed)
    }

    /// Signs a frame whose records are sealed, and appends the record with its proof.
    fn prove(
        &mut self,
        now: Now,
        outgoing: &OutgoingStatement,
        (bytes, blocks): (&mut Vec<u8>, &mut Vec<SealedBlock>),
        records: &mut SealedRecords,
    ) -> Result<Statement, GroupSealError> {
        let (statement, proof) = self.signer.sign(&self.config.identity, outgoing)?;
        let (proof, stream) = (proof.to_bytes(), u32::from(self.config.stream));
        if self.in_packets {
            let mut into = Target {
                now,
                sealers: (&mut self.current.sealer, &mut self.current.repairs),
                selection: self.selection,
                bytes,
                blocks,
                hasher: None,
            };
            let of = (stream, outgoing.keyframe);
            *records += self.packets.seal_whole(&mut into, Content::Proof, of, &proof)?;
        } else {
            let meta = meta(now, stream, Flags::signed(outgoing.keyframe));
            self.current.sealer.seal_framed(meta, &[&proof], bytes)?;
            records.records += 1;
        }
        Ok(statement)
    }
}
