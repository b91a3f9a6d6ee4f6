//! Reasons for which an image is not split.

use crate::unit::NotJpeg;
use crate::wire::Malformed;

/// Reason why the data of an image cannot be split.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotSplit {
    /// It is no JPEG image.
    #[error("{0}")]
    NoImage(#[from] NotJpeg),
    /// It ends within its headers.
    #[error("the JPEG image has no scan")]
    NoScan,
    /// Progressive, lossless, arithmetic coding, or a height that follows later.
    #[error("the JPEG image is not baseline or extended sequential with Huffman codes")]
    Process,
    /// Its components are in several scans.
    #[error("the JPEG image has its components in several scans")]
    Scans,
    /// A segment or table makes no sense, or a table is missing.
    #[error("a table of the JPEG image is missing or wrong")]
    Table,
    /// The entropy-coded data is broken, incomplete, or padded with other bits than ones.
    #[error("the JPEG image's entropy-coded data is broken, incomplete, or padded with other bits than ones")]
    Data,
    /// It would be longer than a frame may be.
    #[error("the JPEG image is too long")]
    Length,
}

impl From<Malformed> for NotSplit {
    fn from(_: Malformed) -> Self {
        Self::Table
    }
}
