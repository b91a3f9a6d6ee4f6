//! H.265 out of RTP packets (RFC 7798), in the order in which they come.

use super::access_unit::{AccessUnits, Class, Syntax};
use super::{Damage, Format, RtpPacket, Unit, parameter_sets};

const AGGREGATE: u8 = 48;
const FRAGMENT: u8 = 49;
const PACI: u8 = 50;

/// Length of a unit's header.
const HEADER: usize = 2;
/// Length of a decoding order number, and that of its difference to the one before.
const NUMBER: usize = 2;
const DIFFERENCE: usize = 1;

const SYNTAX: Syntax = Syntax { header: HEADER, class };

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
        let sets = parameter_sets(format, &["sprop-vps", "sprop-sps", "sprop-pps"]);
        Self {
            units: AccessUnits::new(SYNTAX, &sets),
            sets,
            numbered: matches!(difference, Some(Ok(1..))),
        }
    }

    /// The parameter sets of the description, without start codes.
    pub fn parameter_sets(&self) -> &[Vec<u8>] {
        &self.sets
    }

    /// Takes the next packet in order. `lost` is true if packets before it are missing.
    pub fn push(&mut self, packet: &RtpPacket<'_>, lost: bool) {
        if lost {
            self.units.lose();
        }
        if !packet.payload.is_empty() {
            self.units.begin(packet.timestamp);
            self.payload(packet.payload);
            self.units.end(packet.marker);
        }
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
        let Some((&header, rest)) = payload.split_first_chunk::<HEADER>() else {
            return self.units.skip("has units that are cut short");
        };
        match kind(header[0]) {
            AGGREGATE => self.aggregate(rest),
            FRAGMENT => self.fragment(header, rest),
            PACI => self.units.skip("has PACI packets, which are not taken"),
            // Start codes before a unit look like one of type 0.
            _ if self.numbered && header != [0; HEADER] => {
                let unit = [&header, rest.get(NUMBER..).unwrap_or_default()].concat();
                self.units.whole(&unit);
            }
            _ => self.units.whole(payload),
        }
    }

    fn aggregate(&mut self, mut rest: &[u8]) {
        let mut number = if self.numbered { NUMBER } else { 0 };
        while let Some((length, after)) = rest.get(number..).and_then(<[u8]>::split_first_chunk) {
            let length = usize::from(u16::from_be_bytes(*length));
            let Some((unit, after)) = after.split_at_checked(length) else {
                return self.units.skip("has aggregates that are cut short");
            };
            self.units.whole(unit);
            rest = after;
            number = if self.numbered { DIFFERENCE } else { 0 };
        }
    }

    fn fragment(&mut self, [first, second]: [u8; HEADER], rest: &[u8]) {
        let Some((&fragment, mut body)) = rest.split_first() else {
            return self.units.skip("has fragments that are cut short");
        };
        let header = [first & 0x81 | (fragment & 0x3f) << 1, second];
        if first & 0x80 != 0 {
            self.units.damaged(&header);
        } else if fragment & 0x80 != 0 {
            if self.numbered {
                body = body.get(NUMBER..).unwrap_or_default();
            }
            self.units.first_fragment(&header, body);
        } else {
            self.units.further_fragment(&header, body);
        }
        if fragment & 0x40 != 0 {
            self.units.end_fragment();
        }
    }
}

fn kind(first: u8) -> u8 {
    (first >> 1) & 0x3f
}

/// The class of a NAL unit; the first bit behind the header of a slice segment says that it is the picture's first.
/// Units of further layers belong to the picture of the base layer.
fn class(unit: &[u8]) -> Class {
    let Some(&[first, second]) = unit.first_chunk() else {
        return Class::Reserved;
    };
    if first & 1 != 0 || second >> 3 != 0 {
        return Class::Other;
    }
    match kind(first) {
        0..=31 => Class::Slice {
            first: unit.get(HEADER).is_some_and(|third| third & 0x80 != 0),
        },
        32..=35 | 39 | 41..=44 => Class::Opening,
        48.. => Class::Reserved,
        _ => Class::Other,
    }
}
