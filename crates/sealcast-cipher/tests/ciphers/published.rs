//! Every kernel against the published values of its cipher.

use std::collections::BTreeSet;

use data_encoding::HEXUPPER;
use sealcast_cipher::{IMPLEMENTATIONS, Implementation, PUBLISHED};

fn keystream(implementation: &Implementation, key: &str, iv: &str, from: usize, bytes: usize) -> String {
    let [key, iv] = [key, iv].map(|hex| HEXUPPER.decode(hex.as_bytes()).expect("hexadecimal digits"));
    let mut stream = vec![0; from + bytes];
    let study = (implementation.load)(&key).expect("a published key has a right size");
    study
        .keystream(&iv)
        .expect("a published IV has a right size")
        .xor(&mut stream);
    HEXUPPER.encode(&stream[from..])
}

#[test]
fn every_kernel_gives_the_published_keystream() {
    for implementation in IMPLEMENTATIONS.iter().filter(|one| (one.available)()) {
        let name = implementation.facts.name;
        for value in PUBLISHED.iter().filter(|value| value.cipher == name) {
            let got = keystream(implementation, value.key, value.iv, value.from, value.bytes.len() / 2);
            assert_eq!(got, value.bytes, "{value:?}, {}", implementation.kernel);
        }
    }
}

#[test]
fn every_cipher_has_published_values_here() {
    let published: BTreeSet<_> = PUBLISHED.iter().map(|value| value.cipher).collect();
    let implemented: BTreeSet<_> = IMPLEMENTATIONS.iter().map(|one| one.facts.name).collect();
    assert_eq!(published, implemented);
}
