//! The part of a session that differs between its ends.

use sealcast_proto::keys::Peer;
use sealcast_proto::session::{Event, Input};
use sealcast_proto::wire::{CameraName, CloseReason};

use super::connection::{Ended, Listener};
use super::task::SessionTask;
use crate::transport::Transport;

/// One end of a session: a publisher's or a viewer's, with or without a gateway. [`SessionTask::run`] calls its
/// methods.
pub(crate) trait Role<T: Transport>: Sized {
    /// Receives the session's media.
    type Listener: Listener;
    /// Result of [`wait`](Self::wait): the reason for the wake-up.
    type Woken;

    /// True if this end sends the media.
    const PUBLISHES: bool;
    /// Name of the peer in logs, such as "viewer".
    const PEER: &'static str;
    /// Reason sent to the peer when the program stops.
    const STOPPING: &'static str;

    /// Decide on a peer that has proved its identity: admit it, or close with a reason. Called on the responder only,
    /// never on the end that connects.
    fn admit(&mut self, _task: &mut SessionTask<T, Self::Listener>, _peer: &Peer) -> Input<'static> {
        Input::Close(CloseReason::NotAuthorised, "nobody is let in here")
    }

    /// Returns the reason, in words, if this end does not have what its peer wishes.
    fn lacks(&mut self, _peer: &Peer) -> Option<&'static str> {
        None
    }

    /// Words for the log when the session is established.
    fn established_words(&self) -> &'static str;

    /// The camera that the session is of, where there are several. It is asked for once the session is established.
    fn camera(&self) -> Option<CameraName> {
        None
    }

    /// The session is established.
    fn established(&mut self, task: &mut SessionTask<T, Self::Listener>) -> Result<(), Ended>;

    /// Handle an event specific to this role. The task has already logged it.
    fn event(&mut self, _task: &mut SessionTask<T, Self::Listener>, _event: Event) -> Result<(), Ended> {
        Ok(())
    }

    /// Forward the media received from the session, before anything is sent to the peer.
    async fn received(&mut self, _task: &mut SessionTask<T, Self::Listener>) -> Result<(), Ended> {
        Ok(())
    }

    /// Send all pending data, after all received messages have been processed.
    fn send(&mut self, task: &mut SessionTask<T, Self::Listener>) -> Result<(), Ended>;

    /// Wait for work that does not come from the session. Cancel-safe.
    async fn wait(&mut self) -> Self::Woken;

    /// Do that work. Returns true if only [`send`](Self::send) must follow before the next wait: media from elsewhere
    /// need not wait until the session's carrier has been read.
    fn woken(&mut self, task: &mut SessionTask<T, Self::Listener>, woken: Self::Woken) -> Result<bool, Ended>;
}
