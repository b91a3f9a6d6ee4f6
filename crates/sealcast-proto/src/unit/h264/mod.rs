//! Macroblocks of H.264 slices that are coded with CAVLC (ITU-T H.264, clauses 7.3.2 to 7.3.5 and 9.2): where each one
//! begins and ends, and what kind it is. Pictures are not decoded. What is not understood is refused by name
//! ([`Refusal`]). The time is proportional to the length of the data, and nothing in the data causes a panic.

mod bits;
mod cavlc;
mod macroblock;
mod mb_types;
mod parameter_sets;
mod slice;
mod slice_header;
mod tables;

pub use parameter_sets::{MAX_MACROBLOCKS, MAX_WIDTH, ParameterSets, Pps, Sps};
pub use slice::{DataEnd, SliceParser};
pub use slice_header::{SliceContext, SliceHeader, SliceKind, slice_kind};

/// Kind of a macroblock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MacroblockKind {
    /// Predicted from its neighbours in blocks of 4 by 4.
    Intra4x4,
    /// Predicted from its neighbours in blocks of 8 by 8.
    Intra8x8,
    /// Predicted from its neighbours as a whole.
    Intra16x16,
    /// Samples without prediction.
    Pcm,
    /// Predicted from other pictures.
    Inter,
    /// Predicted from other pictures, with nothing in the data but its place in a run of such macroblocks.
    Skipped,
}

impl MacroblockKind {
    /// True if no other picture is needed to decode it.
    pub fn is_intra(self) -> bool {
        !matches!(self, Self::Inter | Self::Skipped)
    }
}

/// A macroblock of a slice, or a run of skipped ones. Bits are counted from the first byte of the given data, emulation
/// prevention bytes included, the most significant bit of a byte first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Macroblock {
    /// Its address: its number in the picture, row by row. Of a run the first.
    pub address: u32,
    /// Number of macroblocks: 1, or the length of a run of skipped ones.
    pub count: u32,
    /// Its kind.
    pub kind: MacroblockKind,
    /// Its first bit. Skipped macroblocks have none; theirs is the bit after the length of their run.
    pub first_bit: usize,
    /// The bit after its last one.
    pub end_bit: usize,
    /// Its length in bits, without emulation prevention bytes.
    pub bits: u32,
    /// Number of luma coefficients that are not 0. Of [`MacroblockKind::Pcm`] this is 0.
    pub luma: u16,
    /// Number of chroma coefficients that are not 0. Of [`MacroblockKind::Pcm`] this is 0.
    pub chroma: u16,
}

/// Error: why the macroblocks of a slice cannot be found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Refusal {
    /// A parameter set that it refers to was not seen, or was not valid.
    #[error("the parameter sets are missing")]
    NoParameterSets,
    /// The entropy coding is CABAC, in which macroblocks do not begin at bits.
    #[error("the camera uses CABAC, which cannot be split")]
    Cabac,
    /// Flexible macroblock ordering.
    #[error("the camera uses slice groups, which are not supported")]
    SliceGroups,
    /// Fields, or frames that mix them.
    #[error("the video is interlaced, which is not supported")]
    Interlaced,
    /// An SP or SI slice.
    #[error("the camera uses switching slices, which are not supported")]
    Switching,
    /// Another chroma format than 4:0:0 and 4:2:0.
    #[error("the chroma format is neither 4:0:0 nor 4:2:0")]
    ChromaFormat,
    /// No slice of a primary picture in one part: data partitions, auxiliary pictures, extensions.
    #[error("the camera uses data partitions or an extension of H.264, which are not supported")]
    UnitType,
    /// A picture larger than level 6.2 permits.
    #[error("the picture is larger than H.264 permits")]
    TooLarge,
    /// Data that is no H.264, or is damaged.
    #[error("the data is damaged")]
    Broken,
}
