//! Meters of a group of viewers, for whom each frame is sealed once.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::families::{Seconds, counter, gauge, seconds};

/// The metric families in the registry.
pub(super) struct GroupMeter {
    pub(super) members: Gauge,
    pub(super) epoch: Gauge,
    pub(super) forwarded: Counter,
    pub(super) forwarded_bytes: Counter,
    pub(super) not_the_cameras: Counter,
    pub(super) proven: Counter,
    pub(super) forged: Counter,
    pub(super) pictures_unproven: Counter,
    pub(super) pictures_forged: Counter,
    pub(super) proofs_missing: Gauge,
    pub(super) age: Seconds,
    pub(super) hearing: Gauge,
    pub(super) multicast: Counter,
    pub(super) multicast_bytes: Counter,
    pub(super) heard: Counter,
}

impl GroupMeter {
    pub(super) fn register(registry: &mut Registry) -> Self {
        Self {
            members: gauge(registry, "group_members", "Viewers for whom frames are sealed once"),
            epoch: gauge(
                registry,
                "group_epoch",
                "The newest epoch of the group that was announced",
            ),
            forwarded: counter(
                registry,
                "group_frames_forwarded",
                "Frames given to members, each sealed once",
            ),
            forwarded_bytes: counter(registry, "group_bytes_forwarded", "Bytes of these"),
            not_the_cameras: counter(
                registry,
                "group_frames_refused",
                "Frames refused since the camera did not sign them as they came",
            ),
            proven: counter(
                registry,
                "group_parts_proven",
                "Groups of pictures whose signature came and fits",
            ),
            forged: counter(
                registry,
                "group_parts_forged",
                "Groups of pictures with frames that do not fit the signature",
            ),
            pictures_unproven: counter(
                registry,
                "group_pictures_unproven",
                "Pictures and packets of sound whose group's signature did not come",
            ),
            pictures_forged: counter(
                registry,
                "group_pictures_forged",
                "Pictures and packets of sound that do not fit their group's signature",
            ),
            proofs_missing: gauge(
                registry,
                "group_proofs_missing",
                "1 while signatures of groups of pictures do not come, though the camera makes them",
            ),
            age: seconds(
                registry,
                "picture_age_seconds",
                "Upper bound of the age of the newest picture, without clocks",
            ),
            hearing: gauge(
                registry,
                "multicast_viewers",
                "Viewers who hear the multicast group, and are not sent frames themselves",
            ),
            multicast: counter(
                registry,
                "multicast_datagrams_sent",
                "Datagrams sent to the multicast group",
            ),
            multicast_bytes: counter(registry, "multicast_bytes_sent", "Bytes of these, as payload of UDP"),
            heard: counter(
                registry,
                "multicast_records_heard",
                "Records that came from the multicast group, whoever sent them",
            ),
        }
    }
}
