//! Access units in Annex B, put together from NAL units and their fragments: what H.264 and H.265 have in common.

use std::collections::VecDeque;

use super::{Damage, MAX_FRAME, MAX_PIECES, Unit};
use crate::unit::find_start_code;

const START_CODE: [u8; 4] = [0, 0, 0, 1];
/// So many pictures that begin under one timestamp are pictures of their own; two may be the fields of one.
const STANDS_STILL: u32 = 3;
/// Capacity that is kept for the next picture.
const KEPT: usize = 1 << 20;

const LACKS: &str = "lacks packets";
const TOO_LARGE: &str = "has a picture that is too large";

/// What a NAL unit is for the borders of pictures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// A part of a picture; the first of it, or another.
    Slice { first: bool },
    /// What stands before a picture: after a slice it belongs to the next one.
    Opening,
    /// All else.
    Other,
}

/// The access unit under way, and those that are whole.
#[derive(Debug)]
pub(super) struct AccessUnits {
    class: fn(&[u8]) -> Class,
    data: Vec<u8>,
    pieces: usize,
    timestamp: u32,
    has_slice: bool,
    /// Where the fragmented NAL unit under way begins.
    fragment: Option<usize>,
    /// Something of it is missing, or it is too large.
    broken: Option<&'static str>,
    /// Packets were lost since the last whole slice.
    after_loss: bool,
    /// The next unit follows a loss.
    lost: bool,
    /// The timestamp of the last picture that a marker ended.
    marked: Option<u32>,
    /// The camera sets the marker on packets that end no picture.
    distrusted: bool,
    /// Pictures that began under this timestamp.
    begun: u32,
    ready: VecDeque<Unit>,
    damage: Damage,
}

impl AccessUnits {
    /// Of a codec that classifies the first three bytes of NAL units by `class`.
    pub(super) fn new(class: fn(&[u8]) -> Class) -> Self {
        Self {
            class,
            data: Vec::new(),
            pieces: 0,
            timestamp: 0,
            has_slice: false,
            fragment: None,
            broken: None,
            after_loss: false,
            lost: false,
            marked: None,
            distrusted: false,
            begun: 0,
            ready: VecDeque::new(),
            damage: Damage::default(),
        }
    }

    /// A packet begins. `lost` is true if packets before it are missing.
    pub(super) fn begin(&mut self, timestamp: u32, lost: bool) {
        if lost {
            (self.lost, self.after_loss) = (true, true);
            if !self.data.is_empty() {
                self.broken.get_or_insert(LACKS);
            }
            self.fragment = None;
        }
        if timestamp != self.timestamp {
            self.end_fragment();
            if self.has_slice {
                self.finish();
            }
            // Parameter sets may carry the timestamp of the picture before.
            (self.timestamp, self.begun) = (timestamp, 0);
        }
    }

    /// A packet ends, with or without the marker.
    pub(super) fn end(&mut self, marker: bool) {
        if marker && self.has_slice && !self.distrusted {
            self.end_fragment();
            self.finish();
            self.marked = Some(self.timestamp);
        }
    }

    /// A whole NAL unit, perhaps with start codes before it and in it.
    pub(super) fn whole(&mut self, unit: &[u8]) {
        self.end_fragment();
        let mut rest = unit;
        while let Some(zeros) = rest.iter().position(|byte| *byte != 0).filter(|zeros| *zeros >= 2) {
            if rest[zeros] != 1 {
                break;
            }
            rest = &rest[zeros + 1..];
        }
        while !rest.is_empty() {
            let next = find_start_code(rest, 0);
            let (unit, after) = rest.split_at(next.unwrap_or(rest.len()));
            let unit = trimmed(unit);
            if !unit.is_empty() && self.open(unit, unit.len()) {
                self.data.extend_from_slice(unit);
            }
            rest = after.get(3..).unwrap_or_default();
        }
    }

    /// The first fragment of a NAL unit: its header, made anew, and what follows.
    pub(super) fn first_fragment(&mut self, header: &[u8], body: &[u8]) {
        // A unit whose end did not come is ended by the next.
        self.end_fragment();
        let mut head = [0; 3];
        let known = header.iter().chain(body).take(head.len());
        let length = known.clone().count();
        for (to, from) in head.iter_mut().zip(known) {
            *to = *from;
        }
        if self.open(&head[..length], header.len() + body.len()) {
            self.fragment = Some(self.data.len());
            self.data.extend_from_slice(header);
            self.data.extend_from_slice(body);
        }
    }

    /// A further fragment. Without the first one the picture is broken.
    pub(super) fn further_fragment(&mut self, body: &[u8]) {
        if self.fragment.is_none() {
            if self.broken.is_none() {
                self.broken = Some("has fragments without a beginning");
            }
            // That there was a slice lets the picture end.
            self.has_slice = true;
        } else if self.fits(body.len()) {
            self.data.extend_from_slice(body);
        }
    }

    /// The last fragment has come.
    pub(super) fn end_fragment(&mut self) {
        let Some(begin) = self.fragment.take() else { return };
        // A whole access unit may have come as one unit with start codes in it.
        let mut at = begin;
        while let Some(next) = find_start_code(&self.data, at) {
            let head = self.data.get(next + 3..).unwrap_or_default();
            if let Class::Slice { .. } = (self.class)(head) {
                self.has_slice = true;
            }
            self.pieces += 1;
            at = next + 3;
        }
        if self.pieces > MAX_PIECES {
            self.break_off(TOO_LARGE);
        }
    }

    /// Leaves something out that is no part of a picture, for this reason.
    pub(super) fn skip(&mut self, reason: &'static str) {
        self.damage.units += 1;
        self.damage.reason = Some(reason);
    }

    /// The next whole unit.
    pub(super) fn poll(&mut self) -> Option<Unit> {
        self.ready.pop_front()
    }

    /// Bytes of memory for the picture under way.
    #[cfg(test)]
    pub(super) fn held(&self) -> usize {
        self.data.capacity()
    }

    /// What was left out since the last call.
    pub(super) fn take_damage(&mut self) -> Damage {
        std::mem::take(&mut self.damage)
    }

    /// Makes room for a NAL unit of which the first bytes and the length so far are known, and puts a start code.
    /// Returns false if there is none.
    fn open(&mut self, head: &[u8], length: usize) -> bool {
        let class = (self.class)(head);
        if self.has_slice {
            match class {
                Class::Opening => self.finish(),
                Class::Slice { first: true } if self.begun + 1 >= STANDS_STILL => self.finish(),
                Class::Slice { .. } | Class::Other => {}
            }
        }
        if let Class::Slice { first } = class {
            if !self.has_slice && !first {
                if self.after_loss {
                    self.broken.get_or_insert(LACKS);
                } else if self.marked == Some(self.timestamp) && self.begun > 0 {
                    // It goes on after a marker.
                    self.distrusted = true;
                }
            }
            (self.has_slice, self.after_loss) = (true, false);
            self.begun = self.begun.saturating_add(u32::from(first));
        }
        self.pieces += 1;
        if self.pieces > MAX_PIECES {
            self.break_off(TOO_LARGE);
        }
        if !self.fits(START_CODE.len() + length) {
            return false;
        }
        self.data.extend_from_slice(&START_CODE);
        true
    }

    /// True if so many bytes more fit into a picture that is not broken.
    fn fits(&mut self, bytes: usize) -> bool {
        let needed = self.data.len() + bytes;
        if needed > MAX_FRAME {
            self.break_off(TOO_LARGE);
        } else if needed > self.data.capacity() {
            // Twice as much each time, but never more than the largest picture.
            let capacity = (2 * self.data.capacity()).clamp(needed, MAX_FRAME);
            self.data.reserve_exact(capacity - self.data.len());
        }
        self.broken.is_none()
    }

    fn break_off(&mut self, reason: &'static str) {
        self.broken.get_or_insert(reason);
        self.data = Vec::new();
        self.fragment = None;
    }

    /// Ends the picture.
    fn finish(&mut self) {
        let whole = !self.data.is_empty() && self.broken.is_none();
        if let Some(reason) = self.broken.take() {
            self.damage.units += 1;
            self.damage.reason = Some(reason);
            self.lost = true;
            self.data.clear();
        }
        if whole {
            let spare = Vec::with_capacity(self.data.len().min(KEPT));
            self.ready.push_back(Unit {
                timestamp: self.timestamp,
                lost: std::mem::take(&mut self.lost),
                data: std::mem::replace(&mut self.data, spare),
            });
        }
        (self.has_slice, self.pieces, self.fragment) = (false, 0, None);
    }
}

/// A NAL unit without the zeros behind it.
fn trimmed(mut unit: &[u8]) -> &[u8] {
    while let [shorter @ .., 0] = unit {
        unit = shorter;
    }
    unit
}
