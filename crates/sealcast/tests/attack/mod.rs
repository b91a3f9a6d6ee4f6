//! What the attacks share: the program as processes, a proxy that tampers, and clips whose every frame is known.
#![allow(dead_code, unused_imports, reason = "every test binary uses its own part of this")]

mod clip;
mod program;
mod proxy;
mod puppet;
mod recording;
mod stage;
mod tap;

pub(crate) use clip::{Clip, ffmpeg, lacks, missing, order, order_looped, path};
pub(crate) use program::{Home, PATIENCE, Program, total, until};
pub(crate) use proxy::{Act, Proxy, Seen, Way};
pub(crate) use puppet::{PING, Puppet, WANT_KEYFRAME};
pub(crate) use recording::{Row, excused, gaps, overflowed, record};
pub(crate) use stage::Stage;
pub(crate) use tap::{Tap, carries_media, carries_record, kind};

/// Length prefix and header of a record on the wire.
pub(crate) const LENGTH: usize = 4;

/// Whether these bytes, length prefix included, are a media record that carries a frame.
pub(crate) fn is_frame(message: &[u8]) -> bool {
    is_media(message) && message[LENGTH + 1] & 0x20 == 0
}

/// Whether these bytes, length prefix included, are a media record.
pub(crate) fn is_media(message: &[u8]) -> bool {
    message.len() >= LENGTH + 40 && message[LENGTH] == 0x10
}

/// Whether these bytes, length prefix included, are a control record.
pub(crate) fn is_control(message: &[u8]) -> bool {
    message.len() >= LENGTH + 40 && message[LENGTH] == 0x11
}
