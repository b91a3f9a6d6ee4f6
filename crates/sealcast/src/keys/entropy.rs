//! Randomness: the operating system's generator, mixed with `/dev/hwrng` if it exists (PI-1).

use std::fs::File;
use std::io::Read;
use std::sync::{Mutex, OnceLock};

use aws_lc_rs::rand::{SecureRandom, SystemRandom};
use sealcast_proto::keys::{Identity, Secret};
use zeroize::Zeroizing;

use crate::failure::{Failure, FailureKind, Result};

const HARDWARE: &str = "/dev/hwrng";

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
    let hardware = hardware_bytes();
    let mut out = [0; N];
    Secret::extract(hardware.as_ref().map_or(&[], |bytes| &bytes[..]), system.as_ref()).expand(
        b"entropy",
        &[],
        &mut out,
    );
    Ok(out)
}

/// Creates a new identity.
///
/// # Errors
/// As [`random`].
pub fn identity() -> Result<Identity> {
    Ok(Identity::from_seed(&Zeroizing::new(random::<32>()?)))
}

/// True if a hardware generator is mixed in.
pub fn hardware_present() -> bool {
    hardware_bytes().is_some()
}

fn hardware_bytes() -> Option<Zeroizing<[u8; 32]>> {
    static DEVICE: OnceLock<Option<Mutex<File>>> = OnceLock::new();
    let device = DEVICE
        .get_or_init(|| File::open(HARDWARE).ok().map(Mutex::new))
        .as_ref()?;
    let mut bytes = Zeroizing::new([0; 32]);
    device.lock().ok()?.read_exact(bytes.as_mut()).ok()?;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    #[test]
    fn random_bytes_do_not_repeat() {
        let first: [u8; 32] = super::random().expect("the generator works");
        let second: [u8; 32] = super::random().expect("the generator works");
        assert_ne!(first, second);
    }
}
