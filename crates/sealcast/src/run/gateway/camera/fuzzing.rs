//! One viewer gateway's session at a camera gateway whose cameras are scripted: no socket, no RTSP.

use std::sync::{Arc, LazyLock};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use sealcast_proto::clock::Now;
use sealcast_proto::keys::{PeerId, Wish};
use sealcast_proto::rtsp::{CarriedStatus, Channel, GatewayMessage, Parameters, Verb, rtcp_for_camera};
use sealcast_proto::session::{Event, Input, Output, Session, SessionConfig};
use sealcast_proto::unit::Selection;
use sealcast_proto::wire::{MessageLength, write_framed};
use tokio::io::DuplexStream;
use tokio::runtime::Runtime;
use tokio::sync::{mpsc, watch};
use tokio::task::yield_now;

use super::super::request_mux::{Action, Request, RequestMux};
use super::cameras::CameraAt;
use super::packets::PacketRequests;
use crate::keys::allow::AllowList;
use crate::keys::peers::{KnownPeers, PeerStore};
use crate::meter::build_info::BuildInfo;
use crate::meter::metrics::Metrics;
use crate::run::media::queue::QueueLimits;
use crate::run::media::shape::Shape;
use crate::run::publish::camera_life::InCommon;
use crate::run::publish::cameras::{PublishedCamera, PublishedCameras, packets_of};
use crate::run::publish::gateways::GatewaySessions;
use crate::run::publish::serve_viewer::serve_viewer;
use crate::run::session::accept::PendingSession;
use crate::run::session::admission::{Admission, ByHand};
use crate::run::session::admitted_places::AdmittedPlaces;
use crate::run::session::exchange::HandshakeTimer;
use crate::run::session::observe::{Observation, ObserveOptions, Observing};
use crate::run::session::offer::Offer;
use crate::run::session::runtime_settings::RuntimeSettings;
use crate::transport::{Progress, StreamTransport, Transport, memory_pair, relayed_sessions};

/// The paths of the cameras: one that everybody sees, one that the viewer gateway may also control, and one that it
/// may not see.
const PATHS: [&str; 3] = ["seen", "controlled", "hidden"];
/// Rounds in which both ends may speak before the next step.
const ROUNDS: usize = 64;
/// Requests that one camera's multiplexer may pass on in one round.
const MOST_ACTIONS: usize = 1024;

/// Next event.
#[derive(Debug)]
pub enum Step {
    /// The viewer gateway sends these bytes as a message.
    Say(Vec<u8>),
    /// The same from a message.
    Tell(GatewayMessage),
    /// A camera answers the request that it was asked, if there is one.
    Answer(u8, u16, Vec<u8>),
    /// A packet comes from a camera, on this channel.
    Packet(u8, u8, Vec<u8>),
    /// A camera is away, or has ended.
    Away(u8, bool),
    /// The cameras are read again, and this one has changed.
    Renew(u8),
    /// The viewer gateway asks for new keys.
    Rekey,
}

struct FakeCamera {
    requests: mpsc::Receiver<Request>,
    mux: RequestMux,
    asked: bool,
    controlled: bool,
    hidden: bool,
}

impl FakeCamera {
    /// Takes what the session asked, as the task of a camera does.
    fn attend(&mut self) {
        while let Ok(request) = self.requests.try_recv() {
            assert!(
                !self.hidden || matches!(request, Request::Leave(_)),
                "a hidden camera was asked"
            );
            match request {
                Request::Question(question) => self.mux.ask(question),
                Request::Leave(subscriber) => self.mux.leave(subscriber),
                Request::Rtcp(_, bytes) => drop(rtcp_for_camera(&bytes, true)),
            }
        }
        for _ in 0..MOST_ACTIONS {
            let Some(action) = self.mux.next_action() else { return };
            self.asked = true;
            if let Action::Command(verb, with) = &action {
                let plain = *verb != Verb::SetParameter
                    && (*verb == Verb::GetParameter || (with.headers().next().is_none() && with.body.is_empty()));
                assert!(
                    self.controlled || plain,
                    "a player changes a camera without the right to"
                );
            }
        }
        unreachable!("a camera is asked without end");
    }

    fn answer(&mut self, status: CarriedStatus, body: Vec<u8>) {
        if std::mem::take(&mut self.asked) {
            self.mux.answered(status, Parameters::of_body(body));
        }
    }
}

/// Started once, in a runtime of its own, which is kept: it has a thread.
static OBSERVING: LazyLock<(Runtime, Observing)> = LazyLock::new(|| {
    let started = std::thread::spawn(|| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.unwrap_or_else(|error| unreachable!("no runtime: {error}"));
        let metrics = Metrics::new(BuildInfo::default());
        let observing = runtime.block_on(Observation::start("fuzz", ObserveOptions::default(), metrics));
        (runtime, observing.unwrap_or_else(|failure| unreachable!("{failure}")))
    });
    started
        .join()
        .unwrap_or_else(|_| unreachable!("observing does not panic"))
});

/// The session of the viewer gateway.
struct Viewer {
    session: Session,
    transport: StreamTransport<DuplexStream>,
    now: Box<dyn Fn() -> Now>,
    ended: bool,
    answers: Vec<u32>,
    peer: PeerId,
}

impl Viewer {
    fn handle(&mut self, input: Input<'_>) {
        self.ended |= self.session.handle((self.now)(), input).is_err();
        self.drain();
    }

    fn drain(&mut self) {
        loop {
            match self.session.poll() {
                Output::Transmit(message) => write_framed(self.transport.outgoing(), &message),
                Output::Event(Event::Gateway(GatewayMessage::Answer { request, .. })) => self.answers.push(request),
                Output::Timeout(_) => break,
                _ => {}
            }
        }
        // It fails once the other end is gone.
        self.ended |= self.transport.flush_now().is_err();
    }

    fn read(&mut self) -> bool {
        let waited = std::pin::pin!(self.transport.wait()).poll(&mut Context::from_waker(Waker::noop()));
        match waited {
            Poll::Ready(Ok(Progress::Read)) => {}
            Poll::Ready(Ok(Progress::Wrote)) => return true,
            Poll::Ready(Ok(Progress::Closed) | Err(_)) => {
                self.ended = true;
                return false;
            }
            Poll::Pending => return false,
        }
        while let Ok(Some(message)) = self.transport.message(MessageLength::Record) {
            let mut message = message.to_vec();
            self.handle(Input::Message(&mut message));
        }
        true
    }
}

/// A session whose ends have these configurations, over a stream, in which the steps happen. It checks what must hold
/// whatever the viewer gateway says.
///
/// # Panics
/// Something does not hold.
pub async fn run(viewer: SessionConfig, gateway: SessionConfig, random: [[u8; 32]; 2], steps: Vec<Step>) {
    let observation = OBSERVING.1.observation();
    let clock = observation.clock;
    let peer = viewer.handshake.identity.peer_id();
    let (shared, mut cameras) = camera_gateway(peer, &gateway, Arc::clone(&observation));
    let (near, far) = memory_pair(64 << 10);
    let (stop, stopped) = watch::channel(false);
    let session = Session::respond(gateway, random[1], clock.now());
    let pending = PendingSession {
        transport: near,
        session: session.into(),
        delay_rate: None,
        remote: "memory".to_owned(),
        timer: HandshakeTimer::begin("responder", None),
        known: None,
        place: None,
        telling: None,
    };
    let serving = tokio::spawn(serve_viewer(Arc::clone(&shared), pending, stopped));
    let Ok(session) = Session::initiate(viewer, random[0], clock.now()) else {
        return;
    };
    let mut viewer = Viewer {
        session,
        transport: far,
        now: Box::new(move || clock.now()),
        ended: false,
        answers: Vec::new(),
        peer,
    };
    viewer.drain();
    settle(&mut viewer, &mut cameras).await;
    assert!(viewer.session.is_established(), "undisturbed, a session begins");
    let mut asked = Vec::new();
    for step in steps {
        take(step, &mut viewer, &mut cameras, &shared, &mut asked);
        settle(&mut viewer, &mut cameras).await;
        if viewer.ended {
            break;
        }
    }
    let invented = viewer.answers.iter().find(|request| !asked.contains(request));
    assert!(invented.is_none(), "an answer to what nobody asked: {invented:?}");
    drop(viewer);
    let _ = stop.send(true);
    let leaving = async {
        while !serving.is_finished() {
            cameras.iter_mut().for_each(FakeCamera::attend);
            yield_now().await;
        }
    };
    leaving.await;
    if let Err(failed) = serving.await {
        std::panic::resume_unwind(failed.into_panic());
    }
    for camera in &mut cameras {
        // A camera that does not answer is away for those who leave.
        camera.attend();
        camera.mux.away();
        assert!(camera.mux.subscribers.is_empty(), "who is gone has left its cameras");
    }
}

fn take(
    step: Step,
    viewer: &mut Viewer,
    cameras: &mut Vec<FakeCamera>,
    shared: &PublishedCameras,
    asked: &mut Vec<u32>,
) {
    let count = cameras.len();
    let at = |camera: u8| usize::from(camera) % count;
    match step {
        Step::Say(bytes) => say(viewer, &bytes, asked),
        Step::Tell(message) => {
            if let Ok(bytes) = message.to_bytes() {
                say(viewer, &bytes, asked);
            }
        }
        Step::Answer(camera, code, body) => cameras[at(camera)].answer(CarriedStatus::of_camera(code), body),
        Step::Packet(camera, number, bytes) => {
            if let Some(channel) = Channel::from_number(number) {
                let (subscribers, metrics) = (&cameras[at(camera)].mux.subscribers, &shared.common.observation.metrics);
                let bytes = Bytes::from(bytes);
                subscribers.deliver(channel, &bytes, bytes.len(), std::time::Instant::now(), metrics);
            }
        }
        Step::Away(camera, ended) => {
            let camera = &mut cameras[at(camera)];
            camera.asked = false;
            if ended {
                camera.mux.end(CarriedStatus::TIMEOUT);
            } else {
                camera.mux.away();
            }
        }
        Step::Renew(number) => {
            let peer = viewer.peer;
            cameras.extend(shared.script(all(peer, number)).into_iter().map(fake));
        }
        Step::Rekey => viewer.handle(Input::Rekey),
    }
}

fn say(viewer: &mut Viewer, bytes: &[u8], asked: &mut Vec<u32>) {
    if let Ok(GatewayMessage::Describe { request, .. } | GatewayMessage::Command { request, .. }) =
        GatewayMessage::parse(bytes)
    {
        asked.push(request);
    }
    viewer.handle(Input::Gateway(bytes));
}

/// Lets both ends speak until they have nothing to say.
async fn settle(viewer: &mut Viewer, cameras: &mut [FakeCamera]) {
    let mut quiet = 0;
    for _ in 0..ROUNDS {
        cameras.iter_mut().for_each(FakeCamera::attend);
        yield_now().await;
        quiet = if viewer.read() { 0 } else { quiet + 1 };
        if quiet > 3 || viewer.ended {
            return;
        }
    }
}

fn camera_gateway(
    peer: PeerId,
    config: &SessionConfig,
    observation: Arc<Observation>,
) -> (Arc<PublishedCameras>, Vec<FakeCamera>) {
    let everybody = ByHand {
        allow: AllowList::empty(),
        open: true,
        archive_nodes: Vec::new(),
    };
    let offer = Offer {
        identity: Arc::clone(&config.handshake.identity),
        suites: config.handshake.suites.clone(),
        mechanisms: config.handshake.mechanisms.clone(),
        rekey: config.rekey,
        unit: config.unit,
        selection_seed: config.selection_seed,
        shape: Shape::Off,
        known: KnownPeers::default(),
        group: None,
        wish: Wish::default(),
        attended: false,
    };
    let common = InCommon {
        data: None,
        observation,
        admission: Arc::new(Admission::new(everybody, PeerStore::in_memory())),
        places: AdmittedPlaces::new(4),
        offer,
        queue: QueueLimits::default(),
        stream_budget: Duration::from_secs(1),
        ways: None,
    };
    let gateways = GatewaySessions::new(Some(RuntimeSettings::new(Selection::All)));
    let cameras = PublishedCameras::new(common, gateways, relayed_sessions().0, mpsc::unbounded_channel().0);
    let started = cameras.script(all(peer, u8::MAX));
    (Arc::new(cameras), started.into_iter().map(fake).collect())
}

/// Starts the camera at a path.
fn fake((path, requests): (Option<String>, PacketRequests)) -> FakeCamera {
    FakeCamera {
        requests: requests.requests,
        mux: RequestMux::default(),
        asked: false,
        controlled: path.as_deref() == Some("controlled"),
        hidden: path.as_deref() == Some("hidden"),
    }
}

/// The cameras; the one with this number is at another address than before.
fn all(peer: PeerId, changed: u8) -> Vec<PublishedCamera> {
    let cameras = PATHS.iter().enumerate().map(|(at, path)| {
        let moved = changed != u8::MAX && usize::from(changed) % PATHS.len() == at;
        let host = if moved { format!("h{changed}") } else { "h".to_owned() };
        let camera = format!("{path}=rtsp://{host}/{path}").parse::<CameraAt>();
        let camera = camera.unwrap_or_else(|failure| unreachable!("{failure}"));
        packets_of(CameraAt {
            allow: (*path == "hidden").then(AllowList::empty),
            control: AllowList::of((*path == "controlled").then_some(peer)),
            ..camera
        })
    });
    cameras.collect()
}
