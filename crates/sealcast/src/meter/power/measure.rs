//! What a piece of work draws.

use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use super::energy::Tally;
use super::sample::Meter;
use crate::failure::{Failure, FailureKind, Result};

/// What a meter read while something was done.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drawn {
    /// Mean power.
    pub watts: f64,
    /// How long it took.
    pub took: Duration,
}

/// Does `work` on this thread while another one reads the meter, which is told the name of it.
///
/// # Errors
/// The meter fails, is too slow for work this short, or misses a part of it.
pub fn measure<R>(meter: &mut dyn Meter, what: &str, work: impl FnOnce() -> R) -> Result<(R, Drawn)> {
    let mut tally = Tally::new(&meter.about().channels);
    let start = Instant::now();
    meter.begin(what)?;
    read(meter, start, &mut tally)?;
    let (stop, stopped) = sync_channel::<()>(0);
    let began = Instant::now();
    let (result, took, sampled) = thread::scope(|scope| {
        let (meter, tally) = (&mut *meter, &mut tally);
        let sampling = scope.spawn(move || sample(meter, start, tally, &stopped));
        let result = work();
        let took = began.elapsed();
        drop(stop);
        (result, took, sampling.join())
    });
    let sampled = sampled.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    let sampled = sampled.and_then(|()| read(meter, start, &mut tally));
    // It has ended for the meter too, whether it could be read or not.
    sampled.and(meter.end())?;
    let name = &meter.about().name;
    let failed = |what: String| Failure::new(FailureKind::Source, what, "measure for longer, on a machine less busy");
    if !tally.missed().is_zero() {
        return Err(failed(format!(
            "the meter {name} told nothing for {:.1} s of {what}",
            tally.missed().as_secs_f64()
        )));
    }
    let watts = tally
        .mean_watts()
        .ok_or_else(|| failed(format!("the meter {name} is too slow for {what}")))?;
    Ok((result, Drawn { watts, took }))
}

fn read(meter: &mut dyn Meter, start: Instant, tally: &mut Tally) -> Result<()> {
    let mut samples = Vec::new();
    meter.read(start.elapsed(), &mut samples)?;
    samples.iter().for_each(|sample| tally.add(sample));
    Ok(())
}

fn sample(meter: &mut dyn Meter, start: Instant, tally: &mut Tally, stopped: &Receiver<()>) -> Result<()> {
    let period = meter.about().period;
    while let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(period) {
        read(meter, start, tally)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::sample::{About, Channel, Quantity, Sample};
    use super::*;

    /// Tells what `watts` says of the time since it was made, and nothing at all while that is `None`.
    struct Told {
        about: About,
        watts: fn(Duration) -> Option<f64>,
        heard: Vec<String>,
    }

    impl Told {
        fn new(watts: fn(Duration) -> Option<f64>) -> Self {
            let channel = Channel {
                name: "told".to_owned(),
                quantity: Quantity::Watts,
                counted: true,
            };
            let about = About {
                name: "told".to_owned(),
                covers: "nothing".to_owned(),
                resolution: "exact",
                period: Duration::from_millis(5),
                channels: vec![channel],
            };
            let heard = Vec::new();
            Self { about, watts, heard }
        }
    }

    impl Meter for Told {
        fn about(&self) -> &About {
            &self.about
        }

        fn begin(&mut self, what: &str) -> Result<()> {
            self.heard.push(what.to_owned());
            Ok(())
        }

        fn end(&mut self) -> Result<()> {
            self.heard.push("end".to_owned());
            Ok(())
        }

        fn read(&mut self, now: Duration, samples: &mut Vec<Sample>) -> Result<()> {
            samples.extend((self.watts)(now).map(|value| Sample {
                channel: 0,
                at: now,
                value,
            }));
            Ok(())
        }
    }

    fn wait(ms: u64) -> impl FnOnce() -> u64 {
        move || {
            thread::sleep(Duration::from_millis(ms));
            ms
        }
    }

    #[test]
    fn work_is_named_to_the_meter_and_its_mean_power_comes_back() {
        let mut meter = Told::new(|now| Some(2.0 + now.as_secs_f64()));
        let (result, drawn) = measure(&mut meter, "trivium/words", wait(100)).unwrap();
        assert_eq!(
            (result, meter.heard),
            (100, vec!["trivium/words".to_owned(), "end".to_owned()])
        );
        let expected = 2.0 + drawn.took.as_secs_f64() / 2.0;
        assert!((drawn.watts - expected).abs() < 0.02, "{drawn:?}, not {expected}");
    }

    #[test]
    fn a_gap_in_the_middle_is_an_error_and_not_a_figure() {
        let mut meter = Told::new(|_| None);
        assert!(
            measure(&mut meter, "idle", wait(20))
                .unwrap_err()
                .what
                .contains("too slow")
        );
        meter.watts = |now| (!(50..700).contains(&now.as_millis())).then_some(1.0);
        let failure = measure(&mut meter, "idle", wait(750)).unwrap_err();
        assert!(failure.what.contains("told nothing for 0."), "{failure}");
    }
}
