//! The running program: tasks and threads that drive sessions, sources and sinks.
//!
//! ```text
//! publisher:  source thread ─► hub ─► one bounded queue per viewer ─► viewer task: seal ─► transport
//!                              └──► group: seal once ─► one bounded queue per member ─► transport
//!                               └► one bounded queue per relay ─► its task ─► carrier
//! viewer:     transport ─► session task: open, assemble ─► one bounded queue ─► sink thread
//! ```

mod clock;
mod control;
#[cfg(test)]
mod crowd_tests;
mod data;
pub mod demo;
pub mod events;
pub mod gateway;
mod group;
#[cfg(test)]
mod group_in_memory_tests;
#[cfg(test)]
mod in_memory_tests;
mod media;
pub mod probe;
mod publish;
mod relay;
pub mod session;
mod watch;

pub use clock::Clock;
pub use control::socket::{ControlSocket, connect_at_once};
pub use control::{LIST_PEERS, MAX_COMMAND, STATUS};
pub use data::{DataOptions, DataUrl};
pub use group::{GROUP_STREAM, GroupOptions};
pub use media::away::Nudge;
pub use media::hub::Hub;
pub use media::queue::{FrameQueue, QueueLimits};
pub use media::shape::{FrameProof, Shape};
pub use media::source_feed::Reopen;
pub use publish::camera_life::{CameraMedia, CameraOptions, passed_through};
pub use publish::cameras::{CameraDefinition, OpeningCamera, PublishedCamera, only_camera, packets_of};
pub use publish::{PublishOptions, Publisher, Viewers, publish};
pub use relay::{ClientRole, LinkState, MAX_RELAYS, RelayClient, RelayEvent, RelayUrl, Track};
pub use session::admission::{Admission, ByHand};
pub use session::observe::{Observation, ObserveOptions, Observing, build_info};
pub use session::offer::Offer;
pub use session::registry::{Configured, Renewal, distinct};
pub use session::runtime_settings::{RuntimeSettings, check_selection};
pub use watch::list_cameras::list_cameras;
pub use watch::record::{RecordOptions, record};
pub use watch::{PublisherAt, WatchOptions, watch};
