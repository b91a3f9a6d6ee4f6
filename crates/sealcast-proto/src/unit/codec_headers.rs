//! Finds where the headers of a coded picture end. The frames come from a camera, which may send anything: no length is
//! trusted, and whatever is not understood counts as a header.

use super::annexb::find_start_code;
use super::jpeg::{JpegPart, JpegWalker};
use super::select::Plan;

/// Number of bytes after the first byte of a slice NAL unit that count as the slice header. Without prediction weights
/// it consists of a dozen short fields and a few reordering commands, 4 to 30 bytes; this is twice that, and four AES
/// blocks. Explicit weights for many reference pictures can make it longer. Their tail then stays in clear with the
/// slice data: finding its true end would mean decoding it with the parameter sets, which is not worth it for what the
/// tail reveals.
pub(super) const SLICE_HEAD: usize = 64;

/// Plans an H.264 frame in Annex B format: everything but the slice data is header.
pub(super) fn h264(plan: &mut Plan<'_>) {
    let data = plan.data;
    let mut unit = find_start_code(data, 0);
    while let Some(code) = unit {
        let first = code + 3;
        let next = find_start_code(data, first);
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
pub(super) fn is_slice(kind: u8) -> bool {
    matches!(kind, 1..=5 | 19..=21)
}

/// Plans a JPEG image (ITU-T T.81): everything up to the end of each SOS segment, and all markers after a scan, are
/// headers. Only the entropy-coded data with its restart markers is not.
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
