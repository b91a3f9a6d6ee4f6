//! What of a running publisher can be changed: for all its viewers, those to come included.

use sealcast_proto::session::Input;
use sealcast_proto::unit::Selection;
use tokio::sync::watch;

use super::Observation;
use super::connection::{Connection, Ended, Listener};
use crate::transport::Transport;

/// What the viewers' tasks are to bring about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Wanted {
    /// What is encrypted.
    selection: Selection,
    /// How often somebody asked for a new epoch.
    rekeys: u64,
}

/// Changes a running end that publishes.
pub struct RuntimeSettings {
    wanted: watch::Sender<Wanted>,
}

impl RuntimeSettings {
    /// An end that begins with that selection.
    pub fn new(selection: Selection) -> Self {
        let wanted = Wanted { selection, rekeys: 0 };
        Self {
            wanted: watch::channel(wanted).0,
        }
    }

    /// What is to be encrypted.
    pub fn selection(&self) -> Selection {
        self.wanted.borrow().selection
    }

    /// Encrypt by another selection from now on, as soon as each viewer has agreed.
    pub(super) fn select(&self, selection: Selection) {
        self.wanted.send_modify(|wanted| wanted.selection = selection);
    }

    /// Begin a new epoch with every viewer.
    pub(super) fn rekey(&self) {
        self.wanted.send_modify(|wanted| wanted.rekeys += 1);
    }

    /// Say what an end that begins to publish leaves in clear, and take it down.
    pub(super) fn begin(&self, observation: &Observation) {
        let selection = self.selection();
        if selection != Selection::All {
            announce(THIS, selection);
        }
        observation.selection(selection);
    }

    /// What is wanted, for one viewer's task. Epochs asked for before it came are none of its business.
    pub(super) fn subscribe(&self) -> SettingsReceiver {
        let wanted = self.wanted.subscribe();
        let rekeys = wanted.borrow().rekeys;
        SettingsReceiver { wanted, rekeys }
    }
}

/// What one viewer's session has seen to of what is wanted.
pub(super) struct SettingsReceiver {
    wanted: watch::Receiver<Wanted>,
    rekeys: u64,
}

impl SettingsReceiver {
    /// Wait until something else is wanted. Cancel-safe.
    pub(super) async fn changed(&mut self) {
        // It fails only without a sender, which is one of what the tasks share.
        let _ = self.wanted.changed().await;
    }

    /// Bring about what is wanted, in a session that stands.
    pub(super) fn apply<T: Transport>(
        &mut self,
        connection: &mut Connection<T>,
        listener: &mut impl Listener,
    ) -> Result<(), Ended> {
        let wanted = *self.wanted.borrow_and_update();
        connection.handle(Input::Select(wanted.selection), listener)?;
        if wanted.rekeys != self.rekeys {
            self.rekeys = wanted.rekeys;
            connection.handle(Input::Rekey, listener)?;
        }
        Ok(())
    }
}

/// What a selection leaves in clear, in words; `None` where that is nothing.
pub(super) fn in_clear(selection: Selection) -> Option<String> {
    Some(match selection {
        Selection::All => return None,
        Selection::None => "everything".to_owned(),
        Selection::Rate(rate) => {
            let clear = 1000 - rate.get();
            format!("{}.{} % of its units", clear / 10, clear % 10)
        }
        Selection::Keyframes => "all frames but keyframes".to_owned(),
        Selection::Headers => "all but the headers of its pictures".to_owned(),
        Selection::HeadersAndKeyframes => "all but keyframes and the headers of its pictures".to_owned(),
    })
}

/// How [`announce`] names the publisher that says it.
pub(super) const THIS: &str = "this publisher";

/// Say loudly what a publisher leaves in clear.
pub(super) fn announce(whose: &str, selection: Selection) {
    match in_clear(selection) {
        Some(clear) => {
            tracing::warn!(encrypt = %selection, "{whose} leaves {clear} in clear (authenticated, not secret)")
        }
        None => tracing::info!("{whose} encrypts everything"),
    }
}
