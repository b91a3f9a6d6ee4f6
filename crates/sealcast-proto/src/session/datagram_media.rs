//! A session's media on carriers that may lose it: what the two halves in `flow` need of the session around them.

use std::time::Duration;

use super::flow::{Packets, Sealing, When};
use super::keyring::{NotOpened, Repeated};
use super::machine::{Session, State};
use super::media::OutgoingUnit;
use super::{Carrier, Output, QuicMedia, SealedRecords, SessionError};
use crate::clock::Now;
use crate::seal::{Exhausted, Opened, Sealed};
use crate::unit::{Cutter, PREAMBLE_LEN, Piece, Room, Selection, Unit};
use crate::wire::{CONNECTION_LEN, Control, Feedback, HEADER_LEN, Kind, TAG_LEN};

/// What a probe's datagram has besides its padding.
const PROBE_OVERHEAD: usize = CONNECTION_LEN + HEADER_LEN + TAG_LEN + 5;

/// What QUIC's streams were given is still on its way after the session has handed it over: how long the viewer may
/// take to say that the last of it came.
const STREAMS_PATIENCE: Duration = Duration::from_secs(10);

/// What a viewer takes the round trip for while none was measured. To ask in vain costs a packet, and not to ask the
/// first frames.
const HOPED_ROUND_TRIP: Duration = Duration::from_millis(30);

/// The shortest chunk where media may be lost: the preamble fits its first.
const MIN_CHUNK: u16 = 64;

/// The unit of a carrier that may lose media. A record there holds a whole frame or a packet's worth of it: a frame
/// that is a unit is encrypted as a whole or not at all.
pub(super) fn unit(asked: Unit) -> Unit {
    match asked {
        Unit::Frame | Unit::Packet => Unit::Packet,
        Unit::Chunk(bytes) => Unit::Chunk(bytes.max(MIN_CHUNK)),
    }
}

impl Session {
    /// The next datagrams of media to send, if any may leave now. Drain it after every call, as
    /// [`poll`](Self::poll), and say [`packets_sent`](Self::packets_sent) each time they were taken by the carrier.
    pub fn poll_packets(&mut self, now: Now) -> Option<Packets<'_>> {
        if !self.is_established() || self.liveness.is_stalled() {
            return None;
        }
        self.outbound.as_mut()?.poll(now.monotonic)
    }

    /// The datagrams of the last [`poll_packets`](Self::poll_packets) have left.
    pub fn packets_sent(&mut self, now: Now) {
        if let Some(outbound) = &mut self.outbound {
            outbound.sent(now.monotonic);
        }
    }

    /// Bytes of media that are sealed and have not left. The program seals the next frame when few are.
    pub fn media_backlog(&self) -> usize {
        self.outbound.as_ref().map_or(0, |outbound| outbound.backlog())
    }

    /// Publisher: bytes of media that have left after the newest of which the viewer has told. Who sends without a rate
    /// can keep to what the viewer keeps up with. Always 0 on a byte stream, which sees to it.
    pub fn media_in_flight(&self) -> u64 {
        self.outbound.as_ref().map_or(0, |outbound| outbound.in_flight())
    }

    /// Publisher: so many bytes of frames wait in the program until [`media_backlog`](Self::media_backlog) is small.
    /// Telling it whenever it changes keeps them from waiting for the pacer where the path is free.
    pub fn media_waits(&mut self, bytes: usize) {
        if let Some(outbound) = &mut self.outbound {
            outbound.waits(bytes);
        }
    }

    /// Publisher: bytes of media that may leave at once now, where the session holds media: frames up to that length
    /// leave together if they are sealed before [`poll_packets`](Self::poll_packets). 0 where it does not.
    pub fn media_allowance(&mut self, now: Now) -> u64 {
        let outbound = self.outbound.as_mut();
        outbound.map_or(0, |outbound| outbound.allowance(now.monotonic))
    }

    /// Publisher: whether the session holds media until it may leave, as it does where media may be lost.
    pub fn holds_media(&self) -> bool {
        self.outbound.is_some()
    }

    /// Publisher: whether all media that was sealed has arrived, or can no longer be asked for. Always so on a byte
    /// stream, whose carrier sees to it.
    pub fn media_settled(&self, now: Now) -> bool {
        let on_streams = self.config.carrier == Carrier::Quic(QuicMedia::Streams);
        let least = if on_streams { STREAMS_PATIENCE } else { Duration::ZERO };
        let outbound = self.outbound.as_ref();
        outbound.is_none_or(|outbound| outbound.settled(now.monotonic, least))
    }

    /// Viewer: whether media comes once and in order, as on a byte stream, where what is missing was removed.
    pub fn assembles_stream(&self) -> bool {
        self.assembler.is_some()
    }

    /// Whether the peer has been silent for so long that nothing is sent to it.
    pub fn is_stalled(&self) -> bool {
        self.liveness.is_stalled()
    }

    pub(super) fn round_trip(&self) -> Duration {
        self.clock.round_trip().map_or(HOPED_ROUND_TRIP, |trip| trip.smoothed)
    }

    /// Publisher: cut a frame or packets and seal them into the half that sends.
    pub(super) fn push_unit(
        &mut self,
        now: Now,
        outgoing: &OutgoingUnit<'_>,
        cutter: &mut Cutter,
    ) -> Result<SealedRecords, SessionError> {
        let unit = self.outbound.as_ref().ok_or(SessionError::Misuse)?;
        let unit = unit.unit(PREAMBLE_LEN + outgoing.data.len(), self.config.unit);
        let room = Room {
            first: unit - PREAMBLE_LEN,
            others: unit,
        };
        let preamble = outgoing.preamble.to_bytes();
        let selection = self.selecting.in_force();
        let sealing = Sealing {
            stream: outgoing.stream,
            keyframe: outgoing.keyframe,
            config: false,
            may_be_clear: selection != Selection::All,
            preamble: &preamble,
            bytes: PREAMBLE_LEN + outgoing.data.len(),
            unit,
        };
        let mut pieces = cutter.cut(selection, outgoing.codec, outgoing.keyframe, outgoing.data, room);
        self.push_media(now, &sealing, &mut pieces)
    }

    /// Publisher: the same for a stream's description.
    pub(super) fn push_info(
        &mut self,
        now: Now,
        stream: u32,
        data: &[u8],
        encrypt: bool,
    ) -> Result<SealedRecords, SessionError> {
        let outbound = self.outbound.as_ref().ok_or(SessionError::Misuse)?;
        let most = outbound.unit(usize::MAX, Unit::Packet);
        let unit = data.len().div_ceil(data.len().div_ceil(most));
        let sealing = Sealing {
            stream,
            keyframe: false,
            config: true,
            may_be_clear: self.selecting.in_force() != Selection::All,
            preamble: &[],
            bytes: data.len(),
            unit,
        };
        let last = data.len().div_ceil(unit) - 1;
        let mut pieces = data.chunks(unit).enumerate().map(|(index, data)| Piece {
            data,
            encrypt,
            first: index == 0,
            last: index == last,
        });
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

    /// Viewer: a verified media record.
    pub(super) fn take_media(&mut self, now: Now, record: &Opened<'_>) -> Result<(), SessionError> {
        let round_trip = self.round_trip();
        let Some(inbound) = &mut self.inbound else {
            return Ok(());
        };
        inbound
            .take(now, record, round_trip)
            .map_err(|_| SessionError::PeerMisbehaved)?;
        self.take_recovered(now)?;
        self.hand_out();
        self.ask_again(now)?;
        self.report(now, When::Overdue)
    }

    /// Viewer: open what the repair symbols gave like any other record.
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
                    let taken = inbound.take_recovered(now, &record);
                    taken.map_err(|_| SessionError::PeerMisbehaved)?;
                }
                Ok(_) => return Err(SessionError::PeerMisbehaved),
                // It was not kept for repair when it came.
                Err(NotOpened::Repeated(_)) => inbound.counts.duplicates += 1,
                Err(NotOpened::Refused(reason)) => self.refusals.count(reason),
            }
        }
        Ok(())
    }

    /// Whether a media record that came again is a copy that was to be expected: then it is counted as that.
    pub(super) fn is_duplicate(&mut self, now: Now, record: Repeated) -> bool {
        let round_trip = self.round_trip();
        let clock = self.clock.estimate();
        let inbound = self.inbound.as_mut();
        inbound.is_some_and(|inbound| inbound.repeated(now, record, clock, round_trip))
    }

    /// Viewer: hand out what is whole.
    fn hand_out(&mut self) {
        while let Some(media) = self.inbound.as_mut().and_then(|inbound| inbound.next()) {
            self.out.push_back(Output::Media(media));
        }
    }

    /// Viewer: ask for what is missing.
    fn ask_again(&mut self, now: Now) -> Result<(), SessionError> {
        let round_trip = self.round_trip();
        let mut entries = Vec::new();
        let inbound = self.inbound.as_mut();
        match inbound.and_then(|inbound| inbound.nack(now.monotonic, round_trip, &mut entries)) {
            Some(nack) => self.send_control(now, &nack),
            None => Ok(()),
        }
    }

    /// Viewer: tell what has come, if that is due.
    fn report(&mut self, now: Now, when: When) -> Result<(), SessionError> {
        let mut bits = Vec::new();
        let inbound = self.inbound.as_mut();
        match inbound.and_then(|inbound| inbound.feedback(now.monotonic, when, &mut bits)) {
            Some(report) => self.send_control(now, &report),
            None => Ok(()),
        }
    }

    /// Viewer: all that had come was taken, and where it `pauses` nothing follows at once, as after the last packet of
    /// a picture. A report that is due leaves now, and does not need a timer. One that is made while more waits here
    /// would take that for a queue on the path. Drain [`poll`](Self::poll) after it.
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
            inbound
                .handle_timeout(now.monotonic)
                .map_err(|_| SessionError::PeerMisbehaved)?;
            self.hand_out();
            self.ask_again(now)?;
            self.report(now, When::Overdue)?;
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

    /// Publisher: what the path carries, bit/s, where that is estimated.
    pub fn target(&self) -> Option<u64> {
        self.outbound.as_ref().and_then(|outbound| outbound.target())
    }

    /// Publisher: the share of packets that the path loses, smoothed, and how many in a row.
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
