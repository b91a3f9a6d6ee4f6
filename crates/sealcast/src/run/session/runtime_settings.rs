//! Settings of a running publisher that can be changed. A change applies to current and future viewers.

use std::sync::atomic::{AtomicBool, Ordering};

use sealcast_proto::session::Input;
use sealcast_proto::unit::{Codec, Level, Selection, Unsplit, UnsplitReason};
use tokio::sync::watch;

use super::connection::{Connection, Ended, Listener};
use super::observe::Observation;
use crate::transport::Transport;

/// The requested settings, which each viewer's task applies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Wanted {
    /// The parts of the stream to encrypt.
    selection: Selection,
    /// Number of requests for a new epoch so far.
    rekeys: u64,
}

/// Changes the settings of a running publishing end.
pub struct RuntimeSettings {
    wanted: watch::Sender<Wanted>,
    /// True once the log says that slices cannot be split.
    unsplit_told: AtomicBool,
}

impl RuntimeSettings {
    /// Settings that start with this selection.
    pub fn new(selection: Selection) -> Self {
        let wanted = Wanted { selection, rekeys: 0 };
        Self {
            wanted: watch::channel(wanted).0,
            unsplit_told: AtomicBool::new(false),
        }
    }

    /// The selection of the stream's parts to encrypt.
    pub fn selection(&self) -> Selection {
        self.wanted.borrow().selection
    }

    /// Function that returns the selection of the moment, for another thread.
    pub(crate) fn selected(&self) -> impl Fn() -> Selection + Send + 'static {
        let wanted = self.wanted.subscribe();
        move || wanted.borrow().selection
    }

    /// Switch to another selection. For each viewer it takes effect as soon as that viewer has agreed.
    pub(crate) fn select(&self, selection: Selection) {
        self.wanted.send_modify(|wanted| wanted.selection = selection);
    }

    /// Log once, for all viewers, that slices or images are encrypted whole because they cannot be split.
    pub(crate) fn tell_unsplit(&self, unsplit: Unsplit) {
        if !self.unsplit_told.swap(true, Ordering::Relaxed) {
            match unsplit.reason {
                UnsplitReason::Slice(reason) => tracing::warn!(
                    "{reason}: under level:3, slices with other than intra macroblocks are encrypted whole too"
                ),
                UnsplitReason::Image(reason) => {
                    tracing::warn!("{reason}: under level:2 and level:3, such images are encrypted whole")
                }
            }
        }
    }

    /// Start a new epoch with every viewer.
    pub(crate) fn rekey(&self) {
        self.wanted.send_modify(|wanted| wanted.rekeys += 1);
    }

    /// At the start of publishing, log which parts stay in clear and record the selection.
    pub(crate) fn begin(&self, observation: &Observation) {
        let selection = self.selection();
        if selection != Selection::All {
            announce(THIS, selection);
        }
        observation.selection(selection);
    }

    /// The requested settings for one viewer's task. It does not apply requests for new epochs made before this call.
    pub(crate) fn subscribe(&self) -> SettingsReceiver {
        let wanted = self.wanted.subscribe();
        let rekeys = wanted.borrow().rekeys;
        SettingsReceiver { wanted, rekeys }
    }
}

/// The requested settings as one viewer's session has applied them.
pub(crate) struct SettingsReceiver {
    wanted: watch::Receiver<Wanted>,
    rekeys: u64,
}

impl SettingsReceiver {
    /// Changes of the requested settings, as this session has not applied them.
    pub(crate) fn changes(&self) -> watch::Receiver<impl Send + Sync + use<>> {
        self.wanted.clone()
    }

    /// True if new keys were asked for since the last call.
    pub(crate) fn take_rekey(&mut self) -> bool {
        let rekeys = self.wanted.borrow_and_update().rekeys;
        std::mem::replace(&mut self.rekeys, rekeys) != rekeys
    }

    /// Apply the requested settings to an established session.
    pub(crate) fn apply<T: Transport>(
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

/// Refuses a selection for pictures of a codec of which it is not known what a part in clear shows.
///
/// # Errors
/// The reason, and what to do.
pub fn check_selection(codec: Codec, selection: Selection) -> Result<(), &'static str> {
    if codec.has_parts() || matches!(selection, Selection::All | Selection::Level(Level::All)) {
        return Ok(());
    }
    Err("of H.265 and AV1 everything is encrypted: only H.264 and Motion JPEG may leave something in clear")
}

/// A description of the parts that a selection leaves in clear; `None` if it leaves none.
pub(crate) fn in_clear(selection: Selection) -> Option<String> {
    Some(match selection {
        Selection::All | Selection::Level(Level::All) => return None,
        Selection::None => "everything".to_owned(),
        Selection::Rate(rate) => {
            let clear = 1000 - rate.get();
            format!("{}.{} % of its units", clear / 10, clear % 10)
        }
        Selection::Keyframes => "all frames but keyframes".to_owned(),
        Selection::Headers | Selection::Level(Level::Headers) => "all but the headers of its pictures".to_owned(),
        Selection::HeadersAndKeyframes => "all but keyframes and the headers of its pictures".to_owned(),
        Selection::Level(Level::IntraBegin) => "all but headers and the begin of the data of intra pictures".to_owned(),
        Selection::Level(Level::Intra) => "all but headers and intra macroblocks".to_owned(),
    })
}

/// Name that [`announce`] uses for this publisher.
pub(crate) const THIS: &str = "this publisher";

/// Log the parts that a publisher leaves in clear, as a warning.
pub(crate) fn announce(whose: &str, selection: Selection) {
    match in_clear(selection) {
        Some(clear) => {
            tracing::warn!(encrypt = %selection, "{whose} leaves {clear} in clear (authenticated, not secret)")
        }
        None => tracing::info!("{whose} encrypts everything"),
    }
}
