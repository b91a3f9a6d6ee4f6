//! Connects the two halves of media delivery in `flow` to the session, on carriers that may lose media.

use std::time::Duration;

use super::flow::{Content, Mark, Ordered, Packets, Sealing, When};
use super::flow::{Outbound, RepairNeed};
use super::keyring::{NotOpened, Repeated};
use super::machine::{Session, State};
use super::outgoing::{OutgoingUnit, pack_whole};
use super::{Carrier, Output, QuicMedia, SealedRecords, SessionError};
use crate::clock::Now;
use crate::seal::{Exhausted, Opened, Refusal, Sealed};
use crate::unit::{Cutter, Piece, Selection, Unit};
use crate::wire::{CONNECTION_LEN, Control, Feedback, HEADER_LEN, Kind, TAG_LEN};

/// Length of a probe's datagram without its padding.
const PROBE_OVERHEAD: usize = CONNECTION_LEN + HEADER_LEN + TAG_LEN + 5;

/// Maximum wait for the viewer to report the last media. Data that the session handed to QUIC's streams may still be
/// in transit.
const STREAMS_PATIENCE: Duration = Duration::from_secs(10);

/// Round trip that a viewer assumes while none was measured. It is optimistic: a needless NACK costs one packet, a
/// missing one costs the first frames.
const HOPED_ROUND_TRIP: Duration = Duration::from_millis(30);

impl Session {
    /// The next datagrams of media to send, if any may leave now. Drain it after every call, as [`poll`](Self::poll),
    /// and call [`packets_sent`](Self::packets_sent) each time the carrier accepted them.
    pub fn poll_packets(&mut self, now: Now) -> Option<Packets<'_>> {
        if !self.is_established() || self.liveness.is_stalled() || self.is_shaped() {
            return None;
        }
        self.outbound.as_mut()?.poll(now.monotonic)
    }

    /// The datagrams of the last [`poll_packets`](Self::poll_packets) were sent.
    pub fn packets_sent(&mut self, now: Now) {
        if let Some(outbound) = &mut self.outbound {
            outbound.sent(now.monotonic);
        }
    }

    /// Bytes of media that are sealed and not yet sent, where the session holds them or they wait for cells. The
    /// program seals the next frame when there are few.
    pub fn media_backlog(&self) -> usize {
        let held = self.outbound.as_ref().map_or(0, |outbound| outbound.backlog());
        held + self.waiting_in_cells()
    }

    /// Publisher: bytes of media sent after the newest packet that the viewer reported. A sender without a rate limit
    /// can use it to stay within what the viewer keeps up with. Always 0 on a byte stream, which has its own flow
    /// control.
    pub fn media_in_flight(&self) -> u64 {
        self.outbound.as_ref().map_or(0, |outbound| outbound.in_flight())
    }

    /// Publisher: `bytes` of frames are queued in the program until [`media_backlog`](Self::media_backlog) is small.
    /// Report every change, so that the pacer does not delay them where the path is free.
    pub fn media_waits(&mut self, bytes: usize) {
        if let Some(outbound) = &mut self.outbound {
            outbound.waits(bytes);
        }
    }

    /// Publisher: bytes of media that may be sent at once now, where the session holds media: frames up to that
    /// length leave together if they are sealed before [`poll_packets`](Self::poll_packets). 0 where the session
    /// holds none.
    pub fn media_allowance(&mut self, now: Now) -> u64 {
        let outbound = self.outbound.as_mut();
        outbound.map_or(0, |outbound| outbound.allowance(now.monotonic))
    }

    /// Publisher: true if the session holds media until it may be sent, as it does where media may be lost.
    pub fn holds_media(&self) -> bool {
        self.outbound.is_some()
    }

    /// Publisher: true if all sealed media has arrived, or can no longer be asked for. On a byte stream, which delivers
    /// reliably, true if none waits for cells.
    pub fn media_settled(&self, now: Now) -> bool {
        let on_streams = self.config.carrier == Carrier::Quic(QuicMedia::Streams);
        let least = if on_streams { STREAMS_PATIENCE } else { Duration::ZERO };
        let outbound = self.outbound.as_ref();
        self.waiting_in_cells() == 0 && outbound.is_none_or(|outbound| outbound.settled(now.monotonic, least))
    }

    /// Viewer: true if media arrives once and in order, as on a byte stream; a missing record was removed on the way.
    pub fn assembles_stream(&self) -> bool {
        self.assembler.is_some()
    }

    /// True if the peer has been silent for so long that nothing is sent to it.
    pub fn is_stalled(&self) -> bool {
        self.liveness.is_stalled()
    }

    /// Smoothed round-trip time of the session's pings, or a guess before the first pong.
    pub fn round_trip(&self) -> Duration {
        self.measured_round_trip().unwrap_or(HOPED_ROUND_TRIP)
    }

    /// Smoothed round-trip time of the session's pings; `None` before the first pong.
    pub fn measured_round_trip(&self) -> Option<Duration> {
        self.clock.round_trip().map(|trip| trip.smoothed)
    }

    /// Shortest round-trip time of the session's pings, or a guess before the first pong.
    pub fn shortest_round_trip(&self) -> Duration {
        self.clock.round_trip().map_or(HOPED_ROUND_TRIP, |trip| trip.shortest)
    }

    /// Publisher: cut a frame or packets, seal the pieces and queue them in the outbound half.
    pub(super) fn push_unit(
        &mut self,
        now: Now,
        outgoing: &OutgoingUnit<'_>,
        cutter: &mut Cutter,
    ) -> Result<SealedRecords, SessionError> {
        let outbound = self.own_outbound().ok_or(SessionError::Misuse)?;
        let (packing, in_force) = (outbound.packing(self.config.unit), self.selecting.in_force());
        let selection = outgoing.selection(in_force);
        outgoing.pack(packing, cutter, selection, &mut |sealing, pieces| {
            self.push_media(now, sealing, pieces)
        })
    }

    /// Publisher: the outbound half, while it sends what is sealed for this viewer alone.
    fn own_outbound(&self) -> Option<&Outbound> {
        self.outbound.as_ref().filter(|outbound| !outbound.is_of_group())
    }

    /// Publisher: what repair symbols must make up for on the way to this viewer, where media travels in packets that
    /// may be lost.
    pub fn repair_need(&mut self) -> Option<RepairNeed> {
        self.outbound.as_mut().map(Outbound::repair_need)
    }

    /// Publisher: seal a stream's description and queue it in the outbound half.
    pub(super) fn push_info(
        &mut self,
        now: Now,
        stream: u32,
        data: &[u8],
        encrypt: bool,
    ) -> Result<SealedRecords, SessionError> {
        let outbound = self.own_outbound().ok_or(SessionError::Misuse)?;
        let packing = outbound.packing(Unit::Packet);
        let clear = self.selecting.in_force() != Selection::All;
        let (sealing, mut pieces) = pack_whole(Content::Config, (stream, false), data, packing);
        let sealing = Sealing {
            may_be_clear: clear,
            ..sealing
        };
        let mut pieces = pieces.by_ref().map(|piece| Piece { encrypt, ..piece });
        self.push_media(now, &sealing, &mut pieces)
    }

    fn push_media<'a>(
        &mut self,
        now: Now,
        sealing: &Sealing<'_>,
        pieces: &mut dyn Iterator<Item = Piece<'a>>,
    ) -> Result<SealedRecords, SessionError> {
        let (State::Established(established), Some(outbound)) = (&mut self.state, &mut self.outbound) else {
            return Err(SessionError::Misuse);
        };
        if self.liveness.is_stalled() {
            return Ok(SealedRecords::default());
        }
        let pushed = outbound.push(now, &mut established.ring.current.media_sealer, sealing, pieces);
        pushed.map_err(|Exhausted| self.fail(now, SessionError::KeyLimit))
    }

    /// Viewer: process a verified media record.
    pub(super) fn take_media(&mut self, now: Now, record: &Opened<'_>) -> Result<(), SessionError> {
        let round_trip = self.round_trip();
        let Some(inbound) = &mut self.inbound else {
            return Ok(());
        };
        inbound
            .take(now, record, Mark::of_kept(record.sealed()), round_trip)
            .map_err(|_| SessionError::PeerMisbehaved)?;
        self.take_recovered(now)?;
        self.hand_out(now);
        self.ask_and_report(now)
    }

    /// Viewer: send what is due after media came.
    pub(super) fn ask_and_report(&mut self, now: Now) -> Result<(), SessionError> {
        self.ask_again(now)?;
        self.report(now, When::Overdue)
    }

    /// Viewer: open the records recovered from repair symbols like any other record.
    fn take_recovered(&mut self, now: Now) -> Result<(), SessionError> {
        let accept = self.following.accept(now.monotonic);
        let (State::Established(established), Some(inbound)) = (&mut self.state, &mut self.inbound) else {
            return Ok(());
        };
        while let Some(mut bytes) = inbound.next_recovered() {
            let opened = Sealed::parse(&mut bytes, accept)
                .map_err(NotOpened::from)
                .and_then(|record| established.ring.open(record));
            match opened {
                Ok((record, _)) if record.header().kind == Kind::Media => {
                    let taken = inbound.take_recovered(now, &record, Mark::of_kept(record.sealed()));
                    taken.map_err(|_| SessionError::PeerMisbehaved)?;
                }
                Ok(_) => return Err(SessionError::PeerMisbehaved),
                // It arrived, but was not kept for repair.
                Err(NotOpened::Repeated(_)) => inbound.counts.duplicates += 1,
                Err(NotOpened::Refused(reason)) => self.refusals.count(reason),
            }
        }
        Ok(())
    }

    /// True if a repeated media record is an expected copy; it is counted as a duplicate then.
    pub(super) fn is_duplicate(&mut self, now: Now, record: Repeated) -> bool {
        let round_trip = self.round_trip();
        let clock = self.clock.estimate().map(|estimate| estimate.at(now.wall));
        let inbound = self.inbound.as_mut();
        inbound.is_some_and(|inbound| inbound.repeated(now, record, clock, round_trip))
    }

    /// Viewer: deliver complete frames.
    pub(super) fn hand_out(&mut self, now: Now) {
        while let Some(ordered) = self.inbound.as_mut().and_then(|inbound| inbound.next()) {
            match ordered {
                ordered if self.gets_group_packets() => self.release_of_group(now, ordered),
                Ordered::Media(media, _) => self.out.push_back(Output::Media(media)),
                // Only records of a group have the flag.
                Ordered::Proof(..) | Ordered::Missing => {}
            }
        }
    }

    /// Viewer: send a NACK for missing records if one is due.
    fn ask_again(&mut self, now: Now) -> Result<(), SessionError> {
        let round_trip = self.round_trip();
        let mut entries = Vec::new();
        let inbound = self.inbound.as_mut();
        match inbound.and_then(|inbound| inbound.nack(now.monotonic, round_trip, &mut entries)) {
            Some(nack) => self.send_control(now, &nack),
            None => Ok(()),
        }
    }

    /// Viewer: send a feedback report if one is due.
    fn report(&mut self, now: Now, when: When) -> Result<(), SessionError> {
        // The message that arrived last may have been the close message.
        if self.is_over() {
            return Ok(());
        }
        let mut bits = Vec::new();
        let inbound = self.inbound.as_mut();
        match inbound.and_then(|inbound| inbound.feedback(now.monotonic, when, &mut bits)) {
            Some(report) => self.send_control(now, &report),
            None => Ok(()),
        }
    }

    /// Viewer: all messages that had arrived were processed. `pauses` means that none is expected to follow at once,
    /// as after the last packet of a picture. A due report is sent now and needs no timer. A report made while more
    /// messages are queued here would mistake that queue for one on the path. Drain [`poll`](Self::poll) after it.
    ///
    /// # Errors
    /// The session has used up its keys.
    pub fn caught_up(&mut self, now: Now, pauses: bool) -> Result<(), SessionError> {
        self.report(now, if pauses { When::Paused } else { When::CaughtUp })
    }

    pub(super) fn flow_timeout(&mut self, now: Now) -> Result<(), SessionError> {
        if let Some(outbound) = &mut self.outbound {
            outbound.tick(now.monotonic);
            if let Some((token, size)) = outbound.probe(now.monotonic) {
                self.send_control(
                    now,
                    &Control::Probe {
                        token,
                        padding: size - PROBE_OVERHEAD,
                    },
                )?;
            }
        }
        if let Some(inbound) = &mut self.inbound {
            let handled = inbound.handle_timeout(now.monotonic);
            if handled.is_err() {
                // In a group it need not be the publisher's fault.
                if !self.gets_group_packets() {
                    return Err(SessionError::PeerMisbehaved);
                }
                self.refuse_of_group(Refusal::Malformed)?;
            }
            self.hand_out(now);
            self.ask_and_report(now)?;
        }
        Ok(())
    }

    pub(super) fn flow_deadline(&self) -> Duration {
        let outbound = self.outbound.as_ref().filter(|_| !self.liveness.is_stalled());
        let outbound = outbound.map_or(Duration::MAX, |outbound| outbound.deadline());
        let inbound = self
            .inbound
            .as_ref()
            .map_or(Duration::MAX, |inbound| inbound.deadline());
        outbound.min(inbound)
    }

    pub(super) fn feedback_came(&mut self, now: Now, feedback: &Feedback<'_>) -> Result<(), SessionError> {
        let round_trip = self.clock.round_trip();
        let outbound = self.outbound.as_mut().ok_or(SessionError::PeerMisbehaved)?;
        outbound.feedback(now.monotonic, feedback, round_trip);
        Ok(())
    }

    /// Publisher: the bit rate that the path carries, bit/s, where it is estimated.
    pub fn target(&self) -> Option<u64> {
        self.outbound.as_ref().and_then(|outbound| outbound.target())
    }

    /// Publisher: true if the viewer has reported lately what arrives, so that [`target`](Self::target) is that of its
    /// path, and not of its silence.
    pub fn is_reported(&self) -> bool {
        self.outbound.as_ref().is_some_and(|outbound| outbound.is_reported())
    }

    /// Publisher: the smoothed share of packets that the path loses, and the mean length of a loss burst in packets.
    pub fn path_loss(&self) -> Option<(f64, f64)> {
        self.outbound.as_ref().map(|outbound| outbound.loss())
    }

    pub(super) fn probe_acknowledged(&mut self, now: Now, token: u32) -> Result<(), SessionError> {
        let outbound = self.outbound.as_mut().ok_or(SessionError::PeerMisbehaved)?;
        outbound.probe_came(token, now.monotonic);
        Ok(())
    }

    /// Publisher: the longest datagram of media, in bytes; none where media has no datagrams of its own.
    pub fn datagram_limit(&self) -> Option<usize> {
        self.outbound.as_ref().map(|outbound| outbound.limit())
    }
}
