//! The HTTP pages: the viewer's picture, the demo, and the metrics.

pub mod app;
pub mod clock;
pub mod demo;
pub(crate) mod guard;
mod listen;
mod mjpeg;
pub(crate) mod serve;
pub(crate) mod token;
mod wire_picture;

pub(crate) use guard::guarded;
pub use listen::{Listen, Listener};
pub(crate) use mjpeg::next_jpeg;
pub use mjpeg::{jpeg_stream, jpeg_stream_by};
pub use wire_picture::wire_picture;
