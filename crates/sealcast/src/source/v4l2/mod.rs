//! Cameras of this machine, by Video4Linux2.
//!
//! `docs/cameras.md` describes the options, what the stamps mean, and who may open a camera.

mod busy;
mod choose;
mod clock;
mod convert;
mod device;
mod format;
mod options;
mod source;
mod streaming;
mod uvc_jpeg;

pub use device::{About, Camera, paths};
pub use format::{FormatOffer, PixelFormat, Rates, SizeOffer, Sizes};
pub use options::V4l2Options;
pub use source::{V4l2Source, look};
#[cfg(feature = "gst")]
pub(super) use uvc_jpeg::whole_image;
