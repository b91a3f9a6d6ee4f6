//! Sealing of a session's media, with its measurements.

use std::sync::Arc;
use std::time::{Duration, Instant};

use sealcast_proto::group_media::SealedFrame;
use sealcast_proto::session::{OutboundCounts, SealedRecords, Session, SessionError};

use super::connection::{Connection, Ended};
use super::observe::Observation;
use crate::meter::stage::Stage;
use crate::run::clock::nanos_u32;
use crate::transport::Transport;

/// Seals a session's frames, and measures the time to seal each and to pass it to the network.
#[derive(Default)]
pub(crate) struct MediaSender {
    seal: Duration,
    send: Duration,
    /// Time at which the last frame was sealed, until all of it has left.
    sending_since: Option<Instant>,
    /// Media counters of the session at the last update of the metrics.
    counted: OutboundCounts,
}

impl MediaSender {
    /// The times taken to seal and to send the previous frame, in nanoseconds, saturating. The next frame carries
    /// them to the viewer. The second is 0 if that frame has not left entirely.
    pub(crate) fn previous(&self) -> (u32, u32) {
        (nanos_u32(self.seal), nanos_u32(self.send))
    }

    /// Seal a frame: `seal` gets the session, the time and the carrier's buffer. Returns the times at which sealing
    /// began and ended.
    pub(crate) fn seal<T: Transport>(
        &mut self,
        connection: &mut Connection<T>,
        observation: &Observation,
        seal: impl FnOnce(&mut Session, Instant, &mut Vec<u8>) -> Result<SealedRecords, SessionError>,
    ) -> Result<[Instant; 2], Ended> {
        let from = connection.outgoing_len();
        let began = Instant::now();
        let made = connection.seal(|session, out| seal(session, began, out))?;
        let sealed = Instant::now();
        (self.seal, self.send) = (sealed - began, Duration::ZERO);
        self.sending_since = Some(sealed);
        let wire_bytes = (connection.outgoing_len() - from) as u64;
        observation.frame_sealed(made, wire_bytes, self.seal);
        Ok([began, sealed])
    }

    /// Pass a frame on that was sealed for the group.
    pub(crate) fn forward<T: Transport>(
        &mut self,
        connection: &mut Connection<T>,
        observation: &Observation,
        frame: &Arc<SealedFrame>,
    ) -> Result<(), Ended> {
        if connection.session.forwards_as_it_is() {
            connection.transport.queue_frame(frame);
            connection.note_media(frame.bytes.len() as u64);
        } else {
            let now = observation.clock.now();
            connection.seal(|session, out| session.forward(now, frame, out))?;
        }
        observation.metrics.frame_forwarded(frame.bytes.len() as u64);
        if frame.sound {
            // The times are those of pictures.
            return Ok(());
        }
        self.send = Duration::ZERO;
        self.sending_since = Some(Instant::now());
        Ok(())
    }

    /// Record the send time of the last frame once all of it has left: until the carrier was given the last of it.
    pub(crate) fn note_sent<T: Transport>(&mut self, connection: &Connection<T>, observation: &Observation) {
        if connection.backlog() == 0
            && let Some(since) = self.sending_since.take()
        {
            self.send = connection
                .handed()
                .saturating_duration_since(since)
                .max(Duration::from_nanos(1));
            observation.metrics.record_stage(Stage::Send, self.send);
        }
    }

    /// Record the session's counters of sent media.
    pub(crate) fn record_counts(&mut self, session: &Session, observation: &Observation) {
        if let Some(mut counts) = session.outbound_counts() {
            if session.is_shaped() {
                // They left in cells, which are counted themselves.
                counts.bytes = self.counted.bytes;
            }
            observation.metrics.media_left(&mut self.counted, counts);
        }
    }
}
