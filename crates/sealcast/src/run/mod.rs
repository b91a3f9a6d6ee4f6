//! The running program: tasks and threads that drive sessions, sources and sinks.
//!
//! ```text
//! publisher:  source thread ─► hub ─► one bounded queue per viewer ─► viewer task: seal ─► transport
//!                              └──► group: seal once ─► one bounded queue per member ─► transport
//!                               └► one bounded queue per relay ─► its task ─► carrier
//! viewer:     transport ─► session task: open, assemble ─► one bounded queue ─► sink thread
//! ```

mod accept;
mod address_telling;
mod admission;
mod admitted_places;
mod attempts;
mod attendance;
mod away;
mod caller;
mod camera;
mod camera_life;
mod camera_notice;
mod camera_telling;
mod cameras;
mod chosen_camera;
mod clock;
pub mod connection;
mod control;
mod control_backlog;
mod control_socket;
#[cfg(test)]
mod crowd_tests;
mod delay_rate;
pub mod demo;
mod ended;
pub mod events;
mod exchange;
mod freezes;
mod gate;
pub mod gateway;
mod goodbye;
mod group;
#[cfg(test)]
mod group_in_memory_tests;
mod group_proofs;
mod hub;
#[cfg(test)]
mod in_memory_tests;
mod kept_group;
mod keyframe_requests;
mod lent;
mod list_cameras;
mod listener;
mod media_sender;
mod observe;
mod offer;
mod overview;
mod passage;
mod path_look;
mod phases;
mod picture_age;
pub mod probe;
mod publish;
mod queue;
mod received;
mod record;
mod record_counts;
mod registry;
mod relay;
mod retry;
mod runtime_settings;
mod serve_member;
mod serve_viewer;
mod session_role;
mod session_task;
mod shape;
mod sink_thread;
mod source_feed;
mod source_thread;
mod stamp_check;
mod target_rate;
mod task_timer;
mod viewer_path;
mod watch;
mod watch_connect;
mod watch_listen;
pub mod ways;

pub use admission::{Admission, ByHand};
pub use away::Nudge;
pub use camera_life::{CameraOptions, passed_through};
pub use cameras::{CameraDefinition, OpeningCamera, PublishedCamera, only_camera};
pub use clock::Clock;
pub use control::{LIST_PEERS, MAX_COMMAND, STATUS};
pub use control_socket::{ControlSocket, connect_at_once};
pub use group::{GROUP_STREAM, GroupOptions};
pub use hub::Hub;
pub use list_cameras::list_cameras;
pub use observe::{Observation, ObserveOptions, Observing, build_info};
pub use offer::Offer;
pub use publish::{PublishOptions, Publisher, Viewers, publish};
pub use queue::{FrameQueue, QueueLimits};
pub use record::{RecordOptions, record};
pub use registry::{Configured, Renewal, distinct};
pub use relay::{ClientRole, LinkState, MAX_RELAYS, RelayClient, RelayEvent, RelayUrl, Track};
use retry::Retry;
pub use runtime_settings::{RuntimeSettings, check_selection};
pub use shape::{FrameProof, Shape};
pub use source_feed::Reopen;
pub use watch::{PublisherAt, WatchOptions, watch};
