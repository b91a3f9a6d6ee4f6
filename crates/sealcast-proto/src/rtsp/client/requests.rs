//! Requests to the camera.

use std::time::Duration;

use super::machine::{CameraClient, Job, Step};
use super::{CameraEvent, CameraOutput, Lower};
use crate::rtsp::carried::{CarriedHeader, CarriedStatus, Parameters, Verb};
use crate::rtsp::message::{Method, Request};
use crate::rtsp::tracks::{Track, TrackSet};
use crate::rtsp::transport::{Offer, PortPair};

impl CameraClient {
    /// Sends the next request of the current job.
    pub(super) fn next_request(&mut self, now: Duration) {
        let request = match &self.job {
            None => return,
            Some(Job::Options) => Request::new(Method::Options, self.url.as_str()),
            Some(Job::Describe) => {
                let mut request = Request::new(Method::Describe, self.url.as_str());
                request.headers.add("Accept", "application/sdp");
                request
            }
            Some(Job::KeepAlive) => {
                let method = if self.get_parameter {
                    Method::GetParameter
                } else {
                    Method::Options
                };
                Request::new(method, self.aggregate())
            }
            Some(Job::Command { verb, with, .. }) => {
                let verb = *verb;
                if let Some(refused) = self.out_of_turn(verb) {
                    return self.finish(refused, Parameters::default());
                }
                if let Verb::Play(tracks) = verb
                    && let Some(track) = tracks.iter().find(|track| !self.set_up.contains(*track))
                {
                    return self.begin_set_up(now, track, self.lower);
                }
                command(verb, with, self.aggregate())
            }
        };
        self.send(now, request, Step::Job, 1);
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
            Verb::Pause if self.session.is_none() => Some(CarriedStatus::of_camera(455)),
            Verb::Teardown if self.session.is_none() => Some(CarriedStatus::OK),
            _ => None,
        }
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
            None => self.finish(CarriedStatus::of_camera(461), Parameters::default()),
        }
    }

    fn set_up_by(&mut self, now: Duration, track: Track, offer: Offer) {
        let description = self.description.as_ref();
        let url = description.and_then(|description| description.tracks.get(track.index()));
        let mut request = Request::new(Method::Setup, url.cloned().unwrap_or_default());
        request.headers.add("Transport", offer.to_string());
        self.send(now, request, Step::SetUp { track, offer }, 1);
    }

    /// URL of all tracks together.
    fn aggregate(&self) -> &str {
        self.description
            .as_ref()
            .map_or(self.url.as_str(), |description| &description.aggregate)
    }

    /// Forgets the session, since the camera no longer keeps it.
    pub(super) fn forget_session(&mut self) {
        self.session = None;
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
