//! Seals frames into records, directly in the caller's buffer.

use super::SessionError;
use super::machine::{Session, State};
use super::outgoing::{OutgoingFrame, OutgoingPackets, OutgoingSound, OutgoingUnit, SealedRecords};
use crate::clock::Now;
use crate::seal::{Exhausted, RecordMeta};
use crate::unit::{Cutter, MAX_FRAME, SOUND_STREAM, Selection, SoundInfo, StreamInfo, Unsplit};
use crate::wire::{Flags, MAX_STREAM};

impl Session {
    /// Seal a frame and append its records to `out`, one per unit, each with a length prefix, encrypted as the
    /// selection in force says. The first record contains the preamble. Drain [`poll`](Self::poll) afterwards, since
    /// a frame may trigger rekeying. Where media may be lost `out` is not touched: the records wait for
    /// [`poll_packets`](Self::poll_packets).
    ///
    /// # Errors
    /// [`SessionError::KeyLimit`] when the keys are spent: the session is over, and the unsealed rest of the frame
    /// was not written. [`SessionError::Misuse`], with no other effect, before the session is established, at a
    /// viewer, for an invalid stream number and for a frame longer than [`MAX_FRAME`].
    pub fn seal_frame(
        &mut self,
        now: Now,
        frame: &OutgoingFrame<'_>,
        out: &mut Vec<u8>,
    ) -> Result<SealedRecords, SessionError> {
        self.seal_unit(now, &frame.into(), out)
    }

    /// Seal packets, as [`seal_frame`](Self::seal_frame) does a frame. A selection that depends on the picture's
    /// content encrypts all of them.
    ///
    /// # Errors
    /// As [`seal_frame`](Self::seal_frame).
    pub fn seal_packets(
        &mut self,
        now: Now,
        packets: &OutgoingPackets<'_>,
        out: &mut Vec<u8>,
    ) -> Result<SealedRecords, SessionError> {
        self.seal_unit(now, &packets.into(), out)
    }

    /// Seal a packet of sound, as [`seal_frame`](Self::seal_frame) does a frame. It is encrypted whatever selection is
    /// in force.
    ///
    /// # Errors
    /// As [`seal_frame`](Self::seal_frame).
    pub fn seal_sound(
        &mut self,
        now: Now,
        sound: &OutgoingSound<'_>,
        out: &mut Vec<u8>,
    ) -> Result<SealedRecords, SessionError> {
        self.seal_unit(now, &sound.into(), out)
    }

    pub(super) fn seal_unit(
        &mut self,
        now: Now,
        unit: &OutgoingUnit<'_>,
        out: &mut Vec<u8>,
    ) -> Result<SealedRecords, SessionError> {
        if unit.data.len() + unit.padding() > MAX_FRAME {
            return Err(SessionError::Misuse);
        }
        self.before_media(now, unit.stream, unit.begins_group())?;
        // Cutting borrows the cutter while sealing borrows the session.
        let mut cutter = std::mem::take(&mut self.cutter);
        let waited = self.media_backlog();
        let sealed = if self.unordered() {
            self.push_unit(now, unit, &mut cutter)
        } else {
            self.seal_for_cells_or(out, |session, out| session.seal_pieces(now, unit, &mut cutter, out))
        };
        self.note_shaped_frame(now, waited);
        self.cutter = cutter;
        sealed
    }

    fn seal_pieces(
        &mut self,
        now: Now,
        unit: &OutgoingUnit<'_>,
        cutter: &mut Cutter,
        out: &mut Vec<u8>,
    ) -> Result<SealedRecords, SessionError> {
        let (cut_into, selection) = (self.config.unit, unit.selection(self.selecting.in_force()));
        unit.seal_each(cut_into, cutter, selection, &mut |flags, encrypt, parts| {
            self.seal_media(now, unit.stream, flags, encrypt, parts, out)
        })
    }

    /// Seal a stream's description and append it to `out` with a length prefix. It is in clear only where nothing is
    /// encrypted.
    ///
    /// # Errors
    /// As [`seal_frame`](Self::seal_frame); also [`SessionError::Misuse`] for a description that no viewer would
    /// accept.
    pub fn seal_info(
        &mut self,
        now: Now,
        stream: u32,
        info: &StreamInfo,
        out: &mut Vec<u8>,
    ) -> Result<SealedRecords, SessionError> {
        if !info.is_valid() || stream == SOUND_STREAM {
            return Err(SessionError::Misuse);
        }
        self.before_media(now, stream, false)?;
        self.cutter.describe(stream, info);
        let encrypt = self.selecting.in_force().encrypts_description();
        self.seal_description(now, stream, &info.to_bytes(), encrypt, out)
    }

    /// Seal the description of sound, as [`seal_info`](Self::seal_info) does a picture's. It is always encrypted.
    ///
    /// # Errors
    /// As [`seal_info`](Self::seal_info).
    pub fn seal_sound_info(
        &mut self,
        now: Now,
        info: &SoundInfo,
        out: &mut Vec<u8>,
    ) -> Result<SealedRecords, SessionError> {
        if !info.is_valid() {
            return Err(SessionError::Misuse);
        }
        self.before_media(now, SOUND_STREAM, false)?;
        self.seal_description(now, SOUND_STREAM, &info.to_bytes(), true, out)
    }

    fn seal_description(
        &mut self,
        now: Now,
        stream: u32,
        info: &[u8],
        encrypt: bool,
        out: &mut Vec<u8>,
    ) -> Result<SealedRecords, SessionError> {
        if self.unordered() {
            return self.push_info(now, stream, info, encrypt);
        }
        self.seal_for_cells_or(out, |session, out| {
            session.seal_media(now, stream, Flags::CONFIG, encrypt, &[info], out)
        })
    }

    /// Let `seal` append records to the media that waits for cells, or to `out` where there are none.
    pub(super) fn seal_for_cells_or<R>(
        &mut self,
        out: &mut Vec<u8>,
        seal: impl FnOnce(&mut Self, &mut Vec<u8>) -> R,
    ) -> R {
        let Some(writer) = self.writer_mut() else {
            return seal(self, out);
        };
        // Sealing borrows the session.
        let mut media = writer.take_media();
        let sealed = seal(self, &mut media);
        if let Some(writer) = self.writer_mut() {
            writer.put_media(media);
        }
        sealed
    }

    /// The slices and images that a level encrypted whole because they could not be split; `None` if there were none.
    pub fn unsplit(&self) -> Option<Unsplit> {
        self.cutter.unsplit()
    }

    /// Switch to an agreed epoch if this is a good place, offer a new one if this key reached a soft limit, and fail
    /// if it reached the hard age.
    fn before_media(&mut self, now: Now, stream: u32, keyframe: bool) -> Result<(), SessionError> {
        if !self.is_established() || !self.leads() || !(1..=MAX_STREAM).contains(&stream) {
            return Err(SessionError::Misuse);
        }
        self.switch_if_due(now, keyframe);
        let due = if self.age(now) >= self.config.rekey.hard_age() {
            Err(SessionError::KeyLimit)
        } else {
            self.rekey_if_due(now)
        };
        due.map_err(|error| self.fail(now, error))
    }

    fn seal_media(
        &mut self,
        now: Now,
        stream: u32,
        flags: Flags,
        encrypt: bool,
        parts: &[&[u8]],
        out: &mut Vec<u8>,
    ) -> Result<SealedRecords, SessionError> {
        // The only place where a record in clear is made. Whatever the plan says, everything is encrypted unless a
        // selection in force permits otherwise.
        let encrypt = encrypt || self.selecting.in_force() == Selection::All;
        let flags = if encrypt { flags } else { flags.in_clear() };
        let State::Established(established) = &mut self.state else {
            return Err(SessionError::Misuse);
        };
        let meta = RecordMeta {
            flags,
            stream,
            timestamp: now.wall,
        };
        let sealer = &mut established.ring.current.media_sealer;
        if let Err(Exhausted) = sealer.seal_framed(meta, parts, out) {
            return Err(self.fail(now, SessionError::KeyLimit));
        }
        Ok(SealedRecords {
            records: 1,
            in_clear: u64::from(!encrypt),
        })
    }
}
