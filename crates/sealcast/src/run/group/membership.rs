//! A viewer's place in its publisher's group.

use std::sync::Arc;

use sealcast_proto::clock::Now;
use sealcast_proto::group::MemberId;
use sealcast_proto::keys::PeerId;
use sealcast_proto::live::Challenge;
use sealcast_proto::session::RepairNeed;
use sealcast_proto::unit::Selection;
use sealcast_proto::wire::{GroupMessage, Hearing};
use tokio::sync::mpsc;

use super::{Group, MemberFrame, Told};
use crate::run::FrameQueue;
use crate::run::serve_viewer::Woken;

/// A viewer's place in the group. It must be [given up](Self::leave).
pub(in crate::run) struct Membership {
    group: Arc<Group>,
    id: MemberId,
    told: mpsc::Receiver<Told>,
    frames: Arc<FrameQueue<MemberFrame>>,
    begun: bool,
    /// It was said in the log that the viewer hears the multicast group.
    heard: bool,
}

impl Membership {
    pub(super) fn new(
        group: Arc<Group>,
        id: MemberId,
        told: mpsc::Receiver<Told>,
        frames: Arc<FrameQueue<MemberFrame>>,
    ) -> Self {
        Self {
            group,
            id,
            told,
            frames,
            begun: false,
            heard: false,
        }
    }

    /// The viewer has its first sheet; returns false if it had one before.
    pub(in crate::run) fn begin(&mut self) -> bool {
        !std::mem::replace(&mut self.begun, true)
    }

    /// True from the viewer's first sheet on.
    pub(in crate::run) fn has_begun(&self) -> bool {
        self.begun
    }

    /// The frames for all members.
    pub(in crate::run) fn frames(&self) -> &Arc<FrameQueue<MemberFrame>> {
        &self.frames
    }

    /// What comes before the next frame.
    pub(in crate::run) fn next_told(&mut self) -> Option<Told> {
        self.told.try_recv().ok()
    }

    /// Waits for the group to say something, or for frames if the session is ready for one. Cancel-safe.
    pub(in crate::run) async fn wait(&mut self, ready: bool) -> Woken {
        let frames = ready && self.begun;
        tokio::select! {
            biased;
            // `None` if the group gave this member up.
            told = self.told.recv() => Woken::Told(told),
            () = self.frames.changed(), if frames => Woken::Frames,
        }
    }

    /// The viewer challenged the camera.
    pub(in crate::run) fn challenged(&self, challenge: Challenge) {
        self.group.challenged(self.id, challenge);
    }

    /// What the path to the viewer needs, where media travels in packets.
    pub(in crate::run) fn path_needs(&self, need: RepairNeed) {
        self.group.path_needs(&self.frames, need);
    }

    /// The viewer agreed to have these parts encrypted.
    pub(in crate::run) fn agreed(&self, selection: Selection) {
        self.group.agreed(&self.frames, selection);
    }

    /// What the viewer hears of the multicast group. Returns the number of those who hear it.
    pub(in crate::run) fn hears(&self, hearing: Hearing) -> usize {
        self.group.hears(&self.frames, hearing)
    }

    /// True if it is news that the viewer hears the multicast group, or does not: a busy machine makes pauses, after
    /// which it hears again.
    pub(in crate::run) fn hearing_is_news(&mut self, hearing: Hearing) -> bool {
        match hearing {
            Hearing::Hearing => !std::mem::replace(&mut self.heard, true),
            Hearing::Listening => false,
            Hearing::Away => {
                self.heard = false;
                true
            }
        }
    }

    /// What the viewer is told of a multicast group, if there is one.
    pub(in crate::run) fn multicast(&self) -> Option<GroupMessage<'static>> {
        self.group.multicast()
    }

    /// The viewer, whose frames come through a relay, misses a sheet: it is told its own.
    pub(in crate::run) fn tell_again(&self, peer: Option<PeerId>) {
        self.group.tell_again(self.id, peer);
    }

    /// The viewer leaves. Returns the number of those who hear the multicast group.
    pub(in crate::run) fn leave(self, now: Now) -> usize {
        self.group.leave(now, self.id, &self.frames);
        self.group.hearing()
    }
}
