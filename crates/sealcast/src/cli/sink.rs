//! The sink that a user names.

use crate::failure::Result;
use crate::meter::metrics::Metrics;
use crate::run::gateway::PlayersSink;
use crate::sink::{self, Sink, http};

/// Opens the sink of `url`. Players of `rtsp://` and browsers of `http://` are counted in `metrics`.
///
/// # Errors
/// As [`sink::open`], [`http::open`] and [`PlayersSink::open`].
pub(super) fn open(url: &str, metrics: &Metrics) -> Result<Box<dyn Sink>> {
    match url.split_once("://") {
        Some(("rtsp", _)) => Ok(Box::new(PlayersSink::open(url, metrics)?)),
        Some(("http", _)) => Ok(Box::new(http::open(url, Some(metrics))?)),
        _ => sink::open(url),
    }
}
