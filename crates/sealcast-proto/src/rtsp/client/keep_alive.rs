//! Keep-alives, and whether the camera is there at all.
//!
//! A camera that sends packets is there, whatever it makes of keep-alives: some answer them with an error, some with
//! the number of another request, and some never.

use std::time::Duration;

use crate::rtsp::message::Method;

/// Methods that keep a session, in the order in which they are tried.
const METHODS: [Method; 3] = [Method::GetParameter, Method::Options, Method::SetParameter];
/// Time in which packets must come after the camera said of a keep-alive that it does not know the session.
const DOUBT: Duration = Duration::from_secs(4);

/// State of the keep-alives.
#[derive(Default)]
pub(super) struct KeepAlive {
    /// Index into [`METHODS`].
    method: usize,
    /// Time of the last packet, on the connection or beside it.
    packet: Option<Duration>,
    /// Time of the last answer or request of the camera.
    message: Option<Duration>,
    /// Time at which the camera said that it does not know the session.
    doubted: Option<Duration>,
}

impl KeepAlive {
    /// The method of the next keep-alive.
    pub(super) fn method(&self) -> Method {
        METHODS[self.method % METHODS.len()].clone()
    }

    /// The camera lists the methods that it supports.
    pub(super) fn listed(&mut self, public: &str) {
        let get_parameter = public
            .split([',', ' '])
            .any(|method| method.eq_ignore_ascii_case("GET_PARAMETER"));
        self.method = usize::from(!get_parameter);
    }

    /// The camera refused a keep-alive, or did not answer it: the next one is by another method. Some cameras list
    /// methods that they do not support.
    pub(super) fn failed(&mut self) {
        self.method = (self.method + 1) % METHODS.len();
    }

    pub(super) fn packet(&mut self, now: Duration) {
        self.packet = Some(now);
    }

    pub(super) fn message(&mut self, now: Duration) {
        self.message = Some(now);
    }

    /// True if packets came after this time.
    pub(super) fn flows_since(&self, time: Duration) -> bool {
        self.packet.is_some_and(|packet| packet > time)
    }

    /// True if anything came after this time.
    pub(super) fn heard_since(&self, time: Duration) -> bool {
        self.flows_since(time) || self.message.is_some_and(|message| message > time)
    }

    /// True if anything but junk ever came.
    pub(super) fn heard(&self) -> bool {
        self.packet.or(self.message).is_some()
    }

    /// The camera says that it does not know the session.
    pub(super) fn doubt(&mut self, now: Duration) {
        self.doubted.get_or_insert(now);
    }

    /// Time at which [`is_over`](Self::is_over) has to be asked.
    pub(super) fn deadline(&self) -> Duration {
        self.doubted.map_or(Duration::MAX, |doubted| doubted + DOUBT)
    }

    /// True if the session is over: the camera said so, and no packet came since.
    pub(super) fn is_over(&mut self, now: Duration) -> bool {
        if self.doubted.is_some_and(|doubted| self.flows_since(doubted)) {
            self.doubted = None;
        }
        self.deadline() <= now
    }
}
