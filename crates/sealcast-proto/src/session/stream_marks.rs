//! Publisher, on a byte stream: marks in the stream, which measure its path. A mark is a ping, so every viewer answers
//! it. It says nothing of the clocks: it waits behind media.

use std::time::Duration;

use super::machine::Session;
use super::{Carrier, SessionError};
use crate::clock::Now;
use crate::rate::{StreamPath, StreamSample};
use crate::wire::Control;

impl Session {
    /// Publisher: make a mark in the stream if one is due. `position` is the number of bytes of media so far, and
    /// `frame` how long the frame has waited that follows at once. Call it before each frame, and with `None` when
    /// there may be something to send. Drain [`poll`](Self::poll) before the frame is sealed. Without effect where
    /// media may be lost, in a session of constant rate, and before the session is established.
    ///
    /// # Errors
    /// [`SessionError::KeyLimit`] when the keys are spent: the session is over.
    pub fn mark_stream(&mut self, now: Now, position: u64, frame: Option<Duration>) -> Result<(), SessionError> {
        let marked = self.config.carrier == Carrier::Stream && self.leads() && !self.is_shaped();
        if !marked || !self.is_established() {
            return Ok(());
        }
        let path = self.stream_path.get_or_insert_with(Box::<StreamPath>::default);
        if !path.wants_mark(now.monotonic, frame.is_some()) {
            return Ok(());
        }
        path.mark(now, position, frame.unwrap_or_default());
        self.send_control(now, &Control::Ping { t1: now.wall })
    }

    /// Publisher: true if so much of the marked stream is on its way that nothing more should be sealed until the next
    /// message came.
    pub fn stream_is_full(&self, now: Duration) -> bool {
        self.stream_path.as_ref().is_some_and(|path| path.is_full(now))
    }

    /// Publisher: what the marks tell of the path since the last call; `None` before the first answer.
    pub fn stream_sample(&mut self, now: Duration) -> Option<StreamSample> {
        self.stream_path.as_mut().and_then(|path| path.sample(now))
    }

    /// True if a pong with this time answers a mark.
    pub(super) fn mark_answered(&mut self, now: Now, pinged: u64) -> bool {
        let path = self.stream_path.as_mut();
        path.is_some_and(|path| path.answered(now.monotonic, pinged))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Event;
    use super::super::tests::pair;
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn a_viewer_answers_marks_and_they_say_nothing_of_the_clocks() {
        let mut world = pair(1);
        world.run_cleanly(MS * 100);
        let told = world.responder.events.len();
        assert!(
            world
                .responder
                .events
                .iter()
                .any(|event| matches!(event, Event::Clock(_)))
        );
        let session = &mut world.responder.session;
        session.mark_stream(world.now, 7_000, Some(MS * 3)).expect("keys");
        assert_eq!(session.stream_sample(world.now.monotonic), None);
        world.run_cleanly(MS * 20);
        let session = &mut world.responder.session;
        let sample = session.stream_sample(world.now.monotonic).expect("answered");
        assert_eq!(
            (sample.arrived, sample.round_trip),
            (7_000, MS * 13),
            "with the waiting before it"
        );
        assert!(!session.stream_is_full(world.now.monotonic));
        assert_eq!(world.responder.events.len(), told);
        assert_eq!((world.initiator.error, world.responder.error), (None, None));
    }

    #[test]
    fn a_stream_is_full_while_a_mark_is_not_answered_for_long() {
        let mut world = pair(1);
        let session = &mut world.responder.session;
        session.mark_stream(world.now, 0, Some(Duration::ZERO)).expect("keys");
        let later = |millis: u32| MS * millis;
        assert!(!session.stream_is_full(later(200)) && session.stream_is_full(later(2_000)));
    }

    #[test]
    fn a_viewer_makes_no_marks() {
        let mut world = pair(1);
        let session = &mut world.initiator.session;
        session
            .mark_stream(world.now, 0, Some(Duration::ZERO))
            .expect("no effect");
        assert!(!session.stream_is_full(Duration::from_secs(100)));
    }
}
