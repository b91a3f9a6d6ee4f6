//! Samples of its path by a publisher's connection.

use std::time::{Duration, Instant};

use super::connection::{Connection, Ended};
use super::listener::Listener;
use crate::run::media::delay_rate::PathSample;
use crate::transport::Transport;

impl<T: Transport> Connection<T> {
    /// Mark the path of a byte stream, if that is due: before a `frame` that has waited so long and is sealed next,
    /// and otherwise when there may be something to send. Without effect on other carriers.
    pub(crate) fn mark_path(&mut self, frame: Option<Duration>, listener: &mut impl Listener) -> Result<(), Ended> {
        let now = self.clock.now();
        let marked = self.session.mark_stream(now, self.sealed, frame);
        self.drain_session(listener, false);
        marked.map_err(Ended::Session)?;
        if frame.is_some() {
            return Ok(());
        }
        self.flush().map_err(Ended::Carrier)
    }

    /// The sample needed by a delay-based rate. `waiting` is true if a frame waits to be sealed. Returns `None` if
    /// neither the carrier nor a mark in the stream has measured the round trip.
    pub(crate) fn look(&mut self, waiting: bool) -> Option<PathSample> {
        let blocked = waiting && !self.ready_for_frame();
        let now = self.clock.now().monotonic;
        if let Some(sample) = self.session.stream_sample(now) {
            return Some(PathSample {
                left: sample.arrived,
                at: self.clock.instant(sample.at)?,
                round_trip: sample.round_trip,
                blocked,
            });
        }
        let round_trip = self.transport.round_trip()?;
        let sent = self.session.outbound_counts()?.bytes;
        Some(PathSample {
            left: sent.saturating_sub(self.transport.backlog() as u64),
            at: Instant::now(),
            round_trip,
            blocked,
        })
    }
}
