//! One RTSP session with a camera: from DESCRIBE to TEARDOWN.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use sealcast_proto::rtp::MediaDescription;
use sealcast_proto::rtsp::{
    CameraEvent, CarriedHeader, CarriedStatus, Channel, Oddities, Parameters, Track, TrackSet, Verb, announced_times,
};
use tokio::time::{sleep_until, timeout, timeout_at};

use super::super::Strangers;
use super::super::rtp::choice::choose;
use super::super::rtp::reader::{Arrived, Streams};
use super::super::rtp::{self, Datagram, Datagrams, Facts, lost};
use super::words::{answered, ended, silent};
use crate::failure::{Failure, FailureKind, Result};
use crate::media::{SoundInfo, StreamInfo};
use crate::rtsp::{
    CameraLink, LinkError, LinkEvent, PacketTap, Place, Playing, RtspOptions, TapRequest, Tapped, connect,
};

/// Time for the camera to confirm the TEARDOWN.
const TEARDOWN_PATIENCE: Duration = Duration::from_secs(1);
/// Interval of the receiver reports over UDP, by which some cameras see that somebody is there, and which keep the ways
/// through address translation open.
const REPORT: Duration = Duration::from_secs(5);
/// A receiver report about no source (RFC 3550, section 6.4.2), from source 1.
const RECEIVER_REPORT: [u8; 8] = [0x80, 201, 0, 1, 0, 0, 0, 1];

/// Has a camera describe itself.
async fn describe(link: &mut CameraLink, began: Instant) -> std::result::Result<Vec<u8>, LinkError> {
    link.timeout(Duration::ZERO)?;
    loop {
        match link.next() {
            LinkEvent::Event(CameraEvent::Described(sdp)) => return Ok(sdp),
            LinkEvent::Event(_) | LinkEvent::Packet(..) => {}
            LinkEvent::Nothing(due) => {
                link.flush()?;
                tokio::select! {
                    said = link.wait() => if said? {
                        link.take(began.elapsed())?;
                    },
                    () = sleep_until(instant(began, due).into()) => link.timeout(began.elapsed())?,
                }
            }
        }
    }
}

/// A camera, and who shares the connection to it.
#[derive(Clone)]
pub(in crate::source) struct SharedCamera {
    pub(in crate::source) options: RtspOptions,
    pub(in crate::source) tap: Option<Arc<PacketTap>>,
}

impl fmt::Debug for SharedCamera {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.options.fmt(f)
    }
}

/// An RTSP session in the playing state.
pub(in crate::source) struct Session {
    options: RtspOptions,
    tap: Option<Arc<PacketTap>>,
    /// The connection as others share it, once it plays.
    tapped: Option<Tapped>,
    /// Packets came that are not settled at the tap.
    unsettled: bool,
    /// The camera's description, until it is shared.
    sdp: Vec<u8>,
    link: CameraLink,
    /// Time 0 of the client.
    began: Instant,
    datagrams: Datagrams,
    description: MediaDescription,
    streams: Streams,
    /// The tracks whose packets come over UDP.
    over_udp: TrackSet,
    /// When the next receiver reports are due.
    report: Instant,
}

impl Session {
    /// Connects once. A failure comes with whether the camera had described itself, in two streams.
    async fn connect_once(
        camera: &SharedCamera,
        sound: bool,
        deadline: Instant,
    ) -> std::result::Result<Self, (Failure, bool)> {
        let options = &camera.options;
        let mut two = false;
        let playing = async {
            let mut place = Place::of(options);
            loop {
                let mut session = Self::described(camera, sound, &mut place).await?;
                two = session.streams.has_sound();
                match session.play().await {
                    Ok(status) if status.is_ok() => {
                        session.share();
                        return Ok(session);
                    }
                    Ok(status) => return Err(answered(options, status.code())),
                    Err(error) => place = referred(options, &error)?,
                }
            }
        };
        let playing = timeout_at(deadline.into(), playing).await;
        let playing = playing.unwrap_or_else(|_| Err(silent(options)));
        playing.map_err(|failure| (failure, two))
    }

    /// Connects to the camera at `place`, or where it refers to, and has it describe itself.
    async fn described(camera: &SharedCamera, sound: bool, place: &mut Place) -> Result<Self> {
        let options = &camera.options;
        let (link, began, sdp) = loop {
            let connection = connect(place, options.fingerprint).await.map_err(|mut failure| {
                // A camera that starts again is worth another try, one with another certificate is not.
                if failure.kind == FailureKind::Network {
                    failure.kind = FailureKind::Source;
                }
                failure
            })?;
            let began = Instant::now();
            let mut link = CameraLink::new(connection, options, Duration::ZERO)?;
            match describe(&mut link, began).await {
                Ok(sdp) => break (link, began, sdp),
                Err(error) => *place = referred(options, &error)?,
            }
        };
        let description = MediaDescription::parse(&sdp);
        let chosen = choose(&description, sound).map_err(|names| {
            Failure::new(
                FailureKind::Source,
                format!(
                    "{} offers {names}, not H.264, H.265 or Motion JPEG video",
                    options.shown()
                ),
                "choose H.264 or H.265 in the camera's settings, or the URL of its other stream",
            )
        })?;
        if let Some(what) = &chosen.left_out {
            tracing::warn!(camera = %options.shown(), "sound is left out: the camera offers {what}");
        }
        Ok(Self {
            options: options.clone(),
            tap: camera.tap.clone(),
            tapped: None,
            unsettled: false,
            sdp,
            link,
            began,
            datagrams: Datagrams::new(),
            description,
            streams: Streams::new(chosen),
            over_udp: TrackSet::default(),
            report: began,
        })
    }

    /// Sets the tracks up and has the camera play them; the picture alone if it refuses with the sound.
    async fn play(&mut self) -> std::result::Result<CarriedStatus, LinkError> {
        let with_sound = self.streams.has_sound();
        let mut status = self.ask(Verb::Play(self.streams.tracks())).await?;
        if with_sound && !status.is_ok() {
            let camera = self.options.shown();
            tracing::warn!(
                camera,
                status = status.code(),
                "sound is left out: the camera does not send it"
            );
            self.streams.keep_sound_away();
            status = self.ask(Verb::Play(self.streams.tracks())).await?;
        }
        Ok(status)
    }

    /// Others share the connection from here on.
    fn share(&mut self) {
        if let Some(tap) = &self.tap {
            let playing = Playing {
                sdp: std::mem::take(&mut self.sdp),
                tracks: self.streams.tracks(),
                in_order: self.link.in_order(),
            };
            self.tapped = Tapped::begin(tap, playing);
        }
    }

    /// Asks the camera for what those who share the connection want of it.
    fn pass_on(&mut self, request: TapRequest) -> std::result::Result<(), LinkError> {
        match request {
            TapRequest::Command(verb, with, answer) => {
                if let Some(tapped) = &mut self.tapped {
                    tapped.asks(answer);
                }
                self.link.command(self.began.elapsed(), 0, verb, &with)
            }
            TapRequest::Rtcp(channel, packet) => {
                self.link.send_rtcp(channel, &packet);
                Ok(())
            }
        }
    }

    /// Asks the camera for something, and waits for its answer. Some cameras never answer PLAY: what comes is the
    /// answer then. What comes while another answer is waited for is dropped.
    async fn ask(&mut self, verb: Verb) -> std::result::Result<CarriedStatus, LinkError> {
        self.link
            .command(self.began.elapsed(), 0, verb, &Parameters::default())?;
        loop {
            let due = self.streams.due_without_answer();
            if let Some(status) = self.turn(due).await? {
                return Ok(status);
            }
            match verb {
                Verb::Play(_) if due.is_some_and(|due| due <= Instant::now()) => return Ok(CarriedStatus::OK),
                Verb::Play(_) => {}
                _ => while self.streams.next().is_some() {},
            }
        }
    }

    /// Deals with what is there, or waits for more, at most `until`. Returns the camera's answer, if that came.
    async fn turn(&mut self, until: Option<Instant>) -> std::result::Result<Option<CarriedStatus>, LinkError> {
        let now = self.began.elapsed();
        let due = match self.link.next() {
            LinkEvent::Event(CameraEvent::OpenPorts { track }) => {
                self.over_udp.insert(track);
                self.streams.over_datagrams(track);
                self.open_ports(now, track)?;
                return Ok(None);
            }
            LinkEvent::Event(CameraEvent::Answered { status, with, .. }) => {
                let in_order = self.link.in_order();
                if let Some(tapped) = &mut self.tapped
                    && tapped.answered(status, with.clone(), in_order)
                {
                    return Ok(None);
                }
                for (track, time) in announced_times(with.get(CarriedHeader::RtpInfo).unwrap_or_default()) {
                    self.streams.announced(track, time);
                }
                return Ok(Some(status));
            }
            LinkEvent::Event(CameraEvent::Refused { track, status }) => {
                // Of the picture the answer to PLAY tells.
                if self.streams.is_sound(track) {
                    let (camera, status) = (self.options.shown(), status.code());
                    tracing::warn!(camera, status, "sound is left out: the camera does not send it");
                    self.streams.keep_sound_away();
                }
                return Ok(None);
            }
            LinkEvent::Event(CameraEvent::Described(_)) => return Ok(None),
            LinkEvent::Packet(channel, packet) => {
                let came = Instant::now();
                if let Some(tap) = &self.tap {
                    tap.take(channel, &packet, came);
                    self.unsettled = true;
                }
                self.streams.take(channel, packet, self.began, came);
                return Ok(None);
            }
            LinkEvent::Nothing(due) => due,
        };
        self.link.flush()?;
        if std::mem::take(&mut self.unsettled)
            && let Some(tap) = &self.tap
        {
            tap.settle();
        }
        let mut wake = instant(self.began, due);
        for other in [until, self.streams.due(self.began), self.report_due()]
            .into_iter()
            .flatten()
        {
            wake = wake.min(other);
        }
        tokio::select! {
            biased;
            said = self.link.wait() => if said? {
                self.link.take(self.began.elapsed())?;
            },
            datagram = self.datagrams.next() => {
                let Datagram { channel, packet, came } = datagram;
                self.link.heard(self.began.elapsed());
                self.streams.take(channel, packet, self.began, came);
            }
            request = next_request(&mut self.tapped) => self.pass_on(request)?,
            () = sleep_until(wake.into()) => self.timers(due)?,
        }
        Ok(None)
    }

    /// Opens ports for a track. Those who share the connection get its packets before they are put together here.
    fn open_ports(&mut self, now: Duration, track: Track) -> std::result::Result<(), LinkError> {
        let (taker, tap) = (self.datagrams.taker(), self.tap.clone());
        let settling = tap.clone();
        let take = move |channel, packet: Bytes, came| {
            if let Some(tap) = &tap {
                tap.take(channel, &packet, came);
            }
            taker(channel, packet, came);
        };
        let passed = move || settling.iter().for_each(|tap| tap.settle());
        self.link.open_ports(now, track, take, passed)
    }

    /// Does what is due.
    fn timers(&mut self, due: Duration) -> std::result::Result<(), LinkError> {
        let now = Instant::now();
        self.streams.settle(self.began, now);
        if self.report_due().is_some_and(|report| report <= now) {
            self.report = now + REPORT;
            for track in self.over_udp.iter() {
                self.link.send_rtcp(Channel { track, rtcp: true }, &RECEIVER_REPORT);
            }
        }
        if due <= self.began.elapsed() {
            self.link.timeout(self.began.elapsed())?;
        }
        Ok(())
    }

    fn report_due(&self) -> Option<Instant> {
        (!self.over_udp.is_empty()).then_some(self.report)
    }

    /// Offer of the camera.
    pub(super) fn description(&self) -> &MediaDescription {
        &self.description
    }

    /// Deviations of the camera from the standard.
    pub(super) fn oddities(&self) -> Oddities {
        self.link.oddities()
    }

    /// Facts so far.
    pub(super) fn facts(&self) -> &Facts {
        self.streams.facts()
    }
}

impl rtp::Session for Session {
    type Options = SharedCamera;
    const AGAIN: &'static str = "calling the camera again";

    fn shown(camera: &SharedCamera) -> &str {
        camera.options.shown()
    }

    fn reconnects(camera: &SharedCamera) -> bool {
        camera.options.reconnect
    }

    /// Connects to the camera and starts playing. If a camera that described itself does not play picture and sound
    /// together, it is called again for the picture alone: no sound keeps the picture away.
    async fn connect(shared: &SharedCamera, deadline: Instant) -> Result<Self> {
        let options = &shared.options;
        let (failure, described) = match Self::connect_once(shared, options.sound, deadline).await {
            Ok(session) => return Ok(session),
            Err(failed) => failed,
        };
        if !described || !options.sound || failure.kind != FailureKind::Source {
            return Err(failure);
        }
        let Ok(mut session) = Self::connect_once(shared, false, deadline).await else {
            return Err(failure);
        };
        let camera = options.shown();
        tracing::warn!(camera, reason = %failure.what, "sound is left out: the camera does not play with it");
        session.streams.keep_sound_away();
        Ok(session)
    }

    async fn receive(&mut self, until: Instant) -> Result<Option<Arrived>> {
        loop {
            if let Some(arrived) = self.streams.next() {
                return Ok(Some(arrived));
            }
            if Instant::now() >= until {
                return Ok(None);
            }
            self.turn(Some(until))
                .await
                .map_err(|error| match self.streams.complaint() {
                    Some(complaint) => lost(self.options.shown(), &format!("{error}, and {complaint} before")),
                    None => ended(&self.options, &error),
                })?;
        }
    }

    fn info(&self) -> StreamInfo {
        self.streams.info()
    }

    fn sound(&self) -> Option<SoundInfo> {
        self.streams.sound()
    }

    fn take_damaged(&mut self) -> u64 {
        self.streams.take_damaged()
    }

    fn silence(&self) -> String {
        self.streams.silence(match self.over_udp.is_empty() {
            false => "it plays, and nothing comes over UDP: a firewall may be between, try ?transport=tcp",
            true => "it plays, and sends nothing",
        })
    }

    async fn tear_down(mut self) {
        self.tapped = None;
        let _ = timeout(TEARDOWN_PATIENCE, self.ask(Verb::Teardown)).await;
    }

    fn take_strangers(&mut self) -> Strangers {
        self.streams.take_strangers()
    }
}

/// The next request of those who share the connection, if there are some.
async fn next_request(tapped: &mut Option<Tapped>) -> TapRequest {
    match tapped {
        Some(tapped) => tapped.next().await,
        None => std::future::pending().await,
    }
}

/// The place that the camera referred to when a connection ended.
///
/// # Errors
/// It ended for another reason.
fn referred(options: &RtspOptions, error: &LinkError) -> Result<Place> {
    let place = Place::referred(error).ok_or_else(|| ended(options, error))?;
    tracing::info!(camera = options.shown(), "the camera refers to {}", place.url);
    Ok(place)
}

/// The instant of a time of the client.
fn instant(began: Instant, time: Duration) -> Instant {
    /// Far enough that nobody waits for it.
    const FAR: Duration = Duration::from_hours(24);
    began.checked_add(time).unwrap_or_else(|| Instant::now() + FAR)
}
