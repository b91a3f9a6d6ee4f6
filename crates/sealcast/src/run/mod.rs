//! The running program: tasks and threads that pump sessions, sources and sinks.
//!
//! ```text
//! publisher:  source thread ─► hub ─► one bounded queue a viewer ─► viewer task: seal ─► transport
//! viewer:     transport ─► session task: open, assemble ─► one bounded queue ─► sink thread
//! ```

mod accept;
mod admission;
mod alarm;
mod clock;
mod connection;
mod control;
pub mod demo;
mod ended;
mod follow;
pub mod gateway;
mod hub;
#[cfg(test)]
mod memory_tests;
mod observe;
mod offer;
mod publish;
mod pump;
mod queue;
mod received;
mod retry;
mod seldom;
mod send_times;
mod serve_viewer;
mod session_task;
mod shared;
mod sink_thread;
mod steering;
pub mod throughput;
mod unread;
mod watch;

pub use admission::Admission;
pub use clock::Clock;
pub use control::{ControlSocket, MAX_COMMAND};
pub use hub::Hub;
pub use observe::{Observation, ObserveOptions, Observing, build_info};
pub use offer::Offer;
pub use publish::{PublishOptions, Publisher, Viewers, publish};
pub use queue::{FrameQueue, QueueLimits};
use retry::Retry;
pub use steering::Steering;
pub use watch::{PublisherAt, WatchOptions, watch};
