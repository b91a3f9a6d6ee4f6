//! Measures the power used by a piece of work.

use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use super::energy::Tally;
use super::sample::Meter;
use crate::failure::{Failure, FailureKind, Result};

/// Readings of a meter during a piece of work.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drawn {
    /// Mean power.
    pub watts: f64,
    /// Duration of the work.
    pub took: Duration,
}

/// Runs `work` on this thread while another thread reads the meter. The meter gets the name `what`.
///
/// # Errors
/// The meter failed, is too slow for such short work, or missed a part of it.
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
    // Report the end to the meter even if reading failed.
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
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::super::sample::{About, Channel, Quantity, Sample};
    use super::*;

    /// A simulated meter with a clock of its own that advances by 5 ms at each reading. It returns the power that
    /// `watts` computes for that time, and no sample if that is `None`.
    struct Told {
        about: About,
        watts: fn(u64) -> Option<f64>,
        heard: Vec<String>,
        readings: Arc<AtomicU64>,
    }

    impl Told {
        fn new(watts: fn(u64) -> Option<f64>) -> Self {
            let channel = Channel {
                name: "told".to_owned(),
                quantity: Quantity::Watts,
                counted: true,
            };
            let about = About {
                name: "told".to_owned(),
                covers: "nothing".to_owned(),
                resolution: "exact",
                period: Duration::from_millis(1),
                step: Duration::from_millis(1),
                channels: vec![channel],
            };
            Self {
                about,
                watts,
                heard: Vec::new(),
                readings: Arc::default(),
            }
        }

        /// Work that lasts until the meter has been read `readings` times.
        fn work(&self, readings: u64) -> impl FnOnce() -> u64 + use<> {
            let read = Arc::clone(&self.readings);
            move || {
                while read.load(Ordering::Relaxed) < readings {
                    thread::sleep(Duration::from_millis(1));
                }
                readings
            }
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

        fn read(&mut self, _: Duration, samples: &mut Vec<Sample>) -> Result<()> {
            let millis = 5 * self.readings.fetch_add(1, Ordering::Relaxed);
            samples.extend((self.watts)(millis).map(|value| Sample {
                channel: 0,
                at: Duration::from_millis(millis),
                value,
            }));
            Ok(())
        }
    }

    #[test]
    fn work_is_named_to_the_meter_and_its_mean_power_comes_back() {
        let mut meter = Told::new(|millis| Some(2.0 + millis as f64 / 1e3));
        let work = meter.work(20);
        let (result, drawn) = measure(&mut meter, "trivium/words", work).unwrap();
        assert_eq!(
            (result, meter.heard),
            (20, vec!["trivium/words".to_owned(), "end".to_owned()])
        );
        let last = 5e-3 * (meter.readings.load(Ordering::Relaxed) - 1) as f64;
        let expected = 2.0 + last / 2.0;
        assert!((drawn.watts - expected).abs() < 1e-9, "{drawn:?}, not {expected}");
    }

    #[test]
    fn a_gap_in_the_middle_is_an_error_and_not_a_figure() {
        let mut meter = Told::new(|_| None);
        let work = meter.work(5);
        let failure = measure(&mut meter, "idle", work).unwrap_err();
        assert!(failure.what.contains("too slow"), "{failure}");
        let mut meter = Told::new(|millis| (!(50..700).contains(&millis)).then_some(1.0));
        let work = meter.work(150);
        let failure = measure(&mut meter, "idle", work).unwrap_err();
        assert!(failure.what.contains("told nothing for 0."), "{failure}");
    }
}
