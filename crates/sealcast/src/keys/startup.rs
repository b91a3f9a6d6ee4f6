//! The first use of the cryptographic libraries in a process.
//!
//! It takes tens of milliseconds, where later uses take some hundredths of one: AWS-LC seeds its generator from the
//! jitter of the processor, `/dev/hwrng` is read where there is one, and pages of the libraries come from disk. Done at
//! the start of the program, it delays no handshake and is no part of what a handshake is said to take.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use sealcast_proto::keys::Identity;

use super::{entropy, mechanism};

/// Uses the libraries once, if nobody has done so in this process by this function, and returns how long that took.
pub fn libraries() -> Duration {
    static TOOK: OnceLock<Duration> = OnceLock::new();
    *TOOK.get_or_init(|| {
        let began = Instant::now();
        touch();
        began.elapsed()
    })
}

/// A draw of random bytes, a signature, and an exchange of keys with each default mechanism. Failures are those of the
/// first handshake, which reports them.
fn touch() {
    let Ok(seed) = entropy::random::<32>() else { return };
    let identity = Identity::from_seed(&seed);
    std::hint::black_box(identity.peer_id());
    for mechanism in mechanism::DEFAULT.iter().filter_map(|name| mechanism::by_name(name)) {
        let Ok(key) = mechanism.generate() else { return };
        if let Ok((ciphertext, _)) = mechanism.encapsulate(key.share()) {
            let _ = key.decapsulate(&ciphertext);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_use_is_timed_once_in_a_process() {
        let first = libraries();
        assert!(first > Duration::ZERO);
        assert_eq!(libraries(), first);
    }
}
