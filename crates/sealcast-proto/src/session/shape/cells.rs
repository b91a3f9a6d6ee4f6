//! Cells in the session: when they begin, what they carry, and what is refused outside of them.

use std::collections::VecDeque;
use std::time::Duration;

use super::reader::CellReader;
use super::shaped::Shaped;
use super::writer::{CellWriter, ENTRY, ShapeCounts};
use crate::clock::Now;
use crate::seal::{Exhausted, RecordMeta};
use crate::session::control_fragments::MAX_CONTROL;
use crate::session::farewell::Farewell;
use crate::session::machine::{Session, State};
use crate::session::{Carrier, Handled, Output, SessionError};
use crate::unit::Selection;
use crate::wire::datagram::datagram;
use crate::wire::{Accept, CellPlan, Control, Flags, HEADER_LEN, Header, Kind, Malformed, MessageLength, TAG_LEN};

/// On datagrams the announcement is repeated this often until the viewer's first cell shows that it has arrived.
const ANNOUNCE_AGAIN: Duration = Duration::from_millis(100);
/// A publisher may have its viewer send one cell this often, and no more: an announcement must not make it flood the
/// path.
const SOONEST_REPLY: Duration = Duration::from_millis(10);
/// Most cells in which an end says what it still has to say when the session ends.
const MAX_LAST_CELLS: usize = 4096;

impl Session {
    /// Publisher: send nothing but cells from here on, if that is configured. Called when the session is established.
    pub(in crate::session) fn begin_shape(&mut self, now: Now) -> Result<(), SessionError> {
        let Some(plan) = self.config.shape.filter(|_| self.leads()) else {
            return Ok(());
        };
        if matches!(self.config.carrier, Carrier::Quic(_)) {
            return Err(SessionError::Misuse);
        }
        let mut shaped = self.new_shaped();
        shaped.writer = Some(CellWriter::new(plan.publisher, !self.unordered(), now.monotonic));
        shaped.announced = Some([plan.publisher, plan.viewer]);
        self.shaped = Some(Box::new(shaped));
        if let Some(outbound) = &mut self.outbound {
            outbound.travel_in_cells(plan.publisher.room() - ENTRY);
        }
        self.announce_shape(now)
    }

    fn new_shaped(&self) -> Shaped {
        let limit = if self.leads() {
            MessageLength::Control
        } else {
            MessageLength::Record
        };
        Shaped {
            writer: None,
            reader: CellReader::new((!self.unordered()).then_some(limit)),
            peer_sends_cells: false,
            announced: None,
            announce_at: Duration::MAX,
            held: 0,
        }
    }

    /// Send the announcement, and again until it has arrived.
    fn announce_shape(&mut self, now: Now) -> Result<(), SessionError> {
        let repeats = self.unordered();
        let Some(shaped) = &mut self.shaped else {
            return Ok(());
        };
        let Some([publisher, viewer]) = shaped.announced else {
            return Ok(());
        };
        shaped.announce_at = if repeats {
            now.monotonic + ANNOUNCE_AGAIN
        } else {
            Duration::MAX
        };
        self.send_control(now, &Control::Shape { publisher, viewer })
    }

    /// Viewer: the publisher announced the cells of both ends, in a cell.
    pub(in crate::session) fn shape_announced(&mut self, now: Now, plans: [CellPlan; 2]) -> Result<(), SessionError> {
        let stream = !self.unordered();
        let shaped = self.shaped.as_mut().ok_or(SessionError::PeerMisbehaved)?;
        match shaped.announced {
            Some(announced) if announced == plans => Ok(()),
            Some(_) => Err(SessionError::PeerMisbehaved),
            None if plans[1].cells != 1 || plans[1].tick < SOONEST_REPLY => Err(SessionError::PeerMisbehaved),
            None => {
                shaped.announced = Some(plans);
                shaped.writer = Some(CellWriter::new(plans[1], stream, now.monotonic));
                Ok(())
            }
        }
    }

    /// True if this end sends nothing but cells.
    pub fn is_shaped(&self) -> bool {
        self.writer().is_some()
    }

    fn writer(&self) -> Option<&CellWriter> {
        self.shaped.as_ref().and_then(|shaped| shaped.writer.as_ref())
    }

    pub(in crate::session) fn writer_mut(&mut self) -> Option<&mut CellWriter> {
        self.shaped.as_mut().and_then(|shaped| shaped.writer.as_mut())
    }

    /// Counters of this end's cells, if it sends cells.
    pub fn shape_counts(&self) -> Option<ShapeCounts> {
        self.writer().map(|writer| writer.counts)
    }

    /// The wait for cells of a frame whose wait was not read yet: from its seal to the last cell that holds a part of
    /// it.
    pub fn take_shape_wait(&mut self) -> Option<Duration> {
        self.writer_mut().and_then(CellWriter::take_wait)
    }

    /// The bytes of this end's records that one tick carries, if it sends cells. The program seals the next frame when
    /// fewer wait, so that no tick passes with room for it.
    pub fn shape_room(&self) -> Option<usize> {
        let plan = self.writer()?.plan();
        Some(plan.room() * usize::from(plan.cells))
    }

    /// The bytes of this end's records that its cells carry in a second, if it sends cells.
    pub(in crate::session) fn room_a_second(&self) -> Option<u64> {
        let plan = self.writer()?.plan();
        let tick = plan.room() as u128 * u128::from(plan.cells);
        Some((tick * 1_000_000_000 / plan.tick.as_nanos().max(1)) as u64)
    }

    /// Bytes of sent messages that the carrier has not taken yet. Where there are too many, ticks are left out: what
    /// the path does not carry cannot be constant.
    pub fn carrier_holds(&mut self, bytes: usize) {
        if let Some(shaped) = &mut self.shaped {
            shaped.held = bytes;
        }
    }

    /// Longest control message that is sent in one record on datagrams.
    pub(in crate::session) fn longest_control(&self) -> usize {
        let in_cell = self
            .writer()
            .map(|writer| writer.plan().room() - ENTRY - HEADER_LEN - TAG_LEN);
        in_cell.unwrap_or(MAX_CONTROL)
    }

    /// Bytes of a byte stream's media that wait for cells.
    pub(in crate::session) fn waiting_in_cells(&self) -> usize {
        self.writer().map_or(0, CellWriter::waiting_media)
    }

    /// Note that a frame was sealed; `before` are the bytes of media that waited before.
    pub(in crate::session) fn note_shaped_frame(&mut self, now: Now, before: usize) {
        let after = self.media_backlog();
        if let Some(writer) = self.writer_mut() {
            writer.pushed(now.monotonic, before, after);
        }
    }

    /// True if a record by itself is refused: the peer sends cells, and this cannot be the welcome, which comes before
    /// them and on datagrams perhaps after them.
    pub(in crate::session) fn is_outside_cell(&self, record: &[u8]) -> bool {
        let cells = self.shaped.as_ref().is_some_and(|shaped| shaped.peer_sends_cells);
        let welcome = || {
            let header = Header::parse(record, Accept::EncryptedOnly);
            header.is_ok_and(|header| (header.kind, header.epoch, header.seq) == (Kind::Control, 0, 0))
        };
        cells && !(self.unordered() && welcome())
    }

    /// Process the payload of an authentic cell.
    pub(in crate::session) fn cell_came(&mut self, now: Now, payload: &mut [u8]) -> Result<Handled, SessionError> {
        if self.unordered() && matches!(self.state, State::ExpectWelcome(_)) {
            // A publisher sends no cells before the welcome.
            self.enter(now);
        }
        if !self.is_established() || (self.leads() && self.shaped.is_none()) {
            return Err(SessionError::PeerMisbehaved);
        }
        let mut shaped = match self.shaped.take() {
            Some(shaped) => shaped,
            None => Box::new(self.new_shaped()),
        };
        shaped.peer_sends_cells = true;
        if self.leads() {
            shaped.announce_at = Duration::MAX;
        }
        let mut reader = std::mem::replace(&mut shaped.reader, CellReader::new(None));
        self.shaped = Some(shaped);
        let mut all = Handled::Done;
        let read = reader.read(payload, |record| {
            let handled = match Kind::of(record) {
                Some(Kind::Media | Kind::Control | Kind::Data) => self.handle_single(now, record)?,
                Some(Kind::Cell) | None => return Err(SessionError::PeerMisbehaved),
            };
            if let Handled::Refused(_) = handled {
                all = handled;
            }
            Ok(!self.is_over())
        });
        if let Some(shaped) = &mut self.shaped {
            shaped.reader = reader;
        }
        read.map(|()| all)
    }

    /// Send the cells that are due.
    pub(in crate::session) fn send_cells(&mut self, now: Now) -> Result<(), SessionError> {
        if self
            .shaped
            .as_ref()
            .is_some_and(|shaped| now.monotonic >= shaped.announce_at)
        {
            self.announce_shape(now)?;
        }
        let stalled = self.liveness.is_stalled();
        let Some(shaped) = &mut self.shaped else { return Ok(()) };
        let Some(writer) = &mut shaped.writer else {
            return Ok(());
        };
        let ticks = writer.due(now.monotonic, shaped.held, stalled);
        let cells = if stalled { 1 } else { u32::from(writer.plan().cells) };
        for _ in 0..ticks * cells {
            let cell = self.seal_cell(now)?;
            self.out.push_back(Output::Transmit(cell));
        }
        if ticks > 0 {
            let waiting = self.media_backlog();
            if let Some(writer) = self.writer_mut() {
                writer.note_left(now.monotonic, waiting);
            }
        }
        Ok(())
    }

    /// Fill and seal one cell.
    fn seal_cell(&mut self, now: Now) -> Result<Vec<u8>, SessionError> {
        let (connection, stalled) = (self.connection(), self.liveness.is_stalled());
        let (State::Established(established), Some(shaped)) = (&mut self.state, &mut self.shaped) else {
            return Err(SessionError::Misuse);
        };
        let writer = shaped.writer.as_mut().ok_or(SessionError::Misuse)?;
        let size = usize::from(writer.plan().size);
        let mut cell = connection.map_or_else(|| Vec::with_capacity(size), |connection| datagram(connection, size));
        let start = cell.len();
        cell.resize(start + size, 0);
        let mut outbound = self.outbound.as_mut().filter(|_| !stalled);
        writer.fill(&mut cell[start + HEADER_LEN..start + size - TAG_LEN], |room| {
            let outbound = outbound.as_mut()?;
            let packets = outbound.poll(now.monotonic)?;
            let target = room.get_mut(..packets.bytes.len())?;
            target.copy_from_slice(packets.bytes);
            let length = target.len();
            outbound.sent(now.monotonic);
            Some(length)
        });
        let meta = RecordMeta {
            flags: Flags::CELL,
            stream: 0,
            timestamp: now.wall,
        };
        let sealer = &mut established.ring.current.cell_sealer;
        let sealed = sealer.seal_in_place(meta, &mut cell[start..]);
        sealed.map_err(|Exhausted| SessionError::KeyLimit)?;
        Ok(cell)
    }

    /// Seal a control message into a cell of its own, for an address to which nothing else goes.
    pub(in crate::session) fn cell_of_control(&mut self, now: Now, payload: &[u8]) -> Result<Vec<u8>, SessionError> {
        let record = self.seal_control(now, payload)?;
        let Some(writer) = self.writer() else {
            return Ok(record);
        };
        let mut alone = CellWriter::new(*writer.plan(), !self.unordered(), now.monotonic);
        alone.push_control(record);
        let shaped = self.shaped.as_mut().ok_or(SessionError::Misuse)?;
        let writer = shaped.writer.replace(alone);
        let outbound = self.outbound.take();
        let cell = self.seal_cell(now);
        self.outbound = outbound;
        if let Some(shaped) = &mut self.shaped {
            shaped.writer = writer;
        }
        cell
    }

    /// Messages that this end still has to send, in cells, when the session ends. `close` is the payload of the last
    /// message. On a byte stream the media that waits goes before it if it is wanted; on datagrams the message is said
    /// again and again.
    pub(in crate::session) fn last_cells(
        &mut self,
        now: Now,
        close: &[u8],
        media: bool,
        times: u8,
    ) -> Option<Farewell> {
        let unordered = self.unordered();
        let (plan, next) = self.writer().map(|writer| (*writer.plan(), writer.deadline()))?;
        if let Some(writer) = self.writer_mut().filter(|_| !media) {
            writer.drop_media();
        }
        if let Some(outbound) = &mut self.outbound {
            outbound.drop_unsent();
        }
        let mut cells = VecDeque::new();
        // Control overtakes media, so the message joins when nothing else waits.
        self.empty_into(now, &mut cells)?;
        for _ in 0..if unordered { times } else { 1 } {
            let record = self.seal_control(now, close).ok()?;
            self.writer_mut()?.push_control(record);
            self.empty_into(now, &mut cells)?;
        }
        Some(Farewell {
            messages: cells,
            at_once: usize::from(plan.cells),
            interval: plan.tick,
            next,
        })
    }

    /// Seal all that waits.
    fn empty_into(&mut self, now: Now, cells: &mut VecDeque<Vec<u8>>) -> Option<()> {
        while !self.writer()?.is_empty() && cells.len() < MAX_LAST_CELLS {
            cells.push_back(self.seal_cell(now).ok()?);
        }
        Some(())
    }

    pub(in crate::session) fn shape_deadline(&self) -> Duration {
        let announce = self.shaped.as_ref().map_or(Duration::MAX, |shaped| shaped.announce_at);
        self.writer().map_or(Duration::MAX, CellWriter::deadline).min(announce)
    }

    /// Publisher: true if this selection can be in force. Records in clear are hidden in cells, but a shape that hides
    /// what is in clear only from those who do not look is no protection.
    pub(in crate::session) fn shape_permits(&self, selection: Selection) -> bool {
        self.config.shape.is_none() || selection == Selection::All
    }

    fn connection(&self) -> Option<u32> {
        self.datagram_handshake.as_ref().map(|handshake| handshake.connection())
    }
}

impl From<Malformed> for SessionError {
    /// A cell is authentic, so its contents are the peer's fault.
    fn from(Malformed: Malformed) -> Self {
        Self::PeerMisbehaved
    }
}
