//! Data channels in the session: what ends say of them, and the records that carry their datagrams.

use std::time::Duration;

use super::counts::{DataCounts, Datagram};
use super::lane::Lane;
use super::part::DataPart;
use crate::clock::Now;
use crate::seal::RecordMeta;
use crate::session::datagram_handshake::DatagramHandshake;
use crate::session::machine::Session;
use crate::session::{Event, Output, SessionError};
use crate::wire::datagram::datagram;
use crate::wire::{
    Control, DATA_HEADER, DataChannel, DataPayload, DataStanding, Flags, MAX_DATA_CHANNELS, MAX_DATAGRAM_ON_CHANNEL,
};

/// A viewer says what it wants again after so long, as long as it is not answered, or may not send as it wishes.
const ASK_AGAIN: Duration = Duration::from_secs(1);
/// After so many messages without an answer the program is told.
const UNANSWERED: u8 = 5;
/// Share of the cells' room that data may take, as a divisor: pictures and control need the rest.
const SHARE_OF_CELLS: u64 = 4;

impl Session {
    /// Viewer: say which data channels it wants. Publisher: say which it has, after [`Event::DataTold`] and when a
    /// standing changes.
    pub(in crate::session) fn say_data(&mut self, now: Now, channels: Vec<DataChannel>) -> Result<(), SessionError> {
        let leads = self.leads();
        let fits = channels.len() <= MAX_DATA_CHANNELS
            && (leads || channels.iter().all(|channel| channel.standing != DataStanding::Waits));
        if !self.is_established() || !fits || (leads && self.data.is_none()) {
            return Err(SessionError::Misuse);
        }
        if let Some(keys) = self.keys() {
            keys.ring.have_data();
        }
        let mut data = self.take_data();
        if leads {
            if !data.set_lanes(&channels) {
                return Err(SessionError::Misuse);
            }
            data.told = Some(channels.clone());
            data.say_at = now.monotonic + ASK_AGAIN;
        } else {
            data.wished.clone_from(&channels);
            data.say_at = now.monotonic + ASK_AGAIN;
            data.unanswered = 0;
        }
        data.agree(leads);
        self.data = Some(data);
        self.send_control(now, &Control::Data(channels))?;
        self.rekey_if_due(now)
    }

    fn take_data(&mut self) -> Box<DataPart> {
        let room = self.room_a_second().map(|room| room / SHARE_OF_CELLS);
        self.data.take().unwrap_or_else(|| Box::new(DataPart::new(room)))
    }

    /// The peer said which data channels it wants, or has.
    pub(in crate::session) fn data_told(&mut self, channels: Vec<DataChannel>) -> Result<(), SessionError> {
        if self.leads() {
            if channels.iter().any(|channel| channel.standing == DataStanding::Waits) {
                return Err(SessionError::PeerMisbehaved);
            }
            let mut data = self.take_data();
            data.wished.clone_from(&channels);
            data.agree(true);
            self.data = Some(data);
            self.out.push_back(Output::Event(Event::DataTold(channels)));
            return Ok(());
        }
        // A publisher says nothing of data to who did not ask.
        let data = self.data.as_mut().ok_or(SessionError::PeerMisbehaved)?;
        if !data.set_lanes(&channels) {
            return Err(SessionError::PeerMisbehaved);
        }
        let news = data.told.as_ref() != Some(&channels);
        data.told = Some(channels.clone());
        data.agree(false);
        data.unanswered = 0;
        if !data.wishes_more() {
            data.say_at = Duration::MAX;
        }
        if news {
            self.out.push_back(Output::Event(Event::DataTold(channels)));
        }
        Ok(())
    }

    /// Send a datagram on a channel. One that is not let through is dropped and counted.
    pub(in crate::session) fn send_datagram(
        &mut self,
        now: Now,
        channel: u8,
        bytes: &[u8],
    ) -> Result<(), SessionError> {
        if !self.is_established() {
            return Err(SessionError::Misuse);
        }
        let longest = self.longest_datagram();
        let Some(data) = &mut self.data else {
            return Err(SessionError::Misuse);
        };
        let lane = usize::from(channel)
            .checked_sub(1)
            .and_then(|at| data.lanes.get_mut(at));
        let sends = lane.and_then(|lane| lane.sends.map(|order| (lane, order)));
        match sends {
            None => data.counts.not_allowed += 1,
            Some(_) if bytes.is_empty() || bytes.len() > longest => data.counts.length += 1,
            Some((lane, order)) => lane.push(order, bytes, &mut data.counts),
        }
        self.flush_data(now)
    }

    /// Longest datagram that a channel carries in this session, in bytes.
    pub fn longest_datagram(&self) -> usize {
        match self.says_twice() || self.is_shaped() {
            true => MAX_DATAGRAM_ON_CHANNEL.min(self.longest_control().saturating_sub(DATA_HEADER)),
            false => MAX_DATAGRAM_ON_CHANNEL,
        }
    }

    /// The carrier takes no data now, or takes it again: what there is waits meanwhile, and older data gives way.
    pub fn hold_data(&mut self, held: bool) {
        if let Some(data) = &mut self.data {
            data.held = held;
        }
    }

    /// Counters of the session's data channels, if it has any.
    pub fn data_counts(&self) -> Option<DataCounts> {
        self.data.as_ref().map(|data| data.counts)
    }

    /// Seal what waits and may leave now.
    fn flush_data(&mut self, now: Now) -> Result<(), SessionError> {
        let (stalled, lossy) = (self.liveness.is_stalled(), self.says_twice());
        let mut sealed = false;
        while let Some(data) = self.data.as_mut().filter(|data| !data.held && !stalled) {
            let Some(place) = data.next_lane(now.monotonic) else {
                break;
            };
            let Some((number, bytes)) = data.lanes[place].next() else {
                break;
            };
            if self.seal_datagram(now, place, number, &bytes)? {
                sealed = true;
                if let Some(data) = &mut self.data {
                    data.counts.sent += 1;
                    if lossy {
                        data.lanes[place].sent(now.monotonic, number, bytes);
                    }
                }
            }
        }
        if sealed { self.rekey_if_due(now) } else { Ok(()) }
    }

    /// Seal a datagram and send it. Returns false if the key has reached its limit: data alone does not end a session.
    fn seal_datagram(&mut self, now: Now, place: usize, number: u32, bytes: &[u8]) -> Result<bool, SessionError> {
        let alone = self.datagram_handshake.as_ref().filter(|_| !self.is_shaped());
        let connection = alone.map(DatagramHandshake::connection);
        let head = DataPayload::head(place as u8 + 1, number);
        let length = head.len() + bytes.len();
        let mut record = connection.map_or_else(Vec::new, |connection| datagram(connection, length));
        let meta = RecordMeta {
            flags: Flags::DATA,
            stream: 0,
            timestamp: now.wall,
        };
        let keys = self.keys().and_then(|keys| keys.ring.current.data.as_mut());
        let sealer = &mut keys.ok_or(SessionError::Misuse)?.sealer;
        if sealer.seal(meta, &[&head, bytes], &mut record).is_err() {
            if let Some(data) = &mut self.data {
                data.counts.no_key += 1;
            }
            return Ok(false);
        }
        match self.writer_mut() {
            Some(writer) => writer.push_control(record),
            None => self.out.push_back(Output::Transmit(record)),
        }
        Ok(true)
    }

    /// Process the payload of an authentic data record.
    pub(in crate::session) fn data_came(&mut self, now: Now, payload: &[u8]) -> Result<(), SessionError> {
        let payload = DataPayload::parse(payload).map_err(|_| SessionError::PeerMisbehaved)?;
        let leads = self.leads();
        let Some(data) = &mut self.data else { return Ok(()) };
        let place = usize::from(payload.channel).checked_sub(1);
        let lane = place.and_then(|at| data.lanes.get_mut(at));
        let Some((lane, order)) = lane.and_then(|lane| lane.hears.map(|order| (lane, order))) else {
            data.counts.not_allowed += 1;
            // The message before may have been lost.
            let again = data.told.clone().filter(|_| leads && now.monotonic >= data.say_at);
            return again.map_or(Ok(()), |told| self.say_data(now, told));
        };
        if !data.receiving.take(now.monotonic, payload.bytes.len()) {
            data.counts.too_fast += 1;
            return Ok(());
        }
        let mut came = Vec::new();
        let datagram = (payload.number, payload.bytes);
        lane.inbox
            .take(now.monotonic, order, datagram, &mut data.counts, &mut came);
        self.hand_out_data(payload.channel, came);
        Ok(())
    }

    fn hand_out_data(&mut self, channel: u8, came: Vec<Vec<u8>>) {
        if let Some(data) = &mut self.data {
            data.counts.received += came.len() as u64;
        }
        let datagrams = came.into_iter().map(|bytes| Datagram { channel, bytes });
        self.out
            .extend(datagrams.map(|datagram| Output::Event(Event::Datagram(datagram))));
    }

    /// Send and hand out what is due.
    pub(in crate::session) fn data_timeout(&mut self, now: Now) -> Result<(), SessionError> {
        let Some(data) = &mut self.data else { return Ok(()) };
        let (mut came, mut copies) = (Vec::new(), Vec::new());
        for (place, lane) in data.lanes.iter_mut().enumerate() {
            let mut out = Vec::new();
            lane.inbox.timeout(now.monotonic, &mut data.counts, &mut out);
            came.push((place as u8 + 1, out));
            copies.extend(std::iter::from_fn(|| lane.copy(now.monotonic)).map(|copy| (place, copy)));
        }
        for (channel, out) in came {
            self.hand_out_data(channel, out);
        }
        for (place, (number, bytes)) in copies {
            self.seal_datagram(now, place, number, &bytes)?;
        }
        self.flush_data(now)?;
        self.ask_for_data(now)
    }

    /// Viewer: say again what it wants, if that is due.
    fn ask_for_data(&mut self, now: Now) -> Result<(), SessionError> {
        let leads = self.leads();
        let due = |data: &&mut Box<DataPart>| !leads && now.monotonic >= data.say_at;
        let Some(data) = self.data.as_mut().filter(due) else {
            return Ok(());
        };
        data.say_at = now.monotonic + ASK_AGAIN;
        let wished = data.wished.clone();
        if data.told.is_none() {
            data.unanswered = data.unanswered.saturating_add(1);
            if data.unanswered == UNANSWERED {
                self.out.push_back(Output::Event(Event::DataUnanswered));
            }
        }
        self.send_control(now, &Control::Data(wished))
    }

    /// When [`data_timeout`](Self::data_timeout) is due.
    pub(in crate::session) fn data_deadline(&self) -> Duration {
        let Some(data) = &self.data else { return Duration::MAX };
        let lanes = data.lanes.iter().map(Lane::deadline).min().unwrap_or(Duration::MAX);
        let waits = data.lanes.iter().any(|lane| lane.next_length().is_some());
        let flows = waits && !data.held && !self.liveness.is_stalled();
        let sending = if flows { data.sending.next() } else { Duration::MAX };
        let asking = if self.leads() { Duration::MAX } else { data.say_at };
        lanes.min(sending).min(asking)
    }
}
