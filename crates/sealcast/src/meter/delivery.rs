//! Counters of media on transports with loss.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::registry::Registry;
use sealcast_proto::session::{InboundCounts, OutboundCounts};

use super::families::{self, Counts, Seconds, seconds};
use super::group::GroupMeter;
use super::labels::{Direction, MediaPacket, MediaStream};
use super::metrics::Metrics;
use super::shape::ShapeMeter;
use super::signatures::SignatureMeter;

/// The metric families in the registry.
pub(super) struct Delivery {
    pub(super) packets: Counts,
    streams: Counts,
    pub(super) duplicates: Counter,
    loss: Seconds,
    target: Seconds,
    source: Seconds,
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

impl Metrics {
    /// Counts a QUIC stream of media.
    pub fn media_stream(&self, what: MediaStream) {
        self.delivery().streams.add(what as usize, 1);
    }

    /// Number of QUIC media streams with this fate.
    pub fn media_streams(&self, what: MediaStream) -> u64 {
        self.delivery().streams.get(what as usize)
    }

    /// Counts what was sent since `counted`, and sets `counted` to `counts`.
    pub fn media_left(&self, counted: &mut OutboundCounts, counts: OutboundCounts) {
        let delivery = self.delivery();
        let packets = [
            (MediaPacket::Source, counts.sources - counted.sources),
            (MediaPacket::Repair, counts.repairs - counted.repairs),
            (MediaPacket::Resent, counts.resent - counted.resent),
        ];
        for (what, count) in packets {
            delivery.packets.add(what as usize, count);
        }
        self.wire_bytes(Direction::Out, counts.bytes - counted.bytes);
        *counted = counts;
    }

    /// Counts what was received since `counted`, and sets `counted` to `counts`.
    pub fn media_came(&self, counted: &mut InboundCounts, counts: InboundCounts) {
        let packets = [
            (MediaPacket::Source, counts.sources - counted.sources),
            (MediaPacket::Repair, counts.repairs - counted.repairs),
            (MediaPacket::Recovered, counts.recovered - counted.recovered),
            (MediaPacket::Asked, counts.asked - counted.asked),
            (MediaPacket::GivenUp, counts.given_up - counted.given_up),
            (MediaPacket::Late, counts.late - counted.late),
        ];
        for (what, count) in packets {
            self.delivery().packets.add(what as usize, count);
        }
        let duplicates = counts.duplicates - counted.duplicates;
        self.delivery().duplicates.inc_by(duplicates);
        self.records_in_clear(Direction::In, counts.in_clear - counted.in_clear);
        *counted = counts;
    }

    /// Sets the bit rate that the source is asked for.
    pub fn source_target(&self, bits_per_second: u64) {
        self.delivery().source.set(bits_per_second as f64);
    }

    /// Sets the path's loss, and its estimated capacity if there is an estimate.
    pub fn path(&self, loss: Option<f64>, target: Option<u64>) {
        let delivery = self.delivery();
        loss.inspect(|&loss| {
            delivery.loss.set(loss);
        });
        target.inspect(|&target| {
            delivery.target.set(target as f64);
        });
    }
}
