//! Figures of a simulated run, and conditions that must hold in each.

use sealcast::failure::{Failure, FailureKind, Result};
use sealcast::meter::statistics::quantile;
use sealcast_proto::group::IN_FORCE_WITHIN;

use super::camera::Work;
use super::scenario::Scenario;
use super::world::{Carriage, Seen, World};
use crate::harness::Sample;
use crate::harness::process::Stop;

/// Words in the failure of a run that did what must never happen.
pub const CHECK_FAILED: &str = "a check failed";

/// Runs a scenario. `seed` decides about all losses, delays and choices.
///
/// # Errors
/// A check failed, or the run was stopped.
pub(in super::super) fn measure(scenario: &Scenario, carriage: Carriage, seed: u64, stop: Stop<'_>) -> Result<Sample> {
    let mut world = World::new(scenario, carriage, seed, stop)?;
    world.run()?;
    check(carriage, &world.camera.work, &world.seen)?;
    Ok(sample(&world.camera.work, &mut world.seen))
}

fn check(carriage: Carriage, work: &Work, seen: &Seen) -> Result<()> {
    let failed = |what: String| Err(Failure::new(FailureKind::Internal, what, "please report this"));
    if seen.breaches > 0 {
        return failed(format!(
            "{CHECK_FAILED}: removed viewers opened {} frames or sheets",
            seen.breaches
        ));
    }
    if work.in_force > IN_FORCE_WITHIN {
        return failed(format!(
            "{CHECK_FAILED}: a change was in force after {:?}",
            work.in_force
        ));
    }
    // What is lost where sheets are sent once is what this carriage is measured for.
    if carriage == Carriage::Session && seen.frames.lost + seen.keyless > 0 {
        return failed(format!(
            "{CHECK_FAILED}: {} frames were lost to keys, and {} members never got one",
            seen.frames.lost, seen.keyless
        ));
    }
    Ok(())
}

fn sample(work: &Work, seen: &mut Seen) -> Sample {
    seen.keyed_ms.sort_by(f64::total_cmp);
    let per = |value: f64, count: u64| if count == 0 { f64::NAN } else { value / count as f64 };
    let micros = |time: std::time::Duration| time.as_secs_f64() * 1e6;
    let last = seen.keyed_ms.last().copied();
    Sample::default()
        .with("sheet_bytes", per(work.sheet_bytes as f64, work.sheets))
        .with("longest_sheet_bytes", work.longest_sheet as f64)
        .with("path_bytes", per(work.path_bytes as f64, work.paths))
        .with(
            "camera_bytes",
            per((work.sheet_bytes + work.path_bytes) as f64, seen.changes),
        )
        .with("camera_us", per(micros(work.cpu), seen.changes))
        .with("viewer_us", per(micros(seen.taking.cpu), seen.taking.sheets))
        .with_some("keyed_p99_ms", last.map(|_| quantile(&seen.keyed_ms, 0.99)))
        .with_some("keyed_last_ms", last)
        .with("in_force_ms", work.in_force.as_secs_f64() * 1e3)
        .with("frames", seen.frames.expected as f64)
        .with("frames_late", seen.frames.late as f64)
        .with("frames_lost", seen.frames.lost as f64)
        .with("refused", seen.refused as f64)
        .with("announcements", work.announcements as f64)
        .with("repeated", seen.repeated as f64)
        .with("asked", seen.asked as f64)
        .with("changes", seen.changes as f64)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use std::time::Duration;

    use super::super::camera::Camera;
    use super::super::scenario::Event;
    use super::super::viewer::{Taking, Wish};
    use super::*;

    fn run(event: Event, events: u32, loss: f64, carriage: Carriage) -> Sample {
        let scenario = Scenario {
            members: 60,
            event,
            events,
            loss,
        };
        let stop = AtomicBool::new(false);
        measure(&scenario, carriage, 7, &stop).expect("all checks hold")
    }

    fn value(sample: &Sample, name: &str) -> f64 {
        sample.value(name).unwrap_or_else(|| panic!("{name}: {sample:?}"))
    }

    #[test]
    fn a_join_costs_a_path_sheet_and_a_leave_a_sheet_for_everybody() {
        let join = run(Event::Join, 3, 0.0, Carriage::Session);
        assert_eq!((value(&join, "camera_bytes"), join.value("sheet_bytes")), (502.0, None));
        let leave = run(Event::Leave, 3, 0.0, Carriage::Session);
        assert_eq!((value(&leave, "announcements"), leave.value("path_bytes")), (3.0, None));
        assert!(value(&leave, "sheet_bytes") > 60.0 * 52.0 && value(&leave, "refused") > 0.0);
        assert_eq!(value(&leave, "frames_late"), 0.0, "nothing was lost on the way");
    }

    #[test]
    fn the_same_seed_gives_the_same_run() {
        let [a, b] = [0, 1].map(|_| run(Event::Churn, 5, 0.05, Carriage::Session));
        for name in ["frames", "frames_late", "repeated", "keyed_last_ms", "camera_bytes"] {
            assert_eq!(value(&a, name), value(&b, name), "{name}");
        }
    }

    #[test]
    fn a_lost_sheet_is_repeated_or_asked_for() {
        let session = run(Event::Leave, 10, 0.05, Carriage::Session);
        assert!(value(&session, "repeated") > 0.0);
        assert_eq!((value(&session, "frames_lost"), value(&session, "asked")), (0.0, 0.0));
        let asked = run(Event::Leave, 10, 0.05, Carriage::Asked);
        assert!(value(&asked, "asked") > 0.0 && value(&asked, "frames_late") > 0.0);
    }

    #[test]
    fn a_run_in_which_frames_are_lost_to_keys_fails() {
        let mut seen = Seen::default();
        seen.frames.lost = 1;
        let failure = check(Carriage::Session, &Work::default(), &seen).expect_err("a frame was lost");
        assert!(failure.what.contains(CHECK_FAILED), "{failure}");
        assert!(check(Carriage::Asked, &Work::default(), &seen).is_ok());
        seen.breaches = 1;
        assert!(check(Carriage::Asked, &Work::default(), &seen).is_err());
    }

    /// Reason why frames are lost where sheets are asked for, though every viewer gets its path sheet at once.
    #[test]
    fn a_path_sheet_is_of_the_newest_epoch_and_does_not_open_the_one_in_force() {
        let mut camera = Camera::new(3, 1).expect("a camera");
        camera.announce(Duration::ZERO).expect("it announces");
        let mut viewer = camera.viewer(0).expect("its terms are good");
        let mut take = |sheet: &[u8]| viewer.take(sheet, &mut Taking::default()).1;
        assert_eq!(take(&camera.path_sheet(0).expect("a member")), Wish::Nothing);
        let at = Duration::from_millis;
        camera.frame(at(0)).expect("a keyframe puts the epoch in force");
        camera.remove(at(1000), 1).expect("a member");
        let missed = camera.announce(at(1000)).expect("it announces").expect("a change");
        // The next change waits until that epoch is in force, and is announced in the same moment.
        camera.remove(at(1100), 2).expect("a member");
        assert!(camera.announce(at(1100)).expect("nothing fails").is_none());
        let newest = camera.announce(at(1500)).expect("it announces").expect("a change");
        let frame = camera.frame(at(1501)).expect("a frame");
        assert_eq!((frame.epoch, newest.epoch), (missed.epoch, missed.epoch + 1));
        take(&camera.path_sheet(0).expect("a member"));
        assert!(!viewer.opens(at(1600), &frame));
    }
}
