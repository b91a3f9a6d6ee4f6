//! What is sealed at once: frames with their preamble, and the description of their stream (protocol.md §5).

mod info;

pub use info::{Codec, FrameRate, StreamInfo};
