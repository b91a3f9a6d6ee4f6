//! H.264 out of RTP packets (RFC 6184), in the modes without interleaving.

use super::access_unit::{AccessUnits, Class, Syntax};
use super::{Damage, Format, RtpPacket, Unit, parameter_sets};

const STAP_A: u8 = 24;
const STAP_B: u8 = 25;
const MTAP16: u8 = 26;
const MTAP24: u8 = 27;
const FU_A: u8 = 28;
const FU_B: u8 = 29;

/// Length of the decoding order number of a STAP-B.
const DON: usize = 2;

const SYNTAX: Syntax = Syntax { header: 1, class };

/// Puts access units of H.264 together.
#[derive(Debug)]
pub struct H264 {
    units: AccessUnits,
    sets: Vec<Vec<u8>>,
}

impl H264 {
    /// For a track of this format, whose parameter sets it may have.
    pub fn new(format: &Format) -> Self {
        let sets = parameter_sets(format, &["sprop-parameter-sets"]);
        Self {
            units: AccessUnits::new(SYNTAX, &sets),
            sets,
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
        if let Some((&first, rest)) = packet.payload.split_first() {
            self.units.begin(packet.timestamp);
            self.payload(packet.payload, first, rest);
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

    fn payload(&mut self, payload: &[u8], first: u8, rest: &[u8]) {
        match first & 0x1f {
            STAP_A => self.aggregate(rest),
            STAP_B => self.aggregate(rest.get(DON..).unwrap_or_default()),
            FU_A => self.fragment(first, rest),
            MTAP16 | MTAP24 | FU_B => self
                .units
                .skip("has interleaved units (MTAP or FU-B), which are not taken"),
            _ => self.units.whole(payload),
        }
    }

    fn aggregate(&mut self, mut rest: &[u8]) {
        while let Some((length, after)) = rest.split_first_chunk() {
            let length = usize::from(u16::from_be_bytes(*length));
            let Some((unit, after)) = after.split_at_checked(length) else {
                return self.units.skip("has aggregates that are cut short");
            };
            self.units.whole(unit);
            rest = after;
        }
    }

    fn fragment(&mut self, indicator: u8, rest: &[u8]) {
        let Some((&fragment, body)) = rest.split_first() else {
            return self.units.skip("has fragments that are cut short");
        };
        let header = [indicator & 0xe0 | fragment & 0x1f];
        if indicator & 0x80 != 0 {
            self.units.damaged(&header);
        } else if fragment & 0x80 != 0 {
            self.units.first_fragment(&header, body);
        } else {
            self.units.further_fragment(&header, body);
        }
        if fragment & 0x40 != 0 {
            self.units.end_fragment();
        }
    }
}

/// The class of a NAL unit; `first_mb_in_slice` 0 is coded as a single 1 bit.
fn class(unit: &[u8]) -> Class {
    match unit.first().map_or(0, |first| first & 0x1f) {
        1 | 2 | 5 => Class::Slice {
            first: unit.get(1).is_some_and(|second| second & 0x80 != 0),
        },
        3 | 4 => Class::Slice { first: false },
        6..=9 | 14..=18 => Class::Opening,
        0 | 24.. => Class::Reserved,
        _ => Class::Other,
    }
}
