//! Sealing of a session's media, with its measurements.

use std::time::{Duration, Instant};

use sealcast_proto::session::{OutboundCounts, SealedRecords, Session, SessionError};

use super::Observation;
use super::connection::{Connection, Ended};
use crate::meter::stage::Stage;
use crate::transport::Transport;

/// Seals a session's frames, and measures the time to seal each and to pass it to the network.
#[derive(Default)]
pub(super) struct MediaSender {
    seal: Duration,
    send: Duration,
    /// Time at which the last frame was sealed, until all of it has left.
    sending_since: Option<Instant>,
    /// Media counters of the session at the last update of the metrics.
    counted: OutboundCounts,
}

impl MediaSender {
    /// The times taken to seal and to send the previous frame, in nanoseconds, saturating. The next frame carries
    /// them to the viewer.
    pub(super) fn previous(&self) -> (u32, u32) {
        let nanos = |time: Duration| u32::try_from(time.as_nanos()).unwrap_or(u32::MAX);
        (nanos(self.seal), nanos(self.send))
    }

    /// Seal a frame: `seal` gets the session, the time and the carrier's buffer. Returns the time at which it was
    /// sealed.
    pub(super) fn seal<T: Transport>(
        &mut self,
        connection: &mut Connection<T>,
        observation: &Observation,
        seal: impl FnOnce(&mut Session, Instant, &mut Vec<u8>) -> Result<SealedRecords, SessionError>,
    ) -> Result<Instant, Ended> {
        let from = connection.outgoing_len();
        let began = Instant::now();
        let made = connection.seal(|session, out| seal(session, began, out))?;
        let sealed = Instant::now();
        self.seal = sealed - began;
        self.sending_since = Some(sealed);
        let wire_bytes = (connection.outgoing_len() - from) as u64;
        observation.frame_sealed(made, wire_bytes, self.seal);
        Ok(sealed)
    }

    /// Record the send time of the last frame once all of it has left.
    pub(super) fn note_sent<T: Transport>(&mut self, connection: &Connection<T>, observation: &Observation) {
        if connection.backlog() == 0
            && let Some(since) = self.sending_since.take()
        {
            self.send = since.elapsed();
            observation.metrics.record_stage(Stage::Send, self.send);
        }
    }

    /// Record the session's counters of sent media.
    pub(super) fn record_counts(&mut self, session: &Session, observation: &Observation) {
        if let Some(counts) = session.outbound_counts() {
            observation.metrics.media_left(&mut self.counted, counts);
        }
    }
}
