//! All implementations that this machine can run.

use std::hint::black_box;

use sealcast_cipher::{IMPLEMENTATIONS, Packet, Study};

use super::implementation::{Implementation, Place, measured_sizes, published};
use super::keyed::Keyed;
use super::library;

/// All implementations that this machine can run: our own by name, with each cipher's definition first, then those of
/// libraries.
pub(crate) fn all() -> Vec<Implementation> {
    let ours = IMPLEMENTATIONS.iter().filter(|one| (one.available)());
    ours.map(own).chain(library::all()).collect()
}

fn own(one: &'static sealcast_cipher::Implementation) -> Implementation {
    let (key_bytes, iv_bytes) = measured_sizes(one.facts);
    Implementation {
        cipher: one.facts.name.to_owned(),
        implementation: one.kernel.to_owned(),
        key_bytes,
        iv_bytes,
        tag_bytes: 0,
        state_bytes: Some(one.key_state_bytes + one.state_bytes),
        note: None,
        also: &[],
        entries: (one.entries)().to_vec(),
        place: Place::Here(Box::new(|key| {
            Box::new((one.load)(key).expect("the size is one of the cipher's"))
        })),
        known: published(one.facts.name).collect(),
    }
}

impl Keyed for Study {
    fn start(&self, iv: &[u8]) -> bool {
        black_box(self.keystream(iv).expect("the size is one of the cipher's"));
        true
    }

    fn seal(&self, packets: &mut [Packet<'_>]) {
        self.xor_batch(packets).expect("the sizes are the cipher's");
    }

    fn open(&self, packets: &mut [Packet<'_>]) -> bool {
        self.seal(packets);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_implementation_gives_the_published_values() {
        for implementation in all() {
            assert_eq!(implementation.verify(), Ok(()), "{}", implementation.name());
        }
    }

    #[test]
    fn one_wrong_byte_of_published_values_is_noticed() {
        for mut implementation in all() {
            let last = implementation.known.last_mut().expect("published values");
            last.key = if last.key.starts_with('0') { "10" } else { "00" };
            let longer: String = last.key.chars().cycle().take(2 * implementation.key_bytes).collect();
            last.key = Box::leak(longer.into_boxed_str());
            let wrong = implementation.verify().expect_err("another key");
            assert!(wrong.contains("other bytes"), "{}: {wrong}", implementation.name());
        }
    }
}
