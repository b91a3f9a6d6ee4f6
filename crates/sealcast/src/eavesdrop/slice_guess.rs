//! Slice data of H.264 whose headers are encrypted, or which refers to a keyframe that is: behind headers of our own,
//! on a grey picture.

use sealcast_proto::unit::h264::{ParameterSets, SliceParser};

use super::h264_writer::{Slice, USUAL_QP, grey_keyframe, nal_units, payload_bits, skipped, slice_with};
use super::partial::PartialFrame;
use super::slice_search::{Decoder, SliceSearch};

/// Makes a stream that any decoder takes of what is known of a stream's pictures.
#[derive(Debug)]
pub struct SliceGuess {
    search: SliceSearch,
    parser: SliceParser,
    /// The camera's own parameter sets, as far as they are known.
    sets: ParameterSets,
    /// Number of the newest picture; `None` before the first.
    number: Option<u16>,
}

/// Data of a slice, and what its header has to say.
struct SliceData {
    /// Bytes with emulation prevention.
    bytes: Vec<u8>,
    /// The bit at which the first macroblock begins.
    from: usize,
    first_mb: u32,
    qp: u32,
    is_intra: bool,
}

impl SliceGuess {
    /// Of pictures of this size in pixels; `None` if there are no pictures of that size. `sets` are the parameter sets
    /// of the camera, as far as they are known: with them, headers in clear are read.
    pub fn new(width: usize, height: usize, sets: ParameterSets, decoder: Decoder) -> Option<Self> {
        Some(Self {
            search: SliceSearch::new(width, height, decoder)?,
            parser: SliceParser::default(),
            sets,
            number: None,
        })
    }

    /// Begins anew with a grey keyframe, for a decoder that has lost its picture.
    pub fn restart(&mut self) {
        self.number = None;
    }

    /// The access units that show what is known of the next frame, in order; none if nothing of it can be shown.
    pub fn take(&mut self, frame: &PartialFrame) -> Vec<Vec<u8>> {
        let slices = self.slices(frame);
        if slices.is_empty() {
            return Vec::new();
        }
        let mut units = Vec::new();
        let last = self.number.filter(|_| !frame.keyframe).unwrap_or_else(|| {
            let (width_mbs, height_mbs) = self.search.size_mbs();
            units.push(grey_keyframe(width_mbs, height_mbs));
            0
        });
        if let (true, Some(keyframe), Decoder::Concealing) = (frame.keyframe, units.last_mut(), self.search.decoder()) {
            // Slices of the grey keyframe itself: such a decoder shows what was there last.
            keyframe.extend(slices.iter().flat_map(|slice| slice.of(Slice::Key)));
            self.number = Some(0);
            return units;
        }
        let number = last.wrapping_add(1);
        self.number = Some(number);
        units.push(picture(&slices, number));
        units
    }

    /// The slices whose headers can be read, or else the last one, if its data is in clear to its end.
    fn slices(&mut self, frame: &PartialFrame) -> Vec<SliceData> {
        let mut slices = Vec::new();
        for (_, run) in frame.runs() {
            for unit in nal_units(&run) {
                if let Ok(header) = self.parser.header(unit, &self.sets) {
                    slices.push(SliceData {
                        bytes: unit.to_vec(),
                        from: header.data_bit,
                        first_mb: header.first_mb,
                        qp: u32::try_from(header.qp).unwrap_or(USUAL_QP),
                        is_intra: header.kind.is_intra(),
                    });
                }
            }
        }
        if slices.is_empty()
            && let Some(found) = self.search.last_slice(frame)
        {
            slices.push(SliceData {
                bytes: found.data,
                from: found.from,
                first_mb: found.first_mb,
                qp: USUAL_QP,
                is_intra: frame.keyframe,
            });
        }
        slices
    }
}

impl SliceData {
    /// The data behind a header of our own.
    fn of(&self, slice: Slice) -> Vec<u8> {
        slice_with(slice, self.first_mb, self.qp, payload_bits(&self.bytes, self.from))
    }
}

/// A picture of these slices. Decoders want all macroblocks; those that are hidden stay as they were.
fn picture(slices: &[SliceData], number: u16) -> Vec<u8> {
    let hidden = slices.first().map_or(0, |slice| slice.first_mb);
    let mut unit = if hidden > 0 {
        skipped(number, hidden)
    } else {
        Vec::new()
    };
    for slice in slices {
        let kind = if slice.is_intra {
            Slice::Intra(number)
        } else {
            Slice::Predicted(number)
        };
        unit.extend(slice.of(kind));
    }
    unit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grey_keyframe_of_our_own_has_all_its_macroblocks() {
        let stream = grey_keyframe(20, 15);
        let mut sets = ParameterSets::default();
        sets.take_all(&stream);
        let (mut parser, mut macroblocks) = (SliceParser::default(), Vec::new());
        let slice = nal_units(&stream).last().expect("a slice");
        parser
            .parse(slice, &sets, &mut macroblocks)
            .expect("it parses to its end");
        assert_eq!(macroblocks.len(), 300);
    }
}
