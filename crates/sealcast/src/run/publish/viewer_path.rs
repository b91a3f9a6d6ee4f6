//! The path to a viewer: what it carries, and what the source should make for it.

use std::time::{Duration, Instant};

use super::serve_viewer::{Task, ViewerRole};
use super::subscription::Subscription;
use crate::run::media::target_rate::PathTarget;
use crate::run::session::connection::Ended;
use crate::transport::Transport;

/// Minimum time between updates of the target rate from the path's capacity.
const TARGET_INTERVAL: Duration = Duration::from_millis(100);

impl ViewerRole {
    /// Mark the path of a byte stream, if that is due. `frame` is when the frame was encoded that is sealed next.
    pub(crate) fn mark_path<T: Transport>(&self, task: &mut Task<T>, frame: Option<Instant>) -> Result<(), Ended> {
        if !task.connection.carries_media() {
            return Ok(());
        }
        task.connection.bounded = !self.shared.hub.plays_once();
        // What a viewer missed before it came says nothing of its path.
        let catches_up = |subscription: &Subscription| subscription.catches_up;
        let catches_up = self.subscription.as_ref().is_some_and(catches_up);
        let waited = frame.map(|encoded| if catches_up { Duration::ZERO } else { encoded.elapsed() });
        task.connection.mark_path(waited, &mut task.listener)
    }

    /// Update the source's target rate and the metrics of sent media.
    pub(crate) fn note_path<T: Transport>(&mut self, task: &mut Task<T>) {
        let Some(subscription) = &mut self.subscription else {
            return;
        };
        let session = &task.connection.session;
        subscription.sender.record_counts(session, &self.shared.observation);
        let now = Instant::now();
        if subscription
            .target_told
            .is_some_and(|told| now < told + TARGET_INTERVAL)
        {
            return;
        }
        subscription.target_told = Some(now);
        if let (Some(membership), Some(need)) = (&subscription.membership, task.connection.session.repair_need()) {
            membership.path_needs(need);
        }
        let path = match &mut self.delay_rate {
            // A constant rate has a rule of its own.
            Some(_) if task.connection.session.is_shaped() => None,
            Some(delay_rate) => {
                // What a viewer missed before it came says nothing of its path.
                let look = task
                    .connection
                    .look(subscription.waiting() > 0 && !subscription.catches_up);
                // QUIC and the session itself end the connection to who reports nothing.
                look.map(|look| match delay_rate.look(now, &look) {
                    Some(rate) => PathTarget::most(rate, true),
                    None => PathTarget::at_least(delay_rate.at_least()),
                })
            }
            None => {
                let session = &task.connection.session;
                session
                    .target()
                    .map(|rate| PathTarget::most(rate, session.is_reported()))
            }
        };
        if let Some(path) = path {
            self.shared.hub.set_target(subscription.id, Some(path));
            if path.limits {
                let loss = task.connection.session.path_loss().map(|(share, _)| share);
                self.shared.observation.metrics.path(loss, Some(path.rate));
            }
            self.note_standing(task);
        }
    }

    /// Log that the viewer stays behind the others, or keeps up again.
    fn note_standing<T: Transport>(&mut self, task: &Task<T>) {
        let Some(subscription) = &mut self.subscription else {
            return;
        };
        let stays_behind = self.shared.hub.stays_behind(subscription.id);
        if std::mem::replace(&mut subscription.stays_behind, stays_behind) == stays_behind {
            return;
        }
        let viewer = task.name();
        if stays_behind {
            tracing::info!(
                viewer,
                "its path carries far less than those of others: it loses frames, and does not slow the others"
            );
        } else {
            tracing::info!(viewer, "it keeps up with the others again");
        }
    }
}
