//! `window:` shows the decoded picture in a window of this machine's display.
//!
//! Every frame is decoded when it arrives, in a process of its own, and the newest picture is shown at once: one that
//! the display has not taken yet is replaced.

mod age;
mod display;
mod paint;
mod shared;
mod sink;

pub(super) use sink::open;
