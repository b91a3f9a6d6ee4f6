//! Meters of a group of viewers, for whom each frame is sealed once.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use sealcast_proto::sign::{ProofCounts, ProofState};

use super::families::{Seconds, counter, gauge, seconds};
use super::metrics::Metrics;

/// The metric families in the registry.
pub(super) struct GroupMeter {
    members: Gauge,
    epoch: Gauge,
    forwarded: Counter,
    forwarded_bytes: Counter,
    not_the_cameras: Counter,
    proven: Counter,
    forged: Counter,
    pictures_unproven: Counter,
    pictures_forged: Counter,
    proofs_missing: Gauge,
    age: Seconds,
    hearing: Gauge,
    multicast: Counter,
    multicast_bytes: Counter,
    heard: Counter,
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

impl Metrics {
    fn group_meter(&self) -> &GroupMeter {
        &self.delivery().group
    }

    /// Sets the number of members and the newest epoch.
    pub fn group(&self, members: usize, epoch: u64) {
        let meter = self.group_meter();
        meter.members.set(members as i64);
        meter.epoch.set(epoch as i64);
    }

    /// Counts a frame that was given to a member.
    pub fn frame_forwarded(&self, bytes: u64) {
        let meter = self.group_meter();
        meter.forwarded.inc();
        meter.forwarded_bytes.inc_by(bytes);
    }

    /// Counts a frame that the camera did not sign.
    pub fn frame_not_the_cameras(&self) {
        self.group_meter().not_the_cameras.inc();
    }

    /// Counts the signature of a group of pictures.
    pub fn part_judged(&self, forged: bool) {
        let meter = self.group_meter();
        if forged {
            meter.forged.inc();
        } else {
            meter.proven.inc();
        }
    }

    /// Counts what became of frames since `before`, and tells whether signatures come.
    pub fn proofs(&self, before: ProofCounts, proofs: ProofState) {
        let meter = self.group_meter();
        let ProofCounts { unproven, forged } = proofs.counts;
        // With another key of a relay's group it is counted anew.
        let more = |now: u64, before: u64| now.checked_sub(before).unwrap_or(now);
        meter.pictures_unproven.inc_by(more(unproven, before.unproven));
        meter.pictures_forged.inc_by(more(forged, before.forged));
        meter.proofs_missing.set(proofs.missing.into());
    }

    /// Sets the number of viewers who hear the multicast group.
    pub fn multicast_viewers(&self, viewers: usize) {
        self.group_meter().hearing.set(viewers as i64);
    }

    /// Counts datagrams that were sent to the multicast group.
    pub fn multicast_sent(&self, datagrams: u64, bytes: u64) {
        let meter = self.group_meter();
        meter.multicast.inc_by(datagrams);
        meter.multicast_bytes.inc_by(bytes);
    }

    /// Counts a record that came from the multicast group.
    pub fn multicast_heard(&self) {
        self.group_meter().heard.inc();
    }

    /// Sets the upper bound of the picture's age, in seconds.
    pub fn picture_age(&self, seconds: f64) {
        self.group_meter().age.set(seconds);
    }
}
