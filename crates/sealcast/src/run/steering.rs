//! What of a running publisher can be changed: for all its viewers, those to come included.

use sealcast_proto::unit::Selection;
use tokio::sync::watch;

/// What the viewers' tasks are to bring about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Wanted {
    /// What is encrypted.
    pub(super) selection: Selection,
    /// How often somebody asked for a new epoch.
    pub(super) rekeys: u64,
}

/// Changes a running publisher.
pub struct Steering {
    wanted: watch::Sender<Wanted>,
}

impl Steering {
    /// A publisher that begins with that selection.
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

    /// What is wanted, for one viewer's task.
    pub(super) fn watch(&self) -> watch::Receiver<Wanted> {
        self.wanted.subscribe()
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
