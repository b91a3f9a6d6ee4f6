//! Requests of a player, and the responses that need no answer of the program.

use std::time::Duration;

use super::machine::{PlayerServer, Question, Watching};
use super::{MAX_LOGINS, MAX_PATH, PlayerError};
use crate::rtsp::carried::{CarriedHeader, Parameters, Verb};
use crate::rtsp::message::{Method, Request, Response};
use crate::rtsp::tracks::Track;
use crate::rtsp::transport::{Granted, Offer, parse_offers};
use crate::rtsp::url::{asked, without_user_info};

/// The supported methods.
const PUBLIC: &str = "OPTIONS, DESCRIBE, SETUP, PLAY, PAUSE, GET_PARAMETER, SET_PARAMETER, TEARDOWN";

/// Result of a request: a response, or a request to the program.
type Outcome = Result<Response, Deferred>;

/// A request to the program, with its headers and body.
struct Deferred(Question, Parameters);

impl PlayerServer {
    pub(super) fn request(&mut self, now: Duration, request: Request) -> Result<(), PlayerError> {
        let cseq = cseq(&request).filter(|_| request.version_one);
        match (cseq, self.first_login(&request)) {
            (Some(cseq), Some(right)) => {
                let request = Box::new(request);
                self.ask(now, cseq, Question::Login { request, right }, Parameters::default());
                Ok(())
            }
            _ => self.respond(now, &request, None),
        }
    }

    /// Returns whether credentials are right that a request gives before the player has proved any.
    fn first_login(&mut self, request: &Request) -> Option<bool> {
        let gives_some = known(&request.method) && request.headers.get("Authorization").is_some();
        let verifier = self.verifier.as_mut().filter(|_| !self.logged_in && gives_some)?;
        Some(verifier.admits(request))
    }

    /// Responds to a request, or passes it to the program. `login`: whether its credentials are right, if that was
    /// found out already.
    pub(super) fn respond(&mut self, now: Duration, request: &Request, login: Option<bool>) -> Result<(), PlayerError> {
        let cseq = cseq(request);
        let outcome = match (request.version_one, cseq) {
            (false, _) => Ok(Response::new(505)),
            (true, None) => Ok(Response::new(400)),
            (true, Some(_)) => match self.refusal(request, login) {
                Some(refusal) => Ok(refusal),
                None => self.outcome(request),
            },
        };
        match outcome {
            Ok(response) => self.send(response, cseq),
            Err(Deferred(question, with)) => self.ask(now, cseq.unwrap_or_default(), question, with),
        }
        if self.failed_logins > MAX_LOGINS {
            Err(PlayerError::Login)
        } else {
            Ok(())
        }
    }

    /// Returns the response to a request that is refused whatever it asks for.
    fn refusal(&mut self, request: &Request, login: Option<bool>) -> Option<Response> {
        let mut refusal = match &request.method {
            Method::Announce | Method::Record => Response::new(405),
            Method::Other(_) | Method::Redirect => Response::new(501),
            _ => return self.refusal_of_known(request, login),
        };
        refusal.headers.add("Public", PUBLIC);
        if refusal.status == 405 {
            refusal.headers.add("Allow", PUBLIC);
        }
        Some(refusal)
    }

    fn refusal_of_known(&mut self, request: &Request, login: Option<bool>) -> Option<Response> {
        if let Some(feature) = request.headers.get("Require") {
            let mut refusal = Response::new(551);
            refusal.headers.add("Unsupported", feature);
            return Some(refusal);
        }
        // OPTIONS needs no login: the supported methods are not secret, and players ask for them before they log in.
        if let Some(verifier) = self.verifier.as_mut().filter(|_| request.method != Method::Options) {
            if !login.unwrap_or_else(|| verifier.admits(request)) {
                let mut refusal = Response::new(401);
                refusal.headers.add("WWW-Authenticate", verifier.challenge());
                self.failed_logins += 1;
                return Some(refusal);
            }
            self.failed_logins = 0;
        }
        let session = request.headers.get("Session");
        let session = session.map(|session| session.split(';').next().unwrap_or_default().trim());
        match (session, &self.watching) {
            (Some(session), Some(_)) if session == self.session_id => None,
            (None, _) => None,
            (Some(_), _) => Some(Response::new(454)),
        }
    }

    fn outcome(&mut self, request: &Request) -> Outcome {
        match request.method {
            Method::Options => {
                let mut response = Response::new(200);
                response.headers.add("Public", PUBLIC);
                Ok(response)
            }
            Method::Describe => self.describe(request),
            Method::Setup => self.set_up(request),
            // A keep-alive.
            Method::GetParameter | Method::SetParameter if request.body.is_empty() => Ok(self.in_session(200)),
            Method::GetParameter => self.command(request, Verb::GetParameter),
            Method::SetParameter => self.command(request, Verb::SetParameter),
            Method::Play => {
                let tracks = self
                    .watching
                    .as_ref()
                    .map(|watching| watching.tracks)
                    .unwrap_or_default();
                self.command(request, Verb::Play(tracks))
            }
            Method::Pause => self.command(request, Verb::Pause),
            _ => {
                if self.watching.is_none() || request.headers.get("Session").is_none() {
                    return Ok(Response::new(454));
                }
                let response = self.in_session(200);
                self.tear_down();
                Ok(response)
            }
        }
    }

    fn describe(&self, request: &Request) -> Outcome {
        let Some(asked) = asked(&request.url).filter(|asked| asked.track.is_none()) else {
            return Ok(Response::new(404));
        };
        if asked.path.len() > MAX_PATH {
            return Ok(Response::new(414));
        }
        let other = self.camera.as_ref().is_some_and(|camera| camera.path != asked.path);
        if other && self.watching.is_some() {
            return Ok(Response::new(455));
        }
        let url = without_user_info(&request.url);
        let base = format!("{}/", url.trim_end_matches('/'));
        let path = asked.path;
        Err(Deferred(Question::Describe { path, base }, Parameters::default()))
    }

    fn set_up(&mut self, request: &Request) -> Outcome {
        let track = match self.track_to_set_up(&request.url) {
            Ok(track) => track,
            Err(status) => return Ok(Response::new(status)),
        };
        let Some(transport) = request.headers.get("Transport") else {
            return Ok(Response::new(400));
        };
        let mut offers = parse_offers(transport).into_iter();
        let offer = offers.find(|offer| self.udp_allowed || !matches!(offer, Offer::Udp(_)));
        match offer {
            None => Ok(Response::new(461)),
            Some(Offer::Udp(client)) => Err(Deferred(Question::Ports { track, client }, Parameters::default())),
            Some(Offer::Interleaved(wanted)) => Ok(self.interleave(track, wanted)),
        }
    }

    /// Returns the track that a SETUP names, or the status for a SETUP that names none.
    fn track_to_set_up(&self, url: &str) -> Result<Track, u16> {
        let camera = self.camera.as_ref().ok_or(455_u16)?;
        let asked = asked(url).filter(|asked| asked.path == camera.path).ok_or(404_u16)?;
        if self.watching.as_ref().is_some_and(|watching| watching.playing) {
            return Err(455);
        }
        match asked.track {
            Some(track) if track.index() < camera.tracks => Ok(track),
            Some(_) => Err(404),
            None if camera.tracks == 1 => Track::new(0).ok_or(404),
            None => Err(459),
        }
    }

    fn interleave(&mut self, track: Track, wanted: Option<(u8, u8)>) -> Response {
        let watching = self.watching.get_or_insert_with(Watching::default);
        let assigned = wanted.filter(|(rtp, rtcp)| watching.interleaving.assign(track, *rtp, *rtcp));
        let assigned = assigned.or_else(|| {
            let (rtp, rtcp) = watching.interleaving.free_pair()?;
            watching.interleaving.assign(track, rtp, rtcp).then_some((rtp, rtcp))
        });
        let Some((rtp, rtcp)) = assigned else {
            return Response::new(461);
        };
        watching.udp.retain(|(other, _)| *other != track);
        self.granted(track, Granted::Interleaved { rtp, rtcp })
    }

    fn command(&self, request: &Request, verb: Verb) -> Outcome {
        let (Some(camera), Some(watching)) = (&self.camera, &self.watching) else {
            return Ok(Response::new(455));
        };
        if request.headers.get("Session").is_none() {
            return Ok(Response::new(454));
        }
        let Some(asked) = asked(&request.url).filter(|asked| asked.path == camera.path) else {
            return Ok(Response::new(404));
        };
        if asked.track.is_some() && watching.tracks.iter().count() > 1 && matches!(verb, Verb::Play(_) | Verb::Pause) {
            return Ok(Response::new(460));
        }
        let mut with = Parameters::of_body(request.body.clone());
        for header in CarriedHeader::ALL
            .into_iter()
            .filter(|header| *header != CarriedHeader::RtpInfo)
        {
            if let Some(value) = request.headers.get(header.name()) {
                with.set(header, value.to_owned());
            }
        }
        Err(Deferred(Question::Command(verb), with))
    }
}

/// Returns true for the methods that need a login, if any is needed.
fn known(method: &Method) -> bool {
    !matches!(
        method,
        Method::Options | Method::Announce | Method::Record | Method::Other(_) | Method::Redirect
    )
}

fn cseq(request: &Request) -> Option<u32> {
    request.headers.get("CSeq").and_then(parse_number)
}

fn parse_number(value: &str) -> Option<u32> {
    let digits = value.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| value.parse().ok())?
}
