//! Writes H.264 by hand: parameter sets, grey keyframes and slice headers, for slice data whose own were encrypted
//! (ITU-T H.264, clause 7.3).

use sealcast_proto::unit::find_start_code;
use sealcast_proto::unit::h264::{ParameterSets, SliceParser};

use super::GREY_LUMA;

/// QP of macroblocks whose slice header is not known: the encoders' usual start.
pub(super) const USUAL_QP: u32 = 26;
/// Bits of a frame number.
const FRAME_NUMBER_BITS: u32 = 16;
/// Luma and chroma of grey.
const GREY: [u8; 384] = {
    let mut samples = [128; 384];
    let mut at = 0;
    while at < 256 {
        samples[at] = GREY_LUMA;
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
    header(&mut slice, Slice::Key, 0, USUAL_QP);
    for _ in 0..width_mbs * height_mbs {
        // I_PCM.
        slice.ue(25);
        slice.align();
        slice.bytes.extend_from_slice(&GREY);
    }
    slice.trailing();
    [
        parameter_sets(width_mbs, height_mbs),
        slice.nal(Slice::Key.nal_header()),
    ]
    .concat()
}

/// A picture of our own that a slice belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slice {
    /// A keyframe; an I slice.
    Key,
    /// The picture with this number; an I slice.
    Intra(u16),
    /// The picture with this number; a P slice.
    Predicted(u16),
}

impl Slice {
    fn nal_header(self) -> u8 {
        if self == Self::Key { 0x65 } else { 0x41 }
    }
}

/// A slice header.
fn header(writer: &mut BitWriter, slice: Slice, first_mb: u32, qp: u32) {
    let (kind, number) = match slice {
        Slice::Key => (7, 0),
        Slice::Intra(number) => (7, number),
        Slice::Predicted(number) => (5, number),
    };
    writer.ue(first_mb);
    writer.ue(kind);
    writer.ue(0);
    writer.u(number.into(), FRAME_NUMBER_BITS);
    match slice {
        Slice::Key => {
            writer.ue(0);
            writer.flags(&[0, 0]);
        }
        // No other number of references, no reordering, and no marking.
        Slice::Intra(_) => writer.flags(&[0]),
        Slice::Predicted(_) => writer.flags(&[0, 0, 0]),
    }
    let delta = qp as i32 - USUAL_QP as i32;
    writer.ue(if delta > 0 {
        2 * delta as u32 - 1
    } else {
        2 * delta.unsigned_abs()
    });
    // Deblocking would blur over macroblocks that are not there.
    writer.ue(1);
}

/// A slice with these bits of data, up to its end.
pub(super) fn slice_with(slice: Slice, first_mb: u32, qp: u32, data: impl Iterator<Item = bool>) -> Vec<u8> {
    let mut writer = BitWriter::default();
    header(&mut writer, slice, first_mb, qp);
    data.for_each(|bit| writer.bit(bit));
    writer.nal(slice.nal_header())
}

/// The first macroblocks of a picture, skipped: they stay as they were in the picture before.
pub(super) fn skipped(number: u16, macroblocks: u32) -> Vec<u8> {
    let slice = Slice::Predicted(number);
    let mut writer = BitWriter::default();
    header(&mut writer, slice, 0, USUAL_QP);
    writer.ue(macroblocks);
    writer.trailing();
    writer.nal(slice.nal_header())
}

/// The NAL units in bytes that begin anywhere, each without its start code; what stands before the first start code is
/// passed over.
pub(super) fn nal_units(data: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut at = find_start_code(data, 0);
    std::iter::from_fn(move || {
        let from = at? + 3;
        at = find_start_code(data, from);
        data.get(from..at.unwrap_or(data.len()))
    })
}

/// The bits of slice data from one on, without emulation prevention bytes. `from` counts the bits with them.
pub(super) fn payload_bits(data: &[u8], from: usize) -> impl Iterator<Item = bool> {
    let mut zeros = 0;
    let payload = data.iter().enumerate().filter(move |&(_, &byte)| {
        let is_prevention = zeros == 2 && byte == 3;
        zeros = if byte == 0 { zeros + 1 } else { 0 };
        !is_prevention
    });
    let bits = payload.flat_map(|(at, &byte)| (0..8).map(move |bit| (at * 8 + bit, byte >> (7 - bit) & 1 == 1)));
    bits.skip_while(move |&(at, _)| at < from).map(|(_, bit)| bit)
}

/// An access unit whose slices have another frame number, as if those that are missing before it had not been there.
/// `None` if a slice header cannot be read.
pub(super) fn renumbered(unit: &[u8], sets: &ParameterSets, parser: &mut SliceParser, number: u32) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(unit.len() + 16);
    for nal in nal_units(unit) {
        let first = *nal.first()?;
        if first & 0x1F != 1 {
            out.extend_from_slice(&[0, 0, 1]);
            out.extend_from_slice(nal);
            continue;
        }
        let sps = sets.sps(parser.header(nal, sets).ok()?.sps)?;
        let mut bits = payload_bits(nal, 8);
        let mut writer = BitWriter::default();
        // The first macroblock, the kind and the picture parameter set come before the number.
        for _ in 0..3 {
            copy_ue(&mut bits, &mut writer)?;
        }
        let length = u32::from(sps.frame_num_bits);
        let bits = bits.skip(length as usize);
        writer.u(number & ((1 << length) - 1), length);
        bits.for_each(|bit| writer.bit(bit));
        out.extend(writer.nal(first));
    }
    Some(out)
}

fn copy_ue(bits: &mut impl Iterator<Item = bool>, writer: &mut BitWriter) -> Option<()> {
    let mut zeros = 0;
    loop {
        let bit = bits.next()?;
        writer.bit(bit);
        if bit {
            break;
        }
        zeros += 1;
    }
    for _ in 0..zeros {
        writer.bit(bits.next()?);
    }
    Some(())
}
