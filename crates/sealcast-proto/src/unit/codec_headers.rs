//! Where the headers of a coded picture end. The frames come from a camera, which may send anything: nothing here
//! trusts a length, and what is not understood counts as a header.

use super::annexb::find_start_code;
use super::jpeg::{JpegPart, JpegWalker};
use super::select::Plan;

/// Bytes of a slice NAL unit, after its first, that are taken to hold the slice header. Without weights it is a dozen
/// short fields and a few reordering commands, 4 to 30 bytes; this is twice that, and four AES blocks. Explicit weights
/// for many reference pictures can make it longer, and their tail then stays in clear together with the slice data:
/// finding its true end means decoding it with the parameter sets, which is not worth it for what is learnt there.
const SLICE_HEAD: usize = 64;

/// H.264 as an Annex B byte stream: everything but the slice data is header.
pub(super) fn h264(plan: &mut Plan<'_>) {
    let data = plan.data;
    let mut unit = find_start_code(data, 0);
    while let Some(code) = unit {
        let first = code + 3;
        let next = find_start_code(data, first);
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

/// JPEG (ITU-T T.81): everything up to the end of each SOS segment, and all markers after a scan, are headers; only the
/// entropy-coded data, with its restart markers, is not.
pub(super) fn jpeg(plan: &mut Plan<'_>) {
    let data = plan.data;
    let mut walker = JpegWalker::default();
    // After the image, or if this is not an image, the rest is encrypted.
    while let Ok(Some(part)) = walker.next(data) {
        match part {
            JpegPart::Begin | JpegPart::Segment => plan.encrypt_to(walker.at()),
            JpegPart::Scan => plan.clear_to(walker.at()),
            JpegPart::End => return,
        }
    }
    if walker.is_in_scan() {
        plan.clear_to(walker.at());
    }
}
