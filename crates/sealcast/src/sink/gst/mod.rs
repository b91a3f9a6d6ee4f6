//! `gst:PIPELINE`: frames go into a pipeline of GStreamer that the user wrote.

mod sink;
mod timeline;

pub(super) use sink::open;
