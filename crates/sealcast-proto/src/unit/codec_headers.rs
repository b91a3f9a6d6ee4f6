//! Where the headers of a coded picture end. The frames come from a camera, which may send anything: nothing here
//! trusts a length, and what is not understood counts as a header.

use super::select::Plan;

/// Bytes of a slice NAL unit, after its first, that are taken to hold the slice header. Without weights it is a dozen
/// short fields and a few reordering commands, 4 to 30 bytes; this is twice that, and four AES blocks. Explicit weights
/// for many reference pictures can make it longer, and their tail then stays in clear together with the slice data:
/// finding its true end means decoding it with the parameter sets, which is not worth it for what is learnt there.
const SLICE_HEAD: usize = 64;

/// H.264 as an Annex B byte stream: everything but the slice data is header.
pub(super) fn h264(plan: &mut Plan<'_>) {
    let data = plan.data;
    let mut unit = start_code(data, 0);
    while let Some(code) = unit {
        let first = code + 3;
        let next = start_code(data, first);
        let end = next.unwrap_or(data.len());
        if data.get(first).is_some_and(|byte| is_slice(byte & 0x1F)) {
            plan.encrypt_to(end.min(first + 1 + SLICE_HEAD));
            // A start code of four bytes begins a byte earlier.
            let long = next.is_some() && data[end - 1] == 0;
            plan.clear_to(end - usize::from(long));
        } else {
            plan.encrypt_to(end);
        }
        unit = next;
    }
}

/// Whether a NAL unit of this type has slice data (ITU-T H.264, table 7-1): slices, their partitions, and those of
/// auxiliary pictures and extensions.
fn is_slice(kind: u8) -> bool {
    matches!(kind, 1..=5 | 19..=21)
}

/// The next `00 00 01` at or after `from`.
fn start_code(data: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    // The third byte says how far the code can be: no byte above 1 is part of one.
    while let Some(window) = data.get(at..at + 3) {
        match window[2] {
            0 => at += 1,
            1 if window[..2] == [0, 0] => return Some(at),
            _ => at += 3,
        }
    }
    None
}

/// JPEG (ITU-T T.81): everything up to the end of each SOS segment, and all markers after a scan, are headers; only the
/// entropy-coded data, with its restart markers, is not.
pub(super) fn jpeg(plan: &mut Plan<'_>) {
    const SOI: u8 = 0xD8;
    const EOI: u8 = 0xD9;
    const SOS: u8 = 0xDA;
    let data = plan.data;
    let mut at = 0;
    // What does not go on with a marker is no JPEG any more, and is encrypted to its end.
    while let Some(&[0xFF, marker]) = data.get(at..at + 2) {
        at += match marker {
            EOI => return,
            // A fill byte before the marker.
            0xFF => 1,
            SOI | 0x01 | 0xD0..=0xD7 => 2,
            _ => {
                let Some(&[high, low]) = data.get(at + 2..at + 4) else {
                    return;
                };
                2 + usize::from(u16::from_be_bytes([high, low]))
            }
        };
        if marker == SOS {
            plan.encrypt_to(at);
            at = scan_end(data, at);
            plan.clear_to(at);
        }
    }
}

/// Where the entropy-coded data that begins at `from` ends: at the next marker that is no restart marker, or at the
/// image's end.
fn scan_end(data: &[u8], from: usize) -> usize {
    let mut at = from.min(data.len());
    while let Some(found) = data[at..].iter().position(|byte| *byte == 0xFF) {
        at += found;
        match data.get(at + 1) {
            Some(0x00 | 0xD0..=0xD7) => at += 2,
            _ => return at,
        }
    }
    data.len()
}
