//! The running program: tasks and threads that pump sessions, sources and sinks.
//!
//! ```text
//! publisher:  source thread ─► hub ─► one bounded queue a viewer ─► viewer task: seal ─► transport
//! viewer:     transport ─► session task: open, assemble ─► one bounded queue ─► sink thread
//! ```

mod admission;
mod clock;
mod connection;
pub mod demo;
mod hub;
mod observe;
mod publish;
mod pump;
mod queue;
mod received;
mod serve_viewer;
mod sink_thread;
mod watch;

pub use admission::Admission;
pub use clock::Clock;
pub use hub::Hub;
pub use observe::{Observation, ObserveOptions};
pub use publish::{PublishOptions, Publisher, publish};
pub use queue::{FrameQueue, QueueLimits};
pub use watch::{WatchOptions, watch};
