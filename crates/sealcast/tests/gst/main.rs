//! GStreamer pipelines as sources and sinks: `cargo xtask gst`.

mod program;
mod source;
mod source_errors;
