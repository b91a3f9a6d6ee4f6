//! Visual events: when they are shown, the UDP server that tells who has its ticket, and the client beside a probe.

mod board;
mod client;
mod schedule;
mod server;
mod show;
mod window;

pub use board::{DisplayReport, EventBoard, Reported};
pub(crate) use client::EventClock;
pub use client::{EventFeed, Registered, register};
pub use schedule::{Schedule, Shown};
pub use show::{ClockOptions, Display, show_clock};
