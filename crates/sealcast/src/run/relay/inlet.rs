//! A viewer that hears its camera through relays.

use std::sync::Arc;
use std::time::Duration;

use sealcast_proto::keys::{PeerId, PresharedKey};
use sealcast_proto::sign::SignMode;
use tokio::sync::{oneshot, watch};

use super::client::{ClientRole, RelayClient};
use super::frames::{RelayedFrames, SharedKey};
use super::line::{InletLine, News, Wish};
use super::message::{LinkState, RelayEvent, Track};
use super::sessions::RelayedSessions;
use super::url::RelayUrl;
use crate::failure::{Failure, FailureKind, Result};
use crate::keys::entropy;
use crate::run::session::connection::Listener as _;
use crate::run::session::observe::Observation;
use crate::run::session::retry::{Retry, turned_on};
use crate::run::watch::recorder::Recorder;
use crate::run::watch::state::{After, ViewerState};
use crate::transport::RelayedStream;

/// Time without a new frame after which a viewer with several relays takes the next one.
const SILENCE: Duration = Duration::from_secs(2);

/// Knowledge of a viewer about its camera.
pub(in crate::run) struct RelayedCamera {
    pub(in crate::run) camera: PeerId,
    /// Secret that the viewer and the camera keep, if it is enrolled.
    pub(in crate::run) secret: Option<PresharedKey>,
    pub(in crate::run) relays: Vec<RelayUrl>,
    /// Least mode of signing.
    pub(in crate::run) least: SignMode,
    /// Keeps what comes, at an archive's node, which opens nothing.
    pub(in crate::run) recorder: Option<Recorder>,
}

/// Reason why a relay is left.
enum Left {
    /// The user stopped the viewer.
    Stopped,
    /// There is no way to the relay, or its client has ended.
    Broken,
    /// It has had nothing new for a while.
    Silent,
    /// The camera's broadcast is gone from it.
    Offline,
}

/// The state of a viewer over all its relays.
struct Inlet {
    frames: RelayedFrames,
    line: InletLine,
    observation: Arc<Observation>,
    /// The session takes challenges.
    attends: bool,
    /// The session broke, and there is no new one yet.
    broken: bool,
    /// The camera said that the stream is over.
    over: bool,
    /// The number of the next session. Each relay client gets numbers of its own.
    next_session: u32,
}

/// A relay that is being heard.
struct Hearing<'a> {
    relay: &'a RelayUrl,
    /// There is no other one.
    alone: bool,
    client: RelayClient,
    sessions: RelayedSessions,
    /// A session that the camera does not have yet.
    opening: Option<(u32, oneshot::Sender<RelayedStream>)>,
    /// The relay client has a connection.
    connected: bool,
    /// The next frame begins a group of pictures.
    begins: bool,
    /// The next packet of sound begins a group of objects.
    sound_begins: bool,
}

/// Watches through one relay after the other until the user stops, or the stream is over and `reconnect` is off.
pub(in crate::run) async fn watch_relays(
    state: &Arc<ViewerState>,
    camera: &RelayedCamera,
    line: InletLine,
    reconnect: bool,
    mut stop: watch::Receiver<bool>,
) -> Result<After> {
    let mut inlet = Inlet::new(state, camera, line);
    let mut retry = Retry::default();
    for relay in camera.relays.iter().cycle() {
        let mut hearing = Hearing {
            relay,
            alone: camera.relays.len() == 1,
            client: RelayClient::start(relay, ClientRole::Watch).await?,
            sessions: RelayedSessions::new(),
            opening: None,
            connected: false,
            begins: true,
            sound_begins: true,
        };
        tracing::info!(%relay, camera = %camera.camera.short(), "watching through a relay");
        let frames = inlet.frames.released();
        let left = tokio::select! {
            left = inlet.hear(&mut hearing) => left?,
            _ = turned_on(&mut stop) => Left::Stopped,
        };
        let why = match left {
            Left::Stopped => return Ok(After::Done),
            Left::Broken | Left::Silent | Left::Offline if inlet.over => return Ok(After::Done),
            Left::Broken => "there is no way to it",
            Left::Silent => "nothing new comes from it",
            Left::Offline => "the camera is not there",
        };
        if !reconnect {
            let what = format!("{relay}: {why}");
            let hint = "the camera may have stopped or be restarting";
            return Ok(After::Broken(Failure::new(FailureKind::Network, what, hint)));
        }
        tracing::warn!(%relay, "left: {why}");
        match inlet.frames.released() > frames {
            // The next one is tried at once.
            true => retry = Retry::default(),
            false => tokio::select! {
                () = retry.wait() => {}
                _ = turned_on(&mut stop) => return Ok(After::Done),
            },
        }
    }
    let hint = "name a relay";
    let what = "there is no relay to watch through";
    Err(Failure::new(FailureKind::Usage, what, hint))
}

impl Inlet {
    fn new(state: &Arc<ViewerState>, camera: &RelayedCamera, line: InletLine) -> Self {
        let mut frames = RelayedFrames::new(state, camera.camera, camera.least);
        if camera.recorder.is_none() {
            // Whatever comes may be of any age.
            state.observation.metrics.picture_age(f64::INFINITY);
        }
        if state.without_session {
            tracing::warn!("pictures are shown although the camera itself may never be heard: they may be old");
        }
        if let Some(recorder) = &camera.recorder {
            frames.record(recorder.clone());
        } else if let Some(secret) = &camera.secret {
            frames.use_key(SharedKey::of_enrolment(camera.camera, secret));
        }
        Self {
            frames,
            line,
            observation: Arc::clone(&state.observation),
            attends: false,
            broken: false,
            over: false,
            next_session: 1,
        }
    }

    /// Hears one relay until it is of no use any more.
    async fn hear(&mut self, hearing: &mut Hearing<'_>) -> Result<Left> {
        let (mut frames, mut since) = (self.frames.released(), tokio::time::Instant::now());
        loop {
            let due = self.due();
            // Whoever has no key yet cannot tell whether a relay is silent. An only relay is not left for its silence
            // alone, since the camera may be silent.
            let silent_is_dead = !hearing.alone || (self.broken && hearing.connected);
            let judges = self.frames.has_key() && silent_is_dead;
            tokio::select! {
                event = hearing.client.event() => {
                    let Some(event) = event else { return Ok(Left::Broken) };
                    if let Some(left) = self.heard(event, hearing) {
                        return Ok(left);
                    }
                }
                news = self.line.news(hearing.connected) => {
                    if self.session_told(hearing, news).await.is_err() {
                        return Ok(Left::Broken);
                    }
                }
                said = hearing.sessions.said() => {
                    if hearing.client.session(&said).await.is_err() {
                        return Ok(Left::Broken);
                    }
                }
                () = due => {}
                () = tokio::time::sleep_until(since + SILENCE), if judges => {}
            }
            self.frames.open();
            self.tell_camera()?;
            self.frames.note_no_slot();
            if self.frames.released() > frames || !judges {
                (frames, since) = (self.frames.released(), tokio::time::Instant::now());
            } else if since.elapsed() >= SILENCE {
                return Ok(Left::Silent);
            }
        }
    }

    /// Waits until a frame has waited for its key for too long, the picture may be too old, or a challenge is
    /// due. Cancel-safe.
    fn due(&self) -> impl Future<Output = ()> + use<> {
        let deadline = self.frames.deadline(self.attends && self.line.takes_wish());
        let instant = deadline.and_then(|deadline| self.observation.clock.instant(deadline));
        async move {
            match instant {
                Some(instant) => tokio::time::sleep_until(instant.into()).await,
                None => std::future::pending().await,
            }
        }
    }

    /// Tells the camera what is due: a challenge, or that a sheet is missing.
    fn tell_camera(&mut self) -> Result<()> {
        if !self.attends || !self.line.takes_wish() {
            return Ok(());
        }
        let round_trip = self.line.round_trip();
        if let Some(challenge) = self.frames.challenge(entropy::random()?, round_trip) {
            self.line.wish(Wish::Challenge(challenge.0));
        } else if self.frames.asks() {
            self.line.wish(Wish::Sheet);
        }
        Ok(())
    }

    async fn session_told(&mut self, hearing: &mut Hearing<'_>, news: News) -> std::io::Result<()> {
        match news {
            News::Keyed(shared) => self.frames.use_key(shared),
            News::Said(message) => {
                (self.attends, self.broken) = (true, false);
                self.frames.told(&message);
            }
            News::Clock(estimate) => self.frames.receiver().clock(estimate),
            News::Oriented(orientation) => self.frames.receiver().orient(orientation),
            News::Camera { on, since, why } => self.frames.receiver().camera_told(on, since, &why),
            News::Closed => (self.attends, self.broken) = (false, self.broken || self.attends),
            News::StreamOver => self.over = true,
            News::Asks(give) => {
                let session = self.next_session;
                self.next_session += 1;
                // What was asked for before that is given up.
                hearing.opening = Some((session, give));
                hearing.client.open_session(session).await?;
            }
        }
        Ok(())
    }

    fn heard(&mut self, event: RelayEvent, hearing: &mut Hearing<'_>) -> Option<Left> {
        let relay = hearing.relay;
        match event {
            RelayEvent::State(LinkState::Connected, _) => {
                hearing.connected = true;
                tracing::info!(%relay, "connected to the relay");
            }
            RelayEvent::State(LinkState::Online, _) => tracing::info!(%relay, "the relay has the camera"),
            RelayEvent::State(LinkState::Disconnected, words) => {
                tracing::warn!(%relay, "no connection to the relay: {words}");
                // A relay client that connects again would leave out what was added to the keys in the meantime.
                let connected = std::mem::take(&mut hearing.connected);
                return (connected || !hearing.alone).then_some(Left::Broken);
            }
            RelayEvent::State(LinkState::Offline, _) => return Some(Left::Offline),
            RelayEvent::Object(Track::Video, frame) => {
                let begins = std::mem::take(&mut hearing.begins);
                self.frames.frame(begins, frame);
            }
            RelayEvent::Object(Track::Sound, packet) => {
                let begins = std::mem::take(&mut hearing.sound_begins);
                self.frames.sound(begins, packet);
            }
            RelayEvent::Object(Track::Keys, object) => self.frames.key(object),
            RelayEvent::Object(Track::Proofs, object) => self.frames.proof(&object),
            RelayEvent::Group(Track::Video) => hearing.begins = true,
            RelayEvent::Group(Track::Sound) => hearing.sound_begins = true,
            RelayEvent::Group(Track::Keys) => self.frames.keys_begin(),
            RelayEvent::Group(Track::Proofs) => {}
            RelayEvent::SessionOpened(session) => hearing.session_opened(session),
            RelayEvent::SessionData(session, bytes) => hearing.sessions.came(session, bytes),
            RelayEvent::SessionClosed(session, words) => hearing.session_closed(session, &words),
        }
        None
    }
}

impl Hearing<'_> {
    fn session_opened(&mut self, session: u32) {
        let Some((_, give)) = self.opening.take_if(|(opening, _)| *opening == session) else {
            return;
        };
        if let Some(stream) = self.sessions.begin(session) {
            let relay = self.relay.to_string().into();
            // If nobody waits for it any more, it ends with its stream.
            let _ = give.send(RelayedStream { stream, relay });
        }
    }

    fn session_closed(&mut self, session: u32, words: &str) {
        if self.opening.take_if(|(opening, _)| *opening == session).is_some() {
            tracing::warn!(relay = %self.relay, "no session with the camera: {words}");
        }
        self.sessions.end(session);
    }
}
