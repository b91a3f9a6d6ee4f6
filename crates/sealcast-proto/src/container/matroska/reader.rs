//! Reads a stream of Matroska as it comes.

use std::collections::VecDeque;

use super::blocks::Block;
use super::ebml::{Head, NoElement, child, elements, unsigned};
use super::id;
use super::tracks::{Chosen, ReadTrack, choose};
use crate::container::{Frame, MAX_PICTURE, Piece, Track};
use crate::unit::sound_headers::{MAX_SOUND_BYTES, samples};

/// Longest head of a file, and description of a segment and of its tracks, in bytes.
const MAX_HEAD: u64 = 4 << 10;
const MAX_INFO: u64 = 64 << 10;
const MAX_TRACKS: u64 = 1 << 20;
/// Longest block in bytes: a picture, and what is around it.
const MAX_BLOCK: u64 = MAX_PICTURE as u64 + (64 << 10);
/// Longest element in bytes that is passed over, such as a file that is attached.
const MAX_PASSED: u64 = 1 << 30;
/// Nanoseconds of a tick unless the segment says otherwise.
const USUAL_SCALE: u64 = 1_000_000;

/// A stream that is none, or not whole, in words that follow its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("is damaged: {0}")]
pub struct Damaged(&'static str);

/// Reads the first picture and the first sound of a stream that are carried.
#[derive(Clone, Debug)]
pub struct MatroskaReader {
    buffer: Vec<u8>,
    /// The head came.
    begun: bool,
    /// Bytes of an element that is passed over.
    pass: u64,
    /// Nanoseconds of a tick.
    scale: u64,
    /// Time of the cluster in ticks.
    cluster: u64,
    chosen: Chosen,
    /// A block before the next frame was damaged.
    lost: bool,
    ready: VecDeque<Piece>,
}

impl Default for MatroskaReader {
    fn default() -> Self {
        Self {
            buffer: Vec::new(),
            begun: false,
            pass: 0,
            scale: USUAL_SCALE,
            cluster: 0,
            chosen: Chosen::default(),
            lost: false,
            ready: VecDeque::new(),
        }
    }
}

impl MatroskaReader {
    /// Takes bytes.
    ///
    /// # Errors
    /// They are not as they have to be: nothing behind them can be read.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), Damaged> {
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.extend_from_slice(bytes);
        let mut at = 0;
        while let Some(used) = self.element(&buffer[at..])? {
            at += used;
        }
        buffer.drain(..at);
        self.buffer = buffer;
        Ok(())
    }

    /// Returns what was read. To be called after each [`push`](Self::push) until it returns `None`.
    pub fn poll(&mut self) -> Option<Piece> {
        self.ready.pop_front()
    }

    /// Reads an element, or the beginning of one that has others in it. Returns the bytes that are done with; `None` if
    /// more have to come.
    fn element(&mut self, bytes: &[u8]) -> Result<Option<usize>, Damaged> {
        if bytes.is_empty() {
            return Ok(None);
        }
        if self.pass > 0 {
            let passed = usize::try_from(self.pass).unwrap_or(usize::MAX).min(bytes.len());
            self.pass -= passed as u64;
            return Ok(Some(passed));
        }
        let head = match Head::parse(bytes) {
            Ok(head) => head,
            Err(NoElement::Cut) => return Ok(None),
            Err(NoElement::Wrong) => return Err(Damaged("what should be an element is none")),
        };
        if !self.begun && head.id != id::EBML {
            return Err(Damaged("it does not begin as Matroska does"));
        }
        let most = match head.id {
            // Their content is read as it comes, and they end where something else begins.
            id::SEGMENT | id::CLUSTER => return Ok(Some(head.length)),
            id::EBML => MAX_HEAD,
            id::INFO => MAX_INFO,
            id::TRACKS => MAX_TRACKS,
            id::TIMESTAMP => 8,
            id::SIMPLE_BLOCK | id::BLOCK_GROUP => MAX_BLOCK,
            _ => {
                let size = head.size.ok_or(Damaged("an element without an end"))?;
                if size > MAX_PASSED {
                    return Err(Damaged("an element of more than a gigabyte"));
                }
                self.pass = size;
                return Ok(Some(head.length));
            }
        };
        let size = head.size.filter(|size| *size <= most);
        let size = size.ok_or(Damaged("an element that is too long"))?;
        let end = head.length + usize::try_from(size).unwrap_or(usize::MAX);
        let Some(content) = bytes.get(head.length..end) else {
            return Ok(None);
        };
        self.whole(head.id, content)?;
        Ok(Some(end))
    }

    fn whole(&mut self, id: u32, content: &[u8]) -> Result<(), Damaged> {
        match id {
            id::EBML => {
                let kind = child(content, id::DOC_TYPE).unwrap_or_default();
                if !kind.starts_with(b"matroska") && !kind.starts_with(b"webm") {
                    return Err(Damaged("it is another kind of EBML"));
                }
                self.begun = true;
                (self.scale, self.cluster, self.chosen) = (USUAL_SCALE, 0, Chosen::default());
            }
            id::INFO => {
                let scale = child(content, id::TIMESTAMP_SCALE).and_then(unsigned);
                self.scale = scale.filter(|scale| *scale > 0).unwrap_or(USUAL_SCALE);
            }
            id::TRACKS => {
                self.chosen = choose(content);
                self.ready.push_back(Piece::Tracks(self.chosen.tracks.clone()));
                if let Some((_, info)) = &self.chosen.sound {
                    self.ready.push_back(Piece::Sound(info.clone()));
                }
            }
            id::TIMESTAMP => self.cluster = unsigned(content).unwrap_or(0),
            id::SIMPLE_BLOCK => self.block(content, None),
            _ => {
                let block = child(content, id::BLOCK).unwrap_or_default();
                let depends = elements(content).any(|(found, _)| found == id::REFERENCE);
                self.block(block, Some(!depends));
            }
        }
        Ok(())
    }

    /// Takes the frames of a block. `keyframe` is said of one in a group, which does not say it itself.
    fn block(&mut self, content: &[u8], keyframe: Option<bool>) {
        let Some(block) = Block::parse(content) else {
            self.lost = true;
            return;
        };
        let of = |track: &ReadTrack| track.number == block.track;
        let (track, medium) = match (&self.chosen.picture, &self.chosen.sound) {
            (Some(picture), _) if of(picture) => (picture, Track::Picture),
            (_, Some((sound, _))) if of(sound) => (sound, Track::Sound),
            _ => return,
        };
        let ticks = i128::from(self.cluster) + i128::from(block.relative);
        let mut stamp = ticks * i128::from(self.scale) - i128::from(track.delay);
        let most = match medium {
            Track::Picture => MAX_PICTURE,
            Track::Sound => MAX_SOUND_BYTES,
        };
        for frame in block.frames {
            let data = [&track.stripped, frame].concat();
            if frame.is_empty() || data.len() > most {
                self.lost |= !frame.is_empty();
                continue;
            }
            let length = match (&self.chosen.sound, medium) {
                (Some((_, info)), Track::Sound) => {
                    i128::from(samples(info, &data)) * 1_000_000_000 / i128::from(info.samples_per_second.max(1))
                }
                _ => 0,
            };
            self.ready.push_back(Piece::Frame(Frame {
                track: medium,
                stamp: i64::try_from(stamp).unwrap_or_default(),
                keyframe: medium == Track::Sound || keyframe.unwrap_or(block.keyframe),
                lost: std::mem::take(&mut self.lost),
                data,
            }));
            stamp += length;
        }
    }
}

#[cfg(test)]
#[path = "reader_tests.rs"]
mod tests;
