//! Writes H.264 by hand: parameter sets, grey keyframes and slice headers, for slice data whose own were encrypted
//! (ITU-T H.264, clause 7.3).

/// QP of macroblocks whose slice header is not known: the encoders' usual start.
pub(super) const USUAL_QP: u32 = 26;
/// Bits of a frame number.
const FRAME_NUMBER_BITS: u32 = 16;
/// Luma and chroma of grey.
const GREY: [u8; 384] = {
    let mut samples = [128; 384];
    let mut at = 0;
    while at < 256 {
        samples[at] = super::super::picture::GREY;
        at += 1;
    }
    samples
};

/// Bits of a NAL unit.
#[derive(Default)]
pub(super) struct BitWriter {
    bytes: Vec<u8>,
    free: u32,
}

impl BitWriter {
    pub(super) fn bit(&mut self, bit: bool) {
        if self.free == 0 {
            self.bytes.push(0);
            self.free = 8;
        }
        self.free -= 1;
        if let Some(last) = self.bytes.last_mut() {
            *last |= u8::from(bit) << self.free;
        }
    }

    fn u(&mut self, value: u32, bits: u32) {
        (0..bits).rev().for_each(|at| self.bit(value >> at & 1 == 1));
    }

    fn ue(&mut self, value: u32) {
        let code = value + 1;
        let length = 31 - code.leading_zeros();
        self.u(0, length);
        self.u(code, length + 1);
    }

    fn flags(&mut self, flags: &[u8]) {
        flags.iter().for_each(|&flag| self.bit(flag == 1));
    }

    /// Ends the payload.
    fn trailing(&mut self) {
        self.bit(true);
        self.align();
    }

    fn align(&mut self) {
        self.free = 0;
    }

    /// The NAL unit in Annex B, with emulation prevention.
    pub(super) fn nal(self, first: u8) -> Vec<u8> {
        let mut out = vec![0, 0, 0, 1, first];
        let mut zeros = 0;
        for byte in self.bytes {
            if zeros == 2 && byte <= 3 {
                out.push(3);
                zeros = 0;
            }
            zeros = if byte == 0 { zeros + 1 } else { 0 };
            out.push(byte);
        }
        out
    }
}

/// A sequence and a picture parameter set as small cameras have them: Baseline, one reference, CAVLC.
pub(super) fn parameter_sets(width_mbs: u32, height_mbs: u32) -> Vec<u8> {
    let mut sps = BitWriter::default();
    sps.u(66, 8);
    sps.u(0xC0, 8);
    sps.u(40, 8);
    sps.ue(0);
    sps.ue(FRAME_NUMBER_BITS - 4);
    // Pictures are shown in the order in which they are coded.
    sps.ue(2);
    sps.ue(1);
    sps.bit(false);
    sps.ue(width_mbs - 1);
    sps.ue(height_mbs - 1);
    // Frames only, 8x8 inference, no cropping, no VUI.
    sps.flags(&[1, 1, 0, 0]);
    sps.trailing();
    let mut pps = BitWriter::default();
    pps.ue(0);
    pps.ue(0);
    // CAVLC, no field order, one slice group, one reference in each list.
    pps.flags(&[0, 0]);
    pps.ue(0);
    pps.ue(0);
    pps.ue(0);
    // No weights; QP 26, twice; no chroma offset.
    pps.u(0, 3);
    pps.ue(0);
    pps.ue(0);
    pps.ue(0);
    // The deblocking filter is controlled by slices.
    pps.flags(&[1, 0, 0]);
    pps.trailing();
    [sps.nal(0x67), pps.nal(0x68)].concat()
}

/// A keyframe in which every macroblock is grey samples.
pub(super) fn grey_keyframe(width_mbs: u32, height_mbs: u32) -> Vec<u8> {
    let mut slice = BitWriter::default();
    header(&mut slice, 0, None, USUAL_QP);
    for _ in 0..width_mbs * height_mbs {
        // I_PCM.
        slice.ue(25);
        slice.align();
        slice.bytes.extend_from_slice(&GREY);
    }
    slice.trailing();
    [parameter_sets(width_mbs, height_mbs), slice.nal(0x65)].concat()
}

/// A slice header: of an IDR picture, or of the P picture with this number.
pub(super) fn header(slice: &mut BitWriter, first_mb: u32, number: Option<u16>, qp: u32) {
    slice.ue(first_mb);
    slice.ue(if number.is_some() { 5 } else { 7 });
    slice.ue(0);
    slice.u(number.unwrap_or(0).into(), FRAME_NUMBER_BITS);
    match number {
        // No other number of references, no reordering, and no marking.
        Some(_) => slice.flags(&[0, 0, 0]),
        None => {
            slice.ue(0);
            slice.flags(&[0, 0]);
        }
    }
    let delta = qp as i32 - USUAL_QP as i32;
    slice.ue(if delta > 0 {
        2 * delta as u32 - 1
    } else {
        2 * delta.unsigned_abs()
    });
    // Deblocking would blur over macroblocks that are not there.
    slice.ue(1);
}
