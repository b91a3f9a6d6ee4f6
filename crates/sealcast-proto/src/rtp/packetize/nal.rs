//! H.264 (RFC 6184, mode 1) and H.265 (RFC 7798) into payloads: units that fit together in one, longer ones in
//! fragments.

use crate::unit::nal_units;

/// The forms of one codec.
pub(super) struct Nal {
    /// Bytes of a unit's header.
    header: usize,
    /// Type of a unit.
    kind: fn(&[u8]) -> u8,
    /// Types that say nothing to a player: delimiters and filler.
    left_out: [u8; 2],
    /// Header of a payload of this type with the marks of a unit.
    marked: fn(&[u8], u8) -> [u8; 2],
    aggregate: u8,
    fragment: u8,
}

/// H.264.
pub(super) const H264: Nal = Nal {
    header: 1,
    kind: |unit| unit[0] & 0x1f,
    left_out: [9, 12],
    // Only the first byte is used.
    marked: |unit, kind| [(unit[0] & 0xe0) | kind, 0],
    aggregate: 24,
    fragment: 28,
};

/// H.265.
pub(super) const H265: Nal = Nal {
    header: 2,
    kind: |unit| (unit[0] >> 1) & 0x3f,
    left_out: [35, 38],
    // Layer and temporal id of the unit.
    marked: |unit, kind| [(unit[0] & 0x81) | (kind << 1), unit[1]],
    aggregate: 48,
    fragment: 49,
};

impl Nal {
    /// Cuts an access unit in Annex B into payloads of so many bytes at most.
    pub(super) fn cut(&self, data: &[u8], longest: usize, out: &mut Vec<Vec<u8>>) {
        let mut together: Vec<&[u8]> = Vec::new();
        let mut length = self.header;
        let units = nal_units(data).filter(|unit| unit.len() > self.header);
        for unit in units.filter(|unit| !self.left_out.contains(&(self.kind)(unit))) {
            if !together.is_empty() && length + 2 + unit.len() > longest {
                self.flush(&mut together, out);
                length = self.header;
            }
            if unit.len() > longest {
                self.fragments(unit, longest, out);
            } else {
                length += 2 + unit.len();
                together.push(unit);
            }
        }
        self.flush(&mut together, out);
    }

    /// Appends units that fit into one payload.
    fn flush(&self, together: &mut Vec<&[u8]>, out: &mut Vec<Vec<u8>>) {
        match together[..] {
            [] => {}
            [alone] => out.push(alone.to_vec()),
            _ => {
                let first = self.marks(together);
                let mut payload = (self.marked)(&first, self.aggregate)[..self.header].to_vec();
                for unit in &*together {
                    payload.extend_from_slice(&(unit.len() as u16).to_be_bytes());
                    payload.extend_from_slice(unit);
                }
                out.push(payload);
            }
        }
        together.clear();
    }

    /// The header whose marks an aggregate has: of H.264 the highest importance, of H.265 the lowest layer and temporal
    /// id of its units.
    fn marks(&self, units: &[&[u8]]) -> [u8; 2] {
        let heads = units.iter().map(|unit| [unit[0], unit[1]]);
        let best = match self.header {
            1 => heads.max_by_key(|head| head[0] & 0x60),
            _ => heads.min_by_key(|head| (head[0] & 1, head[1])),
        };
        best.unwrap_or_default()
    }

    fn fragments(&self, unit: &[u8], longest: usize, out: &mut Vec<Vec<u8>>) {
        let (kind, head) = ((self.kind)(unit), (self.marked)(unit, self.fragment));
        let body = &unit[self.header..];
        // It is longer than a payload, so there are two at least.
        let pieces = body.chunks(longest - self.header - 1);
        let count = pieces.len();
        for (at, piece) in pieces.enumerate() {
            let ends = u8::from(at == 0) << 7 | u8::from(at + 1 == count) << 6;
            let mut payload = head[..self.header].to_vec();
            payload.push(ends | kind);
            payload.extend_from_slice(piece);
            out.push(payload);
        }
    }
}
