//! A viewer's session with its camera beside the relays that bring the frames: it enrols, and carries challenges and
//! what the camera says to them.

use std::sync::Arc;
use std::time::Instant;

use sealcast_proto::keys::PresharedKey;
use sealcast_proto::session::{Event, Input};
use sealcast_proto::unit::Assembled;
use sealcast_proto::wire::MediaFrom;

use super::frames::SharedKey;
use super::line::{SessionLine, Wish};
use crate::keys::seen_groups::SeenGroups;
use crate::run::group::GROUP_STREAM;
use crate::run::session::connection::{Ended, Listener};
use crate::run::session::role::Role;
use crate::run::session::task::SessionTask;
use crate::transport::AnyTransport;

/// Takes the frames that a camera sends before it knows that they come through a relay, and leaves them. An enrolment
/// makes what was seen of the camera's group void.
pub(in crate::run) struct Unwatched(pub(in crate::run) Arc<SeenGroups>);

impl Listener for Unwatched {
    fn media(&mut self, _: Assembled, _: Instant) -> bool {
        false
    }

    fn enrolled(&mut self) {
        self.0.clear();
    }
}

/// The task of such a session.
type Task = SessionTask<AnyTransport, Unwatched>;

/// The viewer's end of such a session.
pub(in crate::run) struct AttendingRole<'a, K> {
    line: &'a mut SessionLine,
    /// The secret that this viewer and the camera keep, once there is one.
    kept_secret: K,
    /// There was one when the session was established.
    enrolled: bool,
}

impl<'a, K> AttendingRole<'a, K> {
    /// The end of a session that begins.
    pub(in crate::run) fn new(line: &'a mut SessionLine, kept_secret: K) -> Self {
        Self {
            line,
            kept_secret,
            enrolled: false,
        }
    }

    /// Which key opens its sheets.
    fn media(&self) -> MediaFrom {
        match self.enrolled {
            true => MediaFrom::RelayEnrolled,
            false => MediaFrom::Relay,
        }
    }
}

impl<K: Fn() -> Option<PresharedKey> + Send> Role<AnyTransport> for AttendingRole<'_, K> {
    type Listener = Unwatched;
    type Woken = Wish;

    const PUBLISHES: bool = false;
    const PEER: &'static str = "publisher";
    const STOPPING: &'static str = "the viewer stops";

    fn established_words(&self) -> &'static str {
        "the camera answers challenges"
    }

    fn established(&mut self, task: &mut Task) -> Result<(), Ended> {
        let session = &task.connection.session;
        let secret = (self.kept_secret)();
        self.enrolled = secret.is_some();
        let key = match (secret, task.peer) {
            (Some(secret), Some(camera)) => Some(SharedKey::of_enrolment(camera.id, &secret)),
            _ => session
                .member_key(GROUP_STREAM)
                .map(|key| SharedKey { key, enrolment: None }),
        };
        if let Some(key) = key {
            self.line.keyed(key);
        }
        Ok(())
    }

    fn event(&mut self, task: &mut Task, event: Event) -> Result<(), Ended> {
        match event {
            Event::GroupSaid(message) => {
                // The first thing that the camera says is its offer.
                if !task.connection.session.attends_group() {
                    task.handle(Input::JoinGroup(self.media()))?;
                }
                self.line.said(message);
            }
            Event::Clock(estimate) => self.line.clock(estimate),
            Event::Oriented(orientation) => self.line.oriented(orientation),
            Event::CameraTold { on, since, why } => self.line.camera(on, since, why),
            _ => {}
        }
        Ok(())
    }

    fn send(&mut self, task: &mut Task) -> Result<(), Ended> {
        self.line.note_round_trip(task.connection.session.shortest_round_trip());
        Ok(())
    }

    async fn wait(&mut self) -> Wish {
        self.line.wish().await
    }

    fn woken(&mut self, task: &mut Task, wish: Wish) -> Result<bool, Ended> {
        // One that was made for the session before this is late, and the next one follows.
        if task.connection.session.attends_group() {
            task.handle(match wish {
                Wish::Challenge(random) => Input::Challenge(random),
                Wish::Sheet => Input::JoinGroup(self.media()),
            })?;
        }
        Ok(false)
    }
}
