//! Sessions of viewer gateways at a publisher: what they share, and the thread that they run on.

use std::future::Future;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use sealcast_proto::unit::Selection;
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

use crate::run::control::Sealing;
use crate::run::gateway::check_selection;
use crate::run::session::observe::Observation;
use crate::run::session::runtime_settings::RuntimeSettings;

/// The things that the sessions of gateways share.
pub(crate) struct GatewaySessions {
    /// The publisher has packets alone: its cameras are connected to while players watch them.
    pub(crate) alone: bool,
    /// Settings of all of these sessions, whatever cameras they are of.
    pub(crate) settings: RuntimeSettings,
    next_id: AtomicU64,
    thread: OnceLock<Option<PacketThread>>,
}

/// A thread that seals packets and nothing else: no frame of another camera or viewer keeps a packet waiting. It ends
/// when this is dropped.
struct PacketThread {
    handle: Handle,
    _stop: oneshot::Sender<()>,
}

impl GatewaySessions {
    /// Those of a publisher of packets alone, which are sealed by these settings; without settings, of a publisher of
    /// frames that has packets as well, which are encrypted whole.
    pub(crate) fn new(alone: Option<RuntimeSettings>) -> Self {
        Self {
            alone: alone.is_some(),
            settings: alone.unwrap_or_else(|| RuntimeSettings::new(Selection::All)),
            next_id: AtomicU64::new(0),
            thread: OnceLock::new(),
        }
    }

    /// A number for another session.
    pub(crate) fn next_id(&self) -> u64 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    /// Runs a session to its end: here if nothing but packets is served, else on the thread of the packets.
    pub(crate) async fn run(&self, session: impl Future<Output = ()> + Send + 'static) {
        let thread = match self.alone {
            true => None,
            false => self.thread.get_or_init(PacketThread::start).as_ref(),
        };
        match thread {
            // If it panicked, that was told.
            Some(thread) => drop(thread.handle.spawn(session).await),
            None => session.await,
        }
    }
}

impl PacketThread {
    /// Starts it; `None` if the system gives no thread.
    fn start() -> Option<Self> {
        let runtime = Builder::new_current_thread().enable_all().build().ok()?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel();
        let body = move || {
            // An error says that nobody has it any more.
            let _ = runtime.block_on(stopped);
        };
        std::thread::Builder::new()
            .name("packets".to_owned())
            .spawn(body)
            .ok()?;
        Some(Self { handle, _stop: stop })
    }
}

/// The sessions of gateways, as the control socket commands them.
pub(super) struct CommandedGateways<'a> {
    pub(super) sessions: &'a GatewaySessions,
    pub(super) observation: &'a Observation,
}

impl Sealing for CommandedGateways<'_> {
    fn settings(&self) -> &RuntimeSettings {
        &self.sessions.settings
    }

    fn observation(&self) -> &Observation {
        self.observation
    }

    fn check(&self, selection: Selection) -> Result<(), &'static str> {
        check_selection(selection)
    }

    fn request_keyframe(&self) -> Result<(), &'static str> {
        Err("a gateway cannot ask a camera for a keyframe; its players can")
    }
}
