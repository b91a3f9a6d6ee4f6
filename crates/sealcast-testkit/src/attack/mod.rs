//! Common parts of the attack tests: the program as processes, a proxy that tampers, and clips with known frames.

mod clip;
mod program;
mod proxy;
mod puppet;
mod quic;
mod recording;
mod stage;
mod tap;
pub mod websocket;

pub use clip::{Clip, lacks, missing, order, order_looped};
pub use program::{Home, Program, total, until};
pub use proxy::{Act, Direction, Proxy, Seen};
pub use puppet::{PING, Puppet, WANT_KEYFRAME};
pub use quic::{QuicAttacker, tls_client};
pub use recording::{Row, excused, gaps, overflowed, record};
pub use stage::Stage;
pub use tap::{Tap, carries_media, carries_record, kind};

pub use crate::media::{ffmpeg, path};
pub use crate::program::PATIENCE;

/// Length of the length prefix before a record.
pub const LENGTH: usize = 4;

/// True if these bytes, length prefix included, are a media record that carries a frame.
pub fn is_frame(message: &[u8]) -> bool {
    is_media(message) && message[LENGTH + 1] & 0x20 == 0
}

/// True if these bytes, length prefix included, are a media record.
pub fn is_media(message: &[u8]) -> bool {
    message.len() >= LENGTH + 40 && message[LENGTH] == 0x10
}

/// True if these bytes, length prefix included, are a control record.
pub fn is_control(message: &[u8]) -> bool {
    message.len() >= LENGTH + 40 && message[LENGTH] == 0x11
}
