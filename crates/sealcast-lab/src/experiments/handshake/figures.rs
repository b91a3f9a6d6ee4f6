//! The figures of a turn's handshakes.

use std::time::Duration;

use sealcast::meter::statistics::{deviation, mean, quantile};

use super::columns::{CURVE, POINTS};
use super::ends::{Cost, Handshake};
use crate::experiments::energy::Energy;
use crate::harness::Sample;

/// The values of one kind in ms, in ascending order.
fn millis(made: &[Handshake], of: impl Fn(&Handshake) -> Duration) -> Vec<f64> {
    let mut values: Vec<f64> = made.iter().map(|one| of(one).as_secs_f64() * 1e3).collect();
    values.sort_by(f64::total_cmp);
    values
}

/// The sample of a turn.
pub(super) fn sample(made: &[Handshake]) -> Sample {
    let wall = millis(made, |one| one.initiator.wall);
    let keygen = millis(made, |one| one.keygen);
    let cpu = [|one: &Handshake| one.initiator.cpu, |one: &Handshake| one.responder.cpu];
    let [initiator, responder] = cpu.map(|cpu| mean(&millis(made, cpu)));
    let bytes = |of: fn(&Cost) -> usize| mean_count(made, of);
    let (sent, received) = (bytes(|cost| cost.sent), bytes(|cost| cost.received));
    let points = (0..POINTS).map(|point| quantile(&wall, point as f64 / (POINTS - 1) as f64));
    Sample::default()
        .with("handshakes", made.len() as f64)
        .with("duration_ms", mean(&wall))
        .with("duration_sd_ms", deviation(&wall))
        .with("duration_p50_ms", quantile(&wall, 0.5))
        .with("duration_p95_ms", quantile(&wall, 0.95))
        .with("responder_ms", mean(&millis(made, |one| one.responder.wall)))
        .with("initiator_cpu_ms", initiator)
        .with("responder_cpu_ms", responder)
        .with("cpu_ms", initiator + responder)
        .with("cpu_percent", initiator / mean(&wall) * 100.0)
        .with("sent_bytes", sent)
        .with("received_bytes", received)
        .with("bytes", sent + received)
        // Each message that the initiator receives answers one that it sent.
        .with("round_trips", bytes(|cost| cost.messages))
        .with("keygen_ms", mean(&keygen))
        .with("keygen_p95_ms", quantile(&keygen, 0.95))
        .with_series(CURVE, points.collect())
}

fn mean_count(made: &[Handshake], of: fn(&Cost) -> usize) -> f64 {
    let all: Vec<f64> = made.iter().map(|one| of(&one.initiator) as f64).collect();
    mean(&all)
}

/// Adds the energy of `handshakes` with their key pairs, and of `keys` key pairs alone.
pub(super) fn with_energy(sample: Sample, all: (Energy, usize), keys: (Energy, usize)) -> Sample {
    let each = |(energy, count): (Energy, usize)| energy.joules / count as f64 * 1e3;
    sample
        .with("mj_per_handshake", each(all))
        .with("mj_per_keygen", each(keys))
        .with("joules", all.0.joules)
        .with("energy_seconds", all.0.seconds)
        .with("idle_watts", all.0.idle_watts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn handshake(millis: u64) -> Handshake {
        let cost = |wall: u64, cpu: u64, sent, received| Cost {
            wall: Duration::from_millis(wall),
            cpu: Duration::from_millis(cpu),
            sent,
            received,
            messages: 2,
        };
        Handshake {
            keygen: Duration::from_millis(7),
            initiator: cost(millis, 1, 100, 90),
            responder: cost(millis - 1, 2, 90, 100),
        }
    }

    #[test]
    fn figures_are_those_of_the_turns_handshakes() {
        let sample = sample(&[handshake(4), handshake(2), handshake(6), handshake(8)]);
        for (name, value) in [
            ("handshakes", 4.0),
            ("duration_ms", 5.0),
            ("duration_p50_ms", 4.0),
            ("duration_p95_ms", 8.0),
            ("responder_ms", 4.0),
            ("initiator_cpu_ms", 1.0),
            ("responder_cpu_ms", 2.0),
            ("cpu_ms", 3.0),
            ("cpu_percent", 20.0),
            ("bytes", 190.0),
            ("round_trips", 2.0),
            ("keygen_ms", 7.0),
        ] {
            let found = sample.value(name).expect(name);
            assert!((found - value).abs() < 1e-9, "{name}: {found}");
        }
        let deviation = sample.value("duration_sd_ms").expect("four values");
        assert!((deviation - (20.0_f64 / 3.0).sqrt()).abs() < 1e-9, "{deviation}");
        let curve = &sample.series[CURVE];
        assert!(curve.len() == POINTS && curve.is_sorted() && (curve[0], curve[POINTS - 1]) == (2.0, 8.0));
    }

    #[test]
    fn one_handshake_has_no_deviation() {
        assert_eq!(sample(&[handshake(4)]).value("duration_sd_ms"), None);
    }

    #[test]
    fn energy_is_that_of_one_handshake_and_of_one_key_pair() {
        let energy = |joules| Energy {
            joules,
            seconds: 1.0,
            idle_watts: 2.0,
        };
        let sample = with_energy(Sample::default(), (energy(3.0), 1000), (energy(1.0), 500));
        assert_eq!(
            ["mj_per_handshake", "mj_per_keygen", "idle_watts"].map(|name| sample.value(name)),
            [Some(3.0), Some(2.0), Some(2.0)]
        );
    }
}
