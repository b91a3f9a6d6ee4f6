//! A member's half.

use std::collections::VecDeque;
use std::time::Duration;

use crate::group::{Member, MemberConfig, MemberKey, SheetRefusal, Taken};
use crate::seal::{Opened, Refusal, Sealed};
use crate::sign::{
    FrameHasher, FrameRefusal, FrameRefusalCounts, FrameVerifier, ReceivedFrame, SignMode, Statement, Verified,
    record_hash,
};
use crate::unit::{Assembled, Assembler, StreamInfo};
use crate::wire::{Accept, Malformed};

/// Settings of a [`GroupOpener`].
#[derive(Clone)]
pub struct GroupOpenerConfig {
    /// The camera, its stream, and the suites that this end accepts.
    pub member: MemberConfig,
    /// What the camera signs. Frames without what this says are refused.
    pub sign: SignMode,
    /// True if frames report the arrival of their records.
    pub tell_units: bool,
}

/// Reason why a record, or the frame that it completes, was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GroupRefusal {
    /// The record.
    #[error("{0}")]
    Record(#[from] Refusal),
    /// The frame: whoever in the group sealed it, it is not what the camera signed.
    #[error("{0}")]
    Frame(#[from] FrameRefusal),
}

/// A frame whose records come, until its proof does.
struct Unproven {
    epoch: u64,
    hasher: FrameHasher,
    info: Option<StreamInfo>,
    /// True once a record of the frame itself came.
    begun: bool,
    /// Once all of them came.
    frame: Option<Assembled>,
}

/// Opens the records of a group in the order in which the camera sealed them, and releases the frames that it signed.
pub struct GroupOpener {
    member: Member,
    sign: SignMode,
    stream: u16,
    verifier: FrameVerifier,
    assembler: Assembler,
    unproven: Option<Unproven>,
    out: VecDeque<Assembled>,
    /// Statements of frames that were released, for the program's own use of them.
    verified: Option<Verified>,
    claimed: Option<Statement>,
}

impl GroupOpener {
    /// A member that has no sheet yet. `key` is what it shares with the camera.
    pub fn new(config: GroupOpenerConfig, key: MemberKey) -> Self {
        let group = config.member.group;
        let stream = group.stream as u16;
        Self {
            member: Member::new(config.member, key),
            sign: config.sign,
            stream,
            verifier: FrameVerifier::new(group.camera, stream),
            assembler: Assembler::new(config.tell_units),
            unproven: None,
            out: VecDeque::new(),
            verified: None,
            claimed: None,
        }
    }

    /// Takes a sheet, from whatever way it came.
    ///
    /// # Errors
    /// [`SheetRefusal`]; nothing has changed then.
    pub fn take_sheet(&mut self, sheet: &[u8]) -> Result<Taken, SheetRefusal> {
        self.member.take(sheet)
    }

    /// Opens a media record in place. What it completes is then [`next_media`](Self::next_media).
    ///
    /// # Errors
    /// [`GroupRefusal`]. What depends on it is not released, and [`Assembled::Lost`] says so.
    pub fn open(&mut self, now: Duration, record: &mut [u8]) -> Result<(), GroupRefusal> {
        self.member.retire(now);
        let opened = self.open_record(now, record);
        // A copy takes nothing away from the stream; everything else that is refused is missing now.
        if opened.is_err_and(|reason| reason != GroupRefusal::Record(Refusal::Replay)) {
            self.lost();
        }
        opened
    }

    /// Returns true if the record cannot be opened now and perhaps can once a sheet has come, which may be late where
    /// sheets travel apart from records.
    pub fn waits_for_key(&self, record: &[u8]) -> bool {
        let accept = if self.sign == SignMode::Off {
            Accept::EncryptedOnly
        } else {
            Accept::Signed
        };
        let mut copy = record.to_vec();
        Sealed::parse(&mut copy, accept).is_ok_and(|record| self.member.waits_for_key(record))
    }

    /// The next description, frame or loss.
    pub fn next_media(&mut self) -> Option<Assembled> {
        self.out.pop_front()
    }

    /// The statement of the frame that was released last, once, if the camera signed it.
    pub fn take_verified(&mut self) -> Option<Verified> {
        self.verified.take()
    }

    /// The statement of the frame that was released last, once: the signature of its group of pictures will prove it.
    pub fn take_statement(&mut self) -> Option<Statement> {
        self.claimed.take()
    }

    /// Counters of the frames refused.
    pub fn refused(&self) -> &FrameRefusalCounts {
        self.verifier.refused()
    }

    /// Number of frames whose signature was verified, or whose statement fits where only groups of pictures are signed.
    pub fn accepted(&self) -> u64 {
        self.verifier.accepted()
    }

    /// Returns the epoch of the last sheet that was taken.
    pub fn sheet_epoch(&self) -> Option<u64> {
        self.member.sheet_epoch()
    }

    /// Returns true if so many records failed under one key that a forgery is no longer unlikely enough.
    pub fn integrity_spent(&self) -> bool {
        self.member.integrity_spent()
    }

    fn lost(&mut self) {
        self.unproven = None;
        self.assembler.lost();
        self.out.push_back(Assembled::Lost);
    }

    fn open_record(&mut self, now: Duration, record: &mut [u8]) -> Result<(), GroupRefusal> {
        let signed = self.sign != SignMode::Off;
        let hash = signed.then(|| record_hash(record));
        let accept = if signed { Accept::Signed } else { Accept::EncryptedOnly };
        let (opened, epoch) = self.member.open(Sealed::parse(record, accept)?)?;
        let flags = opened.header().flags;
        if flags.repair() {
            // They repair what a byte stream does not lose.
            return Err(Refusal::Malformed.into());
        }
        if opened.follows_gap() {
            self.lost();
        }
        let Some(hash) = hash else {
            self.member.confirm(now, epoch);
            let assembled = self.assembler.take(&opened, now).map_err(malformed)?;
            self.out.extend(assembled);
            return Ok(());
        };
        if flags.proof() {
            return self.prove(now, epoch, opened.payload());
        }
        self.begin_if_new(epoch, &opened)?;
        let assembled = self.assembler.take(&opened, now).map_err(malformed)?;
        let Some(unproven) = self.unproven.as_mut().filter(|unproven| unproven.epoch == epoch) else {
            return Ok(());
        };
        unproven.hasher.push_hash(&hash);
        match assembled {
            Some(Assembled::Info(info)) => unproven.info = Some(info),
            Some(frame) => (unproven.begun, unproven.frame) = (true, Some(frame)),
            None => unproven.begun = true,
        }
        Ok(())
    }

    /// Begins a frame with its first record: the description before it, or its own.
    fn begin_if_new(&mut self, epoch: u64, record: &Opened<'_>) -> Result<(), GroupRefusal> {
        let flags = record.header().flags;
        let follows_description = |unproven: &Unproven| unproven.epoch == epoch && !unproven.begun;
        let begins =
            flags.codec_config() || (flags.first() && !self.unproven.as_ref().is_some_and(follows_description));
        if !begins {
            return Ok(());
        }
        let before = self.unproven.replace(Unproven {
            epoch,
            hasher: FrameHasher::new(),
            info: None,
            begun: false,
            frame: None,
        });
        if before.is_none() {
            return Ok(());
        }
        // The one before has no proof, and what comes now depends on it.
        self.verifier.unsigned();
        self.assembler.lost();
        self.out.push_back(Assembled::Lost);
        Ok(())
    }

    /// Releases the frame whose records came, if this proves it.
    fn prove(&mut self, now: Duration, epoch: u64, proof: &[u8]) -> Result<(), GroupRefusal> {
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
        let statement = if self.sign.frames() {
            let verified = self.verifier.verify(&frame, Some(proof))?;
            self.verified = Some(verified);
            *verified.statement()
        } else {
            *self.verifier.claim(&frame, Some(proof))?.statement()
        };
        if epoch != unproven.epoch || !self.member.allows(epoch, statement.group) {
            self.verified = None;
            return Err(FrameRefusal::Epoch.into());
        }
        self.claimed = Some(statement);
        self.member.confirm(now, epoch);
        self.out.extend(unproven.info.map(Assembled::Info));
        self.out.extend(unproven.frame);
        Ok(())
    }
}

fn malformed(_: Malformed) -> GroupRefusal {
    Refusal::Malformed.into()
}
