//! The side of the cameras: what a publisher has for viewer gateways.

mod asked;
mod beside;
mod cameras;
mod command;
mod connect;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
pub(crate) mod packets;
mod passed_reports;
mod report_rate;
mod requests;
mod sending;
pub(crate) mod session;
mod standing;
mod upstream;

pub use cameras::CameraAt;

use sealcast_proto::rate::RateConfig;
use sealcast_proto::unit::Selection;

/// Start rate of a session, bit/s. A camera's rate cannot be steered, so its packets are slowed down only when the
/// path is known to carry less.
const FIRST_RATE: u64 = 200_000_000;
/// Maximum rate of a session, bit/s.
const MOST_RATE: u64 = 1_000_000_000;

/// Bounds of the rate of sessions with packets alone.
pub fn packet_rate() -> RateConfig {
    RateConfig {
        start: FIRST_RATE,
        max: MOST_RATE,
        unsteered: true,
        ..RateConfig::default()
    }
}

/// Check that a selection is possible for packets, which are sealed without splitting them into frames and headers.
///
/// # Errors
/// The reason why it is not possible.
pub fn check_selection(selection: Selection) -> Result<(), &'static str> {
    match selection {
        Selection::All | Selection::None | Selection::Rate(_) => Ok(()),
        Selection::Keyframes | Selection::Headers | Selection::HeadersAndKeyframes | Selection::Level(_) => Err(
            "a gateway does not read what cameras send: it knows no keyframes, no headers and no macroblocks; \
             use all, none or rate:PERCENT",
        ),
    }
}
