//! The sink that a user names.

use crate::failure::Result;
use crate::meter::metrics::Metrics;
use crate::run::gateway::PlayersSink;
use crate::sink::{self, Sink};

/// Opens the sink of `url`. Players of `rtsp://` are counted in `metrics`.
///
/// # Errors
/// As [`sink::open`] and [`PlayersSink::open`].
pub(super) fn open(url: &str, metrics: &Metrics) -> Result<Box<dyn Sink>> {
    match url.starts_with("rtsp://") {
        true => Ok(Box::new(PlayersSink::open(url, metrics)?)),
        false => sink::open(url),
    }
}
