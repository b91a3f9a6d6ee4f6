//! Computes energy from samples.

use std::collections::BTreeMap;
use std::time::Duration;

use super::sample::{Channel, Quantity, Sample};

/// Longest time between two samples over which power is integrated. Over a longer gap the power is unknown.
pub const LONGEST_GAP: Duration = Duration::from_millis(500);

/// The integral of power over time by the trapezoidal rule: the mean of two consecutive samples times the time
/// between them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Trapezoid {
    last: Option<(Duration, f64)>,
    /// Energy so far, in joules.
    pub joules: f64,
    /// The time that this energy covers.
    pub covered: Duration,
    /// The time in gaps longer than [`LONGEST_GAP`], which are left out.
    pub missed: Duration,
}

impl Trapezoid {
    /// Adds a sample of `watts`. A sample that is not later than the previous one replaces it.
    pub fn add(&mut self, at: Duration, watts: f64) {
        if let Some((before, watts_before)) = self.last {
            let apart = at.saturating_sub(before);
            if apart <= LONGEST_GAP {
                self.joules += apart.as_secs_f64() * watts.midpoint(watts_before);
                self.covered += apart;
            } else {
                self.missed += apart;
            }
        }
        self.last = Some((at, watts));
    }
}

/// Totals of one channel's samples.
#[derive(Clone, Copy, Debug, Default)]
struct Account {
    energy: Trapezoid,
    /// Previous sample of an energy channel.
    counter: Option<(Duration, f64)>,
    /// Latest value in watts or °C.
    latest: Option<f64>,
}

impl Account {
    fn count(&mut self, at: Duration, joules: f64) {
        let before = self.counter.replace((at, joules));
        let Some((before, joules_before)) = before.filter(|before| at > before.0) else {
            return;
        };
        let apart = at - before;
        let used = joules - joules_before;
        // A falling counter has been reset, and its value at the reset is unknown.
        if used < 0.0 {
            self.energy.missed += apart;
            return;
        }
        self.energy.joules += used;
        self.energy.covered += apart;
        self.latest = Some(used / apart.as_secs_f64());
    }
}

/// Totals of a meter's samples, by channel.
#[derive(Clone, Debug)]
pub struct Tally {
    channels: Vec<Channel>,
    accounts: Vec<Account>,
}

impl Tally {
    /// Empty totals.
    pub fn new(channels: &[Channel]) -> Self {
        Self {
            channels: channels.to_vec(),
            accounts: vec![Account::default(); channels.len()],
        }
    }

    /// Adds a sample of one channel.
    pub fn add(&mut self, sample: &Sample) {
        let Sample { channel, at, value } = *sample;
        let account = &mut self.accounts[channel];
        match self.channels[channel].quantity {
            Quantity::Joules => account.count(at, value),
            Quantity::Watts => {
                account.energy.add(at, value);
                account.latest = Some(value);
            }
            Quantity::Celsius => account.latest = Some(value),
        }
    }

    fn by_channel<T>(&self, figure: impl Fn(Quantity, &Account) -> Option<T>) -> BTreeMap<String, T> {
        let both = self.channels.iter().zip(&self.accounts);
        both.filter_map(|(channel, account)| Some((channel.name.clone(), figure(channel.quantity, account)?)))
            .collect()
    }

    /// Energy in joules by channel.
    pub fn joules(&self) -> BTreeMap<String, f64> {
        self.by_channel(|quantity, account| (quantity != Quantity::Celsius).then_some(account.energy.joules))
    }

    /// Temperatures in °C by channel.
    pub fn celsius(&self) -> BTreeMap<String, f64> {
        self.by_channel(|quantity, account| account.latest.filter(|_| quantity == Quantity::Celsius))
    }

    fn counted(&self) -> impl Iterator<Item = &Account> {
        let both = self.channels.iter().zip(&self.accounts);
        both.filter_map(|(channel, account)| channel.counted.then_some(account))
    }

    /// Energy in joules of all channels that are part of the sum.
    pub fn counted_joules(&self) -> Option<f64> {
        let energies = self.counted().map(|account| account.energy);
        energies.map(|energy| energy.joules).reduce(|sum, more| sum + more)
    }

    /// Current power of all channels that are part of the sum; `None` before there are enough samples.
    pub fn watts_now(&self) -> Option<f64> {
        sum(self.counted().map(|account| account.latest))
    }

    /// Mean power over the covered time, of all channels that are part of the sum; `None` if one of them covers no
    /// time.
    pub fn mean_watts(&self) -> Option<f64> {
        sum(self.counted().map(|account| {
            let seconds = account.energy.covered.as_secs_f64();
            (seconds > 0.0).then(|| account.energy.joules / seconds)
        }))
    }

    /// Longest time missed by any channel that is part of the sum.
    pub fn missed(&self) -> Duration {
        self.counted()
            .map(|account| account.energy.missed)
            .max()
            .unwrap_or_default()
    }
}

/// Sum of the values; `None` if there are no values, or if one of them is `None`.
fn sum(values: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    let all: Option<Vec<f64>> = values.collect();
    all?.into_iter().reduce(|sum, more| sum + more)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn integral(samples: impl IntoIterator<Item = (u64, f64)>) -> Trapezoid {
        let mut sum = Trapezoid::default();
        for (ms, watts) in samples {
            sum.add(Duration::from_millis(ms), watts);
        }
        sum
    }

    #[test]
    fn constant_power_is_energy_in_proportion_to_time() {
        let sum = integral((0..=100).map(|tenth| (100 * tenth, 2.5)));
        assert!((sum.joules - 25.0).abs() < 1e-9, "{sum:?}");
        assert_eq!((sum.covered, sum.missed), (Duration::from_secs(10), Duration::ZERO));
    }

    #[test]
    fn a_ramp_is_integrated_exactly_however_irregular_the_samples() {
        let times = [0, 3, 50, 51, 420, 900, 910, 1399, 1500, 2000];
        let sum = integral(times.map(|ms| (ms, 1.0 + ms as f64 / 1000.0)));
        assert!((sum.joules - 4.0).abs() < 1e-9, "from 1 W to 3 W in 2 s: {sum:?}");
    }

    #[test]
    fn a_sine_comes_out_within_a_thousandth_at_ten_samples_a_second() {
        let wave = |ms: u64| 3.0 + (ms as f64 / 1000.0 * std::f64::consts::TAU / 2.0).sin();
        let sum = integral((0..=40).map(|tenth| (100 * tenth, wave(100 * tenth))));
        assert!((sum.joules / 12.0 - 1.0).abs() < 1e-3, "two whole periods: {sum:?}");
    }

    #[test]
    fn a_gap_is_reported_and_not_bridged() {
        let sum = integral([(0, 4.0), (500, 4.0), (1001, 4.0), (1101, 4.0)]);
        assert_eq!(sum.missed, Duration::from_millis(501));
        assert_eq!(sum.covered, Duration::from_millis(600));
        assert!((sum.joules - 2.4).abs() < 1e-9, "{sum:?}");
    }

    #[test]
    fn channels_within_others_do_not_count_twice() {
        let channel = |name: &str, quantity, counted| Channel {
            name: name.to_owned(),
            quantity,
            counted,
        };
        let channels = [
            channel("package", Quantity::Joules, true),
            channel("core", Quantity::Joules, false),
            channel("board", Quantity::Watts, true),
            channel("chip", Quantity::Celsius, false),
        ];
        let mut tally = Tally::new(&channels);
        assert_eq!((tally.mean_watts(), tally.watts_now()), (None, None));
        for (tenth, values) in [[100.0, 50.0, 2.0, 40.0], [101.0, 50.5, 2.0, 41.0]].iter().enumerate() {
            for (channel, &value) in values.iter().enumerate() {
                let at = Duration::from_millis(100 * tenth as u64);
                tally.add(&Sample { channel, at, value });
            }
        }
        assert!((tally.mean_watts().unwrap() - 12.0).abs() < 1e-9, "{tally:?}");
        assert!((tally.counted_joules().unwrap() - 1.2).abs() < 1e-9, "{tally:?}");
        assert_eq!(tally.joules().len(), 3);
        assert_eq!(tally.celsius(), BTreeMap::from([("chip".to_owned(), 41.0)]));
    }

    #[test]
    fn a_counter_that_begins_anew_is_missed_and_not_negative() {
        let channel = Channel {
            name: "energy1".to_owned(),
            quantity: Quantity::Joules,
            counted: true,
        };
        let mut tally = Tally::new(&[channel]);
        for (at, value) in [(0, 10.0), (1, 12.0), (2, 1.0), (3, 2.0)] {
            let at = Duration::from_secs(at);
            tally.add(&Sample { channel: 0, at, value });
        }
        assert_eq!(tally.counted_joules(), Some(3.0));
        assert_eq!(
            (tally.missed(), tally.mean_watts()),
            (Duration::from_secs(1), Some(1.5))
        );
    }
}
