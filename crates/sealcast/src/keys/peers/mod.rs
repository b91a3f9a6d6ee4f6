//! The peers of a listening end: whom it enrolled, by which invites, and where that is written. The connecting end's
//! half is [`KnownPeers`].

mod command;
mod known;
mod limit;
mod lines;
mod lists;
#[cfg(test)]
mod lists_tests;
mod name;
mod request;
mod roll;
mod store;
#[cfg(test)]
mod store_tests;

pub use command::{MAX_LISTED, MAX_TABLE, PeersCommand, table};
pub use known::{KnownEnd, KnownPeers, Turn};
pub use limit::{CameraLimit, check_camera_name};
pub use lists::{
    Decision, Edit, LiveInvite, MAX_HOURS, MAX_INVITES, MAX_LIFE, MAX_USES, Origin, PeerLists, Refusal, Terms,
};
pub use name::{Kind, ListName};
pub use request::InviteRequest;
pub(crate) use request::no_room;
pub use roll::MAX_ENROLLED;
pub use store::{PeerStore, has_run, last_used, read_lists, running};
