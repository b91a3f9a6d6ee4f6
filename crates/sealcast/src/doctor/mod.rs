//! `sealcast doctor`: looks at the machine and the configuration for whatever would keep a stream from running well.
//!
//! Each check is a reading of the machine and a judgement of it, apart, so that a test can judge readings that this
//! machine does not give. Nothing is changed: ports are bound for a moment and never listened at, no file is written,
//! and cameras are asked for their options and nothing else. A file that is a source is opened.

mod buffers;
mod camera_trial;
mod cameras;
mod clock;
mod codec;
mod descriptors;
mod disk;
mod entropy;
mod examine;
mod fence;
mod files;
mod finding;
mod ipv6;
mod mtu;
mod ports;
mod sockets;
mod sources;

pub use camera_trial::try_camera;
pub use examine::{Subject, examine};
pub use files::{Access, NamedFile};
pub use finding::{Finding, Report, Verdict};
pub use ports::Place;
pub use sources::{NamedSource, look_at};
