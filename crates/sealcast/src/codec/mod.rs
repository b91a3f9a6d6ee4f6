//! Pictures to frames and back.
//!
//! Pictures are in video range (luma 16 to 235) and BT.601 throughout the program; [`jpeg`] converts from and to the
//! full range of JPEG files. H.264 from a camera is shown as it is: a camera that codes full range looks slightly too
//! contrasty, and nothing else depends on it.

mod asm;
pub mod h264;
pub mod jpeg;
mod jpeg_rate;
#[cfg(test)]
mod rate_tests;
mod scale;

pub use asm::asm_active;
pub use h264::{H264Decoder, H264Encoder, H264Settings};
pub use jpeg_rate::JpegRate;
pub use scale::shrink;

use crate::failure::{Failure, FailureKind, Result};
use crate::media::{Codec, Picture};

/// Largest width or height of a picture that is decoded, in pixels.
pub const MAX_SIDE: usize = 8192;

/// Most pixels of a picture that is decoded: 8K cinema. It bounds what one hostile JPEG can make us allocate.
pub const MAX_PIXELS: usize = 8192 * 4320;

/// Turns the frames of one stream back into pictures.
pub enum Decoder {
    /// H.264; it must see every frame since a keyframe, in order.
    H264(Box<H264Decoder>),
    /// Motion JPEG; every frame stands alone.
    Mjpeg,
}

impl Decoder {
    /// A decoder for streams of `codec`.
    ///
    /// # Errors
    /// If the H.264 decoder cannot be started (out of memory).
    pub fn new(codec: Codec) -> Result<Self> {
        Ok(match codec {
            Codec::H264 => Self::H264(Box::new(H264Decoder::new()?)),
            Codec::Mjpeg => Self::Mjpeg,
        })
    }

    /// Decode one frame. `None` where it holds no picture (parameter sets alone).
    ///
    /// # Errors
    /// If the frame is damaged or refers to a missing one: ask for a keyframe and skip frames until it comes.
    pub fn decode(&mut self, frame: &[u8]) -> Result<Option<Picture>> {
        match self {
            Self::H264(decoder) => decoder.decode(frame),
            Self::Mjpeg => jpeg::decode(frame).map(Some),
        }
    }
}

/// Whether a target bit rate moved far enough, by more than a tenth, for an encoder to follow.
pub(crate) fn moved(from: u64, to: u64) -> bool {
    u128::from(from.abs_diff(to)) * 10 > u128::from(from)
}

/// Refuse pictures that nothing here can hold: odd sides, none at all, or more than [`MAX_PIXELS`].
fn check_size(width: usize, height: usize) -> Result<()> {
    let even = width.is_multiple_of(2) && height.is_multiple_of(2);
    let held = width > 0 && height > 0 && width <= MAX_SIDE && height <= MAX_SIDE && width * height <= MAX_PIXELS;
    if even && held {
        return Ok(());
    }
    Err(Failure::new(
        FailureKind::Source,
        format!("a picture of {width}x{height} pixels cannot be handled"),
        format!("choose even sides of at most {MAX_SIDE} pixels, and at most {MAX_PIXELS} pixels in all"),
    ))
}
