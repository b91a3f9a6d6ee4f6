//! Objects of a camera on a relay's track of keys (relay.md §3).

use std::sync::Arc;

use crate::group::Scope;
use crate::wire::{Control, GroupMessage};

/// A sheet on the track.
struct Listed {
    epoch: u64,
    full: bool,
    object: Arc<[u8]>,
}

/// The newest group of objects on the track of keys: what signatures to expect, and the sheets from the one on under
/// which the group of pictures that is under way began. Who comes late needs that one to open it from its beginning.
pub struct KeyTrack {
    number: u64,
    head: Vec<Arc<[u8]>>,
    sheets: Vec<Listed>,
}

impl KeyTrack {
    /// A track without sheets. `number` is above that of any group that was ever on it; `terms` and `certificate` are
    /// what a session would say (groups.md §10).
    pub fn new(number: u64, terms: &[u8], certificate: Option<&[u8]>) -> Self {
        let certificate = certificate.map(GroupMessage::Certificate);
        Self {
            number,
            head: std::iter::once(GroupMessage::Terms(terms))
                .chain(certificate)
                .map(object)
                .collect(),
            sheets: Vec::new(),
        }
    }

    /// Takes the sheet of a newly announced epoch. A full one begins a new group of objects, any other goes to the end
    /// of the group. `oldest` is the epoch under which the group of pictures that is under way began.
    pub fn push(&mut self, epoch: u64, sheet: &[u8], oldest: u64) {
        let full = Scope::of_sheet(sheet) == Some(Scope::Full);
        self.sheets.push(Listed {
            epoch,
            full,
            object: object(GroupMessage::Sheet(sheet)),
        });
        if full {
            self.number += 1;
            let needed = self
                .sheets
                .iter()
                .rposition(|sheet| sheet.full && sheet.epoch <= oldest);
            self.sheets.drain(..needed.unwrap_or(0));
        }
    }

    /// Returns true if the sheets after the last full one are together as long as that one: a new full one costs those
    /// who come late less.
    pub fn wants_full(&self) -> bool {
        let last_full = self.sheets.iter().rposition(|sheet| sheet.full);
        last_full.is_none_or(|at| {
            let after: usize = self.sheets[at + 1..].iter().map(|sheet| sheet.object.len()).sum();
            after >= self.sheets[at].object.len()
        })
    }

    /// The number of the newest group of objects.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The objects of the newest group, from the one with this index on.
    pub fn objects_from(&self, index: usize) -> impl Iterator<Item = &Arc<[u8]>> {
        let sheets = self.sheets.iter().map(|sheet| &sheet.object);
        self.head.iter().chain(sheets).skip(index)
    }
}

/// An object of a relay's track: the control message that a session would carry.
pub(super) fn object(message: GroupMessage<'_>) -> Arc<[u8]> {
    Control::Group(message).to_bytes().into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::group_media::test_camera::Camera;
    use crate::sign::SignMode;

    /// Lengths of the objects: enough to tell them apart here.
    fn lengths(track: &KeyTrack) -> Vec<usize> {
        track.objects_from(0).map(|object| object.len()).collect()
    }

    #[test]
    fn the_sheet_under_which_the_pictures_began_stays_before_the_newest() {
        let mut camera = Camera::signing(SignMode::Frame);
        let mut track = KeyTrack::new(100, b"terms", Some(b"certificate"));
        assert!(track.wants_full());
        for (members, oldest, sheets) in [(1, 0, 1), (2, 0, 2), (3, 1, 3), (4, 4, 1)] {
            camera.admit(members);
            let full = camera.sealer.full_sheet();
            // Epochs here count from 1.
            let before = track.number();
            track.push(members, &full, oldest);
            assert_eq!(track.number(), before + 1);
            assert_eq!(
                track.objects_from(2).count(),
                sheets,
                "{members}: {:?}",
                lengths(&track)
            );
            assert!(!track.wants_full());
            // The epoch is in force from here on.
            camera.frame(true);
        }
    }

    #[test]
    fn updates_follow_a_full_sheet_until_they_are_as_long_as_that() {
        let mut camera = Camera::signing(SignMode::Frame);
        camera.admit_all(0..300);
        let mut track = KeyTrack::new(0, b"terms", None);
        track.push(1, &camera.sealer.full_sheet(), 1);
        camera.frame(true);
        let number = track.number();
        let mut updates = 0;
        while !track.wants_full() {
            camera.remove(updates);
            let update = camera.announce().expect("a sheet for everybody");
            updates += 1;
            track.push(1 + updates, &update, 1);
            camera.frame(true);
        }
        assert!(updates > 10 && track.number() == number, "{updates} updates");
        assert_eq!(track.objects_from(0).count() as u64, 2 + updates);
        track.push(2 + updates, &camera.sealer.full_sheet(), 2 + updates);
        assert_eq!((track.number(), track.objects_from(1).count()), (number + 1, 1));
    }
}
