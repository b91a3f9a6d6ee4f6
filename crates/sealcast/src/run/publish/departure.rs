//! The end of a viewer's session, for who let it in.

use sealcast_proto::wire::CloseReason;

use crate::run::session::connection::Ended;
use crate::run::session::task::SessionTask;
use crate::transport::Transport;

/// The end of a viewer's session.
pub(crate) struct Departure {
    pub(crate) ended: Ended,
    /// Reason in the viewer's close message, if it sent one.
    pub(crate) reason: Option<CloseReason>,
    /// True if the session was established.
    pub(crate) stood: bool,
    /// Address of the other end, for display.
    pub(crate) remote: String,
}

impl Departure {
    /// The end of a task's session.
    pub(super) fn of<T: Transport, L>(task: &SessionTask<T, L>, ended: Ended) -> Self {
        Self {
            ended,
            reason: task.last_words.as_ref().map(|(reason, _)| *reason),
            stood: task.established,
            remote: task.remote.clone(),
        }
    }
}
