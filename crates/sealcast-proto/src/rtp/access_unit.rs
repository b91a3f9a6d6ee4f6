//! Access units in Annex B, put together from NAL units and their fragments: what H.264 and H.265 have in common.

use std::collections::VecDeque;

use super::bounds::{MAX_PICTURE, MAX_PIECES, MAX_READY_BYTES, MAX_READY_PICTURES, MAX_SET, MAX_SPARE};
use super::markers::Markers;
use super::{Damage, Unit};
use crate::unit::find_start_code;
use crate::unit::h264::ParameterSets;

const START_CODE: [u8; 4] = [0, 0, 0, 1];

const LACKS: &str = "lacks packets";
const LARGE: &str = "has a picture that is too large";
const MANY: &str = "has a picture of too many parts";
const HEADLESS: &str = "has fragments without a beginning";
const RESERVED: &str = "has units of a reserved type";
const MARKED: &str = "has units that are marked as damaged";

/// Role of a NAL unit for the borders of pictures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// A part of a picture; the first of it, or another.
    Slice { first: bool },
    /// Unit that stands before a picture: after a slice it belongs to the next one.
    Opening,
    /// All else that may stand in an access unit,
    Other,
    /// and what has no place in one.
    Reserved,
}

/// Syntax of a codec's NAL units.
#[derive(Clone, Copy, Debug)]
pub(super) struct Syntax {
    /// Length of the header.
    pub(super) header: usize,
    /// The class of a unit by the header and the byte behind it.
    pub(super) class: fn(&[u8]) -> Class,
}

/// The access unit under way.
#[derive(Debug, Default)]
struct Building {
    data: Vec<u8>,
    /// NAL units in it,
    units: usize,
    /// of them slices,
    slices: usize,
    /// and of these the first of a picture: two are the fields of one.
    firsts: usize,
    /// Packets with slices that had the marker.
    marks: usize,
    /// The last of these packets had it.
    marked: bool,
    /// Bytes and units before those that stand before the next picture, if a slice follows that begins one.
    next: Option<(usize, usize)>,
    /// Reason why it will not come out.
    broken: Option<&'static str>,
}

/// The fragmented NAL unit under way.
#[derive(Debug)]
struct Fragment {
    /// Offset of its beginning in the access unit, behind its start code,
    at: usize,
    /// and what that counted before it: units, slices and first ones.
    before: [usize; 3],
    next: Option<(usize, usize)>,
    /// No other fragment of it has come.
    single: bool,
}

/// The access unit under way, and those that are whole.
#[derive(Debug)]
pub(super) struct AccessUnits {
    syntax: Syntax,
    building: Building,
    fragment: Option<Fragment>,
    /// Fragments are left out up to the end of their unit.
    headless: bool,
    timestamp: u32,
    markers: Markers,
    /// The timestamp of the last picture that a marker ended.
    ended: Option<u32>,
    /// The packet has a slice, or a part of one.
    in_slice: bool,
    /// Packets were lost since a picture began, so that the next slice must be the first of one.
    after_loss: bool,
    /// The next access unit follows a loss.
    lost: bool,
    /// Of H.264: they say whether the two fields of a picture may come as two.
    sets: ParameterSets,
    ready: VecDeque<Unit>,
    ready_bytes: usize,
    damage: Damage,
}

impl AccessUnits {
    /// Of a codec with this syntax, whose description has these parameter sets.
    pub(super) fn new(syntax: Syntax, sets: &[Vec<u8>]) -> Self {
        let mut units = Self {
            syntax,
            building: Building::default(),
            fragment: None,
            headless: false,
            timestamp: 0,
            markers: Markers::default(),
            ended: None,
            in_slice: false,
            after_loss: true,
            lost: false,
            sets: ParameterSets::default(),
            ready: VecDeque::new(),
            ready_bytes: 0,
            damage: Damage::default(),
        };
        for set in sets {
            units.learn(set);
        }
        units
    }

    /// Packets before the next one are missing.
    pub(super) fn lose(&mut self) {
        if self.building.next.is_some() {
            // The picture was whole: what follows it has come.
            self.finish();
        }
        self.abandon(LACKS);
        if self.building.slices > 0 {
            self.building.broken.get_or_insert(LACKS);
        }
        (self.lost, self.after_loss) = (true, true);
    }

    /// A packet with this timestamp begins.
    pub(super) fn begin(&mut self, timestamp: u32) {
        if timestamp != self.timestamp {
            self.end_fragment();
            if self.building.slices > 0 {
                self.finish();
            }
            // What stands before a picture may carry the timestamp of the one before.
            self.timestamp = timestamp;
        }
        self.in_slice = false;
    }

    /// The packet ends, with or without the marker.
    pub(super) fn end(&mut self, marker: bool) {
        if marker && let Some(fragment) = &self.fragment {
            let is_slice = fragment.before[1] < self.building.slices;
            if is_slice && fragment.single {
                self.markers.doubt();
            }
            if !is_slice || self.markers.end_pictures() {
                self.end_fragment();
            }
        }
        if self.in_slice {
            self.building.marked = marker;
            self.building.marks += usize::from(marker);
        }
        if !marker {
            return;
        }
        if self.building.slices == 0 {
            self.markers.doubt();
        } else if self.markers.end_pictures() {
            self.finish();
            self.markers.ended_one();
            self.ended = Some(self.timestamp);
        }
    }

    /// A whole NAL unit, perhaps with start codes before it and in it.
    pub(super) fn whole(&mut self, unit: &[u8]) {
        self.end_fragment();
        self.headless = false;
        let mut rest = Some(unit);
        while let Some(part) = rest {
            let next = find_start_code(part, 0);
            self.put(trimmed(&part[..next.unwrap_or(part.len())]));
            rest = next.map(|at| &part[at + 3..]);
        }
    }

    /// The first fragment of a NAL unit: its header, made anew, and what follows.
    pub(super) fn first_fragment(&mut self, header: &[u8], body: &[u8]) {
        // A unit whose end did not come is ended by the next.
        self.end_fragment();
        self.headless = false;
        // Behind a start code in its place a whole access unit follows, which is looked at once it has come.
        let class = if body.starts_with(&START_CODE) || body.starts_with(&START_CODE[1..]) {
            Class::Other
        } else {
            // Where nothing is behind the header yet, a first slice begins a picture.
            let behind = if self.building.slices == 0 { 0x80 } else { 0 };
            (self.syntax.class)(&[header, &[*body.first().unwrap_or(&behind)]].concat())
        };
        if class == Class::Reserved {
            self.headless = true;
            return self.skip(RESERVED);
        }
        self.turn(class);
        let Building {
            units,
            slices,
            firsts,
            next,
            ..
        } = self.building;
        if self.open(class, header.len() + body.len()) {
            self.fragment = Some(Fragment {
                at: self.building.data.len(),
                before: [units, slices, firsts],
                next,
                single: true,
            });
            self.building.data.extend_from_slice(header);
            self.building.data.extend_from_slice(body);
        }
    }

    /// A further fragment of a NAL unit with this header.
    pub(super) fn further_fragment(&mut self, header: &[u8], body: &[u8]) {
        let is_slice = matches!((self.syntax.class)(header), Class::Slice { .. });
        self.in_slice |= is_slice;
        if let Some(fragment) = &mut self.fragment {
            fragment.single = false;
            if self.fits(body.len()) {
                self.building.data.extend_from_slice(body);
            }
            return;
        }
        if self.building.broken.is_some() || std::mem::replace(&mut self.headless, true) {
            return;
        }
        if !is_slice {
            self.lost = true;
            return self.skip(HEADLESS);
        }
        if !self.after_loss && self.building.slices == 0 && self.ended == Some(self.timestamp) {
            self.markers.disprove();
        }
        self.lack_slice(if self.after_loss { LACKS } else { HEADLESS });
    }

    /// The last fragment has come.
    pub(super) fn end_fragment(&mut self) {
        let Some(Fragment { at, before, next, .. }) = self.fragment.take() else {
            return;
        };
        if find_start_code(&self.building.data, at).is_none() {
            self.building
                .data
                .truncate(at + trimmed(&self.building.data[at..]).len());
            return;
        }
        // A whole access unit came as one NAL unit, with start codes in it.
        let data = std::mem::take(&mut self.building.data);
        self.building.data.extend_from_slice(&data[..at - START_CODE.len()]);
        [self.building.units, self.building.slices, self.building.firsts] = before;
        self.building.next = next;
        let headless = self.headless;
        self.whole(&data[at..]);
        self.headless = headless;
    }

    /// A unit, or a part of one, that the camera or the network marks as damaged.
    pub(super) fn damaged(&mut self, header: &[u8]) {
        self.abandon(MARKED);
        if matches!((self.syntax.class)(header), Class::Slice { .. }) {
            (self.in_slice, self.headless) = (true, true);
            self.lack_slice(MARKED);
        } else {
            self.skip(MARKED);
        }
    }

    /// Leaves something out that is no part of a picture, for this reason.
    pub(super) fn skip(&mut self, reason: &'static str) {
        self.damage.units += 1;
        self.damage.reason = Some(reason);
    }

    /// The next whole unit.
    pub(super) fn poll(&mut self) -> Option<Unit> {
        let unit = self.ready.pop_front()?;
        self.ready_bytes -= unit.data.len();
        Some(unit)
    }

    /// Parts that were left out since the last call.
    pub(super) fn take_damage(&mut self) -> Damage {
        std::mem::take(&mut self.damage)
    }

    /// A slice is left out, and with it the picture.
    fn lack_slice(&mut self, reason: &'static str) {
        if self.building.next.is_some() {
            self.finish();
        }
        // That there was one lets the picture end.
        self.building.slices += 1;
        self.building.broken.get_or_insert(reason);
    }

    /// Forgets the unit whose other fragments will not come.
    fn abandon(&mut self, reason: &'static str) {
        let Some(fragment) = self.fragment.take() else { return };
        let Fragment {
            at,
            before: [units, slices, _],
            next,
            ..
        } = fragment;
        self.headless = true;
        self.building.data.truncate(at - START_CODE.len());
        if slices == self.building.slices {
            (self.building.units, self.building.next) = (units, next);
        } else {
            self.building.broken.get_or_insert(reason);
        }
    }

    fn learn(&mut self, unit: &[u8]) {
        if self.syntax.header == 1 && unit.len() <= MAX_SET {
            self.sets.take(unit);
        }
    }

    /// A NAL unit without start codes.
    fn put(&mut self, unit: &[u8]) {
        let Some(first) = unit.first() else { return };
        if first & 0x80 != 0 {
            return self.damaged(&unit[..self.syntax.header.min(unit.len())]);
        }
        let class = (self.syntax.class)(unit);
        if unit.len() <= self.syntax.header && class != Class::Other {
            // The header that stands before start codes.
            return;
        }
        if class == Class::Reserved {
            return self.skip(RESERVED);
        }
        self.learn(unit);
        self.turn(class);
        if self.open(class, unit.len()) {
            self.building.data.extend_from_slice(unit);
        }
    }

    /// Ends the picture under way if a unit of this class cannot belong to it.
    fn turn(&mut self, class: Class) {
        let building = &mut self.building;
        match class {
            Class::Slice { first } => {
                self.in_slice = true;
                if building.slices > 0 {
                    // A frame may come as two fields of one time.
                    if first && !(self.sets.may_have_fields() && building.firsts < 2) {
                        self.finish();
                    } else {
                        building.next = None;
                    }
                } else if !first && self.after_loss {
                    building.broken.get_or_insert(LACKS);
                } else if !first && self.ended == Some(self.timestamp) {
                    // The picture goes on after its marker. What came before has left.
                    self.markers.disprove();
                }
                self.after_loss &= !first;
            }
            Class::Opening if building.slices == 0 => {}
            // Nothing of it is needed any more.
            Class::Opening if building.broken.is_some() => self.finish(),
            Class::Opening => {
                building.next.get_or_insert((building.data.len(), building.units));
            }
            Class::Other | Class::Reserved => {}
        }
    }

    /// Makes room for a NAL unit of this class and length so far, and puts a start code. Returns false if there is no
    /// room.
    fn open(&mut self, class: Class, length: usize) -> bool {
        if let Class::Slice { first } = class {
            self.building.slices += 1;
            self.building.firsts += usize::from(first);
        }
        self.building.units += 1;
        if self.building.units > MAX_PIECES {
            self.break_off(MANY);
            self.building.units = 1;
        }
        if !self.fits(START_CODE.len() + length) {
            return false;
        }
        self.building.data.extend_from_slice(&START_CODE);
        true
    }

    /// True if so many bytes more fit into a picture that is not broken. A large one gets all that it may need at once:
    /// each larger piece of memory that it moved to would leave a hole behind, which few others fill.
    fn fits(&mut self, bytes: usize) -> bool {
        let data = &mut self.building.data;
        if data.len() + bytes > MAX_PICTURE {
            self.break_off(LARGE);
            return false;
        }
        if data.len() + bytes > data.capacity().max(MAX_SPARE) {
            data.reserve_exact(MAX_PICTURE - data.len());
        }
        self.building.broken.is_none()
    }

    /// Gives up what is under way, a picture or what stands before one.
    fn break_off(&mut self, reason: &'static str) {
        let building = &mut self.building;
        (building.data, building.next, building.units) = (Vec::new(), None, 0);
        self.fragment = None;
        self.headless = true;
        if self.building.slices > 0 {
            self.building.broken.get_or_insert(reason);
        } else {
            self.lost = true;
            self.skip(reason);
        }
    }

    /// Ends the picture.
    fn finish(&mut self) {
        let Building {
            mut data,
            units,
            slices,
            marks,
            marked,
            next,
            broken,
            ..
        } = std::mem::take(&mut self.building);
        if let Some((at, before)) = next {
            self.building.data = data.split_off(at);
            self.building.units = units - before;
        } else if broken.is_none() {
            self.building.data = Vec::with_capacity(data.len().min(MAX_SPARE));
        }
        let full = self.ready.len() >= MAX_READY_PICTURES || self.ready_bytes + data.len() > MAX_READY_BYTES;
        if let Some(reason) = broken.or(full.then_some(MANY)) {
            self.skip(reason);
            (self.lost, self.after_loss) = (true, true);
            return;
        }
        self.markers.judge(slices, marks, marked);
        if data.capacity() > MAX_SPARE {
            data.shrink_to_fit();
        }
        self.ready_bytes += data.len();
        self.ready.push_back(Unit {
            timestamp: self.timestamp,
            lost: std::mem::take(&mut self.lost),
            data,
        });
    }
}

/// A NAL unit without the zeros behind it.
fn trimmed(mut unit: &[u8]) -> &[u8] {
    while let [shorter @ .., 0] = unit {
        unit = shorter;
    }
    unit
}
