//! When the frames of a stream are due in a pipeline.

use std::time::Duration;

/// Frames after which the least lead among them is taken away.
const WINDOW: u32 = 50;

/// A frame that is later begins the timeline anew. Sinks of GStreamer allow this time for processing before they take a
/// picture for late and leave it out.
const MOST_LATE: Duration = Duration::from_millis(15);

/// A frame that is due later begins the timeline anew; less than that is the order of pictures, or a first frame that
/// was late itself.
const MOST_EARLY: Duration = Duration::from_millis(500);

/// Maps media time to the running time of a pipeline. The distances of frames stay as the camera stamped them, and none
/// waits longer than the frames around it need.
#[derive(Debug, Default)]
pub(super) struct Timeline {
    /// Running time and media time of one instant.
    anchor: Option<(Duration, Duration)>,
    /// The least time that a frame was early, and the number of frames since it was looked for anew.
    lead: Option<Duration>,
    frames: u32,
}

impl Timeline {
    /// The running time at which a frame of that media time is due; `now` is the running time at which it came.
    pub(super) fn due(&mut self, media: Duration, now: Duration) -> Duration {
        let (running, first) = *self.anchor.get_or_insert((now, media));
        let due = match media.checked_sub(first) {
            Some(after) => running + after,
            None => running.saturating_sub(first - media),
        };
        if due + MOST_LATE < now || due > now + MOST_EARLY {
            *self = Self {
                anchor: Some((now, media)),
                ..Self::default()
            };
            return now;
        }
        let early = due.saturating_sub(now);
        self.lead = Some(self.lead.map_or(early, |lead| lead.min(early)));
        self.frames += 1;
        if self.frames >= WINDOW {
            let lead = self.lead.take().unwrap_or_default();
            self.anchor = Some((running.saturating_sub(lead), first));
            self.frames = 0;
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAME: Duration = Duration::from_millis(40);
    const START: Duration = Duration::from_secs(2);

    #[test]
    fn the_distances_of_frames_stay_as_they_were_stamped() {
        let mut timeline = Timeline::default();
        for number in 0..10 {
            // Frames come with up to 10 ms of jitter.
            let now = START + FRAME * number + Duration::from_millis(u64::from(number * 7 % 11));
            assert_eq!(timeline.due(FRAME * (number + 3), now), START + FRAME * number);
        }
    }

    #[test]
    fn a_first_frame_that_was_late_does_not_delay_the_others_for_long() {
        let mut timeline = Timeline::default();
        let late = Duration::from_millis(30);
        timeline.due(Duration::ZERO, START + late);
        let wait = |timeline: &mut Timeline, number: u32| {
            let now = START + FRAME * number;
            timeline.due(FRAME * number, now).saturating_sub(now)
        };
        assert_eq!(wait(&mut timeline, 1), late);
        for number in 2..WINDOW {
            wait(&mut timeline, number);
        }
        assert_eq!(wait(&mut timeline, WINDOW + 1), late);
        for number in WINDOW + 2..2 * WINDOW + 2 {
            wait(&mut timeline, number);
        }
        assert_eq!(wait(&mut timeline, 2 * WINDOW + 2), Duration::ZERO);
    }

    #[test]
    fn a_pause_and_a_jump_begin_the_timeline_anew() {
        let mut timeline = Timeline::default();
        timeline.due(Duration::ZERO, START);
        let later = START + Duration::from_secs(60);
        assert_eq!(timeline.due(FRAME, later), later);
        assert_eq!(timeline.due(FRAME * 2, later + FRAME), later + FRAME);
        // Media time that goes back.
        assert_eq!(timeline.due(Duration::ZERO, later + FRAME * 2), later + FRAME * 2);
        assert_eq!(
            timeline.due(Duration::from_secs(99), later + FRAME * 3),
            later + FRAME * 3
        );
    }

    #[test]
    fn pictures_that_come_out_of_order_keep_their_times() {
        let mut timeline = Timeline::default();
        let order = [0u32, 2, 1, 4, 3, 6, 5];
        for (came, shown) in (0u32..).zip(order) {
            let due = timeline.due(FRAME * shown, START + FRAME * came);
            // The first picture that was overtaken moves the timeline by the frame that the others wait for it.
            let moved = u32::from(came > 1);
            assert_eq!(due, START + FRAME * (shown + moved), "{shown}");
        }
    }
}
