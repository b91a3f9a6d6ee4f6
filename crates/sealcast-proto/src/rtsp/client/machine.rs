//! State, inputs and outputs of the client.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;

use super::{
    CameraConfig, CameraError, CameraEvent, CameraInput, CameraOutput, Lower, MAX_COMMANDS, RESPONSE_PATIENCE,
};
use crate::rtsp::auth::Authenticator;
use crate::rtsp::carried::{CarriedStatus, Parameters, Verb};
use crate::rtsp::message::{Message, Method, Request, Response};
use crate::rtsp::reader::MessageReader;
use crate::rtsp::sdp::Description;
use crate::rtsp::tracks::{Channel, Interleaving, Track, TrackSet};
use crate::rtsp::transport::{Offer, PortPair, Route};
use crate::rtsp::url::CameraUrl;

/// A task that takes one or more requests.
pub(super) enum Job {
    Options,
    Describe,
    Command { number: u32, verb: Verb, with: Parameters },
    KeepAlive,
}

/// Purpose of the outstanding request.
#[derive(Clone, Copy)]
pub(super) enum Step {
    /// The job's own request.
    Job,
    /// The SETUP of a track that the job needs first.
    SetUp { track: Track, offer: Offer },
}

/// A request whose response has not arrived yet.
pub(super) struct Sent {
    pub(super) request: Request,
    pub(super) step: Step,
    pub(super) cseq: u32,
    pub(super) authorized: bool,
    pub(super) tries: u32,
    deadline: Duration,
}

/// The session that the camera keeps for this client.
pub(super) struct CameraSession {
    pub(super) id: String,
    pub(super) timeout: Duration,
}

/// RTSP client for one camera; see the module documentation.
pub struct CameraClient {
    pub(super) url: CameraUrl,
    pub(super) lower: Lower,
    pub(super) authenticator: Authenticator,
    reader: MessageReader,
    pub(super) out: VecDeque<CameraOutput>,
    pub(super) description: Option<Description>,
    pub(super) session: Option<CameraSession>,
    pub(super) set_up: TrackSet,
    pub(super) interleaving: Interleaving,
    /// The camera's ports by track, where it named them.
    pub(super) udp: Vec<(Track, Option<PortPair>)>,
    pub(super) get_parameter: bool,
    jobs: VecDeque<Job>,
    pub(super) job: Option<Job>,
    pub(super) sent: Option<Sent>,
    /// The track for which ports are being opened.
    pub(super) opening: Option<Track>,
    cseq: u32,
    last_sent: Duration,
    over: bool,
}

impl CameraClient {
    /// Creates the client of a connection that is open or being opened. `now` is monotonic.
    pub fn new(config: CameraConfig, now: Duration) -> Self {
        let lower = if config.url.tls {
            Lower::Interleaved
        } else {
            config.lower
        };
        Self {
            url: config.url,
            lower,
            authenticator: Authenticator::new(config.credentials, config.entropy),
            reader: MessageReader::default(),
            out: VecDeque::new(),
            description: None,
            session: None,
            set_up: TrackSet::default(),
            interleaving: Interleaving::default(),
            udp: Vec::new(),
            get_parameter: false,
            jobs: VecDeque::from([Job::Options, Job::Describe]),
            job: None,
            sent: None,
            opening: None,
            cseq: 0,
            last_sent: now,
            over: false,
        }
    }

    /// Processes an input at a monotonic time; see the module documentation.
    ///
    /// # Errors
    /// [`CameraError`]: the connection must end.
    pub fn handle(&mut self, now: Duration, input: CameraInput<'_>) -> Result<(), CameraError> {
        if self.over {
            return Err(CameraError::Misuse);
        }
        let handled = self.take(now, input);
        self.over = handled.is_err();
        if handled.is_ok() {
            self.go_on(now);
        }
        handled
    }

    /// Returns the next output; see the module documentation.
    pub fn poll(&mut self) -> CameraOutput {
        self.out
            .pop_front()
            .unwrap_or_else(|| CameraOutput::Timeout(self.deadline()))
    }

    /// Route of an RTCP packet to the camera, or `None` if the track is not set up or the camera named no port.
    pub fn route(&self, channel: Channel) -> Option<Route> {
        if let Some(number) = self.interleaving.number(channel) {
            return Some(Route::Interleaved(number));
        }
        let (_, ports) = self.udp.iter().find(|(track, _)| *track == channel.track)?;
        let port = ports.map(|ports| if channel.rtcp { ports.rtcp } else { ports.rtp })?;
        Some(Route::Udp { port })
    }

    /// The tracks that are received over UDP, and the camera's ports where it named them.
    pub fn ports(&self) -> impl Iterator<Item = (Track, Option<PortPair>)> {
        self.udp.iter().copied()
    }

    fn take(&mut self, now: Duration, input: CameraInput<'_>) -> Result<(), CameraError> {
        match input {
            CameraInput::Bytes(bytes) => {
                self.reader.push(bytes)?;
                loop {
                    while let Some((number, packet)) = self.reader.next_packet() {
                        let channel = self.interleaving.channel(number).filter(|_| !packet.is_empty());
                        let taken = channel.map(|channel| (channel, Bytes::copy_from_slice(packet)));
                        let packet = taken.map(|(channel, packet)| CameraOutput::Packet(channel, packet));
                        self.out.extend(packet);
                    }
                    match self.reader.next_message()? {
                        Some(Message::Response(response)) => self.response(now, &response)?,
                        Some(Message::Request(request)) => self.asked(&request),
                        Some(Message::Data { .. }) | None => break,
                    }
                }
            }
            CameraInput::Command(number, _, _) if self.jobs.len() >= MAX_COMMANDS => {
                self.answer(number, CarriedStatus::of_camera(503), Parameters::default());
            }
            CameraInput::Command(number, verb, with) => self.jobs.push_back(Job::Command {
                number,
                verb,
                with: with.clone(),
            }),
            CameraInput::Ports(ports) => {
                let track = self.opening.take().ok_or(CameraError::Misuse)?;
                self.ports_opened(now, track, ports);
            }
            CameraInput::Timeout if self.sent.as_ref().is_some_and(|sent| sent.deadline <= now) => {
                return Err(CameraError::Silent);
            }
            CameraInput::Timeout => {
                if self.idle() && self.keep_alive_at() <= now {
                    self.jobs.push_back(Job::KeepAlive);
                }
            }
        }
        Ok(())
    }

    /// Answers a request of the camera. Only OPTIONS is supported, with which a camera checks that the client is there.
    fn asked(&mut self, request: &Request) {
        let mut response = Response::new(if request.method == Method::Options { 200 } else { 501 });
        let cseq = request.headers.get("CSeq").unwrap_or_default();
        response.headers.add("CSeq", cseq);
        self.out.push_back(CameraOutput::Transmit(response.to_bytes()));
    }

    /// Starts the next job, if no request is outstanding.
    fn go_on(&mut self, now: Duration) {
        while self.sent.is_none() && self.opening.is_none() {
            if self.job.is_none() {
                self.job = self.jobs.pop_front();
            }
            if self.job.is_none() {
                return;
            }
            self.next_request(now);
        }
    }

    pub(super) fn send(&mut self, now: Duration, request: Request, step: Step, tries: u32) {
        self.cseq = self.cseq.wrapping_add(1);
        let mut outgoing = request.clone();
        outgoing.headers.add("CSeq", self.cseq.to_string());
        outgoing.headers.add("User-Agent", "sealcast");
        if let Some(session) = &self.session {
            outgoing.headers.add("Session", session.id.clone());
        }
        let authorized = self.authenticator.authorize(&mut outgoing);
        self.out.push_back(CameraOutput::Transmit(outgoing.to_bytes()));
        self.last_sent = now;
        self.sent = Some(Sent {
            request,
            step,
            cseq: self.cseq,
            authorized,
            tries,
            deadline: now + RESPONSE_PATIENCE,
        });
    }

    pub(super) fn answer(&mut self, number: u32, status: CarriedStatus, with: Parameters) {
        let answered = CameraEvent::Answered { number, status, with };
        self.out.push_back(CameraOutput::Event(answered));
    }

    /// Ends the current job, and reports the answer if it is a command.
    pub(super) fn finish(&mut self, status: CarriedStatus, with: Parameters) {
        if let Some(Job::Command { number, .. }) = self.job.take() {
            self.answer(number, status, with);
        }
    }

    fn idle(&self) -> bool {
        self.sent.is_none() && self.opening.is_none() && self.job.is_none() && self.jobs.is_empty()
    }

    /// Time of the next keep-alive: half the session's timeout after the last request.
    fn keep_alive_at(&self) -> Duration {
        let session = self.session.as_ref();
        session.map_or(Duration::MAX, |session| self.last_sent + session.timeout / 2)
    }

    fn deadline(&self) -> Duration {
        match &self.sent {
            _ if self.over => Duration::MAX,
            Some(sent) => sent.deadline,
            None if self.idle() => self.keep_alive_at(),
            // Waiting for the program to open ports.
            None if self.opening.is_some() => Duration::MAX,
            // Before the first call of `handle`.
            None => self.last_sent,
        }
    }
}
