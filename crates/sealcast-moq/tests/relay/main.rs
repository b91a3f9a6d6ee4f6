//! This program between an unmodified relay and its pipes. `MOQ_RELAY` names the relay's program.

#![forbid(unsafe_code)]
// Not only in the functions that clippy takes for tests.
#![allow(clippy::unwrap_used)]

mod certificate;
mod client;
mod delivery;
mod failures;
mod misuse;
mod relay;
mod sessions;
mod sessions_end;
mod sessions_many;
mod viewer;
