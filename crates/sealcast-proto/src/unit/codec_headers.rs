//! Finds where the headers of a coded picture end. The frames come from a camera, which may send anything: no length is
//! trusted, and whatever is not understood counts as a header.

use super::select::Plan;

/// Number of bytes after the first byte of a slice NAL unit that count as the slice header. Without prediction weights
/// it consists of a dozen short fields and a few reordering commands, 4 to 30 bytes; this is twice that, and four AES
/// blocks. Explicit weights for many reference pictures can make it longer. Their tail then stays in clear with the
/// slice data: finding its true end would mean decoding it with the parameter sets, which is not worth it for what the
/// tail reveals.
const SLICE_HEAD: usize = 64;

/// Plans an H.264 frame in Annex B format: everything but the slice data is header.
pub(super) fn h264(plan: &mut Plan<'_>) {
    let data = plan.data;
    let mut unit = start_code(data, 0);
    while let Some(code) = unit {
        let first = code + 3;
        let next = start_code(data, first);
        let end = next.unwrap_or(data.len());
        if data.get(first).is_some_and(|byte| is_slice(byte & 0x1F)) {
            plan.encrypt_to(end.min(first + 1 + SLICE_HEAD));
            // A start code of four bytes begins one byte earlier.
            let long = next.is_some() && data[end - 1] == 0;
            plan.clear_to(end - usize::from(long));
        } else {
            plan.encrypt_to(end);
        }
        unit = next;
    }
}

/// True if a NAL unit of this type has slice data (ITU-T H.264, table 7-1): slices, their partitions, and those of
/// auxiliary pictures and extensions.
fn is_slice(kind: u8) -> bool {
    matches!(kind, 1..=5 | 19..=21)
}

/// Returns the offset of the next `00 00 01` at or after `from`.
fn start_code(data: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    // The third byte tells how far to advance: no byte above 1 is part of a start code.
    while let Some(window) = data.get(at..at + 3) {
        match window[2] {
            0 => at += 1,
            1 if window[..2] == [0, 0] => return Some(at),
            _ => at += 3,
        }
    }
    None
}

/// Plans a JPEG image (ITU-T T.81): everything up to the end of each SOS segment, and all markers after a scan, are
/// headers. Only the entropy-coded data with its restart markers is not.
pub(super) fn jpeg(plan: &mut Plan<'_>) {
    const SOI: u8 = 0xD8;
    const EOI: u8 = 0xD9;
    const SOS: u8 = 0xDA;
    let data = plan.data;
    let mut at = 0;
    // Data that does not continue with a marker is no longer JPEG, and is encrypted to its end.
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

/// Returns the end of the entropy-coded data that begins at `from`: the next marker that is not a restart marker, or
/// the end of the image.
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
