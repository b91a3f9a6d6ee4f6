//! Responses to the player that depend on an answer of the program.

use std::time::Duration;

use super::machine::{Camera, Pending, PlayerServer, Question, Watching};
use super::{PLAYER_TIMEOUT, PlayerAnswer, PlayerError};
use crate::rtsp::carried::{CarriedHeader, CarriedStatus, Parameters, Verb};
use crate::rtsp::message::Response;
use crate::rtsp::tracks::{MAX_TRACKS, Track};
use crate::rtsp::transport::{Granted, PortPair};
use crate::rtsp::url::rtp_info_for_player;

impl PlayerServer {
    pub(super) fn answered(
        &mut self,
        now: Duration,
        pending: Pending,
        answer: PlayerAnswer<'_>,
    ) -> Result<(), PlayerError> {
        let response = match (pending.question, answer) {
            (Question::Describe { path, base }, PlayerAnswer::Described(Ok(sdp))) => self.described(path, base, sdp),
            (Question::Describe { .. }, PlayerAnswer::Described(Err(status))) => Response::new(status.code()),
            (Question::Ports { track, client }, PlayerAnswer::Ports(ports)) => self.ports_opened(track, client, ports),
            (Question::Command(verb), PlayerAnswer::Done(status, with)) => self.done(verb, status, with),
            (Question::Login { request, right }, PlayerAnswer::Login) => {
                self.logged_in = right;
                return self.respond(now, &request, Some(right));
            }
            _ => return Err(PlayerError::Misuse),
        };
        self.send(response, Some(pending.cseq));
        Ok(())
    }

    fn described(&mut self, path: String, base: String, sdp: &[u8]) -> Response {
        let mut response = Response::new(200);
        response.headers.add("Content-Type", "application/sdp");
        response.headers.add("Content-Base", base.clone());
        response.body = sdp.to_vec();
        let lines = sdp.split(|byte| *byte == b'\n');
        let tracks = lines.filter(|line| line.starts_with(b"m=")).take(MAX_TRACKS.into());
        self.camera = Some(Camera {
            path,
            base,
            tracks: tracks.count(),
        });
        response
    }

    fn ports_opened(&mut self, track: Track, client: PortPair, server: Option<PortPair>) -> Response {
        if server.is_none() {
            return Response::new(461);
        }
        let watching = self.watching.get_or_insert_with(Watching::default);
        watching.interleaving.release(track);
        watching.udp.retain(|(other, _)| *other != track);
        watching.udp.push((track, client));
        self.granted(track, Granted::Udp { client, server })
    }

    pub(super) fn granted(&mut self, track: Track, granted: Granted) -> Response {
        if let Some(watching) = &mut self.watching {
            watching.tracks.insert(track);
        }
        let mut response = Response::new(200);
        response.headers.add("Transport", granted.to_string());
        let session = format!("{};timeout={}", self.session_id, PLAYER_TIMEOUT.as_secs());
        response.headers.add("Session", session);
        response
    }

    fn done(&mut self, verb: Verb, status: CarriedStatus, with: &Parameters) -> Response {
        let mut response = self.in_session(status.code());
        if let (Some(watching), true) = (&mut self.watching, status.is_ok()) {
            match verb {
                Verb::Play(_) => watching.playing = true,
                Verb::Pause => watching.playing = false,
                Verb::GetParameter | Verb::SetParameter | Verb::Teardown => {}
            }
        }
        for (header, value) in with.headers() {
            let value = match (header, &self.camera) {
                (CarriedHeader::RtpInfo, Some(camera)) => rtp_info_for_player(value, &camera.base),
                _ => value.to_owned(),
            };
            response.headers.add(header.name(), value);
        }
        response.body.clone_from(&with.body);
        response
    }

    /// Creates a response, with the session's identifier if there is a session.
    pub(super) fn in_session(&self, status: u16) -> Response {
        let mut response = Response::new(status);
        if self.watching.is_some() {
            response.headers.add("Session", self.session_id.clone());
        }
        response
    }
}
