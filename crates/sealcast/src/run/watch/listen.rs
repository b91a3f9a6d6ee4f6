//! A viewer that listens: publishers connect to it, and the first that is admitted is watched.

use std::sync::Arc;

use sealcast_proto::keys::Role;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

use crate::failure::Result;
use crate::run::control::socket::ControlSocket;
use crate::run::control::{CameraStatus, Controlled, Sealing, commands};
use crate::run::data::WatchedSession;
use crate::run::session::accept::{Acceptor, PendingSession};
use crate::run::session::admission::Admission;
use crate::run::session::admitted_places::AdmittedPlaces;
use crate::run::session::ended::turned_away;
use crate::run::session::observe::Observation;
use crate::run::session::retry::turned_on;
use crate::run::watch::state::{After, GOODBYE_PATIENCE, ViewerState, after};
use crate::run::watch::watching_role::{Door, WatchingRole};
use crate::transport::Listener;

/// A viewer's door.
pub(crate) struct ListeningViewer {
    state: Arc<ViewerState>,
    door: Door,
}

impl ListeningViewer {
    pub(crate) fn new(state: Arc<ViewerState>, admission: Arc<Admission>) -> Arc<Self> {
        Arc::new(Self {
            state,
            door: Door {
                admission,
                places: AdmittedPlaces::new(1),
            },
        })
    }

    /// Watch until the stream of an admitted publisher ends or `stop` turns true. Handshakes run beside each other and
    /// beside the stream.
    ///
    /// # Errors
    /// The connection to an admitted publisher breaks and `reconnect` is off, or there is no randomness.
    pub(crate) async fn keep_listening(
        self: Arc<Self>,
        listeners: Vec<Listener>,
        control: Option<ControlSocket>,
        reconnect: bool,
        mut stop: watch::Receiver<bool>,
    ) -> Result<()> {
        let acceptor = Acceptor {
            role: Role::Viewer,
            offer: &self.state.offer,
            admission: &self.door.admission,
            delivery: self.state.delivery(),
            clock: self.state.observation.clock,
            metrics: &self.state.observation.metrics,
            ways: None,
        };
        let (over, mut ends) = mpsc::channel(1);
        let stopped = stop.clone();
        let serve = |pending| Arc::clone(&self).serve(pending, stopped.clone(), over.clone());
        let mut tasks = JoinSet::new();
        {
            let accepting = acceptor.accept(listeners, &mut tasks, serve);
            let end: Arc<dyn Controlled> = Arc::<Self>::clone(&self);
            let controlled = commands(control, end);
            tokio::pin!(accepting, controlled);
            loop {
                let end = tokio::select! {
                    outcome = &mut accepting => return outcome,
                    never = &mut controlled => match never {},
                    _ = turned_on(&mut stop) => break,
                    Some(end) = ends.recv() => end,
                };
                match end {
                    After::Done => return Ok(()),
                    After::Broken(failure) if !reconnect => return Err(failure),
                    After::Broken(failure) => tracing::warn!("{failure}"),
                }
            }
        }
        // The sessions say goodbye; the caller's patience is limited.
        while tasks.join_next().await.is_some() {}
        Ok(())
    }

    /// Serve a connection from its handshake on. `over` is told when an admitted publisher's session has ended.
    async fn serve(self: Arc<Self>, pending: PendingSession, stop: watch::Receiver<bool>, over: mpsc::Sender<After>) {
        let mut task = self.state.task(pending);
        let mut role = WatchingRole {
            camera: self.state.offer.wish.camera,
            stream_budget: self.state.stream_budget,
            cameras: None,
            data: self.state.data.as_ref().map(WatchedSession::new),
            door: Some(&self.door),
        };
        let ended = task.run(&mut role, stop).await;
        task.note_failed_handshake(&ended);
        if task.dismissed {
            // Another publisher follows one that was removed, or whose place it has.
            task.say_goodbye(GOODBYE_PATIENCE).await;
        } else if task.established {
            let after = after(&task, ended);
            task.say_goodbye(GOODBYE_PATIENCE).await;
            // Sending fails if the viewer itself has ended.
            let _ = over.send(after).await;
        } else {
            // Nothing that somebody else does may end the viewer.
            if let Some(words) = ended.in_words() {
                let reason = turned_away(&ended, task.established);
                let words = format_args!("not the publisher: {words}");
                self.state.observation.metrics.turned_away(reason, &task.remote, &words);
            }
            task.say_goodbye(GOODBYE_PATIENCE).await;
        }
    }
}

impl Controlled for ListeningViewer {
    fn each(&self, _: Option<&str>, _: &mut dyn FnMut(&dyn Sealing) -> Result<(), String>) -> Result<usize, String> {
        Ok(0)
    }

    fn observation(&self) -> &Observation {
        &self.state.observation
    }

    fn admission(&self) -> &Admission {
        &self.door.admission
    }

    fn kind(&self) -> &'static str {
        "viewer"
    }

    fn cameras(&self) -> Vec<CameraStatus> {
        vec![CameraStatus {
            frames: self.state.observation.metrics.totals().frames_in,
            ..CameraStatus::default()
        }]
    }
}
