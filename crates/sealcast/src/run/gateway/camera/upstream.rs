//! One camera: connected to while somebody asks for it or watches it.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use sealcast_proto::rtsp::{
    CameraClient, CameraConfig, CameraError, CameraEvent, CameraInput, CameraOutput, CarriedStatus, Channel,
    Credentials, Lower, Parameters, Route, Track, Verb, put_data, same_media,
};
use tokio::sync::mpsc;

use super::super::after_others;
use super::super::request_mux::{Action, Request, RequestMux};
use super::super::rtp_ports::{RtpPorts, Senders};
use super::cameras::Target;
use super::connect::{RtspConnection, connect};
use crate::failure::Result;
use crate::keys::entropy;
use crate::run::Observation;
use crate::run::alarm::Alarm;
use crate::source::rtsp::Transport as Lowers;
use crate::transport::{ByteStream, Progress, StreamTransport, Transport};

/// How long players wait without a packet for a camera that is away to come back.
const RETURN_PATIENCE: Duration = Duration::from_secs(30);
/// How long a connection is kept that nobody needs: players ask, and play a moment later.
const IDLE_PATIENCE: Duration = Duration::from_secs(10);
/// A camera that is watched and sends nothing for so long is gone; it is noticed within twice that.
const SILENCE_PATIENCE: Duration = Duration::from_secs(10);
/// How long a camera may take to answer the last TEARDOWN.
const TEARDOWN_PATIENCE: Duration = Duration::from_secs(1);
/// Bytes that may wait for a camera that does not read. Beyond that, it is gone.
const MAX_UNSENT: usize = 256 * 1024;

/// Why a connection to a camera ended.
enum End {
    /// Nobody needs it.
    Unneeded,
    /// The gateway stops.
    Stopping,
    Machine(CameraError),
    Broken(io::Error),
    Closed,
    Silent,
    Deaf,
    /// It came back and is another.
    Changed,
    /// It came back and does not go on.
    Refused(CarriedStatus),
}

impl End {
    /// What those who watch are told, and the log.
    fn describe(&self) -> (CarriedStatus, String) {
        match self {
            Self::Unneeded | Self::Stopping => (CarriedStatus::OK, "nobody needs the camera any more".to_owned()),
            Self::Machine(error @ CameraError::Silent) => (CarriedStatus::TIMEOUT, error.to_string()),
            Self::Machine(error @ CameraError::Status(code)) => (CarriedStatus::of_camera(*code), error.to_string()),
            Self::Machine(error) => (CarriedStatus::BAD_GATEWAY, error.to_string()),
            Self::Broken(error) => (CarriedStatus::BAD_GATEWAY, format!("the connection broke: {error}")),
            Self::Closed => (
                CarriedStatus::BAD_GATEWAY,
                "the camera closed the connection".to_owned(),
            ),
            Self::Silent => (
                CarriedStatus::TIMEOUT,
                format!("the camera sent nothing for {} s", SILENCE_PATIENCE.as_secs()),
            ),
            Self::Deaf => (
                CarriedStatus::TIMEOUT,
                "the camera does not read what it is sent".to_owned(),
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

    /// Whether the camera may come back as it was.
    fn may_return(&self) -> bool {
        match self {
            Self::Broken(_) | Self::Closed | Self::Silent | Self::Deaf | Self::Refused(_) => true,
            Self::Machine(error) => matches!(
                error,
                CameraError::Silent | CameraError::SessionLost | CameraError::Status(_)
            ),
            Self::Unneeded | Self::Stopping | Self::Changed => false,
        }
    }
}

/// A camera that went while it was watched.
struct Away {
    /// Its description.
    sdp: Vec<u8>,
    /// When it is given up.
    until: Instant,
}

/// Look after one camera for as long as anybody can ask for it.
pub(super) async fn keep(target: Arc<Target>, mut requests: mpsc::Receiver<Request>, observation: Arc<Observation>) {
    let mut mux = RequestMux::default();
    let mut away: Option<Away> = None;
    loop {
        while mux.is_idle() {
            away = None;
            match requests.recv().await {
                Some(Request::Question(ask)) => mux.ask(ask),
                // Nothing is left of what they are about.
                Some(Request::Rtcp(..) | Request::Leave(_)) => {}
                None => return,
            }
        }
        let reached = tokio::select! {
            reached = connect(&target, away.as_ref().map(|away| away.until)) => reached,
            needed = attend(&mut requests, &mut mux) => if needed { return } else { continue },
        };
        let ended = match reached {
            Ok(connection) => {
                let mut upstream = match Upstream::new(&target, connection, &mut mux, &observation) {
                    Ok(upstream) => upstream,
                    Err(failure) => {
                        tracing::warn!("{failure}");
                        return;
                    }
                };
                upstream.before = away.take().map(|away: Away| away.sdp);
                let ended = upstream.run(&mut requests).await;
                away = upstream.away(&ended);
                ended
            }
            Err(failure) => {
                tracing::warn!("{failure}");
                mux.end(CarriedStatus::of_camera(503));
                continue;
            }
        };
        let (camera, (status, words)) = (target.url.as_str(), ended.describe());
        match ended {
            End::Stopping => return,
            End::Unneeded => tracing::info!(camera, "{words}"),
            _ if away.is_some() => {
                tracing::warn!(camera, "{words}: waiting for it to come back");
                mux.away();
            }
            _ => {
                tracing::warn!(camera, "{words}");
                mux.end(status);
            }
        }
    }
}

/// Take requests while there is no connection: questions wait for it. Ends when nobody needs it any more, with `false`,
/// or when the gateway stops.
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
    connection: StreamTransport<Box<dyn ByteStream>>,
    remote: IpAddr,
    local: IpAddr,
    client: CameraClient,
    ports: RtpPorts,
    description: Option<Vec<u8>>,
    /// The description of old, where the camera went while it was watched.
    before: Option<Vec<u8>>,
    /// It has been told to go on where it went.
    going_on: bool,
    /// The description is being waited for.
    describing: bool,
    /// When nobody began to need it.
    idle_since: Option<Instant>,
    /// When it was last looked whether anything came, and whether anything did since.
    looked: Instant,
    heard: Arc<AtomicBool>,
    torn_down: bool,
    stopping: Option<Instant>,
}

impl<'a> Upstream<'a> {
    fn new(
        target: &Target,
        connection: RtspConnection,
        mux: &'a mut RequestMux,
        observation: &'a Arc<Observation>,
    ) -> Result<Self> {
        let options = &target.options;
        let config = CameraConfig {
            url: target.url.clone(),
            credentials: options
                .login()
                .map(|(user, password)| Credentials::new(user, password.to_owned())),
            lower: match options.transport {
                Lowers::Auto | Lowers::Tcp => Lower::Interleaved,
                Lowers::Udp => Lower::Udp,
            },
            entropy: entropy::random()?,
        };
        tracing::info!(camera = target.url.as_str(), "connected to the camera");
        Ok(Self {
            mux,
            observation,
            connection: connection.stream,
            remote: connection.remote,
            local: connection.local,
            client: CameraClient::new(config, observation.clock.now().monotonic),
            ports: RtpPorts::default(),
            description: None,
            before: None,
            going_on: false,
            describing: false,
            idle_since: None,
            looked: Instant::now(),
            heard: Arc::default(),
            torn_down: false,
            stopping: None,
        })
    }

    async fn run(&mut self, requests: &mut mpsc::Receiver<Request>) -> End {
        match self.serve(requests).await {
            Ok(never) => match never {},
            Err(end) => end,
        }
    }

    async fn serve(&mut self, requests: &mut mpsc::Receiver<Request>) -> Result<std::convert::Infallible, End> {
        self.handle(CameraInput::Timeout)?;
        let mut came = false;
        let (mut due, mut looking) = (Alarm::default(), Alarm::default());
        loop {
            let deadline = self.observation.clock.instant(self.work()?);
            if std::mem::take(&mut came) {
                after_others().await;
            }
            let wake = self.patience();
            tokio::select! {
                biased;
                progress = self.connection.wait() => match progress.map_err(End::Broken)? {
                    Progress::Read => {
                        self.heard.store(true, Ordering::Relaxed);
                        came = true;
                        let now = self.observation.clock.now().monotonic;
                        let handled = self.client.handle(now, CameraInput::Bytes(self.connection.take_bytes()));
                        handled.map_err(End::Machine)?;
                        for (track, theirs) in self.client.ports() {
                            self.ports.expect(track, theirs.map_or(Senders::First, Senders::At));
                        }
                    }
                    Progress::Wrote => {}
                    Progress::Closed => return Err(End::Closed),
                },
                request = requests.recv(), if self.stopping.is_none() => match request {
                    Some(request) => self.take_request(request),
                    None => self.stopping = Some(Instant::now()),
                },
                () = due.rings(deadline) => self.handle(CameraInput::Timeout)?,
                () = looking.rings(Some(wake)) => self.look()?,
            }
        }
    }

    fn handle(&mut self, input: CameraInput<'_>) -> Result<(), End> {
        let now = self.observation.clock.now().monotonic;
        self.client.handle(now, input).map_err(End::Machine)
    }

    /// Do what can be done now; when the machine wants to be told the time.
    fn work(&mut self) -> Result<Duration, End> {
        loop {
            let deadline = self.drain()?;
            if !self.next_action()? {
                self.connection.flush_now().map_err(End::Broken)?;
                if self.torn_down {
                    return Err(if self.stopping.is_some() {
                        End::Stopping
                    } else {
                        End::Unneeded
                    });
                }
                if self.connection.backlog() > MAX_UNSENT {
                    return Err(End::Deaf);
                }
                return Ok(deadline);
            }
        }
    }

    fn drain(&mut self) -> Result<Duration, End> {
        let arrived = Instant::now();
        loop {
            match self.client.poll() {
                CameraOutput::Transmit(bytes) => self.connection.outgoing().extend_from_slice(&bytes),
                CameraOutput::Packet(channel, bytes) => {
                    let (subscribers, metrics) = (&self.mux.subscribers, &self.observation.metrics);
                    subscribers.deliver(channel, &Bytes::from(bytes), arrived, metrics);
                }
                CameraOutput::Event(event) => self.take_event(event)?,
                CameraOutput::Timeout(deadline) => return Ok(deadline),
            }
        }
    }

    fn take_event(&mut self, event: CameraEvent) -> Result<(), End> {
        match event {
            CameraEvent::Described(sdp) => self.description = Some(sdp),
            CameraEvent::OpenPorts { track } => {
                let ports = self.open_ports(track);
                let ports = ports.inspect_err(|error| tracing::warn!("no UDP ports for a camera ({error})"));
                self.handle(CameraInput::Ports(ports.ok()))?;
            }
            CameraEvent::Answered { status, with, .. } => {
                let told = self.mux.answered(status, with);
                if std::mem::take(&mut self.going_on) && !status.is_ok() {
                    return Err(End::Refused(status));
                }
                self.torn_down = told == Some(Verb::Teardown);
            }
        }
        Ok(())
    }

    fn open_ports(&mut self, track: Track) -> io::Result<sealcast_proto::rtsp::PortPair> {
        let (subscribers, heard) = (Arc::clone(&self.mux.subscribers), Arc::clone(&self.heard));
        let metrics = self.observation.metrics.clone();
        self.ports
            .open(track, self.local, self.remote, move |channel, bytes, arrived| {
                heard.store(true, Ordering::Relaxed);
                subscribers.deliver(channel, &bytes, arrived, &metrics);
            })
    }

    /// Give the camera its next action, if there is one and the camera is ready for it.
    fn next_action(&mut self) -> Result<bool, End> {
        if let Some(before) = &self.before {
            let Some(sdp) = &self.description else { return Ok(false) };
            if !same_media(before, sdp) {
                return Err(End::Changed);
            }
            self.before = None;
            if let Some(action) = self.mux.go_on() {
                tracing::info!("the camera is back: who watched goes on");
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
            Action::Command(verb, with) => self.handle(CameraInput::Command(0, verb, &with))?,
        }
        Ok(true)
    }

    /// Whether those who watch may wait for the camera after that, and how.
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

    fn send_rtcp(&mut self, channel: Channel, packet: &[u8]) {
        match self.client.route(channel) {
            Some(Route::Interleaved(number)) => put_data(self.connection.outgoing(), number, packet),
            Some(Route::Udp { port }) => {
                self.ports
                    .send(channel, SocketAddr::new(self.remote, port), packet, packet.len());
            }
            None => {}
        }
    }

    /// When to look whether it is still needed and still there.
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
