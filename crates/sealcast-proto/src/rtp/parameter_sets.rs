//! Parameter sets in the description of a track.

use data_encoding::{BASE64_NOPAD, BASE64URL_NOPAD};

use super::Format;
use super::bounds::MAX_SETS;
use crate::unit::find_start_code;

/// The NAL units in the lists of these parameters, in their order. What is no Base64 is left out, and so are the start
/// codes that some cameras put into it.
pub(super) fn parameter_sets(format: &Format, names: &[&str]) -> Vec<Vec<u8>> {
    let words = names.iter().filter_map(|name| format.parameter(name));
    let words = words.flat_map(|list| list.trim_matches('"').split(','));
    let mut sets = Vec::new();
    for set in words.filter_map(decoded) {
        let mut rest = Some(&set[..]);
        while let Some(part) = rest {
            let next = find_start_code(part, 0);
            let unit = &part[..next.unwrap_or(part.len())];
            let length = unit.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
            if length > 0 && sets.len() < MAX_SETS {
                sets.push(unit[..length].to_vec());
            }
            rest = next.map(|at| &part[at + 3..]);
        }
    }
    sets
}

/// A word of Base64, with or without padding and in either alphabet.
fn decoded(word: &str) -> Option<Vec<u8>> {
    let word = word.trim().trim_end_matches('=').as_bytes();
    BASE64_NOPAD.decode(word).or_else(|_| BASE64URL_NOPAD.decode(word)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sets(parameters: &str) -> Vec<Vec<u8>> {
        let format = Format {
            parameters: parameters.to_owned(),
            ..Format::default()
        };
        parameter_sets(&format, &["sprop-sps", "sprop-pps"])
    }

    #[test]
    fn parameter_sets_come_in_the_order_of_their_names() {
        let pair = vec![vec![0x67, 0x42], vec![0x68, 0xce]];
        assert_eq!(sets("sprop-pps=aM4=; SPROP-SPS=Z0I="), pair);
        assert_eq!(sets("sprop-sps=Z0I=,aM4="), pair, "a list");
        assert_eq!(sets("sprop-sps=\"Z0I,aM4\""), pair, "in quotes, without padding");
        assert_eq!(sets("sprop-sps=AAAAAWdCAAAAAWjO"), pair, "start codes");
        assert_eq!(sets("sprop-sps=Z0I=,!,aM4=,,"), pair, "words that are no Base64");
        assert_eq!(
            sets("sprop-sps=-_8;sprop-pps="),
            vec![vec![0xfb, 0xff]],
            "the other alphabet"
        );
        assert_eq!(sets("sprop-sps"), Vec::<Vec<u8>>::new());
    }

    #[test]
    fn a_description_has_a_bounded_number_of_them() {
        let many = format!("sprop-sps={}", "Z0I=,".repeat(1000));
        assert_eq!(sets(&many).len(), MAX_SETS);
    }
}
