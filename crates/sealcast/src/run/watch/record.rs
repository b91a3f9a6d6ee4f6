//! An archive's node: it records what a camera seals for its group, and can open nothing of it (archive.md §8).

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, Receiver};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use sealcast_proto::wire::Ticket;
use tokio::sync::watch;

use super::connect::ConnectingViewer;
use super::recorder::{Recorder, Shared};
use super::state::{ViewerState, stop_session};
use crate::archive::{NodeArchive, ToNode};
use crate::failure::{Failure, FailureKind, Result};
use crate::run::relay::RelayUrl;
use crate::run::session::observe::Observation;
use crate::run::session::offer::Offer;
use crate::run::session::retry::turned_on;

/// Frames and messages that may wait for the disk.
const MAX_UNWRITTEN: usize = 1024;
/// Time for which lost records are asked for, where media may be lost, unless the ticket says longer: the camera keeps
/// them for 4 s.
const LEAST_BUDGET: Duration = Duration::from_secs(3);

/// The settings of an archive's node.
pub struct RecordOptions {
    /// The camera.
    pub ticket: Ticket,
    /// Identity, suites, mechanisms, and the group's policy.
    pub offer: Offer,
    /// Archive to which it writes.
    pub archive: NodeArchive,
    /// True to reconnect when the connection breaks.
    pub reconnect: bool,
    /// The relay that has the camera's stream, if the ticket names one. The session says who can open it, and goes
    /// through the relay as well.
    pub relays: Vec<RelayUrl>,
}

/// Records until the stream ends or `stop` turns true.
///
/// # Errors
/// The camera refuses us or is not the one in the ticket, the archive cannot be written, or the connection breaks and
/// `reconnect` is off.
pub async fn record(
    options: RecordOptions,
    observation: Arc<Observation>,
    mut stop: watch::Receiver<bool>,
) -> Result<()> {
    let (to_writer, told) = mpsc::sync_channel(MAX_UNWRITTEN);
    let shared = Arc::new(Shared::default());
    let (writer_failed, mut writer_fails) = watch::channel(false);
    let writer = write(options.archive, told, Arc::clone(&shared), writer_failed)?;
    let recorder = Recorder::new(to_writer, shared, Arc::clone(&observation));
    let (session_stop, session_stopped) = watch::channel(false);
    let latency = Duration::from_millis(options.ticket.latency.unwrap_or_default().into());
    let state = ViewerState::without_sink(options.offer, observation, latency.max(LEAST_BUDGET));
    let node = ConnectingViewer::new(Arc::new(state), options.ticket, session_stopped);
    let outcome = {
        let recording = node.record(recorder, options.relays, options.reconnect);
        tokio::pin!(recording);
        tokio::select! {
            outcome = &mut recording => outcome,
            _ = turned_on(&mut stop) => stop_session(&session_stop, recording).await,
            _ = turned_on(&mut writer_fails) => stop_session(&session_stop, recording).await,
        }
    };
    // The recorder is gone, so the writer comes to its end.
    let written = tokio::task::spawn_blocking(move || writer.join()).await;
    let panicked = || {
        Failure::new(
            FailureKind::Internal,
            "the archive's thread panicked",
            "please report this",
        )
    };
    let written = match written {
        Ok(Ok(written)) => written,
        _ => Err(panicked()),
    };
    // If the archive could not be written, that is why the session ended.
    written.and(outcome)
}

/// Writes what sessions bring, on a thread of its own.
fn write(
    mut archive: NodeArchive,
    told: Receiver<ToNode>,
    shared: Arc<Shared>,
    failed: watch::Sender<bool>,
) -> Result<JoinHandle<Result<()>>> {
    let body = move || {
        let written = told.into_iter().try_for_each(|told| {
            if let ToNode::Frame { frame, .. } = &told {
                shared.waiting.fetch_sub(frame.bytes(), Ordering::Relaxed);
            }
            if archive.take(told)? {
                shared.wants_keyframe.store(true, Ordering::Relaxed);
            }
            Ok(())
        });
        if written.is_err() {
            // It fails only if nobody waits any more.
            let _ = failed.send(true);
        }
        written.and(archive.finish())
    };
    let started = thread::Builder::new().name("recording".to_owned()).spawn(body);
    started.map_err(|error| {
        let what = format!("the system gives no thread for the archive ({error})");
        Failure::new(FailureKind::Internal, what, "raise the limit on threads")
    })
}
