//! The groups of a session: how far a publisher is with its viewer, and a viewer's view of the group.

use std::time::Duration;

use super::early_records::EarlyRecords;
use super::{Event, Handled, Output};
use crate::group_media::{Evidence, GroupOpener};
use crate::sign::GopVerdict;
use crate::wire::MediaFrom;

/// Something that may be lost is said again.
#[derive(Clone, Copy)]
pub(super) struct Again {
    pub(super) at: Duration,
    pub(super) times: u32,
}

/// Progress of a publisher with a viewer.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum GroupStanding {
    Offered(u16),
    Wanted(u16),
    Member(u16),
}

/// A group whose frames this session does not open: they come through a relay, or the viewer is an archive's node.
pub(super) struct UnopenedGroup {
    pub(super) stream: u16,
    /// Way in which the viewer joined it, once it has.
    pub(super) media: Option<MediaFrom>,
    /// When the wish to join is said again, where it may be lost.
    pub(super) says_join: Option<Again>,
}

/// A viewer's view of its group.
pub(super) struct GroupView {
    pub(super) opener: GroupOpener,
    pub(super) stream: u16,
    pub(super) evidence: Evidence,
    /// The program was told that a challenge is due, and has not made one yet.
    pub(super) challenge_due: bool,
    /// True from the first sheet on: all media is the group's.
    pub(super) joined: bool,
    /// When the wish to join is said again, where it may be lost.
    pub(super) says_join: Option<Again>,
    /// True once the number of the first packet is known, where media travels in packets.
    pub(super) begun: bool,
    pub(super) early: EarlyRecords,
    /// A record was opened, and the multicast half has not noted it yet.
    pub(super) opened_packet: bool,
    /// A frame was refused, and the program was not told yet.
    pub(super) forged: Option<Handled>,
    /// A frame was released that its group's signature, which came before, does not cover.
    pub(super) late_forgery: Option<GopVerdict>,
}

impl GroupView {
    /// When the next challenge is due, if frames answer challenges.
    pub(super) fn next_challenge(&self) -> Option<Duration> {
        self.evidence.next_challenge().filter(|_| self.joined)
    }

    /// Notes the frame that was released last.
    pub(super) fn note(&mut self, now: Duration) {
        if let Some(verified) = self.opener.take_verified() {
            self.late_forgery = self.evidence.released(now, &verified).or(self.late_forgery.take());
        }
    }

    /// Event about a frame that was released and is not the camera's.
    pub(super) fn take_late_forgery(&mut self) -> Option<Output> {
        let verdict = self.late_forgery.take();
        verdict.map(|verdict| Output::Event(Event::Proven(verdict)))
    }
}
