//! A member's half.

use std::time::Duration;

use super::release::Release;

use crate::clock::Arrival;
use crate::group::{Member, MemberConfig, MemberKey, SheetRefusal, Taken};
use crate::seal::{Opened, Refusal, Sealed};
use crate::session::{Mark, Ordered};
use crate::sign::{
    CommitmentRefusal, FrameRefusal, FrameRefusalCounts, Hash, SignMode, Statement, TeslaNews, Verified, record_hash,
};
use crate::unit::{Assembled, Assembler, StreamInfo, UnitHeader};
use crate::wire::{Header, Malformed};

/// Longest description that is put together: its parameter sets have a length of 16 bits.
const MAX_DESCRIPTION: usize = (1 << 16) + 64;

/// A record that came in a packet, and what is known of it.
pub(crate) type Marked<'b> = (Opened<'b>, Mark);

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

/// Opens the records of a group in the order in which the camera sealed them, and releases the frames that it signed.
pub struct GroupOpener {
    member: Member,
    release: Release,
    assembler: Assembler,
    /// The beginning of a description that is cut into several records.
    description: Vec<u8>,
}

impl GroupOpener {
    /// A member that has no sheet yet. `key` is what it shares with the camera.
    pub fn new(config: GroupOpenerConfig, key: MemberKey) -> Self {
        Self {
            release: Release::new(config.member.group, config.sign),
            member: Member::new(config.member, key),
            assembler: Assembler::new(config.tell_units),
            description: Vec::new(),
        }
    }

    /// From now on, frames carry their records as they came. To be called before the first sheet.
    pub(crate) fn keep_sealed(&mut self) {
        self.member.keep_sealed();
    }

    /// Accepts media records in clear from here on, or none: whether the viewer has acknowledged a selection.
    pub(crate) fn accept_clear(&mut self, accepts: bool) {
        self.release.accept_clear(accepts);
    }

    /// Takes a sheet, from whatever way it came.
    ///
    /// # Errors
    /// [`SheetRefusal`]; nothing has changed then.
    pub fn take_sheet(&mut self, sheet: &[u8]) -> Result<Taken, SheetRefusal> {
        self.member.take(sheet)
    }

    /// Takes the commitment to a key chain of TESLA, from whatever way it came.
    ///
    /// # Errors
    /// [`CommitmentRefusal`]; nothing has changed then.
    pub fn take_commitment(&mut self, commitment: &[u8]) -> Result<(), CommitmentRefusal> {
        self.release.take_commitment(commitment)
    }

    /// In mode `tesla`, the next that is known of frames which were released before they are proved. To be asked after
    /// each record and commitment.
    pub fn next_tesla(&mut self) -> Option<TeslaNews> {
        self.release.next_tesla()
    }

    /// Opens a media record in place, which came `now`: in mode `tesla`, what is known of the camera's clock decides
    /// whether it came in time. What it completes is then [`next_media`](Self::next_media).
    ///
    /// # Errors
    /// [`GroupRefusal`]. What depends on it is not released, and [`Assembled::Lost`] says so.
    pub fn open(&mut self, now: impl Into<Arrival>, record: &mut [u8]) -> Result<(), GroupRefusal> {
        let now = now.into();
        self.member.retire(now.at);
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
        let accept = self.release.accept();
        let ahead = Header::parse(record, accept).is_ok_and(|header| self.member.is_ahead(header.epoch));
        if !ahead {
            return false;
        }
        let mut copy = record.to_vec();
        Sealed::parse(&mut copy, accept).is_ok_and(|record| self.member.waits_for_key(record))
    }

    /// The next description, frame or loss.
    pub fn next_media(&mut self) -> Option<Assembled> {
        self.release.next()
    }

    /// The statement of the frame that was released last, once, if the camera signed it.
    pub fn take_verified(&mut self) -> Option<Verified> {
        self.release.take_verified()
    }

    /// The statement of the frame that was released last, once: the signature of its group of pictures will prove it.
    pub fn take_statement(&mut self) -> Option<Statement> {
        self.release.take_statement()
    }

    /// Counters of the frames refused.
    pub fn refused(&self) -> &FrameRefusalCounts {
        self.release.refused()
    }

    /// Number of frames whose signature was verified, or whose statement fits where only groups of pictures are signed.
    pub fn accepted(&self) -> u64 {
        self.release.accepted()
    }

    /// Returns the epoch of the last sheet that was taken.
    pub fn sheet_epoch(&self) -> Option<u64> {
        self.member.sheet_epoch()
    }

    /// Returns true if so many records failed under one key that a forgery is no longer unlikely enough.
    pub fn integrity_spent(&self) -> bool {
        self.member.integrity_spent()
    }

    /// Opens a record in place that came in a packet, in whatever order. The session puts it in its place, and what
    /// that makes of it is [taken](Self::take_ordered).
    pub(crate) fn open_packet<'b>(&mut self, now: Duration, record: &'b mut [u8]) -> Result<Marked<'b>, Refusal> {
        self.member.retire(now);
        let hash = self.release.is_signed().then(|| record_hash(record));
        let (opened, epoch) = self.member.open(Sealed::parse(record, self.release.accept())?)?;
        if !opened.header().flags.unit() {
            return Err(Refusal::Malformed);
        }
        if !self.release.is_signed() {
            self.member.confirm(now, epoch);
        }
        let sealed = opened.sealed();
        Ok((opened, Mark { epoch, hash, sealed }))
    }

    /// Takes what came in packets and is in order now.
    ///
    /// # Errors
    /// [`GroupRefusal`], as [`open`](Self::open).
    pub(crate) fn take_ordered(&mut self, now: Arrival, ordered: Ordered) -> Result<(), GroupRefusal> {
        match ordered {
            Ordered::Media(Assembled::Lost, _) => self.release.lost(),
            Ordered::Media(media, _) if !self.release.is_signed() => self.release.pass(media),
            Ordered::Media(media, marks) => self.release.add_whole(marks.epoch, &marks.hashes, media),
            Ordered::Proof(proof, mut marks) => {
                let sealed = marks.sealed.pop();
                let proven = self.release.prove(now, &mut self.member, (marks.epoch, sealed), &proof);
                if proven.is_err() {
                    self.release.lost();
                }
                return proven;
            }
        }
        Ok(())
    }

    fn lost(&mut self) {
        self.release.lost();
        self.assembler.lost();
    }

    fn open_record(&mut self, now: Arrival, record: &mut [u8]) -> Result<(), GroupRefusal> {
        let hash = self.release.is_signed().then(|| record_hash(record));
        let (mut opened, epoch) = self.member.open(Sealed::parse(record, self.release.accept())?)?;
        let flags = opened.header().flags;
        if flags.repair() {
            // They repair what a byte stream does not lose.
            return Err(Refusal::Malformed.into());
        }
        // On a byte stream records come in order, so it says only how many of them a description has.
        let unit = flags.unit().then(|| opened.take_unit_header()).transpose();
        let unit = unit.map_err(malformed)?;
        if opened.follows_gap() {
            self.lost();
        }
        if let Some(unit) = unit.filter(|unit| flags.codec_config() && unit.sources > 1) {
            let described = self.describe(epoch, hash, unit, opened.payload());
            self.assembler.keep_description(&opened, unit.index == 0);
            return described;
        }
        let Some(hash) = hash else {
            self.member.confirm(now.at, epoch);
            let assembled = self.assembler.take(&opened, now.at).map_err(malformed)?;
            assembled.into_iter().for_each(|media| self.release.pass(media));
            return Ok(());
        };
        if flags.proof() {
            let of = (epoch, opened.sealed());
            return self.release.prove(now, &mut self.member, of, opened.payload());
        }
        // The description of a keyframe is before it, and begins it.
        if (flags.codec_config() || flags.first()) && !self.release.begin(epoch, flags.codec_config()) {
            self.assembler.lost();
        }
        let assembled = self.assembler.take(&opened, now.at).map_err(malformed)?;
        self.release.add(epoch, &hash, assembled);
        Ok(())
    }

    /// Takes a part of a description.
    fn describe(&mut self, epoch: u64, hash: Option<Hash>, unit: UnitHeader, part: &[u8]) -> Result<(), GroupRefusal> {
        if unit.index == 0 {
            self.description.clear();
            if hash.is_some() && !self.release.begin(epoch, true) {
                self.assembler.lost();
            }
        }
        if self.description.len() + part.len() > MAX_DESCRIPTION {
            return Err(Refusal::Malformed.into());
        }
        self.description.extend_from_slice(part);
        if unit.index + 1 < unit.sources {
            hash.iter()
                .for_each(|hash| self.release.add_to_description(epoch, hash));
            return Ok(());
        }
        let info = StreamInfo::parse(&std::mem::take(&mut self.description)).map_err(malformed)?;
        match hash {
            Some(hash) => self.release.add(epoch, &hash, Some(Assembled::Info(info))),
            None => self.release.pass(Assembled::Info(info)),
        }
        Ok(())
    }
}

fn malformed(_: Malformed) -> GroupRefusal {
    Refusal::Malformed.into()
}
