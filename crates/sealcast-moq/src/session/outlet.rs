//! The direction of a session that this end sends.

use std::collections::VecDeque;

use moq_net::bytes::Bytes;
use moq_net::{Timestamp, group, track};

use super::object::Object;
use super::{GROUP_BYTES, GROUP_OBJECTS, WINDOW_BYTES, WINDOW_PIECES};
use crate::pipe::MAX_SESSION_DATA;

/// The time of all objects: it stands still, so that no relay takes one for too old.
const TIME: Timestamp = match Timestamp::from_millis(0) {
    Ok(time) => time,
    Err(_) => panic!("zero is a time"),
};

/// The track of this end, and what of it the other end has not taken yet.
pub(super) struct Outlet {
    track: track::Producer,
    group: Option<OpenGroup>,
    /// Lengths of the pieces that are on their way.
    on_their_way: VecDeque<usize>,
    bytes_on_their_way: usize,
    /// Pieces that the other end has taken.
    taken: u64,
}

struct OpenGroup {
    producer: group::Producer,
    objects: usize,
    bytes: usize,
}

impl Outlet {
    /// Begins the track, which tells the other end that this one is there.
    ///
    /// # Errors
    /// As those of all methods here: the library has ended the track; in words.
    pub(super) fn new(track: track::Producer) -> Result<Self, String> {
        let mut outlet = Self {
            track,
            group: None,
            on_their_way: VecDeque::new(),
            bytes_on_their_way: 0,
            taken: 0,
        };
        outlet.say_taken(0)?;
        Ok(outlet)
    }

    /// Whether a piece may leave, however long it is.
    pub(super) fn has_room(&self) -> bool {
        self.on_their_way.len() < WINDOW_PIECES && self.bytes_on_their_way + MAX_SESSION_DATA <= WINDOW_BYTES
    }

    /// Sends a piece; there must be room for it.
    pub(super) fn send(&mut self, piece: Bytes) -> Result<(), String> {
        self.on_their_way.push_back(piece.len());
        self.bytes_on_their_way += piece.len();
        self.write(&Object::Piece(piece))
    }

    /// The other end has taken so many pieces.
    ///
    /// # Errors
    /// It cannot have; in words.
    pub(super) fn was_taken(&mut self, pieces: u64) -> Result<(), String> {
        let all = self.taken + self.on_their_way.len() as u64;
        if !(self.taken..=all).contains(&pieces) {
            return Err(format!("the other end took {pieces} pieces of {all}"));
        }
        for length in self.on_their_way.drain(..(pieces - self.taken) as usize) {
            self.bytes_on_their_way -= length;
        }
        self.taken = pieces;
        Ok(())
    }

    /// Tells the other end how many of its pieces have been taken here.
    pub(super) fn say_taken(&mut self, pieces: u64) -> Result<(), String> {
        self.write(&Object::Taken(pieces))
    }

    /// Tells the other end that there are no further bytes.
    pub(super) fn say_end(&mut self) -> Result<(), String> {
        self.write(&Object::End)
    }

    fn write(&mut self, object: &Object) -> Result<(), String> {
        let lost = |error: moq_net::Error| format!("its track takes no more ({error})");
        let object = object.encode();
        if let Some(group) = self.group.take_if(|group| !group.has_room(object.len())) {
            group.producer.finish().map_err(lost)?;
        }
        let group = match &mut self.group {
            Some(group) => group,
            None => self.group.insert(OpenGroup {
                producer: self.track.append_group().map_err(lost)?,
                objects: 0,
                bytes: 0,
            }),
        };
        group.objects += 1;
        group.bytes += object.len();
        group.producer.write_frame(TIME, object).map_err(lost)
    }
}

impl OpenGroup {
    fn has_room(&self, length: usize) -> bool {
        self.objects < GROUP_OBJECTS && self.bytes + length <= GROUP_BYTES
    }
}
