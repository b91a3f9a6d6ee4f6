//! The values of samples. Figures that the papers combine from several measurements are computed within a turn, so that
//! each round has one.

use super::alone::{Answer, Switched};
use super::measure::{SetUp, Timed};
use super::papers;
use crate::ciphers::implementation::Implementation;
use crate::ciphers::nature::{self, Attack};
use crate::ciphers::worker::FirstUse;
use crate::experiments::energy::Energy;
use crate::harness::{Estimate, Sample};

/// Properties of an implementation that belong to its set-up.
pub(super) struct About {
    key_bytes: usize,
    block_bytes: usize,
    state_bytes: Option<usize>,
    /// Years to try all keys, or why it is not safe for so long.
    safe_years: Result<f64, String>,
}

impl About {
    pub(super) fn of(one: &Implementation, guesses_per_second: f64) -> Self {
        Self {
            key_bytes: one.key_bytes,
            block_bytes: nature::of(&one.cipher).block_bytes,
            state_bytes: one.state_bytes,
            safe_years: match nature::attack(&one.cipher) {
                Attack::TryingKeys => Ok(papers::safe_years(8 * one.key_bytes, guesses_per_second)),
                Attack::Faster(how) => Err(format!("no safe time: {how}")),
                Attack::Unknown => Err("no safe time: nothing is known here of attacks on it".to_owned()),
            },
        }
    }
}

/// Set-up of algorithm, key and IV, one block, and their sum T.
pub(super) fn set_up(about: &About, set_up: &SetUp, answer: &Answer) -> Sample {
    let FirstUse { first_ns, again_ns, .. } = answer.first;
    let algorithm = (first_ns - again_ns).max(0.0);
    let t = algorithm + set_up.key_ns + set_up.block_seal_ns + set_up.block_open_ns;
    let sample = Sample::default()
        .with("key_length_bits", 8.0 * about.key_bytes as f64)
        .with_some("state_bytes", about.state_bytes.map(|bytes| bytes as f64))
        .with("first_ns", first_ns)
        .with("again_ns", again_ns)
        .with("algorithm_ns", algorithm)
        .with("key_ns", set_up.key_ns)
        .with_some("iv_ns", set_up.iv_ns)
        .with("block_bytes", about.block_bytes as f64)
        .with("block_seal_ns", set_up.block_seal_ns)
        .with("block_open_ns", set_up.block_open_ns)
        .with("t_ns", t);
    match &about.safe_years {
        Ok(years) => sample.with("safe_years", *years),
        Err(why) => sample.lacking(why.clone()),
    }
}

/// Memory growth of the process that enciphers frames with a mean of `frame_bytes`, bytes of the cipher's state, and of
/// code.
pub(super) fn memory(answer: &Answer, frame_bytes: f64, state_bytes: Option<usize>, code_bytes: Option<u64>) -> Sample {
    let [before, after] = [answer.first.rss_before_bytes, answer.first.rss_after_bytes];
    let grown = after.saturating_sub(before) as f64;
    Sample::default()
        .with("rss_before_bytes", before as f64)
        .with("rss_after_bytes", after as f64)
        .with("rss_bytes", grown)
        .with("memory_bytes", grown / frame_bytes)
        .with_some("state_bytes", state_bytes.map(|bytes| bytes as f64))
        .with_some("code_bytes", code_bytes.map(|bytes| bytes as f64))
}

/// Adds speeds. `mean_bytes` is the mean length of the load's packets; `tsc_hz` is used if the kernel counts no
/// cycles.
pub(super) fn timed(sample: Sample, timed: &Timed, mean_bytes: f64, tsc_hz: Option<f64>) -> Sample {
    let bytes = timed.bytes as f64;
    let hz = timed.core_hz.or(tsc_hz);
    let cycles = |ns: f64| hz.map(|hz| ns * hz / 1e9 / bytes);
    sample
        .with("packet_bytes", mean_bytes)
        .with("at_once", timed.packets as f64)
        .with("batch_bytes", bytes)
        .with("batch_seal_ns", timed.seal_ns)
        .with("batch_open_ns", timed.open_ns)
        .with("batch_loop_ns", timed.baseline_ns)
        .with_some("cycles_hz", hz)
        .with("mb_per_s", bytes * 1e3 / timed.seal_ns)
        .with("open_mb_per_s", bytes * 1e3 / timed.open_ns)
        .with_some("cycles_per_byte", cycles(timed.seal_ns - timed.baseline_ns))
        .with_some("loop_cycles_per_byte", cycles(timed.baseline_ns))
        .with("packets_per_s", bytes * 1e9 / timed.seal_ns / mean_bytes)
        .with("seal_ns", timed.seal_ns / bytes * mean_bytes)
        .with("open_ns", timed.open_ns / bytes * mean_bytes)
}

/// Adds energy. `worked` has the numbers of packets and bytes that were enciphered with it.
pub(super) fn energy(sample: Sample, energy: &Energy, worked: [u64; 2], mean_bytes: f64) -> Sample {
    let [packets, bytes] = worked.map(|count| count as f64);
    let joules_per_byte = energy.joules / bytes;
    sample
        .with("joules", energy.joules)
        .with("energy_seconds", energy.seconds)
        .with("idle_watts", energy.idle_watts)
        .with("energy_packets", packets)
        .with("energy_bytes", bytes)
        .with("mj_per_packet", joules_per_byte * mean_bytes * 1e3)
        .with("uj_per_byte", joules_per_byte * 1e6)
}

/// Adds throughput as in the paper, and Rank.
pub(super) fn ranked(sample: Sample) -> Sample {
    let bytes_per_s = sample.value("mb_per_s").map(|speed| speed * 1e6);
    let [code, memory] = ["code_bytes", "memory_bytes"].map(|name| sample.value(name));
    let rank = match (bytes_per_s, code, memory) {
        (Some(speed), Some(code), Some(memory)) => Some(papers::rank(speed, code, memory)),
        _ => None,
    };
    sample
        .with_some("kbit_per_s", bytes_per_s.map(|speed| speed / 125.0))
        .with_some("rank", rank)
}

/// E-Rank of all rounds: the median Rank over the mean energy of a byte, and its interval by that of the energy. `None`
/// where that interval holds 0: rounds above 0 alone would rank by chance what the meter cannot tell from idling.
pub(super) fn e_rank(samples: &[&Sample]) -> Option<Estimate> {
    let values = |name: &str| -> Vec<f64> { samples.iter().filter_map(|sample| sample.value(name)).collect() };
    let (ranks, energies) = (values("rank"), values("uj_per_byte"));
    let (rank, energy) = (Estimate::of(&ranks)?.median, Estimate::of_mean(&energies)?);
    (energies.len() > 1 && energy.low > 0.0).then(|| Estimate {
        median: papers::e_rank(rank, energy.median),
        low: papers::e_rank(rank, energy.high),
        high: papers::e_rank(rank, energy.low),
    })
}

/// Speed with and without the processor's instructions.
pub(super) fn switched(switched: &Switched) -> Sample {
    let speed = |timed: &Timed| timed.bytes as f64 * 1e3 / timed.seal_ns;
    let (on, off) = (speed(&switched.with), speed(&switched.without));
    Sample::default()
        .with("on_mb_per_s", on)
        .with("off_mb_per_s", off)
        .with("times_as_fast", on / off)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RC4 with one byte per nanosecond, 4096 bytes of additional memory, and `joules` per million bytes.
    fn rc4(joules: f64) -> Sample {
        let times = Timed {
            packets: 1,
            bytes: 1000,
            seal_ns: 1000.0,
            open_ns: 1000.0,
            baseline_ns: 500.0,
            core_hz: Some(1e9),
        };
        let first = FirstUse {
            first_ns: 300.0,
            again_ns: 100.0,
            rss_before_bytes: 0,
            rss_after_bytes: 4096,
        };
        let answer = Answer { first, timed: None };
        let drawn = Energy {
            joules,
            seconds: 1.0,
            idle_watts: 1.0,
        };
        let sample = timed(memory(&answer, 2000.0, Some(258), Some(1000)), &times, 2000.0, None);
        ranked(energy(sample, &drawn, [1000, 1_000_000], 2000.0))
    }

    #[test]
    fn e_rank_is_rank_over_the_microjoules_of_all_rounds_and_missing_where_they_may_be_none() {
        let sample = rc4(2.0);
        let value = |name: &str| sample.value(name).expect(name);
        assert_eq!((value("cycles_per_byte"), value("loop_cycles_per_byte")), (0.5, 0.5));
        assert_eq!((value("kbit_per_s"), value("packets_per_s")), (8e6, 5e5));
        assert_eq!((value("uj_per_byte"), value("mj_per_packet")), (2.0, 4.0));
        let rank = 1e9 / (1000.0 + 2.0 * 2.048);
        assert_eq!(value("state_bytes"), 258.0);
        assert!((value("rank") / rank - 1.0).abs() < 1e-12);
        let of = |joules: &[f64]| {
            let samples: Vec<Sample> = joules.iter().map(|joules| rc4(*joules)).collect();
            e_rank(&samples.iter().collect::<Vec<_>>())
        };
        let told = of(&[1.9, 2.1, 2.0, 2.0, 1.95, 2.05]).expect("energy");
        assert!((told.median / rank - 0.5).abs() < 1e-12 && told.low < told.median && told.median < told.high);
        assert_eq!(of(&[-0.1, 0.1, -0.2, 0.2, 0.1, -0.1]), None, "it may be nothing");
        assert_eq!(of(&[2.0]), None, "one round has no interval");
        assert!(rc4(-0.1).value("rank").is_some(), "which needs no energy");
    }

    #[test]
    fn t_is_set_up_of_algorithm_and_key_and_a_block_both_ways() {
        let about = About {
            key_bytes: 10,
            block_bytes: 1,
            state_bytes: None,
            safe_years: Err("no safe time: it is biased".to_owned()),
        };
        let times = SetUp {
            key_ns: 1000.0,
            iv_ns: Some(7.0),
            block_seal_ns: 30.0,
            block_open_ns: 40.0,
        };
        let first = FirstUse {
            first_ns: 900.0,
            again_ns: 400.0,
            rss_before_bytes: 0,
            rss_after_bytes: 0,
        };
        let answer = Answer { first, timed: None };
        let sample = set_up(&about, &times, &answer);
        let value = |name: &str| sample.value(name);
        assert_eq!((value("algorithm_ns"), value("t_ns")), (Some(500.0), Some(1570.0)));
        assert_eq!((value("key_length_bits"), value("iv_ns")), (Some(80.0), Some(7.0)));
        assert_eq!(value("safe_years"), None, "a faster attack is known");
        assert_eq!(sample.lacks, ["no safe time: it is biased"]);
    }
}
