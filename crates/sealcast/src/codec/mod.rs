//! Encoding pictures to frames, and decoding frames to pictures.
//!
//! The program uses pictures in video range (luma 16 to 235) and BT.601 throughout; [`jpeg`] converts from and to the
//! full range of JPEG files. H.264 from a camera is displayed unconverted: a camera that uses full range looks
//! slightly too contrasty, with no other effect.

mod asm;
mod fenced;
pub mod h264;
pub mod jpeg;
mod jpeg_rate;
mod openh264_options;
#[cfg(test)]
mod rate_tests;
mod scale;
mod size;

pub use asm::asm_active;
pub use fenced::{Decoder, RESTART_INTERVAL, decoders_cpu_time, fence, serve};
pub use h264::{H264Decoder, H264Encoder, H264Settings};
pub(crate) use jpeg::{CHROMA_TO_VIDEO, LUMA_TO_VIDEO};
pub use jpeg_rate::JpegRate;
pub use scale::shrink;
pub use size::{MAX_PIXELS, MAX_SIDE};

use crate::failure::{Failure, FailureKind, Result};
use crate::media::{Codec, Picture};

/// Decodes the frames of one stream in this very process: what the program itself or its user made, in tests and in the
/// laboratory. Frames of another party are for [`Decoder`], which has this one in a process of its own.
pub enum BareDecoder {
    /// H.264; must get every frame since a keyframe, in order.
    H264(Box<H264Decoder>),
    /// Motion JPEG; every frame is independent.
    Mjpeg,
}

impl BareDecoder {
    /// Creates a decoder for streams of `codec`.
    ///
    /// # Errors
    /// The H.264 decoder cannot start (out of memory), or there is no decoder of this codec.
    pub fn new(codec: Codec) -> Result<Self> {
        Ok(match codec {
            Codec::H264 => Self::H264(Box::new(H264Decoder::new()?)),
            Codec::Mjpeg => Self::Mjpeg,
            Codec::H265 | Codec::Av1 => return Err(no_decoder(codec, "this program")),
        })
    }

    /// Decode one frame. `None` if it contains no picture (only parameter sets).
    ///
    /// # Errors
    /// The frame is damaged, or refers to a missing one: request a keyframe and skip frames until it arrives.
    pub fn decode(&mut self, frame: &[u8]) -> Result<Option<Picture>> {
        match self {
            Self::H264(decoder) => decoder.decode(frame),
            Self::Mjpeg => jpeg::decode(frame).map(Some),
        }
    }
}

/// Refuses a stream that is to be decoded by `what`, such as a sink, and that this program has no decoder for.
///
/// # Errors
/// Kind `Sink`, with what can be done with such a stream.
pub(crate) fn check_decoder(codec: Codec, what: &str) -> Result<()> {
    match codec {
        Codec::H264 | Codec::Mjpeg => Ok(()),
        Codec::H265 | Codec::Av1 => Err(no_decoder(codec, what)),
    }
}

fn no_decoder(codec: Codec, what: &str) -> Failure {
    Failure::new(
        FailureKind::Sink,
        format!("the stream is {}, which {what} does not decode", codec.title()),
        "record it with --to file:OUT.mp4, pipe it into a player (--to - | ffplay -), or watch in a browser that can",
    )
}
