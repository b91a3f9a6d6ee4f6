//! One player.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use sealcast_proto::rtsp::{
    CarriedStatus, Channel, Parameters, PlayerAnswer, PlayerConfig, PlayerError, PlayerEvent, PlayerInput,
    PlayerOutput, PlayerServer, PortPair, Route, Track, Verb, put_data,
};
use tokio::sync::mpsc;

use super::super::arrivals::Arrivals;
use super::super::packet::Packet;
use super::super::request_mux::{Action, Question, Request};
use super::super::rtp_sender::{RtpSender, UdpRoute};
use super::super::subscribers::{PacketQueue, Subscriber, SubscriberEvent};
use super::super::{MAX_EVENTS, PACKETS};
use super::packet_order::PacketOrder;
use super::places::Place;
use super::shared::Players;
use crate::keys::entropy;
use crate::meter::labels::{PeerQueue, TurnedAway};
use crate::meter::metrics::Metrics;
use crate::meter::peer_bytes::Held;
use crate::meter::stage::Stage;
use crate::rtsp::{RtpPorts, Senders};
use crate::run::session::task::evicted;
use crate::run::session::task_timer::TaskTimer;
use crate::transport::udp::Path;
use crate::transport::{Progress, TcpTransport, Transport};

/// Pass packets to the connection only while fewer bytes than this are queued there: queued bytes cannot be dropped.
const BACKLOG_LOW: usize = 64 * 1024;
/// Maximum bytes queued for a player that sends requests and does not read the answers, and for one that has not logged
/// in: the answers to a few requests.
const MAX_UNREAD: usize = 1 << 20;
const MAX_UNREAD_OF_STRANGER: usize = 64 << 10;
/// A player that reads nothing of the data sent to it for this long is disconnected.
const SLOW_PATIENCE: Duration = Duration::from_secs(10);
/// A connection without a request for this long after it was opened is closed.
const FIRST_PATIENCE: Duration = Duration::from_secs(10);
/// A player that has not logged in this long after it connected is disconnected, whatever else it asks for.
const LOGIN_PATIENCE: Duration = Duration::from_secs(10);
/// A player that neither watches nor sends a request for this long is disconnected.
const IDLE_PATIENCE: Duration = Duration::from_secs(60);
/// Number of queued packets that leave at once over UDP, and the pause before the next ones. A player's socket holds
/// some hundred packets unless it asks for more.
const UDP_RUN: usize = 16;
const UDP_PAUSE: Duration = Duration::from_millis(2);
/// Maximum number of queued packets that came from the player over UDP.
const MAX_REPORTS: usize = 64;

/// A packet from the player over UDP.
type Report = (Channel, Bytes);

/// Reason for the end of a player's connection.
enum End {
    /// The player closed it.
    Closed,
    Machine(PlayerError),
    Broken(io::Error),
    /// The camera is gone.
    Camera(CarriedStatus),
    Slow,
    Unread,
    Idle,
    NotLoggedIn,
    /// Its place was given to another before it had logged in.
    Evicted,
}

/// A request that waits for the link's answer.
struct Asking {
    number: u32,
    /// True for a command, false for a description. Packets wait until a command is answered, because its answer must
    /// come first.
    command: bool,
}

struct Player {
    shared: Arc<Players>,
    connection: TcpTransport,
    place: Place,
    remote: IpAddr,
    local: IpAddr,
    machine: PlayerServer,
    ports: RtpPorts,
    /// Packets from the player over UDP.
    reports: mpsc::Receiver<Report>,
    reporter: mpsc::Sender<Report>,
    subscriber: Subscriber,
    /// Sends packets to the player over UDP.
    rtp_sender: Arc<RtpSender>,
    /// Time at which more of the queued packets may leave over UDP.
    resumes: Option<Instant>,
    /// Packets that wait for earlier ones, because it reads them from its connection and they came in datagrams.
    order: PacketOrder,
    /// The packets being passed to its connection.
    handed: Arrivals,
    events: mpsc::Receiver<SubscriberEvent>,
    /// The path of the camera described last.
    path: String,
    /// The request that is not answered yet.
    asking: Option<Asking>,
    /// A login whose answer waits until this time.
    login: Option<(u32, Instant)>,
    watches: bool,
    /// It has watched at some time.
    watched: bool,
    /// Time at which to disconnect it if it has not logged in.
    login_until: Instant,
    /// Time at which to disconnect it if it neither watches nor sends a request. Bytes that are no valid request do
    /// not extend it.
    idle_until: Instant,
    /// Time at which it last read something or had read everything.
    moved: Instant,
    timer: TaskTimer,
    /// Bytes that its connection has not taken, and those that wait for its order, for the metrics.
    held: Arc<Held>,
}

/// Serve one player until it leaves.
pub(super) async fn serve(shared: Arc<Players>, id: u64, connection: TcpTransport, place: Place) {
    let (Ok((local, remote)), Ok(entropy)) = (connection.addresses(), entropy::random()) else {
        tracing::warn!("a player was gone at once, or the system has no random bytes");
        return;
    };
    let config = PlayerConfig {
        login: shared.login.clone(),
        udp: true,
        entropy,
    };
    let (sender, events) = mpsc::channel(MAX_EVENTS);
    let (reporter, reports) = mpsc::channel(MAX_REPORTS);
    let rtp_sender = Arc::new(RtpSender::default());
    let mut player = Player {
        connection,
        place,
        remote: remote.ip().to_canonical(),
        local: local.ip(),
        machine: PlayerServer::new(config, shared.clock.now().monotonic),
        ports: RtpPorts::default(),
        reports,
        reporter,
        subscriber: Subscriber {
            id,
            slot: 0,
            queue: Arc::new(PacketQueue::new(PACKETS)),
            rtp_sender: Some(Arc::clone(&rtp_sender)),
            events: sender,
        },
        rtp_sender,
        resumes: None,
        order: PacketOrder::default(),
        handed: Arrivals::default(),
        events,
        path: String::new(),
        asking: None,
        login: None,
        watches: false,
        watched: false,
        login_until: Instant::now() + LOGIN_PATIENCE,
        idle_until: Instant::now() + FIRST_PATIENCE,
        moved: Instant::now(),
        timer: TaskTimer::default(),
        held: shared.metrics.held(PeerQueue::Player),
        shared,
    };
    let metrics = &player.shared.metrics;
    metrics.holds(PeerQueue::Media, &player.subscriber.queue);
    let end = match player.run().await {
        Ok(never) => match never {},
        Err(end) => end,
    };
    // Try once to send the last response, such as the reason for a refusal.
    let _ = player.connection.flush_now();
    player.leave().await;
    match player.watched {
        true => end.tell(remote),
        false => end.count(remote, &player.shared.metrics),
    }
}

impl End {
    /// Says in the log why a player is gone that watched.
    fn tell(&self, player: SocketAddr) {
        match self {
            Self::Closed | Self::Broken(_) | Self::Idle | Self::NotLoggedIn | Self::Evicted => {
                tracing::info!(%player, "{self}")
            }
            Self::Machine(_) | Self::Camera(_) | Self::Slow | Self::Unread => tracing::warn!(%player, "{self}"),
        }
    }

    /// Counts the end of somebody who never watched.
    fn count(&self, player: SocketAddr, metrics: &Metrics) {
        let reason = match self {
            // Programs that look at what there is come and go so.
            Self::Closed => return metrics.count_turned_away(TurnedAway::Silent),
            Self::Machine(PlayerError::Login) => TurnedAway::Password,
            Self::Machine(_) => TurnedAway::Malformed,
            Self::Broken(_) | Self::Camera(_) => TurnedAway::Broken,
            Self::Slow | Self::Idle | Self::NotLoggedIn => TurnedAway::Slow,
            Self::Unread => TurnedAway::Unread,
            Self::Evicted => TurnedAway::Crowded,
        };
        metrics.turned_away(reason, &player, self);
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed => f.write_str("the player left"),
            Self::Machine(error) => write!(f, "{error}"),
            Self::Broken(error) => write!(f, "the player's connection broke: {error}"),
            Self::Camera(status) => write!(f, "ended: the camera is gone (status {})", status.code()),
            Self::Slow => write!(f, "cut off: it took nothing for {} s", SLOW_PATIENCE.as_secs()),
            Self::Unread => f.write_str("cut off: it asks and does not read the answers"),
            Self::NotLoggedIn => write!(f, "cut off: it did not log in within {} s", LOGIN_PATIENCE.as_secs()),
            Self::Evicted => f.write_str("its place was given to another: it had not logged in yet"),
            Self::Idle => f.write_str("cut off: it asked for nothing in time"),
        }
    }
}

impl Player {
    async fn run(&mut self) -> Result<std::convert::Infallible, End> {
        let queue = Arc::clone(&self.subscriber.queue);
        loop {
            let deadline = self.work().await?;
            let deadline = self.shared.clock.instant(deadline);
            let ready = self.ready();
            let patience = self.patience();
            let login = self.login.map(|(_, at)| at);
            let resumes = self.resumes;
            let sends = ready && resumes.is_none();
            let ordered = self.order.deadline().filter(|_| sends);
            let due = [deadline, patience, login, resumes, ordered];
            let due = due.into_iter().flatten().min();
            tokio::select! {
                // Packets come first. That starves nothing: the loop sends all of them above and then polls
                // everything else before it waits.
                biased;
                () = queue.changed(), if sends => {}
                progress = self.connection.wait() => match progress.map_err(End::Broken)? {
                    Progress::Read => {
                        let now = self.shared.clock.now().monotonic;
                        let bytes = self.connection.take_bytes();
                        let handled = self.machine.handle(now, PlayerInput::Bytes(bytes));
                        self.ended(handled)?;
                    }
                    Progress::Wrote => self.moved = Instant::now(),
                    Progress::Closed => return Err(End::Closed),
                },
                Some(event) = self.events.recv() => self.take_subscriber_event(event)?,
                Some((channel, report)) = self.reports.recv() => {
                    self.handle(PlayerInput::Alive)?;
                    if channel.rtcp {
                        self.forward_report(channel, report.to_vec());
                    }
                }
                () = evicted(self.place.not_logged_in.as_ref()) => return Err(End::Evicted),
                () = self.timer.until(due) => self.take_due(deadline, login, patience)?,
            }
        }
    }

    /// Do what was due at these times: the RTSP server's deadline, the answer to a login, the end of patience.
    fn take_due(
        &mut self,
        deadline: Option<Instant>,
        login: Option<Instant>,
        patience: Option<Instant>,
    ) -> Result<(), End> {
        let now = Instant::now();
        let is_due = |at: Option<Instant>| at.is_some_and(|at| at <= now);
        if is_due(deadline) {
            self.handle(PlayerInput::Timeout)?;
        }
        if is_due(login) {
            self.answer_login()?;
        }
        if is_due(patience) {
            return Err(self.lost_patience());
        }
        Ok(())
    }

    /// True if it can take a packet.
    fn ready(&self) -> bool {
        let commanding = self.asking.as_ref().is_some_and(|asking| asking.command);
        self.watches && !commanding && self.connection.backlog() < BACKLOG_LOW
    }

    /// Time at which the player is disconnected for reading too slowly or being idle.
    fn patience(&mut self) -> Option<Instant> {
        if self.connection.backlog() == 0 {
            self.moved = Instant::now();
        }
        let slow = (self.connection.backlog() > 0).then(|| self.moved + SLOW_PATIENCE);
        let idle = match self.machine.is_logged_in() {
            false => Some(self.login_until),
            true => (!self.watches).then_some(self.idle_until),
        };
        slow.into_iter().chain(idle).min()
    }

    fn lost_patience(&self) -> End {
        if !self.machine.is_logged_in() {
            End::NotLoggedIn
        } else if self.connection.backlog() > 0 {
            End::Slow
        } else {
            End::Idle
        }
    }

    fn handle(&mut self, input: PlayerInput<'_>) -> Result<(), End> {
        let now = self.shared.clock.now().monotonic;
        let handled = self.machine.handle(now, input);
        self.ended(handled)
    }

    /// If the RTSP server has ended with an error, queue its last response.
    fn ended(&mut self, handled: Result<(), PlayerError>) -> Result<(), End> {
        handled.map_err(|error| {
            while let PlayerOutput::Transmit(bytes) = self.machine.poll() {
                self.connection.outgoing().extend_from_slice(&bytes);
            }
            End::Machine(error)
        })
    }

    /// Do all pending work. Returns the next deadline of the RTSP server.
    async fn work(&mut self) -> Result<Duration, End> {
        let deadline = loop {
            match self.machine.poll() {
                PlayerOutput::Transmit(bytes) => self.connection.outgoing().extend_from_slice(&bytes),
                PlayerOutput::Event(event) => self.take_event(event).await?,
                PlayerOutput::Timeout(deadline) => break deadline,
            }
            self.idle_until = Instant::now() + IDLE_PATIENCE;
        };
        if self.machine.is_logged_in() {
            self.place.not_logged_in = None;
        }
        self.rtp_sender.set_routes(self.routes());
        self.send_queued();
        self.connection.flush_now().map_err(End::Broken)?;
        let metrics = &self.shared.metrics;
        self.handed.left(Stage::Deliver, metrics);
        self.rtp_sender.send(metrics);
        self.rtp_sender
            .set_open(self.ready() && self.resumes.is_none() && !self.shared.paces);
        let unread = self.connection.backlog();
        self.held.set(unread + self.order.bytes());
        let most = match self.machine.is_logged_in() {
            true => MAX_UNREAD,
            false => MAX_UNREAD_OF_STRANGER,
        };
        if unread > most {
            return Err(End::Unread);
        }
        Ok(deadline)
    }

    /// Send the packets of its queue, as many as it takes now.
    fn send_queued(&mut self) {
        let now = Instant::now();
        if self.resumes.is_some_and(|resumes| now < resumes) {
            return;
        }
        self.resumes = None;
        let mut by_udp = 0;
        while self.ready()
            && let Some(packet) = self.subscriber.queue.pop()
        {
            by_udp += usize::from(self.send(packet));
            if by_udp == UDP_RUN {
                self.resumes = Some(now + UDP_PAUSE);
                return;
            }
        }
        if self.ready() {
            let (machine, connection, handed) = (&self.machine, &mut self.connection, &mut self.handed);
            self.order.give_up(now, |packet| {
                if let Some(Route::Interleaved(number)) = machine.route(packet.channel) {
                    put(connection.outgoing(), number, &packet, handed);
                }
            });
        }
    }

    /// Returns true if the packet leaves over UDP.
    fn send(&mut self, packet: Packet) -> bool {
        match self.machine.route(packet.channel) {
            Some(Route::Interleaved(number)) => {
                let (outgoing, handed) = (self.connection.outgoing(), &mut self.handed);
                self.order.take(packet, |packet| put(outgoing, number, &packet, handed));
                false
            }
            Some(Route::Udp { .. }) => {
                self.rtp_sender.put(packet);
                true
            }
            None => false,
        }
    }

    /// The routes of the tracks that the player receives over UDP.
    fn routes(&self) -> Vec<UdpRoute> {
        let channels = |track| [false, true].map(|rtcp| Channel { track, rtcp });
        let routes = self.ports.tracks().flat_map(channels).filter_map(|channel| {
            let (Some(Route::Udp { port }), Some(socket)) = (self.machine.route(channel), self.ports.socket(channel))
            else {
                return None;
            };
            let path = Path::to(socket.fit((self.remote, port).into()));
            let socket = Arc::clone(socket);
            Some(UdpRoute { channel, socket, path })
        });
        routes.collect()
    }

    async fn take_event(&mut self, event: PlayerEvent) -> Result<(), End> {
        match event {
            PlayerEvent::Describe { number, path } => {
                if path != self.path {
                    self.leave().await;
                    self.path = path;
                }
                self.ask(number, Action::Describe).await;
            }
            PlayerEvent::OpenPorts { number, track, .. } => {
                let ports = self.open_ports(track);
                let ports = ports.inspect_err(|error| tracing::warn!("no UDP ports for a player ({error})"));
                self.handle(PlayerInput::Answer(number, PlayerAnswer::Ports(ports.ok())))?;
            }
            PlayerEvent::Command { number, verb, with } => {
                self.watches |= matches!(verb, Verb::Play(_));
                if self.watches && !std::mem::replace(&mut self.watched, true) {
                    tracing::info!(player = %self.remote, camera = self.path, "a player watches");
                }
                self.ask(number, Action::Command(verb, with)).await;
            }
            PlayerEvent::Login { number, right } => self.delay_login(number, right)?,
            PlayerEvent::Rtcp(channel, report) => self.forward_report(channel, report),
            PlayerEvent::TornDown => {
                self.leave().await;
                self.ports = RtpPorts::default();
            }
        }
        Ok(())
    }

    /// Answer a login, at once or when others of the player's address would be answered who guess.
    fn delay_login(&mut self, number: u32, right: bool) -> Result<(), End> {
        let now = Instant::now();
        // A panic in another task leaves the table as it was.
        let mut delays = self.shared.login_delays.lock().unwrap_or_else(PoisonError::into_inner);
        let delay = delays.delay(self.remote, right, now);
        drop(delays);
        if !right {
            let words = format_args!("a wrong password, which is answered after {} s", delay.as_secs());
            let metrics = &self.shared.metrics;
            metrics.turned_away(TurnedAway::Password, &self.remote, &words);
        }
        self.login = Some((number, now + delay));
        if delay.is_zero() {
            return self.answer_login();
        }
        Ok(())
    }

    fn answer_login(&mut self) -> Result<(), End> {
        match self.login.take() {
            Some((number, _)) => self.handle(PlayerInput::Answer(number, PlayerAnswer::Login)),
            None => Ok(()),
        }
    }

    fn open_ports(&mut self, track: Track) -> io::Result<PortPair> {
        let reports = self.reporter.clone();
        let take = move |channel, bytes, _| {
            // If there is no room, drop the report; another will follow.
            let _ = reports.try_send((channel, bytes));
        };
        let pair = self.ports.open(track, self.local, self.remote, take, || {})?;
        // Address translation on the way may change the player's ports.
        self.ports.expect(track, Senders::Any);
        Ok(pair)
    }

    async fn ask(&mut self, request: u32, action: Action) {
        let command = matches!(action, Action::Command(..));
        if command {
            self.rtp_sender.set_open(false);
        }
        self.asking = Some(Asking {
            number: request,
            command,
        });
        let ask = Question {
            subscriber: self.subscriber.clone(),
            request,
            action,
        };
        self.request(Request::Question(ask)).await;
    }

    /// Send a request to the link, which always reads them. This fails only when the gateway is stopping.
    async fn request(&self, request: Request) {
        let _ = self.shared.requests.send((self.path.clone(), request)).await;
    }

    fn forward_report(&self, channel: Channel, report: Vec<u8>) {
        let request = (self.path.clone(), Request::Rtcp(channel, report));
        // If there is no room, drop the report; another will follow.
        let _ = self.shared.requests.try_send(request);
    }

    fn take_subscriber_event(&mut self, event: SubscriberEvent) -> Result<(), End> {
        match event {
            SubscriberEvent::Answer {
                request,
                status,
                with,
                in_order,
                ..
            } => {
                self.order.come_in_order(in_order);
                self.answer(request, status, &with)
            }
            SubscriberEvent::InOrder { tracks, .. } => {
                self.order.come_in_order(tracks);
                Ok(())
            }
            SubscriberEvent::Ended { status, .. } => Err(End::Camera(status)),
        }
    }

    fn answer(&mut self, request: u32, status: CarriedStatus, with: &Parameters) -> Result<(), End> {
        // Ignore a late answer: its request was given up, and another may have followed.
        let Some(asking) = self.asking.take_if(|asking| asking.number == request) else {
            return Ok(());
        };
        let answer = match (asking.command, status.is_ok()) {
            (true, _) => PlayerAnswer::Done(status, with),
            (false, true) => PlayerAnswer::Described(Ok(&with.body)),
            (false, false) => PlayerAnswer::Described(Err(status)),
        };
        self.handle(PlayerInput::Answer(request, answer))
    }

    /// The player stops watching.
    async fn leave(&mut self) {
        self.rtp_sender.set_open(false);
        self.rtp_sender.set_routes(Vec::new());
        if std::mem::take(&mut self.watches) {
            self.request(Request::Leave(self.subscriber.clone())).await;
            self.subscriber.queue.clear();
            self.order = PacketOrder::default();
        }
    }
}

/// Put a packet into what is sent on the player's connection.
fn put(outgoing: &mut Vec<u8>, number: u8, packet: &Packet, handed: &mut Arrivals) {
    put_data(outgoing, number, &packet.bytes);
    handed.push(packet.arrived);
}
