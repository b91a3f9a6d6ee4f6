//! Counting by the metrics of what has a file of its own: media where it may be lost, data, groups, cells, signatures,
//! those who are turned away, and what waits for peers.

use std::fmt::Display;
use std::sync::{Arc, PoisonError, Weak};
use std::time::{Duration, Instant};

use sealcast_proto::session::{DataCounts, InboundCounts, OutboundCounts, ShapeCounts};
use sealcast_proto::sign::{ProofCounts, ProofState};

use super::group::GroupMeter;
use super::labels::{
    ControlRefusal, DataDrop, Direction, MediaPacket, MediaStream, PeerQueue, SignatureWork, TurnedAway,
};
use super::metrics::Metrics;
use super::peer_bytes::{Held, Holds};
use super::shape::{ShapeMeter, overhead_ratio};

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

impl Metrics {
    /// Counts what a session's data channels did since `counted`, and sets `counted` to `counts`.
    pub(crate) fn data_counted(&self, counted: &mut DataCounts, counts: DataCounts) {
        if counts == *counted {
            return;
        }
        let meter = self.data_meter();
        meter.datagrams.add(Direction::Out as usize, counts.sent - counted.sent);
        meter
            .datagrams
            .add(Direction::In as usize, counts.received - counted.received);
        let dropped = [
            (DataDrop::TooFast, counts.too_fast - counted.too_fast),
            (DataDrop::Length, counts.length - counted.length),
            (DataDrop::Stale, counts.stale - counted.stale),
            (DataDrop::Lost, counts.lost - counted.lost),
            (DataDrop::NotAllowed, counts.not_allowed - counted.not_allowed),
            (DataDrop::NoKey, counts.no_key - counted.no_key),
        ];
        for (cause, count) in dropped {
            meter.dropped.add(cause as usize, count);
        }
        *counted = counts;
    }

    /// Counts datagrams that were dropped outside of a session.
    pub(crate) fn data_dropped(&self, cause: DataDrop, count: u64) {
        self.data_meter().dropped.add(cause as usize, count);
    }

    /// Counts a viewer that may not send on a data channel.
    pub(crate) fn control_refused(&self, reason: ControlRefusal) {
        self.data_meter().refused.add(reason as usize, 1);
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

impl Metrics {
    /// Counts what a session's cells did since `counted`, and sets `counted` to `counts`.
    pub fn shaped(&self, counted: &mut ShapeCounts, counts: ShapeCounts) {
        let meter = self.shape_meter();
        let since = |now: u64, before: u64| now - before;
        meter.bytes.inc_by(since(counts.cell_bytes, counted.cell_bytes));
        meter.inner.inc_by(since(counts.inner_bytes, counted.inner_bytes));
        meter.late.inc_by(since(counts.late_ticks, counted.late_ticks));
        meter
            .skipped_ticks
            .inc_by(since(counts.skipped_ticks, counted.skipped_ticks));
        meter
            .dropped_control
            .inc_by(since(counts.dropped_control, counted.dropped_control));
        meter.overhead.set(overhead_ratio(meter.bytes.get(), meter.inner.get()));
        *counted = counts;
    }

    /// Counts a picture that was not encoded because too much waits for cells.
    pub fn picture_skipped(&self) {
        self.shape_meter().skipped_pictures.inc();
    }

    /// Counts frames that were dropped because they would have waited too long for cells.
    pub fn shape_dropped(&self, frames: u64) {
        self.shape_meter().dropped_frames.inc_by(frames);
    }

    fn shape_meter(&self) -> &ShapeMeter {
        &self.delivery().shape
    }
}

impl Metrics {
    /// Counts a signature with its record or message of so many bytes, and the time that it took.
    pub fn signature(&self, work: SignatureWork, bytes: u64, took: Duration) {
        let meter = &self.delivery().signatures;
        meter.done.add(work as usize, 1);
        meter.bytes.add(work as usize, bytes);
        meter.seconds[work as usize].inc_by(took.as_secs_f64());
    }
}

impl Metrics {
    /// Counts a connection that ended for `reason`, and is told of elsewhere.
    pub fn count_turned_away(&self, reason: TurnedAway) {
        self.turned_away_meter().counts.add(reason as usize, 1);
    }

    /// Counts a connection with somebody at `from` that was turned away or ended for `reason`, and says it in `words`
    /// if it is time to.
    pub fn turned_away(&self, reason: TurnedAway, from: &dyn Display, words: &dyn Display) {
        self.count_turned_away(reason);
        let meter = self.turned_away_meter();
        let mut told = meter.told.lock().unwrap_or_else(PoisonError::into_inner);
        let total = told[reason as usize].count(Instant::now());
        drop(told);
        let reason = reason.name();
        match total {
            Some(total) => tracing::warn!(%from, reason, total, "{words}"),
            None => tracing::debug!(%from, reason, "{words}"),
        }
    }
}

impl Metrics {
    /// Counts what this queue holds, as long as it exists.
    pub fn holds<H: Holds + 'static>(&self, queue: PeerQueue, holder: &Arc<H>) {
        let mut queues = self.peer_bytes().lock();
        if queues.len() == queues.capacity() {
            queues.retain(|(_, held)| held.strong_count() > 0);
        }
        let holder: Weak<H> = Arc::downgrade(holder);
        queues.push((queue, holder));
    }

    /// A new queue of this kind, whose bytes its owner tells.
    pub fn held(&self, queue: PeerQueue) -> Arc<Held> {
        let held = Arc::new(Held::default());
        self.holds(queue, &held);
        held
    }

    /// Bytes held in all queues of a kind.
    pub fn peer_bytes_in(&self, queue: PeerQueue) -> usize {
        self.peer_bytes().sum(queue)
    }
}
