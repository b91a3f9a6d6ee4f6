//! Messages to an archive's node: the records of the group, and the key of each epoch, encrypted for others.

use std::fmt::Write;
use std::sync::Arc;

use sealcast_proto::archive::keys_to_bytes;
use sealcast_proto::seal::MediaKey;
use sealcast_proto::wire::MediaFrom;

use super::{Group, Membership, Seat, State, Told};
use crate::archive::encrypt_for;
use crate::failure::Result;

impl Seat {
    /// True if frames come to it over its session.
    pub(super) fn gets_frames(&self) -> bool {
        self.begun && !self.relayed
    }

    fn is_archive(&self) -> bool {
        self.media == MediaFrom::Sealed
    }
}

impl Group {
    /// True if somebody can open what archive's nodes record.
    pub(in crate::run) fn is_archived(&self) -> bool {
        !self.archive_to.is_empty()
    }

    /// Tells an archive's node who can open what it records, and the keys of what it gets from here on.
    ///
    /// # Errors
    /// There is no randomness.
    pub(in crate::run) fn tell_archive(&self, node: &Membership) -> Result<()> {
        let mut recipients = String::new();
        for recipient in &self.archive_to {
            // Writing to a string does not fail.
            let _ = writeln!(recipients, "{recipient}");
        }
        let certificate = self.gop_key.as_ref().map(|key| key.certificate().to_bytes());
        let mut state = self.lock();
        let mut told = vec![Told::Recipients(Arc::from(recipients.as_bytes()))];
        told.extend(certificate.map(|certificate| Told::Certificate(Arc::from(certificate))));
        for keys in state.sealer.archive_keys() {
            told.push(self.wrapped(&keys)?);
        }
        let frames = node.frames();
        if let Some(seat) = state.seats.iter_mut().find(|seat| Arc::ptr_eq(&seat.frames, frames)) {
            told.into_iter().for_each(|told| seat.tell(told));
        }
        Ok(())
    }

    /// Tells archive's nodes the key of an epoch that is announced now.
    pub(super) fn tell_archives(&self, state: &mut State, epoch: u64) -> Result<()> {
        if !state.seats.iter().any(Seat::is_archive) {
            return Ok(());
        }
        let keys = state.sealer.archive_keys();
        let Some(keys) = keys.iter().find(|[picture, _]| picture.epoch() == epoch) else {
            return Ok(());
        };
        let wrapped = self.wrapped(keys)?;
        for seat in state.seats.iter_mut().filter(|seat| seat.is_archive()) {
            seat.tell(wrapped.clone());
        }
        Ok(())
    }

    fn wrapped(&self, keys: &[MediaKey; 2]) -> Result<Told> {
        let file = encrypt_for(&keys_to_bytes(keys), &self.archive_to)?;
        let [picture, _] = keys;
        Ok(Told::ArchiveKey(picture.epoch(), Arc::from(file)))
    }
}
