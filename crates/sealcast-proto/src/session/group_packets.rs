//! A group's media in packets, at a viewer (groups.md §11): records in any order, some before their key.

use super::flow::Ordered;
use super::group_view::GroupView;
use super::keyring::Repeated;
use super::machine::Session;
use super::{Handled, Output, SessionError};
use crate::clock::Now;
use crate::group_media::GroupRefusal;
use crate::seal::Refusal;
use crate::wire::{Accept, HEADER_LEN, Header, Kind};

/// True if the record is a group's that travels in packets.
fn is_group_packet(record: &[u8]) -> bool {
    let header = record.first_chunk::<HEADER_LEN>().map(Header::read);
    Kind::of(record) == Some(Kind::Media) && header.is_some_and(|header| header.flags.unit())
}

impl GroupView {
    /// True if a record cannot be opened or placed before a message has come that is under way.
    fn is_early(&self, record: &[u8]) -> bool {
        !self.begun || !self.evidence.may_release() || self.opener.waits_for_key(record)
    }
}

impl Session {
    /// Viewer: a record came where media may be lost. `None` if it is none of a group's media.
    pub(super) fn group_packet_came(&mut self, now: Now, record: &mut [u8]) -> Result<Option<Handled>, SessionError> {
        let Some(view) = self.group_view.as_mut().filter(|_| is_group_packet(record)) else {
            return Ok(None);
        };
        view.opener
            .accept_clear(self.following.accept(now.monotonic) == Accept::ClearMedia);
        if view.is_early(record) {
            let gone = view.early.push(now.monotonic, record);
            let may_release = view.evidence.may_release();
            (0..gone).for_each(|_| self.refusals.count(Refusal::UnknownEpoch));
            if !may_release {
                self.withhold(now)?;
            }
            return Ok(Some(Handled::Done));
        }
        self.take_group_packet(now, record).map(Some)
    }

    /// Viewer: a message came that records may have waited for.
    pub(super) fn take_early_packets(&mut self, now: Now) -> Result<(), SessionError> {
        let Some(view) = &mut self.group_view else {
            return Ok(());
        };
        let mut forged = None;
        for mut record in view.early.take() {
            let handled = self.group_packet_came(now, &mut record)?;
            if let Some(Handled::NotTheCameras(_) | Handled::NotTheCamerasSound(_)) = handled {
                forged = handled;
            }
        }
        if let Some(view) = &mut self.group_view {
            // The program is told with the next record.
            view.forged = view.forged.or(forged);
        }
        Ok(())
    }

    fn take_group_packet(&mut self, now: Now, record: &mut [u8]) -> Result<Handled, SessionError> {
        let round_trip = self.round_trip();
        let (Some(view), Some(inbound)) = (&mut self.group_view, &mut self.inbound) else {
            return Err(SessionError::Misuse);
        };
        let header = record.first_chunk().map(Header::read);
        inbound.keep_sealed(record);
        // Everybody in the group could have sealed it, so it is no sign of the publisher's life, and what is wrong
        // with it is not the publisher's fault.
        let taken = match view.opener.open_packet(now.monotonic, record) {
            Ok((opened, mark)) => inbound
                .take(now, &opened, Some(mark), round_trip)
                .map_err(|_| Refusal::Malformed),
            Err(reason) => Err(reason),
        };
        view.opened_packet = taken.is_ok();
        let twice = self.hears_twice();
        let handled = match (taken, header) {
            (Ok(()), _) => Handled::Done,
            (Err(Refusal::Replay), _) if twice => {
                // One copy came from the multicast group, and one over the session.
                self.inbound
                    .iter_mut()
                    .for_each(|inbound| inbound.counts.duplicates += 1);
                return Ok(Handled::Duplicate);
            }
            (Err(Refusal::Replay), Some(header))
                if !header.flags.repair() && self.is_duplicate(now, Repeated::of(header)) =>
            {
                return Ok(Handled::Duplicate);
            }
            (Err(reason), _) => self.refuse_of_group(reason)?,
        };
        self.take_recovered_of_group(now)?;
        self.hand_out(now);
        self.ask_and_report(now)?;
        Ok(self.take_forged().unwrap_or(handled))
    }

    pub(super) fn refuse_of_group(&mut self, reason: Refusal) -> Result<Handled, SessionError> {
        self.refusals.count(reason);
        let view = self.group_view.as_ref();
        if view.is_some_and(|view| view.opener.integrity_spent()) {
            return Err(SessionError::TooManyRefusals);
        }
        Ok(Handled::Refused(reason))
    }

    /// Viewer: open the records recovered from repair symbols like any other record.
    fn take_recovered_of_group(&mut self, now: Now) -> Result<(), SessionError> {
        let (Some(view), Some(inbound)) = (&mut self.group_view, &mut self.inbound) else {
            return Ok(());
        };
        while let Some(mut bytes) = inbound.next_recovered() {
            let taken = match view.opener.open_packet(now.monotonic, &mut bytes) {
                Ok((opened, mark)) => {
                    let taken = inbound.take_recovered(now, &opened, Some(mark));
                    taken.map_err(|_| Refusal::Malformed)
                }
                // It arrived, but was not kept for repair.
                Err(Refusal::Replay) => {
                    inbound.counts.duplicates += 1;
                    Ok(())
                }
                Err(reason) => Err(reason),
            };
            if let Err(reason) = taken {
                self.refusals.count(reason);
            }
        }
        Ok(())
    }

    /// Viewer: what is in order now is verified before it is delivered.
    pub(super) fn release_of_group(&mut self, now: Now, ordered: Ordered) {
        let Some(view) = &mut self.group_view else { return };
        match view.opener.take_ordered(now.monotonic, ordered) {
            Err(GroupRefusal::Frame(reason)) => view.forged = Some(Handled::NotTheCameras(reason)),
            Err(GroupRefusal::Sound(reason)) => {
                view.forged.get_or_insert(Handled::NotTheCamerasSound(reason));
            }
            Err(GroupRefusal::Record(_) | GroupRefusal::Uncertified | GroupRefusal::Rewound) | Ok(()) => {}
        }
        view.note(now.monotonic);
        self.out.extend(view.take_late_forgery());
        while let Some(media) = view.opener.next_media() {
            self.out.push_back(Output::Media(media));
        }
    }

    /// Viewer: the frame that was refused since the last call, if there was one.
    pub(super) fn take_forged(&mut self) -> Option<Handled> {
        self.group_view.as_mut().and_then(|view| view.forged.take())
    }
}
