//! Rounding of frame lengths, which hides exact sizes and not activity.

/// The bytes of which a length may be a multiple.
const MULTIPLES: std::ops::RangeInclusive<u32> = 16..=1 << 20;

/// Length of a frame with its padding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pad {
    /// The next multiple of this many bytes.
    Multiple(u32),
    /// The next length of Padmé (Nikitin and others, *Reducing Metadata Leakage from Encrypted Files and Communication
    /// with PURBs*, PoPETs 2019, algorithm 1): at most 12 % more, and of all lengths up to L only O(log log L) bits are
    /// told.
    Padme,
}

impl Pad {
    /// Multiples of `bytes`, 16 to 1 MiB.
    pub fn multiple(bytes: u32) -> Option<Self> {
        MULTIPLES.contains(&bytes).then_some(Self::Multiple(bytes))
    }

    /// The length to which `length` bytes are padded.
    pub fn padded(self, length: usize) -> usize {
        match self {
            Self::Multiple(bytes) => length.next_multiple_of(bytes.max(1) as usize),
            Self::Padme => match length.checked_ilog2() {
                None | Some(0) => length,
                Some(exponent) => {
                    let last_bits = exponent - (exponent.ilog2() + 1);
                    length.next_multiple_of(1 << last_bits)
                }
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn multiples_have_bounds() {
        assert_eq!(
            [15, 16, 1 << 20, (1 << 20) + 1].map(|bytes| Pad::multiple(bytes).is_some()),
            [false, true, true, false]
        );
        let pad = Pad::Multiple(1000);
        assert_eq!(
            [1, 999, 1000, 1001].map(|length| pad.padded(length)),
            [1000, 1000, 1000, 2000]
        );
    }

    /// The examples are computed by hand from the algorithm: for 9 = 1001b the exponent 3 leaves 1 bit to round.
    #[test]
    fn padme_rounds_as_published_and_adds_at_most_12_percent() {
        for (length, padded) in [
            (0, 0),
            (1, 1),
            (2, 2),
            (7, 7),
            (8, 8),
            (9, 10),
            (100, 104),
            (1_000, 1_024),
            (1_968, 1_984),
        ] {
            assert_eq!(Pad::Padme.padded(length), padded, "{length}");
        }
        for length in (1..70_000).chain((1..2_000).map(|part| part * 8_191)) {
            let padded = Pad::Padme.padded(length);
            assert!(
                padded >= length && (padded - length) * 100 <= length * 12,
                "{length}: {padded}"
            );
        }
    }
}
