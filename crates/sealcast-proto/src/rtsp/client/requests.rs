//! Requests to the camera.

use std::time::Duration;

use super::machine::{Ask, CameraClient, Job, Step};
use super::{CameraEvent, CameraOutput, Lower};
use crate::rtsp::carried::{CarriedHeader, CarriedStatus, Parameters, Verb};
use crate::rtsp::message::{Method, Request};
use crate::rtsp::tracks::{Track, TrackSet};
use crate::rtsp::transport::{Offer, PortPair};

impl CameraClient {
    /// Sends the next request of the current job.
    pub(super) fn next_request(&mut self, now: Duration) {
        let mut for_all = true;
        let request = match &self.job {
            None => return,
            Some(Job::Options) => Request::new(Method::Options, self.url.as_str()),
            Some(Job::Describe) => {
                let mut request = Request::new(Method::Describe, self.url.as_str());
                request.headers.add("Accept", "application/sdp");
                request
            }
            Some(Job::KeepAlive) => Request::new(self.keep_alive.method(), self.aggregate()),
            Some(Job::Command { verb, with, .. }) => {
                let verb = *verb;
                for_all = matches!(verb, Verb::Play(_) | Verb::Pause | Verb::Teardown);
                let request = command(verb, with, self.aggregate());
                if let Some(refused) = self.out_of_turn(verb) {
                    return self.finish(refused, Parameters::default());
                }
                if let Verb::Play(tracks) = verb {
                    let mut wanted = tracks.without(self.progress.refused).iter();
                    if let Some(track) = wanted.find(|track| !self.set_up.contains(*track)) {
                        return self.begin_set_up(now, track, self.lower);
                    }
                    if let Some(refusal) = self.progress.refusal.filter(|_| !self.shows_something(tracks)) {
                        return self.finish(refusal, Parameters::default());
                    }
                }
                request
            }
        };
        let sessions = self.sessions.ids().take(if for_all { usize::MAX } else { 1 });
        let sessions = sessions.map(|id| Some(id.to_owned()));
        self.progress.left = sessions
            .map(|session| Ask {
                request: request.clone(),
                step: Step::Job,
                session,
            })
            .collect();
        let ask = self.progress.left.pop_front();
        self.send(
            now,
            ask.unwrap_or(Ask {
                request,
                step: Step::Job,
                session: None,
            }),
        );
    }

    /// Returns the status of a command that is answered without a request to the camera.
    fn out_of_turn(&self, verb: Verb) -> Option<CarriedStatus> {
        let Some(description) = &self.description else {
            return Some(CarriedStatus::BAD_GATEWAY);
        };
        match verb {
            Verb::Play(tracks) => {
                let exist = tracks.iter().all(|track| track.index() < description.tracks.len());
                (!exist).then(|| CarriedStatus::of_camera(404))
            }
            Verb::Pause if self.set_up.is_empty() => Some(CarriedStatus::of_camera(455)),
            Verb::Teardown if self.set_up.is_empty() => Some(CarriedStatus::OK),
            _ => None,
        }
    }

    /// True if a PLAY of these tracks is worth it although some were refused: pictures are left, or were not asked for.
    fn shows_something(&self, tracks: TrackSet) -> bool {
        let pictures = self.description.as_ref().map(|description| description.pictures);
        let pictures = tracks.only(pictures.unwrap_or_default());
        let wanted = if pictures.is_empty() { tracks } else { pictures };
        !wanted.only(self.set_up).is_empty()
    }

    pub(super) fn begin_set_up(&mut self, now: Duration, track: Track, lower: Lower) {
        match lower {
            Lower::Udp => {
                self.opening = Some(track);
                self.out
                    .push_back(CameraOutput::Event(CameraEvent::OpenPorts { track }));
            }
            Lower::Interleaved => {
                let pair = self.interleaving.free_pair();
                self.set_up_by(now, track, Offer::Interleaved(pair));
            }
        }
    }

    pub(super) fn ports_opened(&mut self, now: Duration, track: Track, ports: Option<PortPair>) {
        match ports {
            Some(ports) => self.set_up_by(now, track, Offer::Udp(ports)),
            None if self.lower == Lower::Udp => self.begin_set_up(now, track, Lower::Interleaved),
            // The other transport was refused already.
            None => self.refuse(track, CarriedStatus::of_camera(461)),
        }
    }

    fn set_up_by(&mut self, now: Duration, track: Track, offer: Offer) {
        let description = self.description.as_ref();
        let url = description.and_then(|description| description.tracks.get(track.index()));
        let mut request = Request::new(Method::Setup, url.cloned().unwrap_or_default());
        request.headers.add("Transport", offer.to_string());
        let ask = Ask {
            request,
            step: Step::SetUp { track, offer },
            session: self.sessions.ids().next().map(str::to_owned),
        };
        self.send(now, ask);
    }

    /// The camera does not send a track. The command goes on with the others.
    pub(super) fn refuse(&mut self, track: Track, status: CarriedStatus) {
        self.progress.refused.insert(track);
        self.progress.refusal.get_or_insert(status);
        let refused = CameraEvent::Refused { track, status };
        self.out.push_back(CameraOutput::Event(refused));
    }

    /// URL of all tracks together.
    pub(super) fn aggregate(&self) -> &str {
        self.description
            .as_ref()
            .map_or(self.url.as_str(), |description| &description.aggregate)
    }

    /// Forgets the session, since the camera no longer keeps it.
    pub(super) fn forget_session(&mut self) {
        self.sessions = Default::default();
        self.set_up = TrackSet::default();
        self.interleaving = Default::default();
        self.udp.clear();
    }
}

fn command(verb: Verb, with: &Parameters, url: &str) -> Request {
    let method = match verb {
        Verb::Play(_) => Method::Play,
        Verb::Pause => Method::Pause,
        Verb::GetParameter => Method::GetParameter,
        Verb::SetParameter => Method::SetParameter,
        Verb::Teardown => Method::Teardown,
    };
    let mut request = Request::new(method, url);
    for (header, value) in with.headers().filter(|(header, _)| *header != CarriedHeader::RtpInfo) {
        request.headers.add(header.name(), value);
    }
    request.body.clone_from(&with.body);
    request
}
