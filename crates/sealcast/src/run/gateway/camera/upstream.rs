//! One camera. It is connected while there are requests for it or subscribers to it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use sealcast_proto::rtsp::{CameraError, CameraEvent, CarriedStatus, Channel, Parameters, Track, Verb, same_media};
use tokio::sync::{mpsc, watch};

use super::super::request_mux::{Action, Request, RequestMux};
use super::connect::connect;
use super::passed_reports::PassedReports;
use super::standing::CameraStanding;
use crate::failure::{Failure, Result};
use crate::rtsp::{CameraLink, LinkError, LinkEvent, Place, RtspConnection, RtspOptions, after_others};
use crate::run::media::away::{Away as SourceAway, AwayCause};
use crate::run::session::observe::Observation;
use crate::run::session::retry::turned_on;
use crate::run::session::task_timer::TaskTimer;

/// After the last packet, players wait at most this long for a camera to come back.
pub(super) const RETURN_PATIENCE: Duration = Duration::from_secs(30);
/// Time to keep an unused connection open: players often ask for the description and start to play a moment later.
const IDLE_PATIENCE: Duration = Duration::from_secs(10);
/// A camera with subscribers that sends nothing for this long is gone. Detection takes up to twice as long.
const SILENCE_PATIENCE: Duration = Duration::from_secs(10);
/// Time limit for the camera's answer to the last TEARDOWN.
const TEARDOWN_PATIENCE: Duration = Duration::from_secs(1);

/// Reason for the end of a connection to a camera.
enum End {
    /// No requests and no subscribers are left.
    Unneeded,
    /// The gateway is stopping.
    Stopping,
    Link(LinkError),
    Silent,
    /// The camera came back with a different description.
    Changed,
    /// The camera came back and refused to resume playing.
    Refused(CarriedStatus),
}

impl End {
    /// The status for the subscribers and the text for the log.
    fn describe(&self) -> (CarriedStatus, String) {
        match self {
            Self::Unneeded | Self::Stopping => (CarriedStatus::OK, "nobody needs the camera any more".to_owned()),
            Self::Link(error) => (
                match error {
                    LinkError::Client(CameraError::Silent) | LinkError::Deaf => CarriedStatus::TIMEOUT,
                    LinkError::Client(CameraError::Status(code)) => CarriedStatus::of_camera(*code),
                    LinkError::Client(_) | LinkError::Broken(_) | LinkError::Closed => CarriedStatus::BAD_GATEWAY,
                },
                error.to_string(),
            ),
            Self::Silent => (
                CarriedStatus::TIMEOUT,
                format!("the camera sent nothing for {} s", SILENCE_PATIENCE.as_secs()),
            ),
            Self::Changed => (
                CarriedStatus::BAD_GATEWAY,
                "the camera came back with another description".to_owned(),
            ),
            Self::Refused(status) => (
                *status,
                format!("the camera came back and answered PLAY with {}", status.code()),
            ),
        }
    }

    /// True if the camera may come back unchanged.
    fn may_return(&self) -> bool {
        match self {
            Self::Silent | Self::Refused(_) => true,
            Self::Link(LinkError::Client(error)) => matches!(
                error,
                CameraError::Silent | CameraError::SessionLost | CameraError::Status(_)
            ),
            Self::Link(LinkError::Broken(_) | LinkError::Closed | LinkError::Deaf) => true,
            Self::Unneeded | Self::Stopping | Self::Changed => false,
        }
    }
}

impl From<LinkError> for End {
    fn from(error: LinkError) -> Self {
        Self::Link(error)
    }
}

/// A camera that went away while it had subscribers.
struct Away {
    /// Its description before it went away.
    sdp: Vec<u8>,
    /// Time at which to give it up.
    until: Instant,
}

/// State that goes on at the place that a camera referred to.
#[derive(Default)]
struct Referred {
    /// True if a request for the description waits for the camera there.
    describing: bool,
    /// The description before the camera went away, if it did and was not back before it referred to this place.
    before: Option<Vec<u8>>,
}

/// Serve the requests for one camera until `stop` turns true.
pub(super) async fn keep(
    target: Arc<RtspOptions>,
    (mut requests, mut stop): (mpsc::Receiver<Request>, watch::Receiver<bool>),
    standing: Arc<CameraStanding>,
    observation: Arc<Observation>,
) {
    let mut mux = RequestMux::default();
    let mut away: Option<Away> = None;
    let home = Place::of(&target);
    let mut next = (home.clone(), Referred::default());
    loop {
        while mux.is_idle() {
            away = None;
            next = (home.clone(), Referred::default());
            let request = tokio::select! {
                request = requests.recv() => request,
                _ = turned_on(&mut stop) => return,
            };
            match request {
                Some(Request::Question(ask)) => mux.ask(ask),
                // These concern an earlier connection, of which nothing is left.
                Some(Request::Rtcp(..) | Request::Leave(_)) => {}
                None => return,
            }
        }
        let reached = tokio::select! {
            reached = connect(&target, &next.0, away.as_ref().map(|away| away.until)) => reached,
            needed = attend(&mut requests, &mut mux) => if needed { return } else { continue },
            _ = turned_on(&mut stop) => return,
        };
        let (place, referred) = std::mem::replace(&mut next, (home.clone(), Referred::default()));
        let ended = match reached {
            Ok(connection) => {
                let mut upstream = match Upstream::new(&target, connection, &mut mux, &observation) {
                    Ok(upstream) => upstream,
                    Err(failure) => {
                        tracing::warn!("{failure}");
                        return;
                    }
                };
                standing.set(None);
                upstream.describing = referred.describing;
                upstream.before = referred.before.or(away.take().map(|away: Away| away.sdp));
                let ended = upstream.run(&mut requests, &mut stop).await;
                if let End::Link(error) = &ended
                    && let Some(to) = Place::referred(error)
                {
                    tracing::info!(camera = place.url.as_str(), "{error}");
                    next = (to, upstream.referred());
                    continue;
                }
                away = upstream.away(&ended);
                ended
            }
            Err(failure) => {
                tracing::warn!("{failure}");
                standing.set(Some(camera_away(&failure)));
                mux.end(CarriedStatus::of_camera(503));
                continue;
            }
        };
        if matches!(ended, End::Stopping) {
            return;
        }
        tell_end(&ended, target.url().as_str(), away.is_some(), &standing, &mut mux);
    }
}

/// Tell everybody who wants to know that a connection to a camera has ended; it is `awaited` if it may come back.
fn tell_end(ended: &End, camera: &str, awaited: bool, standing: &CameraStanding, mux: &mut RequestMux) {
    let (status, words) = ended.describe();
    if matches!(ended, End::Unneeded) {
        tracing::info!(camera, "{words}");
        return standing.unknown();
    }
    standing.set(Some(SourceAway::new(AwayCause::Failed, &words)));
    if awaited {
        tracing::warn!(camera, "{words}: waiting for it to come back");
        mux.away();
    } else {
        tracing::warn!(camera, "{words}");
        mux.end(status);
    }
}

/// Reason why a camera cannot be connected to.
fn camera_away(failure: &Failure) -> SourceAway {
    SourceAway::after(failure).unwrap_or_else(|| SourceAway::new(AwayCause::Failed, &failure.what))
}

/// Take requests while there is no connection; they wait for it. Returns false once nothing needs the connection any
/// more, or true when the gateway stops.
async fn attend(requests: &mut mpsc::Receiver<Request>, mux: &mut RequestMux) -> bool {
    while !mux.is_idle() {
        match requests.recv().await {
            Some(Request::Question(ask)) => mux.ask(ask),
            Some(Request::Leave(subscriber)) => mux.leave(subscriber),
            Some(Request::Rtcp(..)) => {}
            None => return true,
        }
        mux.away();
    }
    false
}

struct Upstream<'a> {
    mux: &'a mut RequestMux,
    observation: &'a Arc<Observation>,
    link: CameraLink,
    reports: PassedReports,
    description: Option<Vec<u8>>,
    /// The earlier description, if the camera went away while it had subscribers.
    before: Option<Vec<u8>>,
    /// True while a PLAY to resume after a reconnect is pending.
    going_on: bool,
    /// True while waiting for the description.
    describing: bool,
    /// Time since which the connection has been unused.
    idle_since: Option<Instant>,
    /// Time of the last silence check. `heard` is true if data has arrived since.
    looked: Instant,
    heard: Arc<AtomicBool>,
    /// True if packets have come over UDP since the link was told of some.
    received: Arc<AtomicBool>,
    torn_down: bool,
    stopping: Option<Instant>,
    timer: TaskTimer,
}

impl<'a> Upstream<'a> {
    fn new(
        target: &RtspOptions,
        connection: RtspConnection,
        mux: &'a mut RequestMux,
        observation: &'a Arc<Observation>,
    ) -> Result<Self> {
        let now = observation.clock.now().monotonic;
        let link = CameraLink::new(connection, target, now)?;
        tracing::info!(camera = target.url().as_str(), "connected to the camera");
        Ok(Self {
            mux,
            observation,
            link,
            reports: PassedReports::default(),
            description: None,
            before: None,
            going_on: false,
            describing: false,
            idle_since: None,
            looked: Instant::now(),
            heard: Arc::default(),
            received: Arc::default(),
            torn_down: false,
            stopping: None,
            timer: TaskTimer::default(),
        })
    }

    async fn run(&mut self, requests: &mut mpsc::Receiver<Request>, stop: &mut watch::Receiver<bool>) -> End {
        match self.serve(requests, stop).await {
            Ok(never) => match never {},
            Err(end) => end,
        }
    }

    async fn serve(
        &mut self,
        requests: &mut mpsc::Receiver<Request>,
        stop: &mut watch::Receiver<bool>,
    ) -> Result<std::convert::Infallible, End> {
        self.link.timeout(self.now())?;
        let mut came = false;
        loop {
            let deadline = self.observation.clock.instant(self.work()?);
            if std::mem::take(&mut came) {
                after_others().await;
                self.mux.subscribers.settle();
            }
            let patience = self.patience();
            let due = deadline.map_or(patience, |deadline| deadline.min(patience));
            tokio::select! {
                biased;
                said = self.link.wait() => if said? {
                    self.heard.store(true, Ordering::Relaxed);
                    came = true;
                    self.link.take(self.now())?;
                },
                // There is a sender as long as the camera's task runs.
                Some(request) = requests.recv() => self.take_request(request),
                _ = turned_on(stop), if self.stopping.is_none() => self.stopping = Some(Instant::now()),
                () = self.timer.until(Some(due)) => {
                    if deadline.is_some_and(|deadline| deadline <= due) {
                        if self.received.swap(false, Ordering::Relaxed) {
                            self.link.heard(self.now());
                        }
                        self.link.timeout(self.now())?;
                    }
                    if patience <= due {
                        self.look()?;
                    }
                }
            }
        }
    }

    fn now(&self) -> Duration {
        self.observation.clock.now().monotonic
    }

    /// Do all pending work. Returns the next deadline of the RTSP client.
    fn work(&mut self) -> Result<Duration, End> {
        loop {
            let deadline = self.drain()?;
            if !self.next_action()? {
                let flushed = self.link.flush();
                if self.torn_down {
                    return Err(if self.stopping.is_some() {
                        End::Stopping
                    } else {
                        End::Unneeded
                    });
                }
                flushed?;
                return Ok(deadline);
            }
        }
    }

    fn drain(&mut self) -> Result<Duration, End> {
        let arrived = Instant::now();
        loop {
            match self.link.next() {
                LinkEvent::Packet(channel, bytes) => {
                    let (subscribers, metrics) = (&self.mux.subscribers, &self.observation.metrics);
                    subscribers.deliver(channel, &bytes, bytes.len(), arrived, metrics);
                }
                LinkEvent::Event(event) => self.take_event(event)?,
                LinkEvent::Nothing(deadline) => return Ok(deadline),
            }
        }
    }

    fn take_event(&mut self, event: CameraEvent) -> Result<(), End> {
        match event {
            CameraEvent::Described(sdp) => self.description = Some(sdp),
            CameraEvent::OpenPorts { track } => self.open_ports(track)?,
            CameraEvent::Refused { track, status } => {
                tracing::warn!("the camera refuses track {} ({})", track.index(), status.code());
            }
            CameraEvent::Answered { status, with, .. } => {
                self.mux.come_in_order(self.link.in_order());
                let told = self.mux.answered(status, with);
                if std::mem::take(&mut self.going_on) && !status.is_ok() {
                    return Err(End::Refused(status));
                }
                self.torn_down = told == Some(Verb::Teardown);
            }
        }
        Ok(())
    }

    fn open_ports(&mut self, track: Track) -> Result<(), End> {
        let subscribers = Arc::clone(&self.mux.subscribers);
        let (heard, received) = (Arc::clone(&self.heard), Arc::clone(&self.received));
        let (metrics, delivered) = (self.observation.metrics.clone(), Arc::clone(&subscribers));
        let take = move |channel, bytes: Bytes, arrived| {
            heard.store(true, Ordering::Relaxed);
            received.store(true, Ordering::Relaxed);
            subscribers.deliver(channel, &bytes, bytes.len(), arrived, &metrics);
        };
        let now = self.now();
        Ok(self.link.open_ports(now, track, take, move || delivered.settle())?)
    }

    /// Send the camera its next request, if there is one and the camera is ready for it.
    fn next_action(&mut self) -> Result<bool, End> {
        if let Some(before) = &self.before {
            let Some(sdp) = &self.description else { return Ok(false) };
            if !same_media(before, sdp) {
                return Err(End::Changed);
            }
            self.before = None;
            if let Some(action) = self.mux.go_on() {
                tracing::info!("the camera is on again: who watched goes on");
                self.going_on = true;
                return self.give(action);
            }
        }
        if self.describing {
            let Some(sdp) = self.description.clone() else {
                return Ok(false);
            };
            self.describing = false;
            self.mux.answered(CarriedStatus::OK, Parameters::of_body(sdp));
        }
        match self.mux.next_action() {
            None => Ok(false),
            Some(action) => self.give(action),
        }
    }

    fn give(&mut self, action: Action) -> Result<bool, End> {
        match action {
            Action::Describe => self.describing = true,
            Action::Command(verb, with) => self.link.command(self.now(), 0, verb, &with)?,
        }
        Ok(true)
    }

    /// State that goes on where the camera refers to: a request for its description waits for it, others have failed.
    fn referred(&mut self) -> Referred {
        if !self.describing {
            self.mux.answered(CarriedStatus::BAD_GATEWAY, Parameters::default());
        }
        let resumes = self.description.take().filter(|_| self.going_on);
        Referred {
            describing: self.describing,
            before: self.before.take().or(resumes),
        }
    }

    /// The state to wait with, if the subscribers may wait for the camera after this end.
    fn away(&mut self, ended: &End) -> Option<Away> {
        let sdp = self.before.take().or_else(|| self.description.take())?;
        let until = self.mux.subscribers.delivered()? + RETURN_PATIENCE;
        let waits = ended.may_return() && !self.mux.subscribers.receives().is_empty();
        waits.then_some(Away { sdp, until })
    }

    fn take_request(&mut self, request: Request) {
        match request {
            Request::Question(ask) => self.mux.ask(ask),
            Request::Leave(subscriber) => self.mux.leave(subscriber),
            Request::Rtcp(channel, packet) => self.send_rtcp(channel, &packet),
        }
    }

    /// Send the camera what a player may tell it.
    fn send_rtcp(&mut self, channel: Channel, compound: &[u8]) {
        if self.link.takes_rtcp(channel)
            && let Some(passed) = self.reports.pass(compound, &self.observation.metrics)
        {
            self.link.send_rtcp(channel, &passed);
        }
    }

    /// Time of the next check that the connection is still needed and the camera still sends.
    fn patience(&mut self) -> Instant {
        let idle = self.mux.is_idle();
        self.idle_since = idle.then(|| self.idle_since.unwrap_or_else(Instant::now));
        let idle_until = self.idle_since.map(|since| since + IDLE_PATIENCE);
        let stop = self
            .stopping
            .map(|since| since + if idle { Duration::ZERO } else { TEARDOWN_PATIENCE });
        let silent = self.looked + SILENCE_PATIENCE;
        [idle_until, stop, Some(silent)]
            .into_iter()
            .flatten()
            .min()
            .unwrap_or(silent)
    }

    fn look(&mut self) -> Result<(), End> {
        if self.stopping.is_some() {
            return Err(End::Stopping);
        }
        if self.idle_since.is_some_and(|since| since.elapsed() >= IDLE_PATIENCE) {
            return Err(End::Unneeded);
        }
        if self.looked.elapsed() >= SILENCE_PATIENCE {
            self.looked = Instant::now();
            let heard = self.heard.swap(false, Ordering::Relaxed);
            if !heard && !self.mux.subscribers.receives().is_empty() {
                return Err(End::Silent);
            }
        }
        Ok(())
    }
}
