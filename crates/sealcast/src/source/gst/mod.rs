//! Frames from a GStreamer pipeline.

mod attach;
mod encoder;
mod source;
mod stamps;

pub(super) use source::GstSource;
