//! The connection to a camera, together with the client that speaks on it.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use bytes::Bytes;
use sealcast_proto::rtsp::{
    CameraClient, CameraConfig, CameraEvent, CameraInput, CameraOutput, Channel, MAX_TRACKS, Oddities, Parameters,
    Route, Track, TrackSet, Verb, put_data,
};

use super::RtspOptions;
use super::connect::RtspConnection;
use super::link_error::LinkError;
use super::ports::{RtpPorts, Senders};
use crate::failure::Result;
use crate::keys::entropy;
use crate::transport::{ByteStream, Progress, StreamTransport, Transport};

/// Maximum bytes queued for a camera that does not read. Beyond that it counts as gone.
const MAX_UNSENT: usize = 256 * 1024;

/// Output of the client that is the program's to deal with.
pub(crate) enum LinkEvent {
    /// An event, which may have to be answered.
    Event(CameraEvent),
    /// A packet that came on the connection.
    Packet(Channel, Bytes),
    /// Nothing more before this monotonic time.
    Nothing(Duration),
}

/// A camera's connection, client and ports. Give it inputs, then take [`next`](Self::next) until there is nothing,
/// [`flush`](Self::flush), and [`wait`](Self::wait).
pub(crate) struct CameraLink {
    connection: StreamTransport<Box<dyn ByteStream>>,
    local: std::net::IpAddr,
    remote: std::net::IpAddr,
    client: CameraClient,
    ports: RtpPorts,
}

impl CameraLink {
    /// Begins to speak on a connection, at the monotonic time `now`.
    ///
    /// # Errors
    /// The operating system gives no random bytes, or the client has a bug.
    pub(crate) fn new(connection: RtspConnection, options: &RtspOptions, now: Duration) -> Result<Self> {
        let place = connection.place;
        // A password is for the server that it was given with.
        let credentials = options.credentials.clone();
        let credentials = credentials.filter(|_| place.url.is_same_server(options.url()));
        let config = CameraConfig {
            url: place.url,
            redirects: place.redirects,
            credentials,
            lower: options.transport.lower(),
            entropy: entropy::random()?,
        };
        let client = CameraClient::new(config, now);
        Ok(Self {
            connection: connection.stream,
            local: connection.local,
            remote: connection.remote,
            client: match options.one_transport {
                true => client.by_one_transport(),
                false => client,
            },
            ports: RtpPorts::default(),
        })
    }

    /// The client's deadline has come. Also the first input.
    ///
    /// # Errors
    /// The connection must end.
    pub(crate) fn timeout(&mut self, now: Duration) -> Result<(), LinkError> {
        Ok(self.client.handle(now, CameraInput::Timeout)?)
    }

    /// Says that packets came over UDP, before [`timeout`](Self::timeout): a camera that sends them is there.
    pub(crate) fn heard(&mut self, now: Duration) {
        self.client.heard(now);
    }

    /// Asks the camera for something; the answer comes as [`CameraEvent::Answered`] with this number.
    ///
    /// # Errors
    /// The connection must end.
    pub(crate) fn command(
        &mut self,
        now: Duration,
        number: u32,
        verb: Verb,
        with: &Parameters,
    ) -> Result<(), LinkError> {
        Ok(self.client.handle(now, CameraInput::Command(number, verb, with))?)
    }

    /// Answers [`CameraEvent::OpenPorts`]: opens ports for a track, whose packets go to `take`; see
    /// [`RtpPorts::open`].
    ///
    /// # Errors
    /// The connection must end.
    pub(crate) fn open_ports(
        &mut self,
        now: Duration,
        track: Track,
        take: impl Fn(Channel, Bytes, Instant) + Clone + Send + 'static,
        passed: impl Fn() + Clone + Send + 'static,
    ) -> Result<(), LinkError> {
        let ports = self.ports.open(track, self.local, self.remote, take, passed);
        let ports = ports.inspect_err(|error| tracing::warn!("no UDP ports for a camera ({error})"));
        Ok(self.client.handle(now, CameraInput::Ports(ports.ok()))?)
    }

    /// The client's next output. What it says to the camera is queued for [`flush`](Self::flush).
    pub(crate) fn next(&mut self) -> LinkEvent {
        loop {
            match self.client.poll() {
                CameraOutput::Transmit(bytes) => self.connection.outgoing().extend_from_slice(&bytes),
                CameraOutput::Packet(channel, packet) => return LinkEvent::Packet(channel, packet),
                CameraOutput::Event(event) => return LinkEvent::Event(event),
                CameraOutput::Timeout(deadline) => return LinkEvent::Nothing(deadline),
            }
        }
    }

    /// Sends what the connection takes at once.
    ///
    /// # Errors
    /// The connection broke, or the camera has not read for long.
    pub(crate) fn flush(&mut self) -> Result<(), LinkError> {
        self.connection.flush_now().map_err(LinkError::Broken)?;
        if self.connection.backlog() > MAX_UNSENT {
            return Err(LinkError::Deaf);
        }
        Ok(())
    }

    /// Waits until the camera said something, for [`take`](Self::take), and returns true; or until it took what waited
    /// for it. Cancel-safe.
    ///
    /// # Errors
    /// The connection broke, or the camera closed it.
    pub(crate) async fn wait(&mut self) -> Result<bool, LinkError> {
        match self.connection.wait().await.map_err(LinkError::Broken)? {
            Progress::Read => Ok(true),
            Progress::Wrote => Ok(false),
            Progress::Closed => Err(LinkError::Closed),
        }
    }

    /// Takes what the camera said.
    ///
    /// # Errors
    /// The connection must end.
    pub(crate) fn take(&mut self, now: Duration) -> Result<(), LinkError> {
        let bytes = self.connection.take_bytes();
        self.client.handle(now, CameraInput::Bytes(bytes))?;
        for (track, theirs) in self.client.ports() {
            self.ports.expect(track, theirs.map_or(Senders::First, Senders::At));
        }
        Ok(())
    }

    /// Sends an RTCP packet to the camera, if it has a place for it.
    pub(crate) fn send_rtcp(&mut self, channel: Channel, packet: &[u8]) {
        match self.client.route(channel) {
            Some(Route::Interleaved(number)) => put_data(self.connection.outgoing(), number, packet),
            Some(Route::Udp { port }) => {
                let to = SocketAddr::new(self.remote, port);
                self.ports.send(channel, to, packet, packet.len());
            }
            None => {}
        }
    }

    /// Deviations of the camera from the standard that were passed over.
    pub(crate) fn oddities(&self) -> Oddities {
        self.client.oddities()
    }

    /// The tracks whose packets come on the connection, and so in order.
    pub(crate) fn in_order(&self) -> TrackSet {
        let mut tracks = TrackSet::default();
        for track in (0..usize::from(MAX_TRACKS)).filter_map(Track::new) {
            let channel = Channel { track, rtcp: false };
            if let Some(Route::Interleaved(_)) = self.client.route(channel) {
                tracks.insert(track);
            }
        }
        tracks
    }

    /// True if RTCP of a channel has a place at the camera.
    pub(crate) fn takes_rtcp(&self, channel: Channel) -> bool {
        self.client.route(channel).is_some()
    }
}
