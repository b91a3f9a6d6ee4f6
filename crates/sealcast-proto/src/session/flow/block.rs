//! A block at the viewer: reassembles its source records as they arrive.

use std::time::Duration;

use super::ordered::{Mark, Marks};
use crate::repair::{self, Decoder};
use crate::seal::Opened;
use crate::unit::{MAX_FRAME, PREAMBLE_LEN, Preamble, UnitArrival, UnitHeader};
use crate::wire::{Flags, Malformed};

/// One block: the parts of a frame that have arrived, and the means to recover missing ones.
pub(super) struct Block {
    pub(super) sources: u16,
    pub(super) repairs: u16,
    pub(super) stream: u32,
    pub(super) keyframe: bool,
    /// True if the frame begins (`first`) or ends (`last`) with this block, or the block is a description (`config`);
    /// known from the flags of the records that arrived.
    pub(super) first: bool,
    pub(super) last: bool,
    pub(super) config: bool,
    /// True if it is a frame's proof.
    pub(super) proof: bool,
    /// The sender's timestamp of its newest record.
    pub(super) sealed_at: u64,
    pub(super) last_arrival: Duration,
    /// Time at which the last of its source records arrived or was recovered.
    pub(super) filled: Duration,
    have: u128,
    /// True if what it held was handed out before what came before it.
    pub(super) taken: bool,
    /// Length of every part but the last, once one of them has arrived.
    unit: Option<usize>,
    /// The parts at their offsets, without the first `cut` bytes of the block, up to the end of the furthest part that
    /// arrived.
    data: Vec<u8>,
    /// Bytes at the beginning of the block that are not in `data`: the preamble, if the first part arrived before the
    /// others.
    cut: usize,
    preamble: Option<Preamble>,
    /// The last part, if it arrived before any other.
    tail: Option<Vec<u8>>,
    /// Arrival of each record, if the program wants to know it.
    pub(super) units: Vec<UnitArrival>,
    /// Facts about each record, in a group.
    marks: Vec<(u16, Mark)>,
    /// Recovers missing records, if the block has repair symbols.
    code: Option<Box<repair::Block>>,
}

impl Block {
    pub(super) fn new(stream: u32, header: UnitHeader, flags: Flags, now: Duration) -> Self {
        Self {
            sources: header.sources,
            repairs: header.repairs,
            stream,
            keyframe: flags.keyframe(),
            first: false,
            last: false,
            config: flags.codec_config(),
            proof: flags.proof(),
            marks: Vec::new(),
            sealed_at: 0,
            last_arrival: now,
            filled: now,
            have: 0,
            taken: false,
            unit: None,
            data: Vec::new(),
            cut: 0,
            preamble: None,
            tail: None,
            units: Vec::new(),
            code: (header.repairs > 0)
                .then(|| repair::Block::new(header.sources.into(), header.repairs.into()))
                .flatten()
                .map(Box::new),
        }
    }

    /// Takes the block out, and leaves one in its place that is complete and holds nothing.
    pub(super) fn take(&mut self) -> Self {
        let header = UnitHeader {
            number: 0,
            index: 0,
            sources: self.sources,
            repairs: 0,
        };
        let mut left = Self::new(
            self.stream,
            header,
            Flags::frame(self.keyframe, true, true),
            self.last_arrival,
        );
        (left.repairs, left.have, left.taken) = (self.repairs, self.have, true);
        std::mem::replace(self, left)
    }

    /// The number of the frame that this block is, if it is a whole one.
    pub(super) fn whole_frame(&self) -> Option<u64> {
        let whole = self.first && self.last && self.complete() && !self.config && !self.proof && !self.taken;
        self.preamble.as_ref().filter(|_| whole).map(|preamble| preamble.frame)
    }

    /// Number of records, repair records included.
    pub(super) fn len(&self) -> u64 {
        u64::from(self.sources) + u64::from(self.repairs)
    }

    /// Bytes allocated.
    pub(super) fn held(&self) -> usize {
        let code = self.code.as_ref().map_or(0, |code| code.memory());
        let units = self.units.capacity() * size_of::<UnitArrival>();
        let units = units + self.marks.capacity() * size_of::<(u16, Mark)>();
        self.data.capacity() + self.tail.as_ref().map_or(0, Vec::capacity) + units + code
    }

    pub(super) fn has(&self, index: u16) -> bool {
        self.have & (1 << index) != 0
    }

    /// Number of source records that have not arrived.
    pub(super) fn missing(&self) -> u32 {
        u32::from(self.sources) - self.have.count_ones()
    }

    pub(super) fn complete(&self) -> bool {
        self.missing() == 0
    }

    /// Number of missing source records that must still arrive, so that the others can be recovered. It is the code's
    /// count and not derived from the repair records that arrived: a source record of which no sealed copy was kept
    /// does not help to recover others.
    pub(super) fn wanted(&self) -> u32 {
        let missing = self.missing();
        let lacks = self.code.as_ref().map(|code| code.lacks());
        lacks.map_or(missing, |lacks| missing.min(u32::try_from(lacks).unwrap_or(u32::MAX)))
    }

    pub(super) fn take_repair(&mut self, header: UnitHeader, symbol: &[u8], now: Duration) -> Result<(), Malformed> {
        self.agrees(header)?;
        self.last_arrival = now;
        let wanted = !self.complete();
        match &mut self.code {
            Some(code) if wanted => code.add_repair(header.index.into(), symbol).map_err(|_| Malformed),
            _ => Ok(()),
        }
    }

    /// Keep a sealed copy of a source record, for the recovery of others.
    pub(super) fn keep_sealed(&mut self, index: u16, sealed: &[u8]) -> Result<(), Malformed> {
        match &mut self.code {
            Some(code) if !sealed.is_empty() => code.add_source(index.into(), sealed).map_err(|_| Malformed),
            _ => Ok(()),
        }
    }

    /// Recover missing records if enough has arrived. Returns them as they were sealed.
    pub(super) fn recover(&mut self, decoder: &mut Option<Box<Decoder>>) -> Result<Vec<Vec<u8>>, Malformed> {
        let missing = !self.complete();
        let Some(code) = self.code.as_mut().filter(|code| missing && code.recoverable()) else {
            return Ok(Vec::new());
        };
        let decoder = decoder.get_or_insert_with(|| Box::new(Decoder::new()));
        let recovered = code.recover(decoder).map_err(|_| Malformed)?;
        Ok(recovered.into_iter().map(|(_, record)| record).collect())
    }

    /// Record the arrival of a source record, before [`take_source`](Self::take_source) processes it.
    pub(super) fn tell(&mut self, index: u16, record: &Opened<'_>, arrived: Duration, repaired: bool) {
        if !self.has(index) {
            let unit = UnitArrival::new(index.into(), record, arrived, repaired);
            self.units.push(unit);
        }
    }

    /// Note what is known of a record, before [`take_source`](Self::take_source) processes it. All records of a block
    /// are sealed under one key.
    pub(super) fn mark(&mut self, index: u16, mark: Option<Mark>) -> Result<(), Malformed> {
        let Some(mark) = mark.filter(|_| !self.has(index)) else {
            return Ok(());
        };
        if self.marks.first().is_some_and(|(_, first)| first.epoch != mark.epoch) {
            return Err(Malformed);
        }
        self.marks.push((index, mark));
        Ok(())
    }

    /// Facts about its records, in their order.
    pub(super) fn take_marks(&mut self) -> Marks {
        let mut marks = std::mem::take(&mut self.marks);
        marks.sort_unstable_by_key(|(index, _)| *index);
        Marks {
            stream: self.stream,
            epoch: marks.first().map_or(0, |(_, mark)| mark.epoch),
            hashes: marks.iter().filter_map(|(_, mark)| mark.hash).collect(),
            sealed: marks.into_iter().filter_map(|(_, mark)| mark.sealed).collect(),
        }
    }

    fn agrees(&self, header: UnitHeader) -> Result<(), Malformed> {
        let same = (header.sources, header.repairs) == (self.sources, self.repairs);
        if same { Ok(()) } else { Err(Malformed) }
    }

    /// Process a source record's part of the frame.
    pub(super) fn take_source(
        &mut self,
        header: UnitHeader,
        flags: Flags,
        sealed_at: u64,
        part: &[u8],
        now: Duration,
    ) -> Result<(), Malformed> {
        self.agrees(header)?;
        self.last_arrival = now;
        if self.has(header.index) {
            return Ok(());
        }
        let last_of_block = header.index + 1 == self.sources;
        let config = flags.codec_config();
        // All records of a description have the same flags, `first` and `last` among them.
        let starts_late = !config && flags.first() && header.index != 0;
        let ends_early = !config && flags.last() && !last_of_block;
        let kind = (config, flags.proof(), flags.keyframe());
        let differs = self.have != 0 && kind != (self.config, self.proof, self.keyframe);
        if starts_late || ends_early || differs {
            return Err(Malformed);
        }
        (self.config, self.proof) = (config, flags.proof());
        self.first |= flags.first();
        self.last |= flags.last();
        self.keyframe = flags.keyframe();
        self.sealed_at = self.sealed_at.max(sealed_at);
        self.have |= 1 << header.index;
        self.filled = now;
        self.place(usize::from(header.index), last_of_block, part)
    }

    /// Parse the preamble at the beginning of a frame's first part. Returns the part to place: without the preamble if
    /// no other part has arrived, so that the preamble need not be removed later.
    fn begin<'p>(&mut self, part: &'p [u8]) -> Result<&'p [u8], Malformed> {
        let (preamble, rest) = Preamble::split(part)?;
        self.preamble = Some(preamble);
        if self.unit.is_some() || self.tail.is_some() {
            return Ok(part);
        }
        self.cut = PREAMBLE_LEN;
        Ok(rest)
    }

    fn place(&mut self, index: usize, last_of_block: bool, part: &[u8]) -> Result<(), Malformed> {
        let begins = index == 0 && self.first && !self.config;
        let placed = if begins { self.begin(part)? } else { part };
        if self.sources == 1 {
            self.data.extend_from_slice(placed);
            return Ok(());
        }
        let unit = match self.unit {
            Some(unit) if part.len() > unit || (part.len() < unit && !last_of_block) => return Err(Malformed),
            Some(unit) => unit,
            None if last_of_block => {
                self.tail = Some(part.to_vec());
                return Ok(());
            }
            None => self.learn_unit(part.len())?,
        };
        self.put((index * unit).saturating_sub(self.cut), placed);
        Ok(())
    }

    /// Set the length of the parts, which determines their offsets, and place the last part if it arrived before.
    fn learn_unit(&mut self, unit: usize) -> Result<usize, Malformed> {
        let sources = usize::from(self.sources);
        if (sources - 1) * unit > PREAMBLE_LEN + MAX_FRAME {
            // No frame is that long, and memory for the whole block is reserved below.
            return Err(Malformed);
        }
        self.unit = Some(unit);
        self.data.reserve_exact(sources * unit - self.cut);
        if let Some(tail) = self.tail.take() {
            if tail.len() > unit {
                return Err(Malformed);
            }
            self.put((sources - 1) * unit - self.cut, &tail);
        }
        Ok(unit)
    }

    /// Copy a part to its offset. A gap before it is filled with zeros; most parts arrive in order and leave none.
    fn put(&mut self, at: usize, part: &[u8]) {
        let end = at + part.len();
        if end <= self.data.len() {
            self.data[at..end].copy_from_slice(part);
        } else {
            self.data.resize(at, 0);
            self.data.extend_from_slice(part);
        }
    }

    /// The preamble, if a frame begins with this block, and the bytes after it; call it once the block is complete.
    pub(super) fn into_parts(mut self) -> (Option<Preamble>, Vec<u8>) {
        if self.preamble.is_some() && self.cut == 0 {
            self.data.drain(..PREAMBLE_LEN);
        }
        (self.preamble, self.data)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(index: u16, sources: u16) -> UnitHeader {
        UnitHeader {
            number: 0,
            index,
            sources,
            repairs: 0,
        }
    }

    fn put(block: &mut Block, index: u16, part: &[u8]) -> Result<(), Malformed> {
        let (sources, flags) = (
            block.sources,
            Flags::frame(true, index == 0, index + 1 == block.sources),
        );
        block.take_source(header(index, sources), flags, 0, part, Duration::ZERO)
    }

    fn put_repaired(block: &mut Block, index: u16) -> Result<(), Malformed> {
        let header = UnitHeader {
            repairs: block.repairs,
            ..header(index, block.sources)
        };
        let flags = Flags::frame(true, index == 0, false);
        block.take_source(header, flags, 0, &part(64), Duration::ZERO)
    }

    fn block(sources: u16) -> Block {
        Block::new(1, header(0, sources), Flags::frame(true, true, false), Duration::ZERO)
    }

    #[test]
    fn a_record_that_came_unkept_leaves_another_to_ask_for() {
        let first = |number| UnitHeader {
            number,
            repairs: 1,
            ..header(0, 3)
        };
        let mut block = Block::new(1, first(0), Flags::frame(true, true, false), Duration::ZERO);
        put_repaired(&mut block, 0).expect("fits");
        assert_eq!(block.wanted(), 2);
        put_repaired(&mut block, 1).expect("fits");
        block.keep_sealed(1, &[1; 40]).expect("fits");
        block.take_repair(first(3), &[7; 44], Duration::ZERO).expect("fits");
        assert!(block.recover(&mut None).expect("no contradiction").is_empty());
        assert_eq!((block.missing(), block.wanted()), (1, 1));
    }

    #[test]
    fn parts_find_their_places_in_any_order() {
        let preamble = Preamble {
            frame: 7,
            ..Preamble::default()
        };
        let frame: Vec<u8> = (0..200).collect();
        let sent = [&preamble.to_bytes()[..], &frame].concat();
        let parts: Vec<&[u8]> = sent.chunks(70).collect();
        for order in [
            [0, 1, 2, 3],
            [3, 2, 1, 0],
            [1, 2, 0, 3],
            [3, 0, 1, 2],
            [0, 3, 1, 2],
            [0, 2, 3, 1],
        ] {
            let mut block = block(4);
            for index in order {
                put(&mut block, index, parts[usize::from(index)]).expect("fits");
                put(&mut block, index, b"twice").expect("a repetition changes nothing");
            }
            assert!(block.complete() && block.first && block.last);
            assert_eq!(block.into_parts(), (Some(preamble), frame.clone()), "{order:?}");
        }
        let mut alone = block(1);
        put(&mut alone, 0, &sent).expect("fits");
        assert_eq!(alone.into_parts(), (Some(preamble), frame));
    }

    /// A part of `length` bytes, which begins with a preamble as far as there is room.
    fn part(length: usize) -> Vec<u8> {
        let mut part = Preamble::default().to_bytes().to_vec();
        part.resize(length, 9);
        part
    }

    #[test]
    fn no_room_is_made_for_a_block_that_no_frame_fills() {
        let part = part(MAX_FRAME / 64);
        assert_eq!(put(&mut block(128), 0, &part), Err(Malformed));
        assert_eq!(put(&mut block(64), 0, &part), Ok(()));
    }

    #[test]
    fn parts_that_do_not_fit_together_are_the_peers_fault() {
        let mut one = block(3);
        put(&mut one, 0, &part(PREAMBLE_LEN + 2)).expect("fits");
        assert_eq!(put(&mut one, 1, &part(PREAMBLE_LEN + 1)), Err(Malformed));
        let mut two = block(3);
        put(&mut two, 0, &part(PREAMBLE_LEN + 2)).expect("fits");
        assert_eq!(put(&mut two, 2, &part(PREAMBLE_LEN + 3)), Err(Malformed));
        let mut three = block(3);
        put(&mut three, 2, &part(PREAMBLE_LEN + 3)).expect("nothing to compare with");
        assert_eq!(put(&mut three, 0, &part(PREAMBLE_LEN + 2)), Err(Malformed));
        assert_eq!(
            put(&mut block(3), 0, &part(PREAMBLE_LEN - 1)),
            Err(Malformed),
            "no room for the preamble"
        );
        let early = block(3).take_source(header(0, 3), Flags::frame(true, true, true), 0, b"a", Duration::ZERO);
        assert_eq!(
            early,
            Err(Malformed),
            "the end of the frame before the end of the block"
        );
    }
}
