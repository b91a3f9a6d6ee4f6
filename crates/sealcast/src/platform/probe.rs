//! Measured sealing speed of each suite on this machine. Only a measurement shows that the processor's AES
//! instructions are in use, and not merely present.

use std::time::{Duration, Instant};

use aws_lc_rs::aead::{AES_128_GCM, AES_256_GCM, Aad, Algorithm, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};
use serde::{Deserialize, Serialize};

use crate::meter::resources::thread_cpu_time;

/// Time spent on measuring each suite.
pub const PROBE_TIME: Duration = Duration::from_millis(20);

/// Length of a sealed message in bytes: that of a frame, so that the cost per byte dominates.
pub const PROBE_MESSAGE: usize = 16 * 1024;

/// Number of slices of a measurement; the median of them counts, so that one interruption does not affect the result.
const SLICES: usize = 5;

/// Above this ratio to ChaCha20-Poly1305, AES-GCM must run in hardware: there it is several times as fast, in
/// software much slower.
const HARDWARE_RATIO: f64 = 1.5;

/// Sealing speed of a suite.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SuiteSpeed {
    /// Name of the suite.
    pub suite: String,
    /// Gigabytes (10⁹ bytes) per second of processor time, sealing messages of [`PROBE_MESSAGE`] bytes in place. What
    /// else the machine does in the meantime takes wall time alone.
    pub gigabytes_per_second: f64,
}

/// AES implementation that the cryptography library uses, inferred from its speed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AesInUse {
    /// The processor's instructions.
    Hardware,
    /// A software implementation.
    Software,
    /// The speeds needed for an answer are missing.
    Unknown,
}

impl AesInUse {
    /// Compares AES-128-GCM with ChaCha20-Poly1305, which needs no special instructions.
    pub fn judge(speeds: &[SuiteSpeed]) -> Self {
        let speed = |name: &str| {
            speeds
                .iter()
                .find(|speed| speed.suite == name)
                .map(|s| s.gigabytes_per_second)
        };
        match (speed("aes-128-gcm"), speed("chacha20-poly1305")) {
            (Some(aes), Some(chacha)) if aes > chacha * HARDWARE_RATIO => Self::Hardware,
            (Some(_), Some(_)) => Self::Software,
            _ => Self::Unknown,
        }
    }
}

/// Measures `seal` on messages of [`PROBE_MESSAGE`] bytes for about `time`, in GB/s.
pub fn measure(suite: &str, time: Duration, mut seal: impl FnMut(&mut [u8])) -> SuiteSpeed {
    let mut message = vec![0x5a; PROBE_MESSAGE];
    // The first calls are slower: caches are cold, and the library detects the processor's features.
    (0..8).for_each(|_| seal(&mut message));
    let mut slices: Vec<f64> = (0..SLICES)
        .map(|_| {
            let (start, used) = (Instant::now(), thread_cpu_time());
            let mut messages = 0u32;
            loop {
                seal(&mut message);
                messages += 1;
                // Reading the processor time costs a part of a message, so it is read at the end alone.
                if start.elapsed() >= time / SLICES as u32 {
                    let spent = thread_cpu_time() - used;
                    return f64::from(messages) * PROBE_MESSAGE as f64 / spent.as_secs_f64() / 1e9;
                }
            }
        })
        .collect();
    slices.sort_unstable_by(f64::total_cmp);
    SuiteSpeed {
        suite: suite.to_owned(),
        gigabytes_per_second: slices[SLICES / 2],
    }
}

/// Measures the suites of the cryptography library, each for [`PROBE_TIME`]. Suites that the library refuses are left
/// out.
pub fn measure_library_suites() -> Vec<SuiteSpeed> {
    let suites: [(&str, &'static Algorithm); 3] = [
        ("aes-128-gcm", &AES_128_GCM),
        ("aes-256-gcm", &AES_256_GCM),
        ("chacha20-poly1305", &CHACHA20_POLY1305),
    ];
    suites
        .into_iter()
        .filter_map(|(name, algorithm)| measure_algorithm(name, algorithm))
        .collect()
}

fn measure_algorithm(name: &str, algorithm: &'static Algorithm) -> Option<SuiteSpeed> {
    // A constant key is fine: nothing sealed here leaves the program.
    let key = LessSafeKey::new(UnboundKey::new(algorithm, &[0x17; 32][..algorithm.key_len()]).ok()?);
    let mut counter = 0u32;
    let mut refused = false;
    let speed = measure(name, PROBE_TIME, |message| {
        let mut nonce = [0; 12];
        nonce[8..].copy_from_slice(&counter.to_be_bytes());
        counter = counter.wrapping_add(1);
        let nonce = Nonce::assume_unique_for_key(nonce);
        refused |= key.seal_in_place_separate_tag(nonce, Aad::empty(), message).is_err();
    });
    (!refused).then_some(speed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn speeds(aes: f64, chacha: f64) -> Vec<SuiteSpeed> {
        let speed = |suite: &str, gigabytes_per_second| SuiteSpeed {
            suite: suite.to_owned(),
            gigabytes_per_second,
        };
        vec![speed("aes-128-gcm", aes), speed("chacha20-poly1305", chacha)]
    }

    #[test]
    fn hardware_is_told_from_software_by_the_ratio_of_speeds() {
        assert_eq!(AesInUse::judge(&speeds(11.0, 1.5)), AesInUse::Hardware);
        assert_eq!(AesInUse::judge(&speeds(0.3, 1.5)), AesInUse::Software);
        assert_eq!(AesInUse::judge(&speeds(11.0, 1.5)[..1]), AesInUse::Unknown);
    }

    #[test]
    fn every_suite_of_the_library_is_measured() {
        let speeds = measure_library_suites();
        assert_eq!(speeds.len(), 3);
        for speed in &speeds {
            assert!(speed.gigabytes_per_second > 0.001, "{speed:?}");
        }
    }

    #[test]
    fn a_measurement_takes_its_time_and_ends() {
        let start = Instant::now();
        let speed = measure("copy", Duration::from_millis(20), |message| message.fill(1));
        assert!(speed.gigabytes_per_second > 0.0);
        assert!(start.elapsed() >= Duration::from_millis(20));
    }
}
