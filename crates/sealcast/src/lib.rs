//! The sealcast program as a library: sources, codecs, sinks, transports and the tasks that drive [`sealcast_proto`].
// One module of `codec` allows it for itself; `cargo xtask tidy` holds that no other does.
#![deny(unsafe_code)]
// Words of others may be in any text: `output` makes them fit to be shown.
#![warn(clippy::print_stdout, clippy::print_stderr)]

pub mod archive;
pub mod cli;
pub mod codec;
pub mod config;
mod display;
pub mod doctor;
pub mod eavesdrop;
pub mod failure;
mod file_lock;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
pub mod gst;
pub mod keys;
pub mod length;
pub mod media;
pub mod meter;
mod output;
mod overview;
pub mod platform;
pub mod private_file;
pub mod rtsp;
pub mod run;
pub mod sink;
pub mod source;
mod suggest;
pub mod transport;
mod watch;
pub mod web;
