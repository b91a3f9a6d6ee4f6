//! Recording by an archive's node through a relay: it keeps frames, and opens none (archive.md §8).

use std::time::Instant;

use sealcast_proto::archive::{Gather, Gathered};
use sealcast_proto::group::Terms;
use sealcast_proto::keys::PeerId;
use sealcast_proto::wire::{CameraName, Control, GroupMessage};

use crate::meter::telling::Telling;
use crate::run::group::group_of;
use crate::run::watch::recorder::Recorder;

/// Keeps what a relay brings.
pub(super) struct Recorded {
    recorder: Recorder,
    camera: PeerId,
    /// Of the camera among its publisher's.
    name: CameraName,
    gather: Option<Gather>,
    /// The place of the newest frame of the picture, and of the sound.
    newest: [Option<(u64, u64)>; 2],
    frames: u64,
    refused: Telling,
}

impl Recorded {
    /// Nothing came yet.
    pub(super) fn new(recorder: Recorder, camera: PeerId, name: CameraName) -> Self {
        Self {
            recorder,
            camera,
            name,
            gather: None,
            newest: [None; 2],
            frames: 0,
            refused: Telling::default(),
        }
    }

    /// True once it is known what the camera signs.
    pub(super) fn is_told(&self) -> bool {
        self.gather.is_some()
    }

    /// Frames that were kept.
    pub(super) fn frames(&self) -> u64 {
        self.frames
    }

    /// Takes an object of the keys, or of the proofs. Sheets are of no use here.
    pub(super) fn told(&mut self, object: &[u8]) {
        match Control::parse(object) {
            Ok(Control::Group(GroupMessage::Terms(terms))) => {
                match Terms::verified(terms, &group_of(self.camera), &self.name) {
                    Ok(terms) => self.gather = Some(Gather::new(terms.sign().frames())),
                    Err(refusal) => self.refuse(&format!("the terms of the group were refused: {refusal}")),
                }
            }
            Ok(Control::Group(message)) => self.recorder.proof(message),
            _ => self.refuse("a message from the relay is malformed"),
        }
    }

    /// Takes the records of a frame, or of a packet of sound.
    pub(super) fn frame(&mut self, records: &[u8]) {
        // What the camera signs is told first; without it nobody knows where a frame ends.
        let Some(gather) = &mut self.gather else { return };
        match gather.take_framed(records) {
            Ok(Some(frame)) if self.is_new(&frame) => {
                self.frames += 1;
                self.recorder.relayed(frame);
            }
            Ok(_) => {}
            Err(_) => self.refuse("a frame from the relay is malformed"),
        }
    }

    /// After a new connection a relay gives what is known already.
    fn is_new(&mut self, frame: &Gathered) -> bool {
        let newest = &mut self.newest[usize::from(frame.is_sound())];
        let place = frame.place();
        let new = place.is_none() || newest.is_none() || place > *newest;
        if new {
            *newest = place;
        }
        new
    }

    fn refuse(&mut self, what: &str) {
        if let Some(total) = self.refused.count(Instant::now()) {
            tracing::warn!(total, "not in the archive: {what}");
        }
    }
}
