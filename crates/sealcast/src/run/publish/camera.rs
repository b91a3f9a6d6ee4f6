//! A camera of a publisher: what the tasks of its viewers share.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use sealcast_proto::session::OutgoingFrame;
use sealcast_proto::unit::{Preamble, Selection};
use sealcast_proto::wire::CameraName;

use crate::media::{Codec, Frame};
use crate::run::clock::{nanos, nanos_u32};
use crate::run::control::{CameraStatus, Sealing};
use crate::run::gateway::camera::packets::PacketCamera;
use crate::run::group::Group;
use crate::run::media::VIDEO;
use crate::run::media::away::{Away, SourceEnd};
use crate::run::media::hub::Hub;
use crate::run::session::admission::Admission;
use crate::run::session::admitted_places::AdmittedPlaces;
use crate::run::session::observe::Observation;
use crate::run::session::offer::Offer;
use crate::run::session::registry::shown;
use crate::run::session::runtime_settings::{RuntimeSettings, check_selection};

/// Inspects the sealed records of each frame on their way out, with the number of the viewer that they are for.
pub(crate) type WireTap = Box<dyn Fn(u64, &[u8]) + Send + Sync>;

/// A camera, as the tasks of its viewers share it.
pub(crate) struct Camera {
    pub(crate) name: CameraName,
    pub(crate) hub: Arc<Hub>,
    pub(crate) observation: Arc<Observation>,
    pub(crate) admission: Arc<Admission>,
    /// The places of the viewers that connect, whatever camera they watch.
    pub(crate) places: Arc<AdmittedPlaces>,
    pub(crate) wire_tap: Option<WireTap>,
    pub(crate) offer: Offer,
    pub(crate) settings: RuntimeSettings,
    /// Latency budget of viewers on byte streams: age from which a frame gives way to a newer group of pictures.
    pub(crate) stream_budget: Duration,
    /// True once it is taken out of service, or started again with other settings, while the publisher goes on.
    pub(crate) leaves: AtomicBool,
    /// Viewers for whom each frame is sealed once.
    pub(crate) group: Option<Arc<Group>>,
    /// Its packets for gateways, or why it has none.
    pub(crate) packets: Result<Arc<PacketCamera>, &'static str>,
    /// It has no frames, but packets alone.
    pub(crate) packets_alone: bool,
}

impl Camera {
    /// A frame on its way to viewers. `previous` are the times that the frame before took to seal and to send, in
    /// nanoseconds.
    pub(crate) fn outgoing<'a>(
        &self,
        frame: &'a Frame,
        codec: Codec,
        (previous_seal, previous_send): (u32, u32),
    ) -> OutgoingFrame<'a> {
        let clock = self.observation.clock;
        OutgoingFrame {
            stream: VIDEO,
            codec,
            keyframe: frame.keyframe,
            preamble: Preamble {
                frame: frame.number,
                media_time: nanos(frame.media_time),
                captured: clock.wall(frame.captured),
                encoded: clock.wall(frame.encoded),
                previous_seal,
                previous_send,
                capture: nanos_u32(frame.captured.saturating_duration_since(frame.began)),
                stamp: frame.stamp,
                padding: self.offer.shape.padding(frame.data.len()),
                ..Preamble::default()
            },
            data: &frame.data,
        }
    }

    /// True once it is taken out of service, or started again with other settings.
    pub(crate) fn leaves(&self) -> bool {
        self.leaves.load(Ordering::Relaxed)
    }

    /// Another number of gateways has asked for it.
    pub(crate) fn count_gateways(&self) {
        if let Ok(packets) = &self.packets
            && !self.packets_alone
        {
            self.hub.set_gateways(packets.gateways());
        }
    }

    /// Present status of a camera that has packets alone.
    fn status_of(&self, packets: &PacketCamera) -> CameraStatus {
        let standing = packets.standing();
        CameraStatus {
            name: shown(packets.path()).to_owned(),
            frames: packets.frames(),
            viewers: packets.gateways(),
            info: None,
            since: standing
                .as_ref()
                .map(|standing| self.observation.clock.wall(standing.since)),
            away: standing.and_then(|standing| standing.away),
            ended: false,
        }
    }

    /// Present status.
    pub(crate) fn status(&self) -> CameraStatus {
        if let Ok(packets) = &self.packets
            && self.packets_alone
        {
            return self.status_of(packets);
        }
        let standing = self.hub.standing.now();
        let end = self.hub.end_and_time();
        let ended = end.is_some();
        let (since, away) = match end {
            Some((SourceEnd::Failed(failure), at)) => (at, Some(Arc::new(Away::for_ever(&failure)))),
            Some((SourceEnd::Complete, at)) => (at, None),
            None => (standing.since, standing.away),
        };
        CameraStatus {
            name: self.name.as_str().to_owned(),
            frames: self.hub.frames(),
            viewers: self.hub.viewers(),
            info: self.hub.info(),
            since: Some(self.observation.clock.wall(since)),
            away,
            ended,
        }
    }
}

impl Sealing for Camera {
    fn settings(&self) -> &RuntimeSettings {
        &self.settings
    }

    fn observation(&self) -> &Observation {
        &self.observation
    }

    fn check(&self, selection: Selection) -> Result<(), &'static str> {
        if !self.offer.shape.is_off() && selection != Selection::All {
            return Err("with a shape everything is encrypted: restart with --shape off to leave something in clear");
        }
        let archived = self.group.as_ref().is_some_and(|group| group.is_archived());
        if archived && selection != Selection::All {
            return Err(
                "an archive's node may open nothing: restart without --archive-node to leave something in clear",
            );
        }
        let relays = self.group.as_ref().is_some_and(|group| group.has_relays());
        if relays && selection != Selection::All {
            return Err("for a relay everything is encrypted: restart without --relay to leave something in clear");
        }
        match self.hub.info() {
            Some(info) => check_selection(info.codec, selection),
            None if selection == Selection::All => Ok(()),
            None => Err("the camera is off, and its codec is not known: ask again when it is on"),
        }
    }

    fn request_keyframe(&self) -> Result<(), &'static str> {
        self.hub.request_keyframe();
        Ok(())
    }
}
