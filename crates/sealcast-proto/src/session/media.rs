//! Frames in, records out, straight into the caller's buffer.

use super::SessionError;
use super::flow::Sealing;
use super::machine::{Session, State};
use crate::clock::Now;
use crate::seal::{Exhausted, RecordMeta};
use crate::unit::{MAX_FRAME, Preamble, StreamInfo};
use crate::wire::{Flags, HEADER_LEN, LENGTH_PREFIX, MAX_RECORD, MAX_STREAM, TAG_LEN};

/// A frame on its way to a viewer.
#[derive(Clone, Copy)]
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

impl std::fmt::Debug for OutgoingFrame<'_> {
    /// The picture itself is not shown, only its length.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OutgoingFrame")
            .field("stream", &self.stream)
            .field("keyframe", &self.keyframe)
            .field("preamble", &self.preamble)
            .field("data", &self.data.len())
            .finish()
    }
}

impl Session {
    /// Seal a frame and append its records to `out`, each with its length before it. Drain [`poll`](Self::poll)
    /// afterwards: a frame may bring a rekeying about. Where media may be lost `out` is not touched: the records wait
    /// for [`poll_packets`](Self::poll_packets).
    ///
    /// # Errors
    /// [`SessionError::KeyLimit`] when the keys are spent: the session is over and nothing of the frame that was not
    /// sealed was written. [`SessionError::Misuse`], with no other effect, before the session is established, at a
    /// viewer, for a stream that is none and for a frame longer than [`MAX_FRAME`].
    pub fn seal_frame(&mut self, now: Now, frame: &OutgoingFrame<'_>, out: &mut Vec<u8>) -> Result<(), SessionError> {
        if frame.data.len() > MAX_FRAME {
            return Err(SessionError::Misuse);
        }
        self.before_media(now, frame.stream, frame.keyframe)?;
        let preamble = frame.preamble.to_bytes();
        if self.unordered() {
            let sealing = Sealing {
                stream: frame.stream,
                keyframe: frame.keyframe,
                config: false,
                parts: [&preamble, frame.data],
            };
            return self.push_media(now, &sealing);
        }
        let mut preamble: &[u8] = &preamble;
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
    /// As [`seal_frame`](Self::seal_frame); also [`SessionError::Misuse`] for a description that no viewer would
    /// accept.
    pub fn seal_info(
        &mut self,
        now: Now,
        stream: u32,
        info: &StreamInfo,
        out: &mut Vec<u8>,
    ) -> Result<(), SessionError> {
        if !info.is_valid() {
            return Err(SessionError::Misuse);
        }
        self.before_media(now, stream, false)?;
        let bytes = info.to_bytes();
        if self.unordered() {
            let sealing = Sealing {
                stream,
                keyframe: false,
                config: true,
                parts: [&bytes, &[]],
            };
            return self.push_media(now, &sealing);
        }
        self.seal_media(now, stream, Flags::CONFIG, &[&bytes], out)
    }

    /// Switch to an agreed epoch if this is the place, begin to agree on one if this key has sealed enough, and stop
    /// where it has sealed too long.
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
