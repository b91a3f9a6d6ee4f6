//! H.265 out of RTP packets (RFC 7798).

use super::access_unit::{AccessUnits, Class};
use super::{Damage, Format, RtpPacket, Unit, parameter_sets};

const AGGREGATE: u8 = 48;
const FRAGMENT: u8 = 49;
const PACI: u8 = 50;

/// Puts access units of H.265 together.
#[derive(Debug)]
pub struct H265 {
    units: AccessUnits,
    sets: Vec<Vec<u8>>,
    /// Units have decoding order numbers.
    numbered: bool,
}

impl H265 {
    /// For a track of this format, whose parameter sets it may have.
    pub fn new(format: &Format) -> Self {
        let difference = format.parameter("sprop-max-don-diff").map(str::parse::<u32>);
        Self {
            units: AccessUnits::new(class),
            sets: parameter_sets(format, &["sprop-vps", "sprop-sps", "sprop-pps"]),
            numbered: matches!(difference, Some(Ok(1..))),
        }
    }

    /// The parameter sets of the description, without start codes.
    pub fn parameter_sets(&self) -> &[Vec<u8>] {
        &self.sets
    }

    /// Takes the next packet in order. `lost` is true if packets before it are missing.
    pub fn push(&mut self, packet: &RtpPacket<'_>, lost: bool) {
        self.units.begin(packet.timestamp, lost);
        self.payload(packet.payload);
        self.units.end(packet.marker);
    }

    /// Returns the next whole access unit.
    pub fn poll(&mut self) -> Option<Unit> {
        self.units.poll()
    }

    /// Returns what was left out since the last call.
    pub fn take_damage(&mut self) -> Damage {
        self.units.take_damage()
    }

    fn payload(&mut self, payload: &[u8]) {
        let Some((&[first, second], rest)) = payload.split_first_chunk() else {
            return;
        };
        // Start codes before a unit look like one of type 0 for layer 0, whose temporal id would be 0 too.
        if first & 0x80 != 0 || second & 0x07 == 0 && first != 0 {
            return self.units.skip("has a unit whose header is damaged");
        }
        match (first >> 1) & 0x3f {
            AGGREGATE => self.aggregate(rest),
            FRAGMENT => self.fragment([first, second], rest),
            PACI => self.units.skip("has PACI packets, which are not taken"),
            51.. => self.units.skip("has units of an unknown type"),
            _ if self.numbered && first != 0 => {
                let unit = [&[first, second], rest.get(2..).unwrap_or_default()].concat();
                self.units.whole(&unit);
            }
            _ => self.units.whole(payload),
        }
    }

    fn aggregate(&mut self, mut rest: &[u8]) {
        let mut number = if self.numbered { 2 } else { 0 };
        while rest.len() > number {
            let Some((length, after)) = rest[number..].split_first_chunk() else {
                return;
            };
            let length = usize::from(u16::from_be_bytes(*length));
            let Some((unit, after)) = after.split_at_checked(length) else {
                return self.units.skip("has an aggregate that is cut short");
            };
            self.units.whole(unit);
            rest = after;
            // The numbers of further units are differences of one byte.
            number = usize::from(self.numbered);
        }
    }

    fn fragment(&mut self, [first, second]: [u8; 2], rest: &[u8]) {
        let Some((&header, body)) = rest.split_first() else {
            return;
        };
        let (start, end, kind) = (header & 0x80 != 0, header & 0x40 != 0, header & 0x3f);
        if start {
            let body = if self.numbered {
                body.get(2..).unwrap_or_default()
            } else {
                body
            };
            self.units.first_fragment(&[first & 0x81 | kind << 1, second], body);
        } else {
            self.units.further_fragment(body);
        }
        if end {
            self.units.end_fragment();
        }
    }
}

/// The class of a NAL unit; the first bit after the header of a slice segment says that it is the picture's first.
fn class(unit: &[u8]) -> Class {
    match unit.first().map_or(63, |first| (first >> 1) & 0x3f) {
        0..=31 => Class::Slice {
            first: unit.get(2).is_some_and(|third| third & 0x80 != 0),
        },
        32..=35 | 39 | 41..=44 | 48..=55 => Class::Opening,
        _ => Class::Other,
    }
}

#[cfg(test)]
#[path = "h265_tests.rs"]
mod tests;
