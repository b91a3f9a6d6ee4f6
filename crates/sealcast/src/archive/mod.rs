//! Archives: recordings that stay sealed (`docs/archive.md`).

mod age_file;
mod check;
mod folder;
mod index;
mod list;
mod options;
mod recipients;
mod replay;
mod sink;
mod sync;
mod times;

pub use check::{Report, check};
pub use folder::{Folder, SegmentFile};
pub use list::{Row, list};
pub use options::{ARCHIVE_OPTIONS, ArchiveOptions};
pub use recipients::{ArchiveIdentity, MAX_RECIPIENTS, Recipient, parse_recipients, read_identities};
pub use replay::{Replay, Replayed, replay};
pub use sink::ArchiveSink;
pub use times::{Moment, show_time};
