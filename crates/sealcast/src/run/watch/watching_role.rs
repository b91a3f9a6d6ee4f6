//! The viewer's end of a session.

use std::sync::Arc;
use std::time::{Duration, Instant};

use sealcast_proto::keys::Peer;
use sealcast_proto::session::{Event, Input};
use sealcast_proto::wire::{CameraName, CloseReason};
use tokio::sync::watch;

use super::received::Receiver;
use super::state::Task;
use crate::run::data::WatchedSession;
use crate::run::media::VIDEO;
use crate::run::session::admission::Admission;
use crate::run::session::admitted_places::AdmittedPlaces;
use crate::run::session::connection::Ended;
use crate::run::session::role::Role;
use crate::transport::AnyTransport;

/// The door of a viewer that listens, which decides on publishers.
pub(crate) struct Door {
    pub(crate) admission: Arc<Admission>,
    /// The single place for a publisher.
    pub(crate) places: Arc<AdmittedPlaces>,
}

/// The viewer's end of a session. A viewer that listens has a door, which decides on publishers.
pub(crate) struct WatchingRole<'a> {
    pub(crate) door: Option<&'a Door>,
    /// Time for which media may wait for a byte stream, if the user says so.
    pub(crate) stream_budget: Option<Duration>,
    /// The camera that this end wished for.
    pub(crate) camera: CameraName,
    /// Channel for the cameras that the publisher names, instead of the log.
    pub(crate) cameras: Option<&'a watch::Sender<Vec<CameraName>>>,
    /// Data channels beside the picture.
    pub(crate) data: Option<WatchedSession>,
}

/// Say which of several cameras is watched. The first is that of who wished for none.
fn tell_cameras(names: &[CameraName], wished: CameraName) {
    let Some((first, others)) = names.split_first().filter(|_| wished == CameraName::NONE) else {
        return;
    };
    let others: Vec<&str> = others.iter().map(CameraName::as_str).collect();
    tracing::info!(
        camera = first.as_str(),
        others = others.join(", "),
        "watching one of several cameras: --camera NAME chooses another"
    );
}

impl Role<AnyTransport> for WatchingRole<'_> {
    type Listener = Receiver;
    /// A datagram for the channel at this place.
    type Woken = (u8, Vec<u8>);

    const PUBLISHES: bool = false;
    const PEER: &'static str = "publisher";
    const STOPPING: &'static str = "the viewer stops";

    fn established_words(&self) -> &'static str {
        "watching"
    }

    fn admit(&mut self, task: &mut Task, peer: &Peer) -> Input<'static> {
        match self.door {
            Some(door) => task.admit_by(
                &door.admission,
                (<Self as Role<AnyTransport>>::PEER, peer),
                &door.places,
                None,
            ),
            None => Input::Close(CloseReason::NotAuthorised, "this viewer lets nobody in"),
        }
    }

    fn established(&mut self, task: &mut Task) -> Result<(), Ended> {
        if let Some(door) = self.door {
            task.attend(&door.admission, "");
        }
        let on_stream = task.connection.session.assembles_stream() && task.connection.carries_media();
        if let Some(budget) = self.stream_budget.filter(|_| on_stream) {
            task.handle(Input::StateBudget(budget))?;
        }
        match &self.data {
            Some(data) => task.handle(Input::Data(data.wishes())),
            None => Ok(()),
        }
    }

    fn event(&mut self, task: &mut Task, event: Event) -> Result<(), Ended> {
        match event {
            Event::GroupSaid(message) => task.listener.keep_proof(&message),
            Event::DataTold(channels) => self.data.iter_mut().for_each(|data| data.told(channels.clone())),
            Event::DataUnanswered => self.data.iter().for_each(WatchedSession::unanswered),
            Event::Datagram(datagram) => self.data.iter().for_each(|data| data.came(&datagram)),
            Event::Oriented(orientation) => task.listener.orient(orientation),
            Event::CameraTold { on, since, why } => task.listener.camera_told(on, since, &why),
            Event::CamerasTold(names) => match self.cameras {
                Some(told) => drop(told.send_replace(names)),
                None if task.lists.count(Instant::now()).is_some() => tell_cameras(&names, self.camera),
                None => {}
            },
            _ => {}
        }
        Ok(())
    }

    fn send(&mut self, task: &mut Task) -> Result<(), Ended> {
        task.listener.count(task.connection.session.inbound_counts());
        if let Some(data) = &mut self.data {
            data.look(&mut task.connection, &task.observation.metrics);
        }
        let now = task.observation.clock.now().monotonic;
        let session = &task.connection.session;
        task.listener.note_age(session.picture_age(now), session.proofs(now));
        task.listener.note_seen(session.seen());
        if task.established && task.listener.take_keyframe_request() {
            task.handle(Input::RequestKeyframe(VIDEO))?;
        }
        Ok(())
    }

    async fn wait(&mut self) -> (u8, Vec<u8>) {
        match &self.data {
            Some(data) => data.next().await,
            None => std::future::pending().await,
        }
    }

    fn woken(&mut self, task: &mut Task, (channel, datagram): (u8, Vec<u8>)) -> Result<bool, Ended> {
        if task.connection.session.data_counts().is_some() {
            task.handle(Input::Datagram(channel, &datagram))?;
        }
        Ok(false)
    }
}
