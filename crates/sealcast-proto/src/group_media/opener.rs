//! A member's half.

use std::time::Duration;

use super::release::Release;
use super::{GroupRefusal, Seen};

use crate::group::{GroupName, Member, MemberConfig, MemberKey, SheetRefusal, Taken, Terms, TermsRefusal};
use crate::seal::{Opened, Refusal, Sealed};
use crate::session::{Mark, Ordered};
use crate::sign::{FrameRefusalCounts, Hash, SignMode, Verified, record_hash};
use crate::unit::{Assembled, Assembler, Description, UnitHeader};
use crate::wire::{Accept, Header, Malformed};

/// Longest description that is put together: its parameter sets have a length of 16 bits.
const MAX_DESCRIPTION: usize = (1 << 16) + 64;

/// A record that came in a packet, and what is known of it.
pub(crate) type Marked<'b> = (Opened<'b>, Mark);

/// Settings of a [`GroupOpener`].
#[derive(Clone)]
pub struct GroupOpenerConfig {
    /// The camera, its stream, and the suites that this end accepts.
    pub member: MemberConfig,
    /// True if frames report the arrival of their records.
    pub tell_units: bool,
}

/// Opens the records of a group in the order in which the camera sealed them, and releases the frames that it signed.
pub struct GroupOpener {
    member: Member,
    name: GroupName,
    picture: Half,
    sound: Half,
}

/// One of the group's streams. What is lost of one leaves the other as it is.
struct Half {
    release: Release,
    assembler: Assembler,
    /// The beginning of a description that is cut into several records.
    description: Vec<u8>,
}

impl Half {
    fn new(release: Release, tell_units: bool) -> Self {
        Self {
            release,
            assembler: Assembler::new(tell_units),
            description: Vec::new(),
        }
    }

    fn lost(&mut self) {
        self.release.lost();
        self.assembler.lost();
    }
}

impl GroupOpener {
    /// A member that has neither terms nor a sheet yet. `key` is what it shares with the camera.
    pub fn new(config: GroupOpenerConfig, key: MemberKey) -> Self {
        let name = config.member.group;
        let half = |release| Half::new(release, config.tell_units);
        Self {
            name,
            picture: half(Release::new(name)),
            sound: half(Release::of_sound(name)),
            member: Member::new(config.member, key),
        }
    }

    /// Refuses what begins earlier than what was seen of the group before. To be called before the first sheet.
    pub(crate) fn begin_at(&mut self, seen: Seen) {
        self.picture.release.begin_at(seen.picture);
        self.sound.release.begin_at(seen.sound);
    }

    /// The newest groups of pictures, and of packets of sound, of which the beginning was released.
    pub fn seen(&self) -> Seen {
        Seen {
            picture: self.picture.release.newest(),
            sound: self.sound.release.newest(),
        }
    }

    /// From now on, frames carry their records as they came. To be called before the first sheet.
    pub(crate) fn keep_sealed(&mut self) {
        self.member.keep_sealed();
    }

    /// Accepts media records in clear from here on, or none: whether the viewer has acknowledged a selection.
    pub(crate) fn accept_clear(&mut self, accepts: bool) {
        // Sound is encrypted whatever selection is in force.
        self.picture.release.accept_clear(accepts);
    }

    /// Agrees on terms of the group, as [`Member::agree`].
    ///
    /// # Errors
    /// [`TermsRefusal`].
    pub fn agree(&mut self, terms: Terms) -> Result<bool, TermsRefusal> {
        self.member.agree(terms)
    }

    /// Returns what the camera signs in the run of the last sheet. Frames without it are refused.
    pub fn sign(&self) -> Option<SignMode> {
        self.member.terms().map(Terms::sign)
    }

    /// Takes a sheet, from whatever way it came. From the first one of a run on frames are verified as its terms say.
    ///
    /// # Errors
    /// [`SheetRefusal`]; nothing has changed then.
    pub fn take_sheet(&mut self, sheet: &[u8]) -> Result<Taken, SheetRefusal> {
        let taken = self.member.take(sheet)?;
        if let Some(sign) = self.sign() {
            self.picture.release.expect(sign);
            self.sound.release.expect(sign);
        }
        Ok(taken)
    }

    /// Opens a media record in place, which came `now`. What it completes is then [`next_media`](Self::next_media).
    ///
    /// # Errors
    /// [`GroupRefusal`]. What depends on it is not released, and [`Assembled::Lost`] says so.
    pub fn open(&mut self, now: Duration, record: &mut [u8]) -> Result<(), GroupRefusal> {
        self.member.retire(now);
        let stream = stream_of(record);
        let opened = self.open_record(now, record, stream);
        let opened = opened.map_err(|refusal| match self.name.has_sound(stream) {
            true => refusal.of_sound(),
            false => refusal,
        });
        // A copy takes nothing away from the stream; everything else that is refused is missing now.
        if opened.is_err_and(|reason| reason != GroupRefusal::Record(Refusal::Replay)) {
            self.half(stream).lost();
        }
        opened
    }

    /// State of a record's stream. Where a record was not opened, its header names the stream, and the numbers of the
    /// stream's records tell where it lies.
    fn half(&mut self, stream: u32) -> &mut Half {
        match self.name.has_sound(stream) {
            true => &mut self.sound,
            false => &mut self.picture,
        }
    }

    fn accept(&self, stream: u32) -> Accept {
        match self.name.has_sound(stream) {
            true => self.sound.release.accept(),
            false => self.picture.release.accept(),
        }
    }

    fn is_signed(&self) -> bool {
        self.picture.release.is_signed()
    }

    /// Returns true if the record cannot be opened now and perhaps can once a sheet has come, which may be late where
    /// sheets travel apart from records.
    pub fn waits_for_key(&self, record: &[u8]) -> bool {
        let accept = self.accept(stream_of(record));
        let ahead = Header::parse(record, accept).is_ok_and(|header| self.member.is_ahead(header.epoch));
        if !ahead {
            return false;
        }
        let mut copy = record.to_vec();
        Sealed::parse(&mut copy, accept).is_ok_and(|record| self.member.waits_for_key(record))
    }

    /// The next description, frame or loss.
    pub fn next_media(&mut self) -> Option<Assembled> {
        self.picture.release.next().or_else(|| self.sound.release.next())
    }

    /// The statement of the frame or packet of sound that was released last, once, if the camera signs them.
    pub fn take_verified(&mut self) -> Option<Verified> {
        let picture = self.picture.release.take_verified();
        picture.or_else(|| self.sound.release.take_verified())
    }

    /// Counters of the frames refused, and of the packets of sound.
    pub fn refused(&self) -> FrameRefusalCounts {
        self.picture.release.refused().with(self.sound.release.refused())
    }

    /// Number of the picture's frames whose signature was verified.
    pub fn accepted(&self) -> u64 {
        self.picture.release.accepted()
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
        let (signed, accept) = (self.is_signed(), self.accept(stream_of(record)));
        let hash = signed.then(|| record_hash(record));
        let (opened, epoch) = self.member.open(Sealed::parse(record, accept)?)?;
        if !opened.header().flags.unit() {
            return Err(Refusal::Malformed);
        }
        if !signed {
            self.member.confirm(now, epoch);
        }
        let sealed = opened.sealed();
        Ok((opened, Mark { epoch, hash, sealed }))
    }

    /// Takes what came in packets and is in order now.
    ///
    /// # Errors
    /// [`GroupRefusal`], as [`open`](Self::open).
    pub(crate) fn take_ordered(&mut self, now: Duration, ordered: Ordered) -> Result<(), GroupRefusal> {
        let signed = self.is_signed();
        match ordered {
            Ordered::Media(Assembled::Lost, _) => {
                self.picture.release.lost();
                self.sound.release.missed();
            }
            Ordered::Missing => {
                self.picture.release.missed();
                self.sound.release.missed();
            }
            Ordered::Media(media, marks) if !signed => self.half(marks.stream).release.pass(media),
            Ordered::Media(media, marks) => {
                let half = self.half(marks.stream);
                half.release.add_whole(marks.epoch, &marks.hashes, media);
            }
            Ordered::Proof(proof, mut marks) => {
                let sound = self.name.has_sound(marks.stream);
                let release = match sound {
                    true => &mut self.sound.release,
                    false => &mut self.picture.release,
                };
                let sealed = marks.sealed.pop();
                let proven = release.prove(now, &mut self.member, (marks.epoch, sealed), &proof);
                if proven.is_err() {
                    release.lost();
                }
                return proven.map_err(|refusal| if sound { refusal.of_sound() } else { refusal });
            }
        }
        Ok(())
    }

    fn open_record(&mut self, now: Duration, record: &mut [u8], stream: u32) -> Result<(), GroupRefusal> {
        let hash = self.is_signed().then(|| record_hash(record));
        let (mut opened, epoch) = self.member.open(Sealed::parse(record, self.accept(stream))?)?;
        let half = match self.name.has_sound(stream) {
            true => &mut self.sound,
            false => &mut self.picture,
        };
        let flags = opened.header().flags;
        if flags.repair() {
            // They repair what a byte stream does not lose.
            return Err(Refusal::Malformed.into());
        }
        // On a byte stream records come in order, so it says only how many of them a description has.
        let unit = flags.unit().then(|| opened.take_unit_header()).transpose();
        let unit = unit.map_err(malformed)?;
        if opened.follows_gap() {
            half.lost();
        }
        if let Some(unit) = unit.filter(|unit| flags.codec_config() && unit.sources > 1) {
            let described = half.describe((stream, epoch), hash, unit, opened.payload());
            half.assembler.keep_description(&opened, unit.index == 0);
            return described;
        }
        let Some(hash) = hash else {
            half.release.reach_unsigned(epoch, flags.keyframe() && flags.first())?;
            self.member.confirm(now, epoch);
            let assembled = half.assembler.take(&opened, now).map_err(malformed)?;
            assembled.into_iter().for_each(|media| half.release.pass(media));
            return Ok(());
        };
        if flags.proof() {
            let of = (epoch, opened.sealed());
            return half.release.prove(now, &mut self.member, of, opened.payload());
        }
        // The description of a keyframe is before it, and begins it.
        if (flags.codec_config() || flags.first()) && !half.release.begin(epoch, flags.codec_config()) {
            half.assembler.lost();
        }
        let assembled = half.assembler.take(&opened, now).map_err(malformed)?;
        half.release.add(epoch, &hash, assembled);
        Ok(())
    }
}

impl Half {
    /// Takes a part of a description.
    fn describe(
        &mut self,
        (stream, epoch): (u32, u64),
        hash: Option<Hash>,
        unit: UnitHeader,
        part: &[u8],
    ) -> Result<(), GroupRefusal> {
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
        let info = Description::parse(stream, &std::mem::take(&mut self.description)).map_err(malformed)?;
        match hash {
            Some(hash) => self.release.add(epoch, &hash, Some(info.into())),
            None => self.release.pass(info.into()),
        }
        Ok(())
    }
}

/// The stream that a record's header names.
fn stream_of(record: &[u8]) -> u32 {
    record.first_chunk().map_or(0, |header| Header::read(header).stream)
}

fn malformed(_: Malformed) -> GroupRefusal {
    Refusal::Malformed.into()
}
