//! Randomness: the operating system's generator, mixed with `/dev/hwrng` if it exists (PI-1).
//!
//! The hardware generator may take long or never answer, so a thread of its own reads it, at the start and each minute,
//! into a pool. A draw mixes fresh bytes of the operating system with the pool, and never waits for the device.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

use aws_lc_rs::rand::{SecureRandom, SystemRandom};
use sealcast_proto::keys::{Identity, Secret};
use serde::Serialize;
use zeroize::Zeroizing;

use crate::failure::{Failure, FailureKind, Result};

const HARDWARE: &str = "/dev/hwrng";
/// File in which Linux names the generator that stands behind it.
const CURRENT: &str = "/sys/class/misc/hw_random/rng_current";
/// Interval between reads of the hardware generator.
const RESEED: Duration = Duration::from_secs(60);
/// Maximum time that the first draw waits for the first bytes of the hardware generator.
const FIRST_PATIENCE: Duration = Duration::from_millis(500);

/// Returns `N` random bytes, at most 64. Mixing cannot weaken the result: it is as good as the better of the two
/// sources.
///
/// # Errors
/// The operating system's generator failed. There is no fallback.
pub fn random<const N: usize>() -> Result<[u8; N]> {
    let mut system = Zeroizing::new([0; 64]);
    SystemRandom::new().fill(system.as_mut()).map_err(|_| {
        let what = "the operating system's random number generator failed";
        Failure::new(
            FailureKind::Internal,
            what,
            "check that /dev/urandom and getrandom(2) are available",
        )
    })?;
    let mut out = [0; N];
    pool().draw(&system, &mut out);
    Ok(out)
}

/// Creates a new identity.
///
/// # Errors
/// As [`random`].
pub fn identity() -> Result<Identity> {
    Ok(Identity::from_seed(&Zeroizing::new(random::<32>()?)))
}

/// State of the hardware generator. Without it, random bytes are those of the operating system alone, which are good
/// enough: the kernel has its own use of such generators.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "kebab-case")]
pub enum Hardware {
    /// This machine has none: there is no `/dev/hwrng`.
    #[default]
    Absent,
    /// It works, and its bytes are mixed in.
    Mixed {
        /// The kernel's name of the generator; `None` if it tells none.
        source: Option<String>,
    },
    /// It cannot be read, so nothing of it is mixed in.
    Failed {
        /// Reason that the system gives.
        why: String,
    },
    /// It can be opened and has not given anything yet.
    Silent,
}

impl Hardware {
    /// In words, for people.
    pub fn in_words(&self) -> String {
        match self {
            Self::Absent => format!("there is no {HARDWARE}"),
            Self::Mixed { source: Some(source) } => format!("{HARDWARE} ({source}) works and is mixed in"),
            Self::Mixed { source: None } => format!("{HARDWARE} works and is mixed in"),
            Self::Failed { why } => format!("{HARDWARE} is not mixed in: {why}"),
            Self::Silent => format!("{HARDWARE} is not mixed in: it gave nothing within {FIRST_PATIENCE:?}"),
        }
    }
}

/// State of the hardware generator for this process. The first call waits a moment for it.
pub fn hardware() -> Hardware {
    pool().hardware(&std::fs::read_to_string(CURRENT).unwrap_or_default())
}

/// The program's pool. The first call starts the thread, and waits a moment for its first bytes.
fn pool() -> &'static Pool {
    static POOL: OnceLock<Arc<Pool>> = OnceLock::new();
    POOL.get_or_init(|| Pool::start(Path::new(HARDWARE)))
}

/// Pool of the hardware generator's random bytes so far, as a key.
#[derive(Default)]
struct Pool {
    state: Mutex<State>,
    seeded: Condvar,
}

#[derive(Default)]
struct State {
    /// Replaced by each draw, so that who reads it later cannot compute what was drawn before.
    key: Zeroizing<[u8; 32]>,
    /// Number of reads of the hardware generator that were mixed in.
    seeds: u64,
    /// Reason why nothing can be read from the hardware generator; `None` while it was not tried, after a success, and
    /// where there is none.
    failed: Option<String>,
    /// There is a hardware generator.
    exists: bool,
}

impl Pool {
    fn start(device: &Path) -> Arc<Self> {
        let pool = Arc::new(Self::default());
        if !device.exists() {
            return pool;
        }
        pool.state().exists = true;
        let (feeder, device) = (Arc::clone(&pool), PathBuf::from(device));
        let started = thread::Builder::new()
            .name("hwrng".to_owned())
            .spawn(move || feeder.feed(&device));
        if let Err(error) = started {
            tracing::warn!("{HARDWARE} is not used: its thread could not be started ({error})");
            pool.state().failed = Some(format!("its thread could not be started ({error})"));
            return pool;
        }
        let waits = |state: &mut State| state.seeds == 0 && state.failed.is_none();
        drop(pool.seeded.wait_timeout_while(pool.state(), FIRST_PATIENCE, waits));
        pool
    }

    /// Mixes in the hardware generator's bytes for ever. It may block where it reads.
    fn feed(&self, device: &Path) -> ! {
        loop {
            match read(device) {
                Ok(bytes) => self.seed(&bytes),
                Err(error) => {
                    tracing::debug!("{HARDWARE} gave nothing, and is tried again in a minute: {error}");
                    self.state().failed = Some(error.to_string());
                    self.seeded.notify_all();
                }
            }
            thread::sleep(RESEED);
        }
    }

    fn seed(&self, bytes: &[u8; 32]) {
        let mut state = self.state();
        let mut key = Zeroizing::new([0; 32]);
        Secret::extract(state.key.as_ref(), bytes).expand(b"seed", &[], key.as_mut());
        state.key = key;
        state.seeds += 1;
        state.failed = None;
        self.seeded.notify_all();
    }

    /// State of the generator, with its name as the kernel says it.
    fn hardware(&self, name: &str) -> Hardware {
        let state = self.state();
        match (state.seeds, &state.failed) {
            (0, Some(why)) => Hardware::Failed { why: why.clone() },
            (0, None) if state.exists => Hardware::Silent,
            (0, None) => Hardware::Absent,
            _ => Hardware::Mixed {
                source: Some(name.trim().to_owned()).filter(|name| !name.is_empty() && name != "none"),
            },
        }
    }

    fn draw(&self, system: &[u8; 64], out: &mut [u8]) {
        let mut state = self.state();
        let secret = Secret::extract(state.key.as_ref(), system);
        let mut key = Zeroizing::new([0; 32]);
        secret.expand(b"next", &[], key.as_mut());
        state.key = key;
        drop(state);
        secret.expand(b"entropy", &[], out);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A key is replaced as a whole, so a panic in another thread does no harm.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn read(device: &Path) -> std::io::Result<Zeroizing<[u8; 32]>> {
    let mut bytes = Zeroizing::new([0; 32]);
    File::open(device)?.read_exact(bytes.as_mut())?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::process::Command;

    use super::*;

    fn draw(pool: &Pool, system: u8) -> [u8; 32] {
        let mut out = [0; 32];
        pool.draw(&[system; 64], &mut out);
        out
    }

    #[test]
    fn random_bytes_do_not_repeat() {
        let first: [u8; 32] = random().expect("the generator works");
        let second: [u8; 32] = random().expect("the generator works");
        assert_ne!(first, second);
    }

    #[test]
    fn one_good_source_is_enough_and_no_draw_repeats() {
        let (seeded, other) = (Pool::default(), Pool::default());
        seeded.seed(&[1; 32]);
        other.seed(&[2; 32]);
        let weak_system = [draw(&seeded, 0), draw(&seeded, 0), draw(&other, 0)];
        let no_hardware = [draw(&Pool::default(), 0), draw(&Pool::default(), 1)];
        let mut all = [&weak_system[..], &no_hardware].concat();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 5);
    }

    #[test]
    fn a_draw_replaces_the_key_that_it_came_from() {
        let pool = Pool::default();
        pool.seed(&[1; 32]);
        let before = *pool.state().key;
        draw(&pool, 0);
        assert_ne!(*pool.state().key, before);
    }

    #[test]
    fn a_silent_hardware_generator_is_not_waited_for_and_taken_when_it_speaks() {
        let home = tempfile::tempdir().expect("a directory");
        let device = home.path().join("hwrng");
        let made = Command::new("mkfifo").arg(&device).status().expect("mkfifo runs");
        assert!(made.success());
        // Nobody writes: opening the pipe blocks, and so would reading it.
        let pool = Pool::start(&device);
        assert_eq!(pool.hardware(""), Hardware::Silent);
        assert_ne!(draw(&pool, 0), draw(&pool, 0));
        let mut pipe = std::fs::OpenOptions::new().write(true).open(&device).expect("a reader");
        pipe.write_all(&[7; 32]).expect("room");
        let state = pool
            .seeded
            .wait_timeout_while(pool.state(), Duration::from_secs(60), |state| state.seeds == 0)
            .expect("no panic");
        assert_eq!(state.0.seeds, 1);
        drop(state);
        let named = pool.hardware("virtio_rng.0\n");
        assert!(
            named.in_words().contains("(virtio_rng.0) works and is mixed in"),
            "{named:?}"
        );
        assert_eq!(pool.hardware("none\n"), Hardware::Mixed { source: None });
    }

    #[test]
    fn a_hardware_generator_that_cannot_be_read_is_said_to_be_left_out() {
        let folder = tempfile::tempdir().expect("a directory");
        let pool = Pool::start(folder.path());
        assert_ne!(draw(&pool, 0), draw(&pool, 0));
        let found = pool.hardware("");
        assert!(matches!(found, Hardware::Failed { .. }), "{found:?}");
        assert!(found.in_words().contains("not mixed in: "), "{}", found.in_words());
    }

    #[test]
    fn without_a_hardware_generator_the_system_is_used_alone() {
        let pool = Pool::start(Path::new("/nonexistent/hwrng"));
        assert_eq!(pool.hardware(""), Hardware::Absent);
        assert_ne!(draw(&pool, 0), draw(&pool, 1));
    }
}
