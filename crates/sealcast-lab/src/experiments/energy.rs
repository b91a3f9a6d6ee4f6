//! Energy used by a piece of work.

use std::time::Duration;

use sealcast::failure::{Failure, FailureKind, Result};
use sealcast::meter::power::{self, Meter, MeterSpec};

/// The label of idle phases for the meter.
const IDLE: &str = "idle";

/// The meter that a definition names, as `--meter` does.
///
/// # Errors
/// There is no meter of this name.
pub(crate) fn meter(name: &str) -> Result<MeterSpec> {
    name.parse().map_err(|error| {
        let what = format!("meter = \"{name}\": {error}");
        Failure::new(
            FailureKind::Usage,
            what,
            "write auto, none, rapl, or see docs/meters.md",
        )
    })
}

/// Energy used by a piece of work, above the idle consumption.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Energy {
    pub(crate) joules: f64,
    /// Duration of the work.
    pub(crate) seconds: f64,
    /// The subtracted idle power.
    pub(crate) idle_watts: f64,
}

/// A meter, and the round in which it failed.
pub(crate) struct Metered {
    meter: Box<dyn Meter>,
    failed: Option<(usize, String)>,
}

impl Metered {
    pub(crate) fn new(meter: Box<dyn Meter>) -> Self {
        Self { meter, failed: None }
    }

    /// The result of `work` and its energy. The mean of the idle power for `rest` before and after is subtracted. If
    /// the meter fails, it is not asked again in this round, since waiting for it takes time.
    ///
    /// # Errors
    /// The reason why there is no energy in this round.
    pub(crate) fn measure<R>(
        &mut self,
        round: usize,
        what: &str,
        work: impl FnOnce() -> R,
        rest: Duration,
    ) -> std::result::Result<(R, Energy), String> {
        if let Some((failed, why)) = &self.failed
            && *failed == round
        {
            return Err(why.clone());
        }
        above_idle(&mut *self.meter, what, work, rest).map_err(|failure| {
            let why = format!("energy, in the rest of round {}: {failure}", round + 1);
            self.failed = Some((round, why.clone()));
            why
        })
    }
}

fn above_idle<R>(meter: &mut dyn Meter, what: &str, work: impl FnOnce() -> R, rest: Duration) -> Result<(R, Energy)> {
    let idle = |meter: &mut dyn Meter| -> Result<f64> {
        let ((), drawn) = power::measure(meter, IDLE, || std::thread::sleep(rest))?;
        Ok(drawn.watts)
    };
    let before = idle(meter)?;
    let (result, drawn) = power::measure(meter, what, work)?;
    let idle_watts = before.midpoint(idle(meter)?);
    let seconds = drawn.took.as_secs_f64();
    let energy = Energy {
        joules: (drawn.watts - idle_watts) * seconds,
        seconds,
        idle_watts,
    };
    Ok((result, energy))
}

#[cfg(test)]
mod tests {
    use sealcast::meter::power::{About, Channel, Quantity, Sample};

    use super::*;

    /// A meter that reports 2 W when idle, increasing each time, and 7 W otherwise.
    struct Simulated {
        about: About,
        watts: f64,
        idle: f64,
        /// Number of measurements before it fails.
        good: usize,
    }

    impl Simulated {
        fn new(good: usize) -> Self {
            let channel = Channel {
                name: "simulated".to_owned(),
                quantity: Quantity::Joules,
                counted: true,
            };
            let about = About {
                name: "simulated".to_owned(),
                covers: "nothing".to_owned(),
                resolution: "exact",
                period: Duration::from_millis(10),
                step: Duration::from_millis(1),
                channels: vec![channel],
            };
            Self {
                about,
                watts: 0.0,
                idle: 2.0,
                good,
            }
        }
    }

    impl Meter for Simulated {
        fn about(&self) -> &About {
            &self.about
        }

        fn begin(&mut self, what: &str) -> Result<()> {
            let failure = || Failure::new(FailureKind::Source, "the simulated meter has failed", "use another one");
            self.good = self.good.checked_sub(1).ok_or_else(failure)?;
            self.watts = if what == IDLE { self.idle } else { 7.0 };
            self.idle += 0.5 * f64::from(u8::from(what == IDLE));
            Ok(())
        }

        fn read(&mut self, now: Duration, samples: &mut Vec<Sample>) -> Result<()> {
            samples.push(Sample {
                channel: 0,
                at: now,
                value: self.watts * now.as_secs_f64(),
            });
            Ok(())
        }
    }

    const SHORT: Duration = Duration::from_millis(20);

    fn work() -> u32 {
        std::thread::sleep(SHORT);
        7
    }

    #[test]
    fn the_mean_idle_power_before_and_after_is_subtracted() {
        let mut meter = Metered::new(Box::new(Simulated::new(usize::MAX)));
        let (result, energy) = meter.measure(0, "work", work, SHORT).expect("it works");
        assert!(result == 7 && energy.seconds > 0.0, "{energy:?}");
        assert!(
            (energy.idle_watts - 2.25).abs() < 1e-6,
            "2 W before, 2.5 W after: {energy:?}"
        );
        assert!((energy.joules / energy.seconds - 4.75).abs() < 1e-6, "{energy:?}");
    }

    #[test]
    fn a_meter_that_fails_ends_the_energy_of_a_round_and_is_named() {
        let mut meter = Metered::new(Box::new(Simulated::new(1)));
        let why = meter.measure(1, "work", work, SHORT).expect_err("it has failed");
        assert!(
            why.contains("round 2") && why.contains("the simulated meter has failed"),
            "{why}"
        );
        let again = meter.measure(1, "work", || panic!("nothing is done"), SHORT);
        assert_eq!(again.err(), Some(why));
        let later = meter.measure(2, "work", work, SHORT).expect_err("it is asked again");
        assert!(later.contains("round 3"), "{later}");
    }
}
