//! Frames in, records out, straight into the caller's buffer.

use super::SessionError;
use super::machine::{Session, State};
use super::rekey::RekeyCause;
use crate::clock::Now;
use crate::seal::{Exhausted, RecordMeta};
use crate::unit::{MAX_FRAME, Preamble, StreamInfo};
use crate::wire::{Flags, HEADER_LEN, LENGTH_PREFIX, MAX_RECORD, TAG_LEN};

/// A frame on its way to a viewer.
#[derive(Clone, Copy, Debug)]
pub struct OutgoingFrame<'a> {
    /// Its stream, 1 to 15.
    pub stream: u32,
    /// Whether it can be decoded without earlier frames.
    pub keyframe: bool,
    /// Its stamps.
    pub preamble: Preamble,
    /// The access unit.
    pub data: &'a [u8],
}

impl Session {
    /// Seal a frame and append its records to `out`, each with its length before it. Drain [`poll`](Self::poll) afterwards:
    /// a frame may bring a rekeying about.
    ///
    /// # Errors
    /// [`SessionError::KeyLimit`] when the keys are spent: the session is over and nothing of the frame that was not sealed was
    /// written. [`SessionError::Misuse`] before the session is established or for a frame longer than [`MAX_FRAME`].
    pub fn seal_frame(&mut self, now: Now, frame: &OutgoingFrame<'_>, out: &mut Vec<u8>) -> Result<(), SessionError> {
        if !self.is_established() || frame.data.len() > MAX_FRAME {
            return Err(SessionError::Misuse);
        }
        self.before_media(now, frame.keyframe)
            .map_err(|error| self.fail(now, error))?;
        let mut preamble: &[u8] = &frame.preamble.to_bytes();
        let mut data = frame.data;
        let mut first = true;
        loop {
            let room = MAX_RECORD - HEADER_LEN - TAG_LEN - preamble.len();
            let (part, rest) = data.split_at(data.len().min(room));
            let flags = Flags::frame(frame.keyframe, first, rest.is_empty());
            self.seal_media(now, frame.stream, flags, &[preamble, part], out)?;
            if rest.is_empty() {
                return Ok(());
            }
            (preamble, data, first) = (&[], rest, false);
        }
    }

    /// Seal a stream's description and append it to `out` with its length before it.
    ///
    /// # Errors
    /// As [`seal_frame`](Self::seal_frame).
    pub fn seal_info(
        &mut self,
        now: Now,
        stream: u32,
        info: &StreamInfo,
        out: &mut Vec<u8>,
    ) -> Result<(), SessionError> {
        if !self.is_established() {
            return Err(SessionError::Misuse);
        }
        self.before_media(now, false).map_err(|error| self.fail(now, error))?;
        self.seal_media(now, stream, Flags::CONFIG, &[&info.to_bytes()], out)
    }

    /// Switch to an agreed epoch if this is the place, or begin to agree on one if this key has sealed enough.
    fn before_media(&mut self, now: Now, keyframe: bool) -> Result<(), SessionError> {
        let State::Established(established) = &self.state else {
            return Err(SessionError::Misuse);
        };
        let sealed = established.ring.current.media_sealer.sealed();
        let soft = self.config.rekey.soft_records();
        // Halfway to the hard limit there is no time left to wait for a keyframe.
        let pressed = sealed >= soft + soft / 2;
        if self.leader.should_switch(now.monotonic, keyframe || pressed) {
            self.switch_epoch(now);
        } else if sealed >= soft && self.leader.idle() {
            self.begin_rekey(now, RekeyCause::Count)?;
        }
        Ok(())
    }

    fn seal_media(
        &mut self,
        now: Now,
        stream: u32,
        flags: Flags,
        parts: &[&[u8]],
        out: &mut Vec<u8>,
    ) -> Result<(), SessionError> {
        let State::Established(established) = &mut self.state else {
            return Err(SessionError::Misuse);
        };
        let start = out.len();
        out.extend_from_slice(&[0; LENGTH_PREFIX]);
        let meta = RecordMeta {
            flags,
            stream,
            timestamp: now.wall,
        };
        if let Err(Exhausted) = established.ring.current.media_sealer.seal(meta, parts, out) {
            out.truncate(start);
            return Err(self.fail(now, SessionError::KeyLimit));
        }
        let length = (out.len() - start - LENGTH_PREFIX) as u32;
        out[start..start + LENGTH_PREFIX].copy_from_slice(&length.to_be_bytes());
        Ok(())
    }
}
