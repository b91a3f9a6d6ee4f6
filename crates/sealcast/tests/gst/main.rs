//! GStreamer pipelines as sources and sinks: `cargo xtask gst`.

mod program;
mod recipes;
mod source;
mod source_errors;
