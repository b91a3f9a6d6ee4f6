//! Sessions: byte streams between a viewer and the camera, in both directions, through the relay. What they carry is
//! sealed from end to end. docs/relay.md describes their tracks.

mod exchange;
mod inlet;
mod object;
mod opener;
mod outbox;
mod outlet;
mod table;
mod viewers;

use std::time::Duration;

use moq_net::track;

pub(crate) use opener::{Link, Opener};
pub(crate) use table::Table;
pub(crate) use viewers::Viewers;

/// The part of a broadcast's name, and of its tracks' names, that the viewers' tokens follow.
pub(crate) const VIEWERS: &str = "viewers";
/// The track of a viewer's broadcast.
const TRACK: &str = "session";
/// Time that the other end of a session may take to appear.
const APPEARANCE: Duration = Duration::from_secs(10);
/// Before all other tracks: what is asked in a session is asked by somebody who waits.
const PRIORITY: u8 = 4;
/// Objects of a group. Well below the library's bound, so that nothing is lost to it.
const GROUP_OBJECTS: usize = 1024;
/// Bytes of a group, likewise.
const GROUP_BYTES: usize = 1 << 20;
/// Pieces that are on their way in one direction. With the next bound this keeps the older of two groups from waiting
/// for ever, since relays send the newer one first.
const WINDOW_PIECES: usize = 256;
/// Bytes of these pieces. Times the number of sessions it is what hostile viewers can make a camera hold.
const WINDOW_BYTES: usize = 256 << 10;
/// Age at which a relay may forget a group, in the time of its objects, which stands still: no group gets older.
const KEPT: Duration = Duration::from_secs(60);

const BROKEN: &str = "the connection to the relay broke";

fn info() -> track::Info {
    track::Info::default().with_max_age(KEPT).with_priority(u8::MAX)
}

/// The camera's track for the viewer with this token.
fn answers(token: &str) -> String {
    format!("{VIEWERS}/{token}")
}
