//! State, inputs and outputs of the client.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;

use super::keep_alive::KeepAlive;
use super::sessions::Sessions;
use super::{
    CameraConfig, CameraError, CameraEvent, CameraInput, CameraOutput, DESCRIPTION_PATIENCE, Lower, MAX_COMMANDS,
    OPTIONS_PATIENCE, RESPONSE_PATIENCE,
};
use crate::rtsp::auth::Authenticator;
use crate::rtsp::carried::{CarriedStatus, Parameters, Verb};
use crate::rtsp::message::{Message, Method, Request, Response};
use crate::rtsp::not_rtsp::NotRtsp;
use crate::rtsp::oddity::{Oddities, Oddity};
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

/// A request to the camera.
#[derive(Clone)]
pub(super) struct Ask {
    pub(super) request: Request,
    pub(super) step: Step,
    /// The session that it is for.
    pub(super) session: Option<String>,
}

/// A request whose response has not arrived yet.
pub(super) struct Sent {
    pub(super) ask: Ask,
    pub(super) cseq: u32,
    pub(super) authorized: bool,
    pub(super) at: Duration,
    pub(super) deadline: Duration,
    /// A response with another number, and the time from which it counts.
    pub(super) doubtful: Option<(Duration, Response)>,
}

/// State of the current job.
#[derive(Default)]
pub(super) struct Progress {
    /// The job's own requests that are still to be sent: one for each session.
    pub(super) left: VecDeque<Ask>,
    /// The first good answer, else the first of all.
    pub(super) answer: Option<(CarriedStatus, Parameters)>,
    /// The tracks whose SETUP failed.
    pub(super) refused: TrackSet,
    pub(super) refusal: Option<CarriedStatus>,
    /// True once the job was begun again, track by track.
    pub(super) by_track: bool,
}

/// RTSP client for one camera; see the module documentation.
pub struct CameraClient {
    pub(super) url: CameraUrl,
    pub(super) redirects: u8,
    pub(super) lower: Lower,
    /// The other transport is not tried.
    pub(super) alone: bool,
    pub(super) authenticator: Authenticator,
    pub(super) reader: MessageReader,
    pub(super) out: VecDeque<CameraOutput>,
    pub(super) description: Option<Description>,
    pub(super) sessions: Sessions,
    pub(super) set_up: TrackSet,
    pub(super) interleaving: Interleaving,
    /// The camera's ports by track, where it named them.
    pub(super) udp: Vec<(Track, Option<PortPair>)>,
    pub(super) keep_alive: KeepAlive,
    jobs: VecDeque<Job>,
    pub(super) job: Option<Job>,
    pub(super) progress: Progress,
    pub(super) sent: Option<Sent>,
    /// Number of the last request that was not waited for any longer.
    pub(super) given_up: Option<u32>,
    /// Number of responses with a wrong number that were taken.
    pub(super) misnumbered: u32,
    pub(super) oddities: Oddities,
    /// Time from which a description without a length counts as complete.
    description_at: Option<Duration>,
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
        let mut authenticator = Authenticator::new(config.credentials, config.entropy);
        if config.redirects > 0 && !config.url.tls {
            authenticator.forbid_basic();
        }
        Self {
            url: config.url,
            redirects: config.redirects,
            lower,
            alone: false,
            authenticator,
            reader: MessageReader::of_camera(),
            out: VecDeque::new(),
            description: None,
            sessions: Sessions::default(),
            set_up: TrackSet::default(),
            interleaving: Interleaving::default(),
            udp: Vec::new(),
            keep_alive: KeepAlive::default(),
            jobs: VecDeque::from([Job::Options, Job::Describe]),
            job: None,
            progress: Progress::default(),
            sent: None,
            given_up: None,
            misnumbered: 0,
            oddities: Oddities::default(),
            description_at: None,
            opening: None,
            cseq: 0,
            last_sent: now,
            over: false,
        }
    }

    /// The same client, which does not try another transport if the camera refuses the configured one.
    #[must_use]
    pub fn by_one_transport(self) -> Self {
        Self { alone: true, ..self }
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

    /// Says that packets came from the camera over UDP. To be called before [`CameraInput::Timeout`] at the latest.
    pub fn heard(&mut self, now: Duration) {
        self.keep_alive.packet(now);
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

    /// Deviations of the camera from the standard that were passed over.
    pub fn oddities(&self) -> Oddities {
        let all = self.oddities.with(self.reader.oddities());
        all.with(self.sessions.oddities())
    }

    fn take(&mut self, now: Duration, input: CameraInput<'_>) -> Result<(), CameraError> {
        match input {
            CameraInput::Bytes(bytes) => return self.take_bytes(now, bytes),
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
            CameraInput::Timeout => return self.time_out(now),
        }
        Ok(())
    }

    fn take_bytes(&mut self, now: Duration, bytes: &[u8]) -> Result<(), CameraError> {
        self.reader.push(bytes)?;
        loop {
            while let Some((number, packet)) = self.reader.next_packet() {
                let channel = self.interleaving.channel(number).filter(|_| !packet.is_empty());
                let taken = channel.map(|channel| (channel, Bytes::copy_from_slice(packet)));
                let packet = taken.map(|(channel, packet)| CameraOutput::Packet(channel, packet));
                self.out.extend(packet);
                self.keep_alive.packet(now);
            }
            let described = matches!(&self.sent, Some(sent) if sent.ask.request.method == Method::Describe);
            self.reader.await_description(described);
            match self.reader.next_message()? {
                Some(Message::Response(response)) => {
                    self.keep_alive.message(now);
                    self.response(now, response)?;
                }
                Some(Message::Request(request)) => {
                    self.keep_alive.message(now);
                    self.asked(&request);
                }
                // The first packet after junk.
                Some(Message::Data { channel, bytes }) => {
                    let channel = self.interleaving.channel(channel).filter(|_| !bytes.is_empty());
                    self.out
                        .extend(channel.map(|channel| CameraOutput::Packet(channel, bytes.into())));
                    self.keep_alive.packet(now);
                }
                None => break,
            }
        }
        self.description_at = self.reader.is_unended().then(|| now + DESCRIPTION_PATIENCE);
        Ok(())
    }

    fn time_out(&mut self, now: Duration) -> Result<(), CameraError> {
        if self.description_at.is_some_and(|at| at <= now) {
            self.description_at = None;
            if let Some(response) = self.reader.take_unended() {
                return self.response(now, response);
            }
        }
        if let Some(doubtful) = self
            .sent
            .as_mut()
            .and_then(|sent| sent.doubtful.take_if(|(at, _)| *at <= now))
        {
            self.misnumbered += 1;
            self.oddities.note(Oddity::Misnumbered);
            return match self.sent.take() {
                Some(sent) => self.answered(now, sent, &doubtful.1),
                None => Ok(()),
            };
        }
        if let Some(sent) = self.sent.take_if(|sent| sent.deadline <= now) {
            return self.overdue(now, sent);
        }
        if self.keep_alive.is_over(now) {
            return Err(CameraError::SessionLost);
        }
        if self.idle() && self.keep_alive_at() <= now {
            self.jobs.push_back(Job::KeepAlive);
        }
        Ok(())
    }

    /// The camera did not answer a request. If something else came it is there, and only this request has failed.
    fn overdue(&mut self, now: Duration, sent: Sent) -> Result<(), CameraError> {
        let flows = self.keep_alive.flows_since(sent.at);
        self.given_up = Some(sent.cseq);
        match &self.job {
            Some(Job::Options) => {
                self.oddities.note(Oddity::OptionsUnanswered);
                self.job = None;
                return Ok(());
            }
            Some(Job::Describe) => {
                if let Some(response) = self.reader.take_unended() {
                    return self.answered(now, sent, &response);
                }
            }
            Some(Job::KeepAlive) if self.keep_alive.heard_since(sent.at) => {
                self.oddities.note(Oddity::KeepAliveUnanswered);
                self.keep_alive.failed();
                self.authenticator.passed();
                self.job = None;
                return Ok(());
            }
            // Its answer was lost: the packets say what it was.
            Some(Job::Command {
                verb: Verb::Play(_), ..
            }) if flows && matches!(sent.ask.step, Step::Job) => {
                self.oddities.note(Oddity::PlayUnanswered);
                return self.answered(now, sent, &Response::new(200));
            }
            Some(Job::Command { .. }) if flows => {
                return self.answered(now, sent, &Response::new(CarriedStatus::TIMEOUT.code()));
            }
            _ => {}
        }
        if !self.keep_alive.heard() && self.reader.skipped() > 0 {
            return Err(NotRtsp::FirstLine.into());
        }
        Err(CameraError::Silent)
    }

    /// Answers a request of the camera. Some check that the client is there, some announce what they describe anyway.
    fn asked(&mut self, request: &Request) {
        let known = [
            Method::Options,
            Method::GetParameter,
            Method::SetParameter,
            Method::Announce,
        ];
        let mut response = Response::new(if known.contains(&request.method) { 200 } else { 501 });
        if let Some(cseq) = request.headers.get("CSeq") {
            response.headers.add("CSeq", cseq);
        }
        self.out.push_back(CameraOutput::Transmit(response.to_bytes()));
    }

    /// Starts the next job, if no request is outstanding.
    fn go_on(&mut self, now: Duration) {
        while self.sent.is_none() && self.opening.is_none() {
            if self.job.is_none() {
                self.job = self.jobs.pop_front();
                self.progress = Progress::default();
            }
            if self.job.is_none() {
                return;
            }
            self.next_request(now);
        }
    }

    pub(super) fn send(&mut self, now: Duration, ask: Ask) {
        self.cseq = self.cseq.wrapping_add(1);
        let mut outgoing = ask.request.clone();
        outgoing.headers.add("CSeq", self.cseq.to_string());
        outgoing.headers.add("User-Agent", "sealcast");
        if let Some(session) = &ask.session {
            outgoing.headers.add("Session", session.clone());
        }
        let authorized = self.authenticator.authorize(&mut outgoing);
        self.out.push_back(CameraOutput::Transmit(outgoing.to_bytes()));
        self.last_sent = now;
        let patience = match &self.job {
            Some(Job::Options) => OPTIONS_PATIENCE,
            Some(Job::Describe) if self.given_up.is_some() => RESPONSE_PATIENCE - OPTIONS_PATIENCE,
            _ => RESPONSE_PATIENCE,
        };
        self.sent = Some(Sent {
            ask,
            cseq: self.cseq,
            authorized,
            at: now,
            deadline: now + patience,
            doubtful: None,
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
        if self.set_up.is_empty() {
            Duration::MAX
        } else {
            self.last_sent + self.sessions.timeout() / 2
        }
    }

    fn deadline(&self) -> Duration {
        let next = match &self.sent {
            _ if self.over => return Duration::MAX,
            Some(sent) => {
                let doubtful = sent.doubtful.as_ref().map_or(Duration::MAX, |(at, _)| *at);
                sent.deadline.min(doubtful)
            }
            None if self.idle() => self.keep_alive_at(),
            // Waiting for the program to open ports.
            None if self.opening.is_some() => Duration::MAX,
            // Before the first call of `handle`.
            None => self.last_sent,
        };
        let description = self.description_at.unwrap_or(Duration::MAX);
        next.min(description).min(self.keep_alive.deadline())
    }
}
