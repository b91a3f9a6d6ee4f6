//! Records that an archive's node writes: those of a group, which it cannot open (archive.md §8).

use std::collections::VecDeque;
use std::path::Path;

use sealcast_proto::archive::{EndCause, Gathered, SegmentWriter};
use sealcast_proto::clock::ClockEstimate;

use super::options::Keeping;
use super::recipients::{MAX_RECIPIENTS, Recipient};
use super::recording::{Recording, Standing};
use super::times::by_own_clock;
use crate::failure::{Failure, FailureKind, Result};
use crate::media::Orientation;
use crate::sink::GroupProof;

/// Keys of epochs that are kept at the same time: records of the present one, of the next, and of some before.
const MAX_HELD_KEYS: usize = 8;

/// Frames that may wait for the key of their epoch, which they can overtake where media may be lost.
const MAX_WAITING: usize = 256;
/// Bytes of such frames.
const MAX_WAITING_BYTES: usize = 16 << 20;

/// Message of a camera to an archive's node. Where media may be lost, frames can overtake keys.
pub enum ToNode {
    /// A session begins: nothing that came before holds any more.
    Begins,
    /// Recipients who can open what is recorded: `age1pq1…`, one a line.
    Recipients(Vec<u8>),
    /// The key of an epoch, encrypted for them.
    Key {
        /// The full number of the epoch.
        epoch: u64,
        /// The age file.
        file: Vec<u8>,
    },
    /// Proof for groups of pictures.
    Proof(GroupProof),
    /// Orientation of the pictures from here on.
    Orient(Orientation),
    /// A frame.
    Frame {
        /// Its records.
        frame: Gathered,
        /// Estimate of the camera's clock.
        clock: Option<ClockEstimate>,
    },
}

/// An archive that is written by who cannot open it.
pub struct NodeArchive {
    recording: Recording,
    recipients: Vec<Recipient>,
    /// Keys of the newest epochs.
    keys: VecDeque<(u64, Vec<u8>)>,
    /// The description in force, of the picture.
    description: Option<Gathered>,
    /// Frames whose keys have not come yet, and those after them, with their times.
    waiting: VecDeque<((u64, u64), Gathered)>,
}

impl NodeArchive {
    /// Opens the archive in a folder for writing. It goes on where it ended.
    ///
    /// # Errors
    /// Kind `Sink`: the folder cannot be written, or somebody else writes to it.
    pub fn open(folder: &Path, keeping: Keeping) -> Result<Self> {
        Ok(Self {
            recording: Recording::open(folder, keeping)?,
            recipients: Vec::new(),
            keys: VecDeque::new(),
            description: None,
            waiting: VecDeque::new(),
        })
    }

    /// Takes what the camera tells. Returns true if a keyframe should be asked for.
    ///
    /// # Errors
    /// Kind `Sink`: it cannot be written; kind `Refused`: the camera names recipients that are none.
    pub fn take(&mut self, told: ToNode) -> Result<bool> {
        match told {
            ToNode::Begins => {
                (self.description, self.recipients) = (None, Vec::new());
                self.keys.clear();
                self.waiting.clear();
                self.recording.begin_anew();
                self.recording.end(EndCause::Changed)?;
            }
            ToNode::Recipients(text) => {
                self.recipients = recipients(&text)?;
                self.take_waiting()?;
            }
            ToNode::Key { epoch, file } => {
                if self.keys.len() == MAX_HELD_KEYS {
                    self.keys.pop_front();
                }
                self.keys.push_back((epoch, file));
                self.take_waiting()?;
            }
            ToNode::Proof(proof) => self.recording.group_proof(&proof)?,
            ToNode::Orient(orientation) => self.recording.orient(orientation)?,
            ToNode::Frame { frame, clock } => {
                let time = by_own_clock(frame.sealed_at, clock);
                match self.waiting.is_empty() && self.has_keys(&frame) {
                    true => self.frame(time, &frame)?,
                    false => self.wait(time, frame),
                }
            }
        }
        Ok(self.recording.wants_keyframe())
    }

    /// Completes the archive.
    ///
    /// # Errors
    /// Kind `Sink`.
    pub fn finish(&mut self) -> Result<()> {
        self.recording.end(EndCause::Stopped)
    }

    /// True if the keys of a frame are here, and those who can open them are known.
    fn has_keys(&self, frame: &Gathered) -> bool {
        !self.recipients.is_empty() && frame.epochs().all(|low| self.key(low).is_some())
    }

    /// Keeps a frame until its key comes. If too many wait, none of them is kept.
    fn wait(&mut self, time: (u64, u64), frame: Gathered) {
        let bytes: usize = self.waiting.iter().map(|(_, waiting)| waiting.bytes()).sum();
        if self.waiting.len() >= MAX_WAITING || bytes + frame.bytes() > MAX_WAITING_BYTES {
            self.waiting.clear();
            self.recording.drop_frame();
            return;
        }
        self.waiting.push_back((time, frame));
    }

    /// A key came: takes the frames that waited for it.
    fn take_waiting(&mut self) -> Result<()> {
        while let Some((time, frame)) = self.waiting.pop_front() {
            if !self.has_keys(&frame) {
                self.waiting.push_front((time, frame));
                break;
            }
            self.frame(time, &frame)?;
        }
        Ok(())
    }

    fn frame(&mut self, time: (u64, u64), frame: &Gathered) -> Result<()> {
        if frame.is_sound() {
            return self.sound(time, frame);
        }
        if let Some(description) = frame.description() {
            self.description = Some(description);
        }
        let before = match frame.description() {
            Some(_) => None,
            None => self.description.clone(),
        };
        let held: Option<Vec<&(u64, Vec<u8>)>> = frame.epochs().map(|low| self.key(low)).collect();
        let Some(keys) = held.filter(|_| !self.recipients.is_empty()) else {
            self.recording.drop_frame();
            return Ok(());
        };
        let writer = self.recording.writer();
        let takes = writer.is_some_and(|writer| keys.iter().all(|(epoch, _)| writer.takes_wrapped(*epoch)));
        let changed = writer.is_some() && !takes;
        let keys: Vec<(u64, Vec<u8>)> = keys.into_iter().cloned().collect();
        let fill = |begins: bool, writer: &mut SegmentWriter, out: &mut Vec<u8>| {
            keys.iter()
                .for_each(|(epoch, file)| writer.wrapped_key(*epoch, file, out));
            if let Some(before) = before.as_ref().filter(|_| begins) {
                writer.gathered(before, time, out);
            }
            writer.gathered(frame, time, out);
        };
        match (frame.keyframe, self.recording.standing(frame.keyframe)) {
            (_, Standing::GoesOn) if takes => self.recording.append(&mut |writer, out| fill(false, writer, out)),
            (true, _) => {
                let cause = if changed { EndCause::Changed } else { EndCause::Full };
                self.recording.end(cause)?;
                self.recording
                    .begin(&self.recipients, &mut |writer, out| fill(true, writer, out))
            }
            (false, _) => {
                self.recording.drop_frame();
                Ok(())
            }
        }
    }

    /// Keeps a packet of sound. Segments begin with pictures: sound before the first, or under a key of which no
    /// picture came, is left out. Its description comes again with each group of pictures.
    fn sound(&mut self, time: (u64, u64), packet: &Gathered) -> Result<()> {
        let stands = |writer: &SegmentWriter| packet.epochs().all(|low| writer.has_wrapped(low));
        match self.recording.writer().is_some_and(stands) {
            true => self
                .recording
                .append(&mut |writer, out| writer.gathered(packet, time, out)),
            false => Ok(()),
        }
    }

    /// The newest key of an epoch with these low 16 bits.
    fn key(&self, low: u16) -> Option<&(u64, Vec<u8>)> {
        self.keys.iter().rev().find(|(epoch, _)| *epoch as u16 == low)
    }
}

/// The recipients that a camera names.
fn recipients(text: &[u8]) -> Result<Vec<Recipient>> {
    let fail = |why: &str| {
        let what = format!("the camera's words on who may open the archive cannot be used: {why}");
        Failure::new(
            FailureKind::Refused,
            what,
            "both ends need the same version of sealcast",
        )
    };
    let text = std::str::from_utf8(text).map_err(|_| fail("they are no text"))?;
    let found = text.lines().map(str::parse).collect::<Result<Vec<Recipient>>>();
    let found = found.map_err(|failure| fail(&failure.what))?;
    match found.len() {
        0 => Err(fail("they name nobody")),
        1..=MAX_RECIPIENTS => Ok(found),
        _ => Err(fail("they name too many")),
    }
}
