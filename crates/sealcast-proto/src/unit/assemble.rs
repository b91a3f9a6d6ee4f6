//! From verified records back to frames, dropping what cannot be decoded.

use super::{MAX_FRAME, Preamble, StreamInfo};
use crate::seal::Opened;
use crate::wire::Malformed;

/// A whole frame, verified.
#[derive(Clone, Debug)]
pub struct AssembledFrame {
    /// Its stamps.
    pub preamble: Preamble,
    /// Whether it can be decoded without earlier frames.
    pub keyframe: bool,
    /// The sender's wall clock (ns) just before its last record was sealed.
    pub sealed_at: u64,
    /// Frames missing between the previous frame handed out and this one: lost, dropped, or never sent.
    pub skipped: u64,
    /// The access unit.
    pub data: Vec<u8>,
}

/// What a media record gave.
#[derive(Clone, Debug)]
pub enum Assembled {
    /// The stream's description, new or changed.
    Info(StreamInfo),
    /// A frame, decodable after those handed out before it.
    Frame(AssembledFrame),
    /// A part of a frame: more records must come.
    Partial,
    /// A frame that cannot be decoded since an earlier one is missing. A keyframe should be requested.
    Undecodable {
        /// Its number.
        frame: u64,
    },
}

/// Puts the records of one stream together, in the order in which they come. Holds at most one frame of [`MAX_FRAME`]
/// bytes.
#[derive(Default)]
pub struct Assembler {
    parts: Option<AssembledFrame>,
    last: Option<u64>,
    waiting_for_keyframe: bool,
}

impl Assembler {
    /// A stream's beginning: the first frame handed out will be a keyframe.
    pub fn new() -> Self {
        Self {
            parts: None,
            last: None,
            waiting_for_keyframe: true,
        }
    }

    /// Something of this stream was lost: hand out nothing that may depend on it.
    pub fn lost(&mut self) {
        self.parts = None;
        self.waiting_for_keyframe = true;
    }

    /// Whether frames are being held back until the next keyframe.
    pub fn waiting_for_keyframe(&self) -> bool {
        self.waiting_for_keyframe
    }

    /// Take a verified media record.
    ///
    /// # Errors
    /// [`Malformed`] if an authenticated peer breaks the form: parts out of order, an oversized frame. The session
    /// should end.
    pub fn take(&mut self, record: &Opened<'_>) -> Result<Assembled, Malformed> {
        let header = record.header();
        let flags = header.flags;
        if flags.codec_config() {
            return Ok(Assembled::Info(StreamInfo::parse(record.payload())?));
        }
        if flags.first() {
            if self.parts.take().is_some() {
                self.lost();
            }
            let (preamble, data) = Preamble::split(record.payload())?;
            let skipped = self
                .last
                .map_or(0, |last| preamble.frame.saturating_sub(last.saturating_add(1)));
            self.parts = Some(AssembledFrame {
                preamble,
                keyframe: flags.keyframe(),
                sealed_at: header.timestamp,
                skipped,
                data: data.to_vec(),
            });
        } else {
            let Some(parts) = &mut self.parts else {
                // The frame's beginning was lost with a refused record.
                self.lost();
                return Ok(Assembled::Partial);
            };
            if parts.data.len() + record.payload().len() > MAX_FRAME || parts.keyframe != flags.keyframe() {
                return Err(Malformed);
            }
            parts.data.extend_from_slice(record.payload());
            parts.sealed_at = header.timestamp;
        }
        if flags.last() {
            Ok(self.complete())
        } else {
            Ok(Assembled::Partial)
        }
    }

    fn complete(&mut self) -> Assembled {
        let Some(frame) = self.parts.take() else {
            return Assembled::Partial;
        };
        if frame.skipped > 0 && !frame.keyframe {
            self.waiting_for_keyframe = true;
        }
        if self.waiting_for_keyframe && !frame.keyframe {
            return Assembled::Undecodable {
                frame: frame.preamble.frame,
            };
        }
        self.waiting_for_keyframe = false;
        self.last = Some(frame.preamble.frame);
        Assembled::Frame(frame)
    }
}
