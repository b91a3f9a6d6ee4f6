//! Counters of media on transports with loss.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::registry::Registry;

use super::families::{self, Counts, Seconds, seconds};
use super::group::GroupMeter;
use super::labels::{MediaPacket, MediaStream};
use super::shape::ShapeMeter;
use super::signatures::SignatureMeter;

/// The metric families in the registry.
pub(super) struct Delivery {
    pub(super) packets: Counts,
    pub(super) streams: Counts,
    pub(super) duplicates: Counter,
    pub(super) loss: Seconds,
    pub(super) target: Seconds,
    pub(super) source: Seconds,
    pub(super) shape: ShapeMeter,
    pub(super) group: GroupMeter,
    pub(super) signatures: SignatureMeter,
}

impl Delivery {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let packets = "Media records on carriers that may lose them, by what became of them";
        let streams = "QUIC streams of media, by what became of them";
        let duplicates = "Second copies of media records that had come already, as repair brings them";
        let loss = "Share of media packets that the path loses, smoothed, 0 to 1";
        let target = "What the path is estimated to carry, bit/s";
        let source = "What bit rate the source is asked for, bit/s";
        let shape = ShapeMeter::register(registry);
        let group = GroupMeter::register(registry);
        let signatures = SignatureMeter::register(registry);
        Self {
            packets: Counts::register(registry, "media_packets", packets, "what", MediaPacket::NAMES),
            streams: Counts::register(registry, "media_streams", streams, "what", MediaStream::NAMES),
            duplicates: families::counter(registry, "records_duplicate", duplicates),
            loss: seconds(registry, "path_loss_ratio", loss),
            target: seconds(registry, "path_target_bits_per_second", target),
            source: seconds(registry, "source_target_bits_per_second", source),
            shape,
            group,
            signatures,
        }
    }
}
