//! Relays between a camera and its viewers (docs/relay.md): they carry what was sealed for a group, and can open
//! nothing. Media over QUIC is spoken by a relay client, a program of its own.

mod attending;
mod client;
mod frames;
mod inlet;
mod line;
mod message;
mod outlet;
mod recorded;
mod sessions;
mod url;
mod withheld;

pub(super) use attending::{AttendingRole, Unwatched};
pub use client::{ClientRole, RelayClient};
pub(super) use inlet::{RelayedCamera, watch_relays};
pub(super) use line::{SessionLine, line};
pub use message::{LinkState, RelayEvent, Track};
pub(super) use outlet::{Arrivals, Outlet, RelaySeat, feed};
pub use url::RelayUrl;

/// Maximum number of relays of one camera.
pub const MAX_RELAYS: usize = 4;
