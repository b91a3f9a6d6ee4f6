//! A viewer's place in its publisher's group.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use sealcast_proto::clock::Now;
use sealcast_proto::group::MemberId;
use sealcast_proto::keys::PeerId;
use sealcast_proto::live::Challenge;
use sealcast_proto::session::RepairNeed;
use sealcast_proto::unit::Selection;
use sealcast_proto::wire::{GroupMessage, Hearing};
use tokio::sync::mpsc;

use super::{Group, MAX_TOLD, MemberFrame, Told};
use crate::media::Frame;
use crate::run::media::queue::FrameQueue;
use crate::run::publish::serve_viewer::Woken;

/// Messages that are held back for a viewer at most. With more, it begins as a member before there is a picture for it.
const MAX_HELD_BACK: usize = MAX_TOLD / 2;

/// A viewer that waits so long for the group's next keyframe is told of in the log.
const LONG_WAIT: Duration = Duration::from_secs(15);

/// A viewer's place in the group. It must be [given up](Self::leave).
pub(in crate::run) struct Membership {
    group: Arc<Group>,
    id: MemberId,
    told: mpsc::Receiver<Told>,
    frames: Arc<FrameQueue<MemberFrame>>,
    begun: bool,
    /// Wait for the group's next keyframe, if it waits for it.
    waits: Option<Waiting>,
    /// Number of the keyframe up to which it was served alone, until that comes from the group.
    from: Option<u64>,
    /// Number of the first frame that the group sealed with the viewer as a member.
    first: Arc<OnceLock<u64>>,
    /// It was said in the log that the viewer hears the multicast group.
    heard: bool,
}

/// A member that is served alone until the group has a keyframe for it. From its first sheet on it would take nothing
/// else, and have no picture until then.
#[derive(Default)]
struct Waiting {
    /// Messages of the group to it so far.
    held_back: Vec<Told>,
    /// A keyframe came that the group seals for it: nothing is sealed for it alone any more.
    due: bool,
    /// When the log says that none came; `None` once it did.
    tells_at: Option<Instant>,
}

impl Membership {
    pub(super) fn new(
        group: Arc<Group>,
        id: MemberId,
        told: mpsc::Receiver<Told>,
        (frames, first): (Arc<FrameQueue<MemberFrame>>, Arc<OnceLock<u64>>),
    ) -> Self {
        Self {
            group,
            id,
            told,
            frames,
            begun: false,
            waits: None,
            from: None,
            first,
            heard: false,
        }
    }

    /// Serve the viewer alone until the group has a keyframe for it.
    pub(in crate::run) fn wait_for_keyframe(&mut self) {
        self.waits = Some(Waiting {
            tells_at: Some(Instant::now() + LONG_WAIT),
            ..Waiting::default()
        });
    }

    /// True once, if the viewer is served alone for long since no keyframe comes.
    pub(in crate::run) fn waits_for_long(&mut self) -> bool {
        let waits = self.waits.as_mut().filter(|waits| !waits.due);
        waits.is_some_and(|waits| waits.tells_at.take_if(|at| *at <= Instant::now()).is_some())
    }

    /// Holds back what the group says, while the viewer is served alone. Returns it if it is to be said now.
    pub(in crate::run) fn hold_back(&mut self, told: Told) -> Option<Told> {
        match &mut self.waits {
            Some(waits) => {
                waits.held_back.push(told);
                None
            }
            None => Some(told),
        }
    }

    /// Messages that were held back, once the group has a keyframe for the viewer. `settled` if all that was sealed for
    /// it alone has arrived: it would take nothing of that any more.
    pub(in crate::run) fn take_held_back(&mut self, settled: bool) -> Vec<Told> {
        let sealed = settled && self.frames.holds_frame();
        let over = |waits: &mut Waiting| (waits.due && sealed) || waits.held_back.len() > MAX_HELD_BACK;
        self.waits.take_if(over).map_or_else(Vec::new, |waits| waits.held_back)
    }

    /// True if nothing more is sealed for the viewer alone, and it waits for what the group seals.
    pub(in crate::run) fn is_due(&self) -> bool {
        self.waits.as_ref().is_some_and(|waits| waits.due)
    }

    /// Notes the next frame for the viewer alone. Returns true if the group seals it for the viewer: it is due.
    pub(in crate::run) fn is_due_at(&mut self, frame: &Frame) -> bool {
        let sealed = self.first.get().is_some_and(|&first| frame.number >= first);
        match &mut self.waits {
            Some(waits) => {
                if sealed && frame.keyframe && !waits.due {
                    waits.due = true;
                    self.from = Some(frame.number);
                }
                waits.due
            }
            None => false,
        }
    }

    /// True for what the group sealed while the viewer was served alone, and so got already: all before the keyframe at
    /// which that ended.
    pub(in crate::run) fn has_got(&mut self, frame: &MemberFrame) -> bool {
        let got = |from: u64| frame.sealed.sound || frame.number < from;
        let before = self.from.is_some_and(got);
        if !before {
            self.from = None;
        }
        before
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

    /// Message that comes before the next frame.
    pub(in crate::run) fn next_told(&mut self) -> Option<Told> {
        self.told.try_recv().ok()
    }

    /// Waits for the group to say something, or for frames if the session is ready for one. Cancel-safe.
    pub(in crate::run) async fn wait(&mut self, ready: bool) -> Woken {
        let frames = ready && (self.begun || self.waits.is_some());
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

    /// Notes what the path to the viewer needs, where media travels in packets.
    pub(in crate::run) fn path_needs(&self, need: RepairNeed) {
        self.group.path_needs(&self.frames, need);
    }

    /// The viewer agreed to have these parts encrypted.
    pub(in crate::run) fn agreed(&self, selection: Selection) {
        self.group.agreed(&self.frames, selection);
    }

    /// Notes what the viewer hears of the multicast group. Returns the number of those who hear it.
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

    /// Message to the viewer about a multicast group, if there is one.
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
