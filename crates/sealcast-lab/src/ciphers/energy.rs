//! Energy used by contenders.

use std::time::Duration;

use sealcast::failure::Result;
use sealcast::meter::power::{self, Meter};
use serde::{Deserialize, Serialize};

use super::contender::Contender;
use super::measure::{Bench, Cell};
use super::workload::Workload;

/// Work time of a contender while the meter is read, and idle time before and after: both some hundred times the
/// update interval of the processor's energy counter. Then both for `--quick`.
const FULL: (Duration, Duration) = (Duration::from_millis(1000), Duration::from_millis(500));
const QUICK: (Duration, Duration) = (Duration::from_millis(500), Duration::from_millis(500));

/// The workloads measured with the meter. There is no time for all of them.
const METERED: [&str; 4] = ["1200 bytes", "H.264 frames", "JPEG frames", "raw 640x480"];

/// The label of idle phases for the meter.
const IDLE: &str = "idle";

/// Description of the method, for the report.
pub(super) const METHOD: &str = "Energy, where a meter is: after the times of a round, everybody enciphers \
     packets of 1200 bytes and each kind of frames for 1 s (0.5 s with --quick) while the meter is read. For 0.5 s \
     before and after, nothing is done, and the mean power of both is subtracted. What is measured is all that the \
     meter covers.";

/// Energy of one contender on one workload in one round, idle power subtracted.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Energy {
    pub(super) contender: usize,
    pub(super) workload: usize,
    /// Energy above the idle consumption.
    pub(super) joules: f64,
    /// Number of packets enciphered with it.
    pub(super) packets: u64,
    /// Their bytes, without tags.
    pub(super) bytes: u64,
    /// Duration.
    pub(super) seconds: f64,
    /// The subtracted idle power in watts.
    pub(super) idle_watts: f64,
}

/// Measures the contenders and workloads in `cells`. If the meter fails, the remaining ones are skipped, and `told`
/// gets the reason.
pub(super) fn round(
    meter: &mut dyn Meter,
    quick: bool,
    cells: &[Cell],
    (contenders, workloads): (&[Contender], &[Workload]),
    told: &dyn Fn(&str),
) -> Vec<Energy> {
    let (work, rest) = if quick { QUICK } else { FULL };
    // Packets reach a foreign cipher through a pipe, which uses more energy than many ciphers.
    let ours = |cell: &Cell| contenders[cell.contender].load().is_some();
    let metered = |cell: &&Cell| ours(cell) && METERED.contains(&&*workloads[cell.workload].name);
    let mut energies = Vec::new();
    let mut before = None;
    for cell in cells.iter().filter(metered) {
        let (contender, workload) = (&contenders[cell.contender], &workloads[cell.workload]);
        let what = format!("{} {}", contender.name(), workload.name);
        told(&format!("energy: {what}"));
        let act = || Bench::new(contender, work)?.repeat(workload, cell.timed.packets);
        match one(meter, &what, act, rest, &mut before) {
            Ok((Err(broken), _)) => told(&format!("{what} broke down: {broken}")),
            Ok((Ok([packets, bytes]), drawn)) => energies.push(Energy {
                contender: cell.contender,
                workload: cell.workload,
                joules: drawn.joules,
                packets,
                bytes,
                seconds: drawn.seconds,
                idle_watts: drawn.idle_watts,
            }),
            Err(failure) => {
                told(&format!("energy is not measured in the rest of this round: {failure}"));
                break;
            }
        }
    }
    energies
}

/// Energy above the idle consumption.
struct Above {
    joules: f64,
    seconds: f64,
    idle_watts: f64,
}

/// The result of `work` and its energy. The idle power measured after it also serves as the one before the next.
fn one<R>(
    meter: &mut dyn Meter,
    what: &str,
    work: impl FnOnce() -> R,
    rest: Duration,
    before: &mut Option<f64>,
) -> Result<(R, Above)> {
    let idle = |meter: &mut dyn Meter| -> Result<f64> {
        let ((), drawn) = power::measure(meter, IDLE, || std::thread::sleep(rest))?;
        Ok(drawn.watts)
    };
    let idle_before = match before.take() {
        Some(watts) => watts,
        None => idle(meter)?,
    };
    let (result, drawn) = power::measure(meter, what, work)?;
    let idle_after = idle(meter)?;
    *before = Some(idle_after);
    let idle_watts = idle_before.midpoint(idle_after);
    let seconds = drawn.took.as_secs_f64();
    let above = Above {
        joules: (drawn.watts - idle_watts) * seconds,
        seconds,
        idle_watts,
    };
    Ok((result, above))
}

#[cfg(test)]
mod tests {
    use sealcast::failure::{Failure, FailureKind};
    use sealcast::meter::power::{About, Channel, Quantity, Sample};

    use super::*;
    use crate::ciphers::contender;
    use crate::ciphers::measure::Timed;

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

    /// Cells of a contender on packets of 15 and 1200 bytes, and the energies measured with the meter.
    fn measured(meter: &mut Simulated) -> (Vec<Energy>, String) {
        let contenders: Vec<_> = contender::all().into_iter().filter(|one| one.cipher == "xor").collect();
        let workload = |length: usize| Workload {
            name: format!("{length} bytes"),
            packets: vec![vec![0; length]; 64],
        };
        let workloads = [workload(15), workload(1200)];
        let cells = [0, 1].map(|workload| Cell {
            contender: 0,
            workload,
            timed: Timed {
                packets: 64,
                bytes: 64 * 1200,
                seal_ns: 0.0,
                open_ns: 0.0,
                baseline_ns: 0.0,
                core_hz: None,
            },
        });
        let said = std::cell::RefCell::new(String::new());
        let told = |words: &str| said.borrow_mut().push_str(words);
        let energies = round(meter, true, &cells, (&contenders, &workloads), &told);
        (energies, said.into_inner())
    }

    #[test]
    fn the_mean_idle_power_before_and_after_is_subtracted() {
        let (energies, _) = measured(&mut Simulated::new(usize::MAX));
        let [energy] = &energies[..] else {
            panic!("one metered workload: {energies:?}")
        };
        assert_eq!((energy.workload, energy.bytes), (1, 1200 * energy.packets));
        assert!(
            energy.seconds >= QUICK.0.as_secs_f64() && energy.packets > 64,
            "{energy:?}"
        );
        assert!(
            (energy.idle_watts - 2.25).abs() < 1e-6,
            "2 W before, 2.5 W after: {energy:?}"
        );
        assert!((energy.joules / energy.seconds - 4.75).abs() < 1e-6, "{energy:?}");
    }

    #[test]
    fn a_meter_that_fails_ends_the_energy_of_a_round_and_is_named() {
        let (energies, said) = measured(&mut Simulated::new(1));
        assert!(energies.is_empty());
        assert!(
            said.contains("the simulated meter has failed; use another one"),
            "{said}"
        );
    }
}
