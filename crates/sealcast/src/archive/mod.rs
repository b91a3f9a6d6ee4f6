//! Archives: recordings that stay sealed (`docs/archive.md`).

mod age_file;
mod check;
mod folder;
mod groups;
mod index;
mod list;
mod node;
mod options;
mod recipients;
mod recording;
mod replay;
mod sink;
mod sync;
mod times;

pub(crate) use age_file::encrypt as encrypt_for;
pub use check::{Report, check};
pub use folder::{Folder, SegmentFile};
pub use groups::SignedGroup;
pub use list::{Row, list};
pub use node::{NodeArchive, ToNode};
pub(crate) use options::parse_size;
pub use options::{ARCHIVE_OPTIONS, ArchiveOptions, Keeping};
pub use recipients::{ArchiveIdentity, MAX_RECIPIENTS, Recipient, parse_recipients, read_identities};
pub use replay::{Replay, Replayed, replay};
pub use sink::ArchiveSink;
pub(crate) use times::wall_now;
pub use times::{Moment, show_time};
