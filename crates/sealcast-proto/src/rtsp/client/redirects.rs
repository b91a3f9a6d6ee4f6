//! Redirects (RFC 2326 §11.3): followed a few times, never out of TLS, and with credentials to the same server alone.

use std::time::Duration;

use super::machine::{CameraClient, Job, Sent, Step};
use super::{CameraError, MAX_REDIRECTS};
use crate::rtsp::message::Response;
use crate::rtsp::oddity::Oddity;
use crate::rtsp::url::CameraUrl;

/// Statuses that say where to ask instead.
const STATUSES: [u16; 6] = [300, 301, 302, 303, 307, 308];

impl CameraClient {
    /// Follows a response to OPTIONS, DESCRIBE or SETUP that refers to another URL of the same server. Returns the
    /// request if the response does not refer anywhere.
    ///
    /// # Errors
    /// The URL is on another server, or is not followed.
    pub(super) fn follow(
        &mut self,
        now: Duration,
        sent: Sent,
        response: &Response,
    ) -> Result<Option<Sent>, CameraError> {
        let set_up = matches!(sent.ask.step, Step::SetUp { .. });
        let asks = set_up || matches!(self.job, Some(Job::Options | Job::Describe));
        let location = response.headers.get("Location");
        let location = location.filter(|_| asks && STATUSES.contains(&response.status));
        let Some(to) = location.and_then(|location| self.url.referred(location)) else {
            return Ok(Some(sent));
        };
        if self.url.tls && !to.tls {
            return Err(CameraError::Downgrade);
        }
        if self.redirects >= MAX_REDIRECTS {
            return Err(CameraError::Redirects);
        }
        self.redirects += 1;
        self.oddities.note(Oddity::Redirect);
        if !to.is_same_server(&self.url) {
            let to = if set_up {
                self.of_all_tracks(to, &sent.ask.request.url)
            } else {
                to
            };
            let redirects = self.redirects;
            return Err(CameraError::Redirected { to, redirects });
        }
        if !self.url.tls {
            self.authenticator.forbid_basic();
        }
        if set_up {
            let mut ask = sent.ask;
            to.as_str().clone_into(&mut ask.request.url);
            self.send(now, ask);
        } else {
            // DESCRIBE is asked there, and OPTIONS need not be.
            self.url = to;
            self.job.take_if(|job| matches!(job, Job::Options));
        }
        Ok(None)
    }

    /// The URL of the stream whose track is at `to`, where the track was at `asked`.
    fn of_all_tracks(&self, to: CameraUrl, asked: &str) -> CameraUrl {
        let base = self.description.as_ref().map_or("", |description| &description.base);
        let tail = asked.strip_prefix(base.trim_end_matches('/')).unwrap_or_default();
        to.without_end(tail).unwrap_or(to)
    }
}
