//! Task of a viewer that is a member of the group: it passes on what is sealed once for all.

use std::sync::Arc;
use std::time::Duration;

use sealcast_proto::keys::WishedMedia;
use sealcast_proto::live::Challenge;
use sealcast_proto::session::Input;
use sealcast_proto::unit::Selection;
use sealcast_proto::wire::{CloseReason, GroupMessage, Hearing, MediaFrom};

use super::serve_viewer::{Task, ViewerRole, Woken};
use super::subscription::Subscription;
use crate::run::group::{GROUP_STREAM, MemberSession, Membership, Told};
use crate::run::session::connection::Ended;
use crate::run::session::ended::happened;
use crate::transport::Transport;

/// A frame that waited longer than this for the path is dropped with its group of pictures, where media may be lost
/// or has a constant rate. On byte streams the latency budget decides.
pub(crate) const MOST_WAIT: Duration = Duration::from_millis(400);
/// The same for an archive's node, to which it matters that frames come, and not when.
const MOST_WAIT_OF_ARCHIVE: Duration = Duration::from_secs(5);

/// Waits for what the group has for a member. Cancel-safe.
pub(crate) async fn wait(membership: &mut Option<Membership>, ready: bool) -> Woken {
    let Some(membership) = membership else {
        return std::future::pending().await;
    };
    membership.wait(ready).await
}

/// Ends the session of who wants to be an archive's node and is none here, or the other way round.
pub(crate) fn refuse_archive<T: Transport>(task: &mut Task<T>, media: MediaFrom) -> Result<(), Ended> {
    let words = match media {
        MediaFrom::Sealed => "it is no archive's node of this camera; have its peer id named there with --archive-node",
        _ => "an archive's node of this camera watches nothing; use another identity",
    };
    tracing::warn!(viewer = %task.name(), "refused: {}", happened(words));
    task.handle(Input::Close(CloseReason::NotAuthorised, words))?;
    Err(Ended::Closed)
}

impl ViewerRole {
    /// True if nothing is sealed for the viewer alone: it wants nothing, what it wants comes through a relay, or it
    /// is an archive's node.
    pub(crate) fn sends_nothing<T: Transport>(&self, task: &Task<T>) -> bool {
        self.wishes(task, WishedMedia::NothingYet) || !task.connection.carries_media() || self.is_archive(task)
    }

    /// True if the peer is an archive's node, which may open nothing.
    pub(crate) fn is_archive<T: Transport>(&self, task: &Task<T>) -> bool {
        let peer = task.peer.map(|peer| peer.id);
        peer.is_some_and(|peer| self.shared.admission.is_archive_node(&peer))
    }

    /// Longest wait of a frame where media may be lost or has a constant rate.
    pub(crate) fn most_wait<T: Transport>(&self, task: &Task<T>) -> Duration {
        if self.is_archive(task) {
            MOST_WAIT_OF_ARCHIVE
        } else {
            MOST_WAIT
        }
    }

    /// Offers the group to a viewer, if there is one and the session can carry what is sealed for it.
    pub(crate) fn offer_group<T: Transport>(&mut self, task: &mut Task<T>) -> Result<(), Ended> {
        match &self.shared.group {
            Some(group) if self.may_offer(task) => task.handle(Input::Group(group.offer())),
            _ => Ok(()),
        }
    }

    fn may_offer<T: Transport>(&self, task: &Task<T>) -> bool {
        let session = &task.connection.session;
        session.may_have_group() || (self.is_archive(task) && session.may_tell_group())
    }

    /// The viewer wants to be a member. If the group is full, it goes on alone.
    pub(crate) fn join_group<T: Transport>(&mut self, task: &mut Task<T>, media: MediaFrom) {
        let (Some(group), Some(subscription)) = (&self.shared.group, &mut self.subscription) else {
            return;
        };
        let Some(key) = task.connection.session.member_key(GROUP_STREAM) else {
            return;
        };
        if let Some(membership) = &subscription.membership {
            // The relay does not bring it a sheet.
            membership.tell_again(task.peer.map(|peer| peer.id));
            return;
        }
        // An archive's node whose session goes through a relay has its frames from there as well.
        let kept_elsewhere = media == MediaFrom::Sealed && !task.connection.carries_media();
        let relayed = kept_elsewhere || matches!(media, MediaFrom::Relay | MediaFrom::RelayEnrolled);
        let session = &mut task.connection.session;
        let mut need = session.repair_need();
        let (narrow, selection) = (need.is_some() || session.is_shaped(), session.selection());
        if media == MediaFrom::Sealed {
            need = None;
        }
        self.goes_on_without = media == MediaFrom::RelayEnrolled;
        if relayed {
            need = None;
            self.shared.hub.seal_by_group(subscription.id, None);
            subscription.queue.clear();
            tracing::info!(viewer = %task.name(), "it gets the stream through a relay");
        }
        let session = MemberSession {
            key,
            need,
            narrow,
            selection,
            relayed,
            awaits_keyframe: subscription.awaits_keyframe,
            lender: task.lender.clone(),
        };
        match group.join(self.shared.observation.clock.now(), media, session) {
            Ok(mut membership) => {
                if matches!(media, MediaFrom::RelayEnrolled | MediaFrom::Sealed) {
                    // Its sheets come with its frames, or it gets none.
                    membership.begin();
                }
                if media == MediaFrom::Sealed {
                    let frames = Some(Arc::clone(membership.frames())).filter(|_| !relayed);
                    self.shared.hub.seal_by_group(subscription.id, frames);
                    self.shared.hub.request_keyframe();
                    if let Err(failure) = group.tell_archive(&membership) {
                        tracing::error!(viewer = %task.name(), "the archive's node gets no keys: {failure}");
                    }
                    tracing::info!(viewer = %task.name(), "it is an archive's node: it gets all sealed, and no key");
                }
                if media == MediaFrom::Session && !subscription.awaits_keyframe {
                    membership.wait_for_keyframe();
                }
                subscription.membership = Some(membership);
            }
            Err(error) => tracing::warn!(viewer = %task.name(), "not in the group, but served alone: {error}"),
        }
    }

    /// The viewer agreed to have these parts encrypted.
    pub(crate) fn agreed(&self, selection: Selection) {
        if let Some(membership) = self.subscription.as_ref().and_then(|one| one.membership.as_ref()) {
            membership.agreed(selection);
        }
    }

    pub(crate) fn challenged(&mut self, challenge: Challenge) {
        if let Some(membership) = self.subscription.as_ref().and_then(|one| one.membership.as_ref()) {
            membership.challenged(challenge);
        }
    }

    /// Passes on what the group tells this member; `None` if it gave the member up.
    pub(crate) fn tell_member<T: Transport>(&mut self, task: &mut Task<T>, told: Option<Told>) -> Result<(), Ended> {
        let Some(told) = told else {
            tracing::warn!(viewer = %task.name(), "it takes too little of what the group is told, and is cut off");
            task.handle(Input::Close(CloseReason::TooSlow, "too slow for the group"))?;
            return Err(Ended::Closed);
        };
        let Some(subscription) = &mut self.subscription else {
            return Ok(());
        };
        let membership = subscription.membership.as_mut();
        let Some(told) = membership.and_then(|membership| membership.hold_back(told)) else {
            return Ok(());
        };
        task.handle(Input::Group(told.message()))?;
        if matches!(told, Told::Answer(_)) && self.goes_on_without {
            task.note_challenge_answered();
        }
        if let (Told::Sheet(_), Some(membership)) = (told, &mut subscription.membership)
            && membership.begin()
        {
            self.shared
                .hub
                .seal_by_group(subscription.id, Some(Arc::clone(membership.frames())));
            // From its first sheet on it takes every media record for the group's, so none of its own may follow.
            subscription.queue.clear();
            tracing::info!(viewer = %task.name(), "it is a member of the group");
            let multicast = membership.multicast();
            let multicast = multicast.filter(|_| task.connection.session.may_hear_multicast());
            if let Some(message) = multicast {
                task.handle(Input::Group(message))?;
            }
        }
        Ok(())
    }

    /// Passes on all that the group has told this member.
    fn tell_waiting<T: Transport>(&mut self, task: &mut Task<T>) -> Result<(), Ended> {
        loop {
            let membership = self.subscription.as_mut().and_then(|one| one.membership.as_mut());
            let Some(told) = membership.and_then(Membership::next_told) else {
                return Ok(());
            };
            self.tell_member(task, Some(told))?;
        }
    }

    /// True if the source has ended, and all of it has arrived. A group tells its members the last signatures before
    /// it ends.
    pub(crate) fn has_sent_all<T: Transport>(&mut self, task: &mut Task<T>) -> Result<bool, Ended> {
        if !self.subscription.as_ref().is_some_and(Subscription::finished) {
            return Ok(false);
        }
        self.tell_waiting(task)?;
        Ok(task.connection.settled() && task.connection.session.group_is_told())
    }

    /// The viewer says what it hears of the multicast group.
    pub(crate) fn hears<T: Transport>(&mut self, task: &Task<T>, hearing: Hearing) {
        let Some(membership) = self.subscription.as_mut().and_then(|one| one.membership.as_mut()) else {
            return;
        };
        let viewers = membership.hears(hearing);
        self.shared.observation.metrics.multicast_viewers(viewers);
        let viewer = task.name();
        if !membership.hearing_is_news(hearing) {
            tracing::debug!(viewer, ?hearing, "the multicast group");
        } else if hearing == Hearing::Hearing {
            tracing::info!(viewer, viewers, "it hears the multicast group");
        } else {
            tracing::info!(
                viewer,
                viewers,
                "it does not hear the multicast group, and is sent all itself"
            );
        }
    }

    /// Passes on the frames that wait, each after what was told before it.
    pub(crate) fn forward_frames<T: Transport>(&mut self, task: &mut Task<T>) -> Result<(), Ended> {
        let membership = self.subscription.as_mut().and_then(|one| one.membership.as_mut());
        let settled = task.connection.settled();
        let held_back = membership.map_or_else(Vec::new, |membership| {
            if membership.waits_for_long() {
                tracing::warn!(
                    viewer = %task.name(),
                    "it is not in the group, but served alone, until the source has a keyframe: this one makes none \
                     when asked, and a file with a single keyframe never does"
                );
            }
            membership.take_held_back(settled)
        });
        for told in held_back {
            self.tell_member(task, Some(told))?;
        }
        while task.connection.ready_for_frame() {
            let membership = self.subscription.as_mut().and_then(|one| one.membership.as_mut());
            let Some(membership) = membership.filter(|membership| membership.has_begun()) else {
                return Ok(());
            };
            let frames = Arc::clone(membership.frames());
            let Some(frame) = self.next_in_time(task, &frames, |frame| frame.encoded) else {
                return Ok(());
            };
            let membership = self.subscription.as_mut().and_then(|one| one.membership.as_mut());
            if membership.is_some_and(|membership| membership.has_got(&frame)) {
                continue;
            }
            if frame.sealed.sound && self.is_stale(task, frame.encoded) {
                self.shared.observation.metrics.sound_dropped(1);
                continue;
            }
            // What the group told before it sealed the frame is here by now.
            self.tell_waiting(task)?;
            self.mark_path(task, Some(frame.encoded))?;
            if let Some(subscription) = &mut self.subscription {
                let observation = &self.shared.observation;
                subscription
                    .sender
                    .forward(&mut task.connection, observation, &frame.sealed)?;
            }
            if let Some(answer) = &frame.answer {
                let answer = answer.to_bytes();
                task.handle(Input::Group(GroupMessage::Answer(&answer)))?;
            }
            task.connection.send(&mut task.listener)?;
            self.note_sent(task);
            task.take_events(self)?;
        }
        Ok(())
    }
}
