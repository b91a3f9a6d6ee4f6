//! The deterministic protocol of sealcast. It does no I/O, reads no clock and draws no randomness: time, entropy and
//! bytes are arguments. `docs/spec/protocol.md` and `docs/spec/keys.md` are its specification.
#![forbid(unsafe_code)]

pub mod archive;
pub mod clock;
pub mod container;
pub mod events;
pub mod group;
pub mod group_media;
pub mod keys;
pub mod live;
pub mod rate;
pub mod repair;
pub mod rtp;
pub mod rtsp;
pub mod seal;
pub mod session;
pub mod sign;
pub mod sim;
pub mod timeline;
pub mod unit;
pub mod wire;
pub mod words;
