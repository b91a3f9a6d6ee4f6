//! The names of the cameras that a publisher lets this end watch.

use std::sync::Arc;
use std::time::Duration;

use sealcast_proto::keys::{Wish, WishedMedia};
use sealcast_proto::session::DEFAULT_BUDGET;
use sealcast_proto::wire::{CameraName, Ticket};
use tokio::sync::watch;

use super::connect::ConnectingViewer;
use crate::failure::{Failure, FailureKind, Result};
use crate::run::session::observe::Observation;
use crate::run::session::offer::Offer;
use crate::run::watch::state::{ViewerState, stop_session};

/// Time limit for the publisher's answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Ask a publisher for the names of its cameras, as far as this end may watch them: first that which it gives to who
/// names none.
///
/// # Errors
/// It cannot be reached, refuses this end, has no camera for it, or does not answer.
pub async fn list_cameras(ticket: Ticket, mut offer: Offer, observation: Arc<Observation>) -> Result<Vec<CameraName>> {
    offer.wish = Wish::of(WishedMedia::Cameras);
    let at = format!("{}:{}", ticket.host, ticket.port);
    let (told, mut names) = watch::channel(Vec::new());
    let (stop, stopped) = watch::channel(false);
    let mut state = ViewerState::without_sink(offer, observation, DEFAULT_BUDGET);
    state.cameras = Some(told);
    let asking = ConnectingViewer::new(Arc::new(state), ticket, stopped).keep(Vec::new(), false);
    tokio::pin!(asking);
    let unanswered = |what: &str| {
        let hint = "ask again; a publisher of an earlier version has one camera and does not know the question";
        Err(Failure::new(FailureKind::Network, format!("{at} {what}"), hint))
    };
    tokio::select! {
        outcome = &mut asking => outcome.and_then(|()| unanswered("ended without an answer")),
        () = tokio::time::sleep(PATIENCE) => unanswered("did not answer in 10 s"),
        _ = names.changed() => {
            let found = names.borrow().clone();
            stop_session(&stop, asking).await?;
            Ok(found)
        }
    }
}
