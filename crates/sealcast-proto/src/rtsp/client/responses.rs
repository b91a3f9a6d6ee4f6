//! Responses of the camera.

use std::collections::VecDeque;
use std::time::Duration;

use super::machine::{Ask, CameraClient, Job, Sent, Step};
use super::sessions::Unknown;
use super::{CameraError, CameraEvent, CameraOutput, Lower, NUMBER_PATIENCE};
use crate::rtsp::carried::{CarriedHeader, CarriedStatus, Parameters, Verb};
use crate::rtsp::message::Response;
use crate::rtsp::oddity::Oddity;
use crate::rtsp::sdp;
use crate::rtsp::tracks::{Channel, Track};
use crate::rtsp::transport::{Granted, Offer, parse_granted};
use crate::rtsp::url::{base, rtp_info_from_camera};

/// Number of responses with a wrong number after which numbers count nothing.
const MISNUMBERED: u32 = 2;

impl CameraClient {
    pub(super) fn response(&mut self, now: Duration, response: Response) -> Result<(), CameraError> {
        let number = response.headers.get("CSeq").and_then(|value| {
            let digits = value.bytes().take_while(u8::is_ascii_digit).count();
            value[..digits].parse::<u32>().ok()
        });
        // An interim response is ignored, and one without a number is taken for that of the outstanding request.
        let ours = number.is_none() || self.misnumbered >= MISNUMBERED;
        let Some(sent) = self.sent.as_mut().filter(|_| response.status >= 200) else {
            return Ok(());
        };
        if !ours && number != Some(sent.cseq) {
            // Late, or sent twice, or of a camera that counts otherwise.
            if number != self.given_up && sent.doubtful.is_none() {
                sent.doubtful = Some((now + NUMBER_PATIENCE, response));
            }
            return Ok(());
        }
        if number.is_none() {
            self.oddities.note(Oddity::Unnumbered);
        }
        match self.sent.take() {
            Some(sent) => self.answered(now, sent, &response),
            None => Ok(()),
        }
    }

    /// Processes the response to a request.
    pub(super) fn answered(&mut self, now: Duration, sent: Sent, response: &Response) -> Result<(), CameraError> {
        if response.status == 401 {
            match self.authenticator.challenged(response, sent.authorized) {
                Ok(()) => {
                    self.send(now, sent.ask);
                    return Ok(());
                }
                // The session was let in before. While packets come, this is no reason to end it.
                Err(_) if matches!(self.job, Some(Job::KeepAlive)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        self.authenticator.passed();
        let Some(sent) = self.follow(now, sent, response)? else {
            return Ok(());
        };
        match sent.ask.step {
            Step::SetUp { track, offer } => self.track_set_up(now, track, offer, sent.ask, response),
            Step::Job => return self.job_done(now, &sent, response),
        }
        Ok(())
    }

    fn job_done(&mut self, now: Duration, sent: &Sent, response: &Response) -> Result<(), CameraError> {
        let session = sent.ask.session.as_deref();
        if response.status < 300 {
            self.sessions
                .answered(session, response.headers.get("Session"), self.set_up);
        }
        match &self.job {
            None => {}
            Some(Job::Options) => {
                self.keep_alive
                    .listed(response.headers.get("Public").unwrap_or_default());
                self.job = None;
            }
            Some(Job::Describe) => {
                self.described(&sent.ask.request.url, response)?;
                self.job = None;
            }
            Some(Job::KeepAlive | Job::Command { .. }) => {
                if let (454, Some(id)) = (response.status, session)
                    && self.session_unknown(now, id, &sent.ask)?
                {
                    return Ok(());
                }
                self.take_answer(sent, response);
                match self.progress.left.pop_front() {
                    Some(ask) => self.send(now, ask),
                    None => self.complete(),
                }
            }
        }
        Ok(())
    }

    /// The camera does not know the session of a request. Returns true if another request was sent in its place.
    fn session_unknown(&mut self, now: Duration, id: &str, ask: &Ask) -> Result<bool, CameraError> {
        let others = self.progress.answer.is_some() || !self.progress.left.is_empty();
        let next = match self.sessions.unknown(id) {
            Unknown::Former(next) => next,
            // The other one is asked as well.
            Unknown::Other(_) if others => return Ok(false),
            Unknown::Other(next) => next,
            Unknown::Lost if matches!(self.job, Some(Job::KeepAlive)) => {
                self.keep_alive.doubt(now);
                return Ok(false);
            }
            Unknown::Lost => return Err(CameraError::SessionLost),
        };
        let session = Some(next);
        self.send(now, Ask { session, ..ask.clone() });
        Ok(true)
    }

    /// Takes the response to one of the job's own requests.
    fn take_answer(&mut self, sent: &Sent, response: &Response) {
        let Some(Job::Command { verb, .. }) = &self.job else {
            if response.status >= 300 {
                self.oddities.note(Oddity::KeepAliveRefused);
                self.keep_alive.failed();
            }
            return;
        };
        let changes = matches!(verb, Verb::Play(_) | Verb::Pause | Verb::Teardown);
        if response.status == 459 && changes && !std::mem::replace(&mut self.progress.by_track, true) {
            self.progress.left = self.by_track(&sent.ask);
            self.progress.answer = None;
            if !self.progress.left.is_empty() {
                return;
            }
        }
        let status = CarriedStatus::of_camera(response.status);
        let with = self.particulars(response);
        match &mut self.progress.answer {
            Some((before, first)) if before.is_ok() => {
                if let Some(more) = with.get(CarriedHeader::RtpInfo).filter(|_| status.is_ok()) {
                    let joined = first.get(CarriedHeader::RtpInfo).map(|info| format!("{info},{more}"));
                    first.set(CarriedHeader::RtpInfo, joined.unwrap_or_else(|| more.to_owned()));
                }
            }
            Some(_) if !status.is_ok() => {}
            answer => *answer = Some((status, with)),
        }
    }

    /// The request for each track that is set up, instead of one for all.
    fn by_track(&self, ask: &Ask) -> VecDeque<Ask> {
        let urls = self.description.iter().flat_map(|description| &description.tracks);
        let tracks = (0..).map_while(Track::new).zip(urls);
        let tracks = tracks.filter(|(track, _)| self.set_up.contains(*track));
        let asks = tracks.map(|(track, url)| {
            let mut ask = ask.clone();
            ask.request.url.clone_from(url);
            ask.session = self.sessions.of(track).map(str::to_owned);
            ask
        });
        asks.collect()
    }

    /// Ends the job: all its requests were answered.
    fn complete(&mut self) {
        let torn_down = matches!(
            &self.job,
            Some(Job::Command {
                verb: Verb::Teardown,
                ..
            })
        );
        match self.progress.answer.take() {
            Some((status, with)) => self.finish(status, with),
            None => self.job = None,
        }
        if torn_down {
            self.forget_session();
        }
    }

    fn described(&mut self, asked: &str, response: &Response) -> Result<(), CameraError> {
        if response.status >= 300 {
            return Err(CameraError::Status(response.status));
        }
        let headers = ["Content-Base", "Content-Location"].into_iter();
        let base = base(headers.filter_map(|name| response.headers.get(name)), asked);
        let mut description = sdp::rewrite(&response.body, &base, &self.url.host)?;
        let crossing = std::mem::take(&mut description.sdp);
        self.description = Some(description);
        self.out
            .push_back(CameraOutput::Event(CameraEvent::Described(crossing)));
        Ok(())
    }

    fn track_set_up(&mut self, now: Duration, track: Track, offer: Offer, ask: Ask, response: &Response) {
        if matches!(response.status, 454 | 459) && ask.session.is_some() {
            // Of this camera each track has a session of its own.
            return self.send(now, Ask { session: None, ..ask });
        }
        let transport = response.headers.get("Transport").unwrap_or_default();
        let granted = parse_granted(transport, offer).filter(|_| response.status < 300);
        let first_choice = (self.lower == Lower::Udp) == matches!(offer, Offer::Udp(_));
        let other = response.status == 461 || (response.status < 300 && granted.is_none());
        // Packets over UDP would leave the protection of TLS.
        if other && first_choice && !self.url.tls && !self.alone {
            let other = if self.lower == Lower::Udp {
                Lower::Interleaved
            } else {
                Lower::Udp
            };
            self.oddities.note(Oddity::OtherTransport);
            return self.begin_set_up(now, track, other);
        }
        let usable = match granted {
            Some(Granted::Interleaved { rtp, rtcp }) => self.assign(track, (rtp, rtcp), offer),
            Some(Granted::Udp { server, .. }) => {
                if server.is_none() {
                    self.oddities.note(Oddity::NoPorts);
                }
                self.udp.retain(|(other, _)| *other != track);
                self.udp.push((track, server));
                true
            }
            None => false,
        };
        if !usable {
            let status = if response.status < 300 { 502 } else { response.status };
            return self.refuse(track, CarriedStatus::of_camera(status));
        }
        if transport.is_empty() {
            self.oddities.note(Oddity::NoTransport);
        }
        self.set_up.insert(track);
        self.sessions.set_up(track, response.headers.get("Session"));
    }

    /// Assigns the channels that the camera named, or if another track has one of them those that it was offered.
    fn assign(&mut self, track: Track, (rtp, rtcp): (u8, u8), offer: Offer) -> bool {
        let offered = match offer {
            Offer::Interleaved(offered) => offered,
            Offer::Udp(_) => self.interleaving.free_pair(),
        };
        let named = self.interleaving.assign(track, rtp, rtcp);
        if !named {
            self.oddities.note(Oddity::ChannelsTaken);
        }
        let assigned = named || offered.is_some_and(|(rtp, rtcp)| self.interleaving.assign(track, rtp, rtcp));
        for rtcp in [false, true] {
            if let Some(number) = self.interleaving.number(Channel { track, rtcp }) {
                self.reader.carries(number);
            }
        }
        assigned
    }

    /// Returns the headers and the body of a response that are passed on.
    fn particulars(&self, response: &Response) -> Parameters {
        let mut with = Parameters::of_body(response.body.clone());
        for header in CarriedHeader::ALL {
            let Some(value) = response.headers.get(header.name()) else {
                continue;
            };
            match (header, &self.description) {
                (CarriedHeader::RtpInfo, Some(description)) => {
                    let base = &description.base;
                    with.set(header, rtp_info_from_camera(value, base, &description.tracks));
                }
                _ => with.set(header, value.to_owned()),
            }
        }
        with
    }
}
