//! The fingerprint of a peer id: six words, which two people compare aloud (keys.md §1).

use std::sync::LazyLock;

use aws_lc_rs::digest::{Context, SHA256};
use sealcast_proto::keys::PeerId;

/// The English list of BIP 39 in its order, as a file: crates that contain it bring a second cryptographic library.
static LIST: LazyLock<Vec<&str>> = LazyLock::new(|| include_str!("words.txt").split_ascii_whitespace().collect());
/// Separates this hash from other hashes of a peer id.
const LABEL: &[u8] = b"sealcast words 1";
const WORDS: u32 = 6;
/// Bits of one word: the list has 2048.
const BITS: u32 = 11;

/// The six words of a peer, with spaces between them. They are for people who compare them aloud; a program compares
/// the whole peer id.
pub fn words_of(peer: &PeerId) -> String {
    indices(peer).map(|index| LIST[index]).join(" ")
}

fn indices(peer: &PeerId) -> [usize; WORDS as usize] {
    let mut hash = Context::new(&SHA256);
    hash.update(LABEL);
    hash.update(&peer.0);
    let hash = hash.finish();
    let bits = hash.as_ref().first_chunk().expect("a hash of SHA-256 has 32 bytes");
    let mut bits = u128::from_be_bytes(*bits);
    std::array::from_fn(|_| {
        let index = bits >> (u128::BITS - BITS);
        bits <<= BITS;
        usize::try_from(index).expect("a word has 11 bits")
    })
}

#[cfg(test)]
mod tests {
    use sealcast_testkit::vectors::{Hex, load};
    use serde::Deserialize;

    use super::*;

    #[derive(Deserialize)]
    struct File {
        words: Vec<Case>,
    }

    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Case {
        name: String,
        expect: String,
        peer_id: Hex,
        indices: [usize; WORDS as usize],
        words: String,
    }

    #[test]
    fn the_words_of_a_peer_are_the_references() {
        let cases = load::<File>("schedule").words;
        for case in &cases {
            assert_eq!(case.expect, "ok");
            let peer = PeerId(case.peer_id.array());
            assert_eq!(indices(&peer), case.indices, "{}", case.name);
            assert_eq!(words_of(&peer), case.words, "{}", case.name);
        }
        assert_eq!(cases.len(), 3);
    }

    #[test]
    fn the_list_is_that_of_bip_39() {
        // The hash of bip-0039/english.txt, in which each word has a line.
        let lines: String = LIST.iter().flat_map(|word| [word, "\n"]).collect();
        let hash = aws_lc_rs::digest::digest(&SHA256, lines.as_bytes());
        let expected = "2f5eed53a4727b4bf8880d8f3f199efc90e58503646d9ff8eff3a2ed3b24dbda";
        assert_eq!(data_encoding::HEXLOWER.encode(hash.as_ref()), expected);
    }
}
