//! Options of an OpenH264 encoder that the crate `openh264` offers only through its raw interface.
//!
//! The only module of this crate with `unsafe`, which `cargo xtask tidy` holds. Each function passes options that the
//! library copies before it returns, and borrows the encoder exclusively meanwhile.
#![allow(unsafe_code)]

use std::ffi::c_int;
use std::ptr::from_mut;

use openh264::encoder::Encoder;
use openh264_sys2::{
    ENCODER_OPTION_BITRATE, ENCODER_OPTION_MAX_BITRATE, ENCODER_OPTION_TRACE_LEVEL, SBitrateInfo, SPATIAL_LAYER_0,
    WELS_LOG_QUIET,
};

/// Have the encoder print nothing. The crate asks for that only after the library has been initialised, which prints.
///
/// Returns false if the library refuses.
pub(super) fn silence(encoder: &mut Encoder) -> bool {
    let mut level: c_int = WELS_LOG_QUIET;
    // SAFETY: the library reads the option as 32 bits, copies them, and accepts them before it is initialised. The
    // interface is used for nothing else, so what the crate relies on stays as it is.
    unsafe {
        encoder
            .raw_api()
            .set_option(ENCODER_OPTION_TRACE_LEVEL, from_mut(&mut level).cast())
            == 0
    }
}

/// Set the bit rate that the running encoder aims at, and the limit above it, in bits per second. The next picture is
/// encoded by them; no keyframe is made.
///
/// Returns false if the library refuses, as it does before its first picture, and for a rate of 0 or above `limit`.
pub(super) fn set_bitrate(encoder: &mut Encoder, bits_per_second: u32, limit: u32) -> bool {
    // The limit first: the library refuses a rate above it.
    let options = [
        (ENCODER_OPTION_MAX_BITRATE, limit),
        (ENCODER_OPTION_BITRATE, bits_per_second),
    ];
    options.into_iter().all(|(option, bits)| {
        let mut info = SBitrateInfo {
            iLayer: SPATIAL_LAYER_0,
            iBitrate: c_int::try_from(bits).unwrap_or(c_int::MAX),
        };
        // SAFETY: both options are an `SBitrateInfo`, which the library reads and copies; it checks the layer. The
        // crate initialises it with one layer, the first, and passes bit rates only at that time, so it relies on none.
        unsafe { encoder.raw_api().set_option(option, from_mut(&mut info).cast()) == 0 }
    })
}
