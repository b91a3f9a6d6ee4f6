//! Cameras that go away and come back.

use std::time::{Duration, Instant};

use super::{SOURCE_PATIENCE, contain, stood_still};
use crate::failure::{Failure, FailureKind, Result};

/// A camera that sends nothing usable for this long is opened again, unless that is disabled.
pub(super) const STALL: Duration = Duration::from_secs(4);

/// First pause between attempts to open a camera again.
const FIRST_PAUSE: Duration = Duration::from_millis(200);

/// The pauses between attempts to open a camera again, each twice as long as the one before.
#[derive(Clone, Copy, Debug)]
pub(super) struct Backoff {
    next: Duration,
    longest: Duration,
}

impl Backoff {
    /// Pauses of up to `longest`.
    pub(super) fn new(longest: Duration) -> Self {
        Self {
            next: FIRST_PAUSE,
            longest,
        }
    }

    /// The next pause, which does not last beyond `deadline`.
    pub(super) fn pause(&mut self, deadline: Instant) -> Duration {
        let pause = self.next.min(deadline.saturating_duration_since(Instant::now()));
        self.next = (self.next * 2).min(self.longest);
        pause
    }
}

/// A camera that is opened again when it was unplugged, hung up or fell silent.
pub(super) trait Camera {
    /// Type of its frames.
    type Frame;

    /// The camera in messages, and what opening it again is called there.
    fn named(&self) -> (String, &'static str);

    /// False if the user wants the stream to end when the camera is gone.
    fn reconnects(&self) -> bool;

    /// Its pauses.
    fn backoff(&mut self) -> &mut Backoff;

    /// True while it is open.
    fn is_open(&self) -> bool;

    /// Returns the next frame of the camera as it is open.
    fn take(&mut self, deadline: Instant) -> Result<Self::Frame>;

    /// Closes it, after a failure.
    fn close(&mut self);

    /// Opens it again after the next pause.
    fn open_again(&mut self, deadline: Instant) -> Result<()>;
}

/// Returns the next frame of a camera, which is opened again, with pauses, for as long as a source may be silent.
///
/// # Errors
/// What the camera failed with first. Calling this again continues to try.
pub(super) fn next_frame<C: Camera>(camera: &mut C) -> Result<C::Frame> {
    next_frame_within(camera, SOURCE_PATIENCE)
}

fn next_frame_within<C: Camera>(camera: &mut C, patience: Duration) -> Result<C::Frame> {
    let mut deadline = Instant::now() + patience;
    let (mut failure, mut forgiven): (Option<Failure>, bool) = (None, false);
    loop {
        let step = if camera.is_open() {
            let stall = if camera.reconnects() { STALL } else { patience };
            let until = deadline.min(Instant::now() + stall);
            let taken = camera.take(until);
            if taken.is_err() && !forgiven && stood_still(until) {
                (deadline, forgiven) = (Instant::now() + patience, true);
                continue;
            }
            taken
        } else {
            match camera.open_again(deadline) {
                Ok(()) => continue,
                Err(error) => Err(error),
            }
        };
        let error = match step {
            Ok(frame) => {
                camera.backoff().next = FIRST_PAUSE;
                return Ok(frame);
            }
            Err(error) => error,
        };
        // A driver that is gone may refuse even to stop.
        let _ = contain(|| {
            camera.close();
            Ok(())
        });
        if error.kind != FailureKind::Source {
            // Another certificate, a login that is not accepted any more, an encoder that fails: trying again does not
            // help.
            return Err(error);
        }
        if !camera.reconnects() || Instant::now() + camera.backoff().next >= deadline {
            // The first failure is more informative than that of the last attempt.
            return Err(failure.unwrap_or(error));
        }
        let (named, again) = camera.named();
        tracing::warn!(camera = %named, reason = %error.what, "{again}");
        failure.get_or_insert(error);
    }
}

#[cfg(test)]
mod tests {
    use super::super::STOOD_STILL;
    use super::*;

    /// A camera of which each step is foretold.
    struct Foretold {
        steps: Vec<std::result::Result<u32, FailureKind>>,
        open: bool,
        reconnects: bool,
        backoff: Backoff,
        closed: usize,
        /// Delay of the end of the next step after its deadline.
        sleeps: Option<Duration>,
    }

    impl Foretold {
        /// `Ok(0)` is an attempt to open it that succeeds, other numbers are frames.
        fn new(steps: &[std::result::Result<u32, FailureKind>]) -> Self {
            let steps = steps.iter().rev().copied().collect();
            let backoff = Backoff {
                next: FIRST_PAUSE,
                longest: Duration::from_secs(1),
            };
            Self {
                steps,
                open: true,
                reconnects: true,
                backoff,
                closed: 0,
                sleeps: None,
            }
        }

        fn step(&mut self) -> Result<u32> {
            let left = self.steps.len();
            let step = self.steps.pop().expect("no step more than foretold");
            step.map_err(|kind| Failure::new(kind, format!("failure with {left} steps left"), "none"))
        }
    }

    impl Camera for Foretold {
        type Frame = u32;

        fn named(&self) -> (String, &'static str) {
            ("it".into(), "opening it again")
        }

        fn reconnects(&self) -> bool {
            self.reconnects
        }

        fn backoff(&mut self) -> &mut Backoff {
            &mut self.backoff
        }

        fn is_open(&self) -> bool {
            self.open
        }

        fn take(&mut self, deadline: Instant) -> Result<u32> {
            if let Some(after) = self.sleeps.take() {
                let wakes = deadline + after;
                std::thread::sleep(wakes.saturating_duration_since(Instant::now()));
            }
            self.step()
        }

        fn close(&mut self) {
            self.open = false;
            self.closed += 1;
        }

        fn open_again(&mut self, deadline: Instant) -> Result<()> {
            // The test does not wait.
            self.backoff.pause(deadline);
            self.step()?;
            self.open = true;
            Ok(())
        }
    }

    const PATIENCE: Duration = Duration::from_secs(60);

    #[test]
    fn a_camera_that_comes_back_goes_on() {
        let away = Err(FailureKind::Source);
        let mut camera = Foretold::new(&[Ok(1), away, away, away, Ok(0), Ok(2)]);
        assert_eq!(next_frame(&mut camera).expect("a frame"), 1);
        assert_eq!(next_frame_within(&mut camera, PATIENCE).expect("a frame"), 2);
        assert_eq!(camera.closed, 3);
        assert_eq!(camera.backoff.next, FIRST_PAUSE, "it begins with short pauses again");
    }

    #[test]
    fn a_camera_that_stays_away_fails_as_it_failed_first() {
        let away = Err(FailureKind::Source);
        let mut camera = Foretold::new(&[away, away]);
        // No pause fits.
        let first = next_frame_within(&mut camera, FIRST_PAUSE / 2).expect_err("it is away");
        assert_eq!(first.what, "failure with 2 steps left");
        let mut camera = Foretold::new(&[away; 9]);
        (camera.backoff.next, camera.backoff.longest) = (PATIENCE / 3, 8 * PATIENCE);
        let failure = next_frame_within(&mut camera, PATIENCE).expect_err("it is away");
        assert_eq!(failure.what, "failure with 9 steps left");
        assert_eq!(camera.steps.len(), 6, "the third pause does not fit");
    }

    #[test]
    fn what_cannot_pass_and_what_shall_not_be_tried_again_is_told_at_once() {
        let mut refused = Foretold::new(&[Err(FailureKind::Source), Err(FailureKind::Refused)]);
        let failure = next_frame_within(&mut refused, PATIENCE).expect_err("it is refused");
        assert_eq!(failure.kind, FailureKind::Refused);
        let mut once = Foretold::new(&[Err(FailureKind::Source)]);
        once.reconnects = false;
        assert!(next_frame_within(&mut once, PATIENCE).is_err());
    }

    #[test]
    fn pauses_grow_up_to_the_longest_and_end_at_the_deadline() {
        let mut backoff = Backoff::new(Duration::from_millis(700));
        let far = Instant::now() + PATIENCE;
        let pauses = [(); 4].map(|()| backoff.pause(far).as_millis());
        assert_eq!(pauses, [200, 400, 700, 700]);
        assert_eq!(backoff.pause(Instant::now()), Duration::ZERO);
    }

    #[test]
    fn a_process_that_stood_still_does_not_blame_its_camera() {
        let patience = Duration::from_millis(50);
        for (slept, survives) in [(STOOD_STILL + patience, true), (Duration::ZERO, false)] {
            let mut camera = Foretold::new(&[Err(FailureKind::Source), Ok(7)]);
            (camera.reconnects, camera.sleeps) = (false, Some(slept));
            let frame = next_frame_within(&mut camera, patience);
            assert_eq!(frame.ok(), survives.then_some(7));
            assert_eq!(camera.closed, usize::from(!survives));
        }
    }
}
