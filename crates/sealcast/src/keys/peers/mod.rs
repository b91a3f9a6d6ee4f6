//! The peers of a listening end: whom it enrolled, by which invites, and where that is written. The connecting end's
//! half is [`KnownPeers`].

mod command;
mod find;
mod known;
mod last_seen;
mod limit;
mod lines;
mod lists;
#[cfg(test)]
mod lists_tests;
mod name;
mod overview;
mod request;
mod roll;
mod store;
#[cfg(test)]
mod store_tests;

pub use command::PeersCommand;
pub use known::{KnownEnd, KnownPeers, Turn};
pub use last_seen::LastSeen;
pub use limit::{CameraLimit, check_camera_name};
pub use lists::{
    Decision, Edit, LiveInvite, MAX_HOURS, MAX_INVITES, MAX_LIFE, MAX_USES, Origin, PeerLists, Refusal, Terms,
};
pub use name::{Kind, ListName};
pub use overview::{MAX_LISTED, MAX_TABLE};
pub(crate) use overview::{overview, unlisted};
pub use request::InviteRequest;
pub(crate) use request::no_room;
pub use roll::MAX_ENROLLED;
pub use store::{PeerStore, has_run, last_used, read_lists, running};
