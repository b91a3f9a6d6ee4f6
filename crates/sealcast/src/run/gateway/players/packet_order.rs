//! Order of packets for a player that reads them from its connection. It takes them as they stand there, other than one
//! that watches over UDP.

use std::time::{Duration, Instant};

use bytes::Bytes;
use sealcast_proto::rtp::{Discipline, Label, Sequence};
use sealcast_proto::rtsp::{Track, TrackSet};

use super::super::packet::Packet;

/// The tracks of one player that come in datagrams, as far as packets came.
///
/// Packets are judged by when they arrived at the gateway, so nothing is given up because the player's task was late.
/// RTCP and what is no RTP pass by those that wait. A player has its own order, and not all players of a camera one:
/// one that joins has the group of pictures so far before what follows, and both make one sequence.
#[derive(Default)]
pub(super) struct PacketOrder {
    /// Time that the sequences count from.
    began: Option<Instant>,
    /// The tracks that need none.
    in_order: TrackSet,
    tracks: Vec<(Track, Sequence<Packet>)>,
}

impl PacketOrder {
    /// The packets of these tracks come in order from now on. What waited of them goes before the next one.
    pub(super) fn come_in_order(&mut self, tracks: TrackSet) {
        self.in_order = tracks;
    }

    /// Takes the next packet that arrived, and calls `out` with each that goes on now. They are of its channel.
    pub(super) fn take(&mut self, packet: Packet, mut out: impl FnMut(Packet)) {
        let (track, arrived) = (packet.channel.track, packet.arrived);
        if packet.channel.rtcp {
            return out(packet);
        }
        if self.in_order.contains(track) {
            self.end(track, &mut out);
            return out(packet);
        }
        let now = arrived.saturating_duration_since(*self.began.get_or_insert(arrived));
        let sequence = self.sequence(track);
        match Label::of(&packet.bytes) {
            Some(label) if sequence.pass(now, label) => return out(packet),
            Some(label) => sequence.push(now, label, on_its_own(packet)),
            None => sequence.push_stray(packet),
        }
        drain(sequence, now, &mut out);
    }

    /// Calls `out` with each packet that has waited long enough.
    pub(super) fn give_up(&mut self, now: Instant, mut out: impl FnMut(Packet)) {
        let Some(began) = self.began else { return };
        let now = now.saturating_duration_since(began);
        for (_, sequence) in &mut self.tracks {
            drain(sequence, now, &mut out);
        }
    }

    /// Time at which the next packet has waited long enough.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let deadlines = self.tracks.iter().filter_map(|(_, sequence)| sequence.deadline());
        Some(self.began? + deadlines.min()?)
    }

    /// Bytes of the packets that wait.
    pub(super) fn bytes(&self) -> usize {
        self.tracks.iter().map(|(_, sequence)| sequence.waiting_bytes()).sum()
    }

    fn sequence(&mut self, track: Track) -> &mut Sequence<Packet> {
        let at = self.tracks.iter().position(|(other, _)| *other == track);
        let at = at.unwrap_or_else(|| {
            self.tracks.push((track, Sequence::new(Discipline::Transparent)));
            self.tracks.len() - 1
        });
        &mut self.tracks[at].1
    }

    /// Ends a track's sequence. What waits goes on.
    fn end(&mut self, track: Track, out: &mut impl FnMut(Packet)) {
        if let Some(at) = self.tracks.iter().position(|(other, _)| *other == track) {
            let (_, mut sequence) = self.tracks.swap_remove(at);
            drain(&mut sequence, Duration::MAX, out);
        }
    }
}

fn drain(sequence: &mut Sequence<Packet>, now: Duration, out: &mut impl FnMut(Packet)) {
    while let Some(next) = sequence.poll(now) {
        out(next.packet);
    }
}

/// A packet that does not keep the frame in memory in which it came: it may wait.
fn on_its_own(packet: Packet) -> Packet {
    Packet {
        bytes: Bytes::copy_from_slice(&packet.bytes),
        ..packet
    }
}

#[cfg(test)]
#[path = "packet_order_tests.rs"]
mod tests;
