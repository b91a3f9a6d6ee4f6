//! What changes for all sessions at once.

use std::future::{Future, pending};

use tokio::sync::watch;

use super::roster::View;
use crate::run::steering::Steered;

/// Wait until something changes from now on that a session has to see to: what is wanted of all sessions, the cameras,
/// or `stop`, whether the gateway stops.
pub(super) fn changed(
    steered: &Steered,
    view: &View,
    stop: Option<&watch::Receiver<bool>>,
) -> impl Future<Output = ()> + use<> {
    let (mut steered, mut roster, mut stop) = (steered.clone(), view.roster(), stop.cloned());
    steered.pass_over();
    roster.mark_unchanged();
    async move {
        let read_again = async {
            if roster.changed().await.is_err() {
                // The gateway stops: they will not be read again.
                pending().await
            }
        };
        let stops = async {
            match &mut stop {
                // Without anybody who could say so it stops as well.
                Some(stop) => drop(stop.changed().await),
                None => pending().await,
            }
        };
        tokio::select! {
            () = steered.changed() => {}
            () = read_again => {}
            () = stops => {}
        }
    }
}
