//! Responses of the camera.

use std::time::Duration;

use super::machine::{CameraClient, CameraSession, Job, Sent, Step};
use super::{CameraError, CameraEvent, CameraOutput, Lower, MAX_TRIES};
use crate::rtsp::auth::AuthError;
use crate::rtsp::carried::{CarriedHeader, CarriedStatus, Parameters, Verb};
use crate::rtsp::message::Response;
use crate::rtsp::sdp;
use crate::rtsp::tracks::Track;
use crate::rtsp::transport::{Granted, Offer, parse_granted};
use crate::rtsp::url::{base, rtp_info_from_camera};

/// Time without a request after which a session ends, if the camera does not name one (RFC 2326 §12.37).
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);
/// Shortest timeout that is accepted, so that a camera cannot cause keep-alives without pause.
const MIN_TIMEOUT: Duration = Duration::from_secs(4);
/// Longest timeout that is accepted.
const MAX_TIMEOUT: Duration = Duration::from_secs(3600);

impl CameraClient {
    pub(super) fn response(&mut self, now: Duration, response: &Response) -> Result<(), CameraError> {
        // A response without CSeq is taken for that of the outstanding request; an interim or late response is ignored.
        let number = response
            .headers
            .get("CSeq")
            .and_then(|number| number.parse::<u32>().ok());
        let ours = |sent: &mut Sent| number.is_none_or(|number| number == sent.cseq) && response.status >= 200;
        let Some(sent) = self.sent.take_if(ours) else {
            return Ok(());
        };
        if response.status == 401 {
            self.authenticator.challenged(response, sent.authorized)?;
            if sent.tries == MAX_TRIES {
                return Err(AuthError::Refused.into());
            }
            self.send(now, sent.request, sent.step, sent.tries + 1);
            return Ok(());
        }
        if response.status == 454 && self.session.is_some() {
            return Err(CameraError::SessionLost);
        }
        match sent.step {
            Step::SetUp { track, offer } => self.track_set_up(now, track, offer, response),
            Step::Job => return self.job_done(&sent, response),
        }
        Ok(())
    }

    fn job_done(&mut self, sent: &Sent, response: &Response) -> Result<(), CameraError> {
        match &self.job {
            None => {}
            Some(Job::Options) => {
                let public = response.headers.get("Public").unwrap_or_default();
                self.get_parameter = public.split(',').any(|method| method.trim() == "GET_PARAMETER");
                self.job = None;
            }
            Some(Job::KeepAlive) => {
                // Some cameras list methods that they do not support.
                self.get_parameter &= response.status < 300;
                self.job = None;
            }
            Some(Job::Describe) => {
                self.described(&sent.request.url, response)?;
                self.job = None;
            }
            Some(Job::Command { verb, .. }) => {
                let torn_down = *verb == Verb::Teardown;
                let with = self.particulars(response);
                self.finish(CarriedStatus::of_camera(response.status), with);
                if torn_down {
                    self.forget_session();
                }
            }
        }
        Ok(())
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

    fn track_set_up(&mut self, now: Duration, track: Track, offer: Offer, response: &Response) {
        let first_choice = (self.lower == Lower::Udp) == matches!(offer, Offer::Udp(_));
        // Packets over UDP would leave the protection of TLS.
        if response.status == 461 && first_choice && !self.url.tls {
            let other = if self.lower == Lower::Udp {
                Lower::Interleaved
            } else {
                Lower::Udp
            };
            return self.begin_set_up(now, track, other);
        }
        let transport = response.headers.get("Transport").unwrap_or_default();
        let granted = parse_granted(transport, offer).filter(|_| response.status < 300);
        let usable = match granted {
            Some(Granted::Interleaved { rtp, rtcp }) => self.interleaving.assign(track, rtp, rtcp),
            Some(Granted::Udp { server, .. }) => {
                self.udp.push((track, server));
                true
            }
            None => false,
        };
        if !usable {
            let status = if response.status < 300 { 502 } else { response.status };
            return self.finish(CarriedStatus::of_camera(status), Parameters::default());
        }
        self.set_up.insert(track);
        if self.session.is_none() {
            self.session = response.headers.get("Session").map(parse_session);
        }
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

/// Parses `ID[;timeout=SECONDS]`.
fn parse_session(value: &str) -> CameraSession {
    let mut parts = value.split(';').map(str::trim);
    let id = parts.next().unwrap_or_default().to_owned();
    let seconds = parts.find_map(|part| part.strip_prefix("timeout=")?.trim().parse().ok());
    let timeout = seconds
        .filter(|seconds| *seconds > 0)
        .map_or(DEFAULT_TIMEOUT, Duration::from_secs);
    CameraSession {
        id,
        timeout: timeout.clamp(MIN_TIMEOUT, MAX_TIMEOUT),
    }
}
