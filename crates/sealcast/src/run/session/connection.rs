//! A session on its carrier: the loop shared by both ends.
//!
//! [`Connection`] reads messages into the session, handles its deadlines and sends its messages. An end calls
//! [`work`](Connection::work), takes the [events](Connection::next_event), sends its media, and
//! [waits](Connection::wait). The laboratory drives sessions so too.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sealcast_proto::session::{
    Elsewhere, Event, Handled, Input, Output, SealedRecords, Session, SessionError, ShapeCounts,
};
use sealcast_proto::wire::{CloseReason, LENGTH_PREFIX, MessageLength, write_framed};

use super::control_backlog::ControlBacklog;
use super::exchange::Exchange;
pub use super::listener::Listener;
pub(crate) use super::listener::NoMedia;
use super::phases::SessionPhase;
use super::record_counts::{Described, Opening, describe, open_failure, overhead, sealed_alone};
use super::task_timer::TaskTimer;
use crate::keys::entropy;
use crate::meter::labels::{Direction, OpenFailure, PeerQueue, RecordKind, SignatureWork};
use crate::meter::metrics::Metrics;
use crate::meter::peer_bytes::Held;
use crate::meter::resources::thread_cpu_time;
use crate::meter::stage::Stage;
use crate::run::clock::Clock;
use crate::transport::{Origin, Progress, Transport};

/// Seal the next frame only while fewer bytes than this are queued: a sealed frame can no longer be dropped.
const BACKLOG_LOW: usize = 64 * 1024;
/// The same limit for a session that paces its media: the bytes queued there wait for the path.
const HELD_LOW: usize = 4 * 1024;
/// Bytes of data and control that may wait for a peer that reads nothing before data waits in the session, where older
/// data gives way: an eighth of a second at the highest rate.
const MAX_DATA_UNREAD: u64 = 16 * 1024;
/// Limit on the bytes sealed before they are sent together; more would delay the first of them.
const RUN: usize = 20 * 1024;

/// Reason for the end of a connection.
#[derive(Debug)]
pub enum Ended {
    /// The session failed.
    Session(SessionError),
    /// The carrier failed.
    Carrier(io::Error),
    /// The peer closed the carrier without closing the session.
    Eof,
    /// The session was closed, by either end.
    Closed,
    /// The peer sends requests and does not read the answers.
    PeerNotReading,
    /// The peer sent nothing valid, and its place was needed.
    Evicted,
    /// The session stands, and goes on in another role.
    Turned,
}

/// A session on its carrier.
pub struct Connection<T> {
    pub(crate) transport: T,
    /// In a box: tasks move it about before they run, and each move would take room in each waiting task.
    pub(crate) session: Box<Session>,
    pub(crate) clock: Clock,
    metrics: Metrics,
    /// Bytes of media sealed so far.
    pub(crate) sealed: u64,
    /// Bytes of records of media opened so far.
    opened: u64,
    /// The address that the peer has moved to and proved last, if it ever did.
    pub(crate) moved_to: Option<SocketAddr>,
    /// On a byte stream: what is on its way is bounded by time, too.
    pub(crate) bounded: bool,
    /// The session's deadline at the start of the last wait.
    deadline: Duration,
    timer: TaskTimer,
    closed: bool,
    control_backlog: ControlBacklog,
    /// Bytes that the carrier has not taken, for the metrics.
    held: Arc<Held>,
    /// Time at which messages were last read.
    pub(crate) arrived: Instant,
    handed: Instant,
    /// No more media is expected at once after the last media.
    pauses: bool,
    /// Events of the session that its task has not taken yet.
    pub(crate) events: VecDeque<Event>,
    /// Records refused since the session began.
    pub(crate) refused: u64,
    /// Cost of the handshake.
    pub(crate) exchange: Exchange,
    /// When the work that goes on began, until the session is established.
    since: Instant,
    /// Counters of the session's cells at the last update of the metrics.
    counted_cells: ShapeCounts,
    /// Contribution of the session to the phase of the stream, if somebody observes that.
    phase: Option<SessionPhase>,
}

impl<T: Transport> Connection<T> {
    /// A session that has neither sent nor received anything, on a connected carrier. `clock` is the clock that the
    /// session was created with.
    pub fn new(transport: T, session: impl Into<Box<Session>>, clock: Clock, metrics: Metrics) -> Self {
        Self {
            transport,
            session: session.into(),
            clock,
            held: metrics.held(PeerQueue::Session),
            metrics,
            sealed: 0,
            opened: 0,
            moved_to: None,
            bounded: false,
            deadline: Duration::ZERO,
            timer: TaskTimer::default(),
            closed: false,
            control_backlog: ControlBacklog::default(),
            arrived: Instant::now(),
            handed: Instant::now(),
            pauses: false,
            events: VecDeque::new(),
            refused: 0,
            exchange: Exchange::default(),
            since: Instant::now(),
            counted_cells: ShapeCounts::default(),
            phase: None,
        }
    }

    /// The session counts in the phase of the stream until [`leave_phase`](Self::leave_phase), and its handshake is
    /// metered.
    pub(crate) fn in_phase(mut self, phase: SessionPhase) -> Self {
        self.phase = Some(phase);
        self
    }

    /// Counts into `metrics` of the same program from now on. What the session counts itself, and what the carrier has
    /// not taken, goes on from where it is.
    pub(crate) fn count_into(&mut self, metrics: Metrics) {
        self.metrics = metrics;
    }

    /// The session is over, whatever it still has to send.
    pub(crate) fn leave_phase(&mut self) {
        self.phase = None;
    }

    /// Do `work` of the session. Until it is established, the work counts as the handshake's: from the first message
    /// on, of which [`Exchange::begin`] is told.
    fn timed<R>(&mut self, work: impl FnOnce(&mut Self) -> R) -> R {
        if self.exchange.ended.is_some() {
            return work(self);
        }
        let cpu = thread_cpu_time();
        self.since = Instant::now();
        let done = work(self);
        if self.exchange.began.is_some() {
            self.exchange.cpu += thread_cpu_time().saturating_sub(cpu);
            if self.session.is_established() {
                self.exchange.ended = Some(Instant::now());
                self.phase.iter_mut().for_each(SessionPhase::established);
            }
        }
        done
    }

    /// The session.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// The next event of the session that was not taken yet.
    pub fn next_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Wait until there may be something to do. Cancel-safe.
    ///
    /// # Errors
    /// The carrier failed.
    pub async fn wait(&mut self) -> Result<(), Ended> {
        self.deadline = self.session.deadline();
        let deadline = self.clock.instant(self.deadline);
        tokio::select! {
            biased;
            progress = self.transport.wait() => match progress.map_err(Ended::Carrier)? {
                Progress::Read if !self.transport.is_datagram() => {
                    // This call only notes the time and cannot fail.
                    let _ = self.session.handle(self.clock.now(), Input::PartOfMessage);
                }
                Progress::Read | Progress::Wrote => {}
                Progress::Closed => self.closed = true,
            },
            () = self.timer.until(deadline) => {}
        }
        Ok(())
    }

    /// Do all pending work: read messages, handle deadlines, send.
    ///
    /// # Errors
    /// The session or the carrier has ended.
    pub fn work(&mut self, listener: &mut impl Listener) -> Result<(), Ended> {
        let received = self.receive(listener);
        self.finish(received, listener)
    }

    /// Read messages and handle deadlines. Call [`finish`](Self::finish) whatever the result: it sends the pending
    /// replies.
    pub(crate) fn receive(&mut self, listener: &mut impl Listener) -> Result<(), Ended> {
        self.timed(|connection| {
            let received = connection.take_messages(listener);
            connection.drain_session(listener, false);
            received
        })
    }

    /// Send everything that can be sent, after [`receive`](Self::receive), whose result is `received`.
    pub(crate) fn finish(&mut self, received: Result<(), Ended>, listener: &mut impl Listener) -> Result<(), Ended> {
        self.timed(|connection| connection.finish_work(received, listener))
    }

    fn finish_work(&mut self, received: Result<(), Ended>, listener: &mut impl Listener) -> Result<(), Ended> {
        let caught_up = self.catch_up(listener);
        self.note_cells();
        let flushed = self.flush().map_err(Ended::Carrier);
        self.held.set(self.transport.unread() + self.session.media_backlog());
        received.and(caught_up)?;
        if self.session.holds_media() && self.send_packets()? {
            self.drain_session(listener, false);
        }
        let control = if self.session.holds_media() {
            // Paced media waits for the path and is counted apart from this queue.
            self.transport.outgoing().len()
        } else {
            self.transport.backlog()
        };
        if self.control_backlog.too_much(control) {
            return Err(Ended::PeerNotReading);
        }
        if self.session.is_over() {
            return Err(Ended::Closed);
        }
        if self.closed {
            return Err(Ended::Eof);
        }
        flushed
    }

    /// Count what the session's cells did since the last call.
    fn note_cells(&mut self) {
        let Some(counts) = self.session.shape_counts() else {
            return;
        };
        self.metrics.shaped(&mut self.counted_cells, counts);
        while let Some(wait) = self.session.take_shape_wait() {
            self.metrics.record_stage(Stage::Shape, wait);
        }
    }

    /// Tell the session that all received media has been processed, unless more waits to be read.
    fn catch_up(&mut self, listener: &mut impl Listener) -> Result<(), Ended> {
        if self.transport.is_behind() {
            return Ok(());
        }
        let pauses = std::mem::take(&mut self.pauses);
        let told = self.session.caught_up(self.clock.at(self.arrived), pauses);
        self.drain_session(listener, false);
        told.map_err(Ended::Session)
    }

    fn take_messages(&mut self, listener: &mut impl Listener) -> Result<(), Ended> {
        let mut opened = Opening::default();
        let taken = self.take_each_message(listener, &mut opened);
        opened.flush(&self.metrics);
        taken
    }

    fn take_each_message<L: Listener>(&mut self, listener: &mut L, opened: &mut Opening) -> Result<(), Ended> {
        let datagrams = self.transport.is_datagram();
        let framing = if datagrams { 0 } else { LENGTH_PREFIX };
        // All messages returned below were read before this point, so this is the latest time of their arrival.
        let arrived = Instant::now();
        self.arrived = arrived;
        loop {
            let established = self.session.is_established();
            let limit = match (established, L::RECEIVES_MEDIA) {
                (false, _) => MessageLength::Handshake,
                (true, false) => MessageLength::Control,
                (true, true) => MessageLength::Record,
            };
            let (origin, message) = match self.transport.message_from(limit) {
                Ok(Some(message)) => message,
                Ok(None) => break,
                Err(_) => {
                    let now = self.clock.now();
                    if established {
                        self.metrics.record_refused(OpenFailure::Malformed);
                    }
                    // The session would report the same error; closing it here sends the peer a clear reason.
                    let _ = self
                        .session
                        .handle(now, Input::Close(CloseReason::ProtocolError, "framing was lost"));
                    return Err(Ended::Session(SessionError::Framing));
                }
            };
            let length = (framing + message.len()) as u64;
            let record = describe(message, datagrams, self.session.assembles_stream());
            let Some(input) = input(origin, message) else {
                continue;
            };
            if origin == Origin::Multicast {
                self.metrics.multicast_heard();
            }
            if !established {
                self.exchange.begin(self.since, self.phase.as_mut());
            }
            let began = record.proof.then(Instant::now);
            let handled = self.session.handle(self.clock.at(arrived), input);
            if !established {
                self.exchange.received += length;
            }
            if matches!(handled, Err(SessionError::Framing)) {
                self.metrics.record_refused(OpenFailure::Malformed);
            }
            let handled = handled.map_err(Ended::Session)?;
            if let (Some(began), Handled::Done) = (began, &handled) {
                self.metrics.signature(SignatureWork::Verify, length, began.elapsed());
            }
            let established = established.then_some(&record);
            self.note_handled(handled, established, (length, &mut *opened), listener);
            self.drain_session(listener, false);
        }
        let now = self.clock.at(arrived);
        if now.monotonic >= self.deadline && !self.session.is_over() {
            self.session.carrier_holds(self.transport.backlog());
            let handled = self.session.handle(now, Input::Timeout).map_err(Ended::Session)?;
            // A frame that had waited for others may be none of the camera's.
            self.note_handled(handled, None, (0, opened), listener);
        }
        Ok(())
    }

    /// Counts a message that the session processed; `record` describes it if the session was established.
    fn note_handled(
        &mut self,
        handled: Handled,
        record: Option<&Described>,
        (length, opened): (u64, &mut Opening),
        listener: &mut impl Listener,
    ) {
        match (handled, record) {
            // The session counts duplicates.
            (Handled::Duplicate, _) | (Handled::Done, None) => {}
            (Handled::Refused(reason), _) => {
                self.metrics.record_refused(open_failure(reason));
                self.refused += 1;
                listener.refused(reason, self.session.assembles_stream());
            }
            (Handled::NotTheCameras(reason), _) => {
                self.metrics.frame_not_the_cameras();
                listener.not_the_cameras(reason);
            }
            (Handled::NotTheCamerasSound(reason), _) => {
                self.metrics.frame_not_the_cameras();
                listener.sound_not_the_cameras(reason);
            }
            (Handled::Done, Some(record)) => {
                if record.kind == Some(RecordKind::Media) {
                    self.opened += length;
                }
                opened.count(record.kind, length, &self.metrics);
                if record.in_clear {
                    self.metrics.records_in_clear(Direction::In, 1);
                }
            }
        }
    }

    /// Queue the session's messages for sending and pass on its events and media. Bytes count as the handshake's
    /// until the session is established, or if `handshaking`, which marks the message that established it.
    pub(crate) fn drain_session<L: Listener>(&mut self, listener: &mut L, handshaking: bool) {
        while self.session.has_output() {
            match self.session.poll() {
                Output::Transmit(message) => {
                    let length = (LENGTH_PREFIX + message.len()) as u64;
                    write_framed(self.transport.outgoing(), &message);
                    let shaped = self.session.is_shaped();
                    if shaped {
                        self.control_backlog.frame(length);
                    } else {
                        self.control_backlog.control(length);
                    }
                    if handshaking || !self.session.is_established() {
                        self.exchange.begin(self.since, self.phase.as_mut());
                        self.exchange.sent += length;
                    } else {
                        let kind = sealed_alone(&message, self.transport.is_datagram());
                        self.metrics.record_sealed(kind, length, overhead(0));
                    }
                }
                Output::Challenge(message) => {
                    let length = (LENGTH_PREFIX + message.len()) as u64;
                    self.metrics.record_sealed(RecordKind::Control, length, overhead(0));
                    self.transport.challenge(&message);
                }
                Output::Follow => {
                    self.moved_to = self.transport.follow().or(self.moved_to);
                    let address = self.moved_to.map(|address| address.to_string());
                    tracing::info!(address, "the peer has moved to another address, and proved it");
                }
                Output::Event(event) => {
                    match &event {
                        Event::Established(_) => self.transport.admit(L::RECEIVES_MEDIA),
                        Event::Stalled => self.transport.forget_media(),
                        Event::Clock(estimate) => listener.clock(*estimate),
                        _ => {}
                    }
                    self.events.push_back(event);
                }
                Output::Media(media) => self.pauses = listener.media(media, self.arrived),
                // The deadline is read separately, before the next wait.
                Output::Timeout(_) => return,
            }
        }
    }

    /// Send the sealed media, and nothing else.
    pub(crate) fn send(&mut self, listener: &mut impl Listener) -> Result<(), Ended> {
        self.flush().map_err(Ended::Carrier)?;
        self.send_packets()?;
        // The session may have set a deadline for media that must wait.
        self.drain_session(listener, false);
        Ok(())
    }

    /// Pass what waits to be sent to the carrier, as far as it takes it.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        if self.transport.backlog() > 0 {
            self.handed = Instant::now();
        }
        self.transport.flush_now()
    }

    /// Just before the carrier was last given anything. What it was given cannot have arrived earlier, as it may have
    /// before the carrier returned.
    pub(crate) fn handed(&self) -> Instant {
        self.handed
    }

    /// Send the media that may leave now, if the session paces it. Returns true if any was sent; the session then has
    /// more output.
    fn send_packets(&mut self) -> Result<bool, Ended> {
        let mut any = false;
        let mut now = self.clock.now();
        while let Some(packets) = self.session.poll_packets(now) {
            self.handed = Instant::now();
            let taken = self.transport.send_packets(packets.bytes, packets.size);
            if !taken.map_err(Ended::Carrier)? {
                break;
            }
            self.session.packets_sent(now);
            any = true;
            now = self.clock.now();
        }
        Ok(any)
    }

    /// Pass an input to the session and send the resulting output.
    ///
    /// # Errors
    /// The session does not take the input, or the carrier failed.
    pub fn handle(&mut self, input: Input<'_>, listener: &mut impl Listener) -> Result<(), Ended> {
        let now = self.clock.now();
        // The welcome message establishes the session and is the last of the handshake; the other end counts it the
        // same way.
        let handshaking = !self.session.is_established();
        self.timed(|connection| {
            let told = connection.session.handle(now, input).map(drop).map_err(Ended::Session);
            connection.drain_session(listener, handshaking);
            connection.flush().map_err(Ended::Carrier)?;
            told
        })
    }

    /// Call `seal` with the session and the carrier's buffer, and count the sealed bytes as media.
    ///
    /// # Errors
    /// `seal` failed.
    pub fn seal(
        &mut self,
        seal: impl FnOnce(&mut Session, &mut Vec<u8>) -> Result<SealedRecords, SessionError>,
    ) -> Result<SealedRecords, Ended> {
        let before = self.transport.outgoing().len();
        let sealed = seal(&mut self.session, self.transport.outgoing());
        let bytes = (self.transport.outgoing().len() - before) as u64;
        self.note_media(bytes);
        sealed.map_err(Ended::Session)
    }

    /// Count media that was queued.
    pub(crate) fn note_media(&mut self, bytes: u64) {
        self.sealed += bytes;
        self.control_backlog.frame(bytes);
    }

    /// Bytes of media that this session has sent or received so far, whatever carries them.
    pub(crate) fn media_bytes(&self) -> u64 {
        let sent = match self.session.shape_counts() {
            Some(cells) => cells.inner_bytes,
            None => self.sealed + self.session.outbound_counts().map_or(0, |counts| counts.bytes),
        };
        sent + self.opened
    }

    /// False if frames go another way, through a relay.
    pub fn carries_media(&self) -> bool {
        self.transport.carries_media()
    }

    /// Lets the session seal data, unless the peer has not read what was sealed before.
    pub(crate) fn hold_data(&mut self) {
        self.session.hold_data(self.control_backlog.waiting() > MAX_DATA_UNREAD);
    }

    /// Bytes queued that the carrier has not yet taken.
    pub fn backlog(&self) -> usize {
        self.transport.backlog() + self.session.media_backlog()
    }

    /// True if all sent media has arrived or had enough time to arrive.
    pub fn settled(&self) -> bool {
        self.session.media_settled(self.clock.now())
    }

    /// True if the next frame can be sealed. A sealed frame can no longer be dropped, so few bytes may be queued
    /// ahead of it.
    pub fn ready_for_frame(&self) -> bool {
        let low = if let Some(room) = self.session.shape_room() {
            room
        } else if self.session.holds_media() {
            HELD_LOW
        } else {
            BACKLOG_LOW
        };
        let full = self.bounded && self.session.stream_is_full(self.clock.now().monotonic);
        self.backlog() < low && !full && !self.session.is_stalled()
    }

    /// Bytes that may be queued for sending at once. Frames that arrived together are sealed up to this limit and
    /// then [sent](Self::send) together.
    pub(crate) fn room(&mut self) -> usize {
        if !self.session.holds_media() {
            return BACKLOG_LOW;
        }
        let allowance = self.session.media_allowance(self.clock.now());
        usize::try_from(allowance).unwrap_or(usize::MAX).clamp(HELD_LOW, RUN)
    }

    /// The bytes queued from offset `from` on, for inspection of the data that goes to the network.
    pub(crate) fn outgoing_tail(&mut self, from: usize) -> &[u8] {
        let outgoing = self.transport.outgoing();
        &outgoing[from.min(outgoing.len())..]
    }

    /// Length of the carrier's buffer.
    pub(crate) fn outgoing_len(&mut self) -> usize {
        self.transport.outgoing().len()
    }
}

/// The session's input for a message. If the peer has moved, the session gets random bytes to challenge the new
/// address; without any, the message counts as lost.
fn input(origin: Origin, message: &mut [u8]) -> Option<Input<'_>> {
    let address = match origin {
        Origin::Peer => return Some(Input::Message(message)),
        Origin::Multicast => return Some(Input::Multicast(message)),
        Origin::Elsewhere(address) => address,
    };
    match entropy::random() {
        Ok(random) => Some(Input::MessageFrom(Elsewhere { address, random }, message)),
        Err(failure) => {
            tracing::warn!("a peer that moved is not heard: {failure}");
            None
        }
    }
}
