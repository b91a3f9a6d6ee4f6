//! Meaning of the numbers in macroblocks (ITU-T H.264, tables 7-11, 7-13, 7-14, 7-17, 7-18 and 9-4).

/// Which lists of references predict a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lists(u8);

/// List 0.
pub(super) const L0: Lists = Lists(1);
/// List 1.
pub(super) const L1: Lists = Lists(2);
/// Both.
pub(super) const BI: Lists = Lists(3);
/// None is named: direct prediction.
pub(super) const DIRECT: Lists = Lists(0);

impl Lists {
    /// True if list `number` is among them.
    pub(super) fn has(self, number: usize) -> bool {
        self.0 >> number & 1 == 1
    }
}

/// An inter macroblock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Inter {
    /// `B_Direct_16x16`.
    Direct,
    /// One partition.
    One(Lists),
    /// Two partitions.
    Two(Lists, Lists),
    /// Four, each with a type of its own; true if none names a reference (`P_8x8ref0`).
    Four(bool),
}

/// Table 7-13: the inter macroblocks of P slices. Later numbers are intra.
pub(super) const P_TYPES: [Inter; 5] = [
    Inter::One(L0),
    Inter::Two(L0, L0),
    Inter::Two(L0, L0),
    Inter::Four(false),
    Inter::Four(true),
];

/// Table 7-14: the inter macroblocks of B slices. Later numbers are intra.
pub(super) const B_TYPES: [Inter; 23] = [
    Inter::Direct,
    Inter::One(L0),
    Inter::One(L1),
    Inter::One(BI),
    Inter::Two(L0, L0),
    Inter::Two(L0, L0),
    Inter::Two(L1, L1),
    Inter::Two(L1, L1),
    Inter::Two(L0, L1),
    Inter::Two(L0, L1),
    Inter::Two(L1, L0),
    Inter::Two(L1, L0),
    Inter::Two(L0, BI),
    Inter::Two(L0, BI),
    Inter::Two(L1, BI),
    Inter::Two(L1, BI),
    Inter::Two(BI, L0),
    Inter::Two(BI, L0),
    Inter::Two(BI, L1),
    Inter::Two(BI, L1),
    Inter::Two(BI, BI),
    Inter::Two(BI, BI),
    Inter::Four(false),
];

/// Table 7-17: lists and number of parts of the sub-macroblocks of P slices.
pub(super) const P_PARTS: [(Lists, u8); 4] = [(L0, 1), (L0, 2), (L0, 2), (L0, 4)];

/// Table 7-18: lists and number of parts of the sub-macroblocks of B slices.
pub(super) const B_PARTS: [(Lists, u8); 13] = [
    (DIRECT, 4),
    (L0, 1),
    (L1, 1),
    (BI, 1),
    (L0, 2),
    (L0, 2),
    (L1, 2),
    (L1, 2),
    (BI, 2),
    (BI, 2),
    (L0, 4),
    (L1, 4),
    (BI, 4),
];

/// Table 9-4, with chroma: `coded_block_pattern` of intra and inter macroblocks by its code number.
pub(super) const PATTERNS: [[u8; 48]; 2] = [
    [
        47, 31, 15, 0, 23, 27, 29, 30, 7, 11, 13, 14, 39, 43, 45, 46, 16, 3, 5, 10, 12, 19, 21, 26, 28, 35, 37, 42, 44,
        1, 2, 4, 8, 17, 18, 20, 24, 6, 9, 22, 25, 32, 33, 34, 36, 40, 38, 41,
    ],
    [
        0, 16, 1, 2, 4, 8, 32, 3, 5, 10, 12, 15, 47, 7, 11, 13, 14, 6, 9, 31, 35, 37, 42, 44, 33, 34, 36, 40, 39, 43,
        45, 46, 17, 18, 20, 24, 19, 21, 26, 28, 23, 27, 29, 30, 22, 25, 38, 41,
    ],
];

/// Table 9-4, without chroma.
pub(super) const GREY_PATTERNS: [[u8; 16]; 2] = [
    [15, 0, 7, 11, 13, 14, 3, 5, 10, 12, 1, 2, 4, 8, 6, 9],
    [0, 1, 2, 4, 8, 3, 5, 10, 12, 15, 7, 11, 13, 14, 6, 9],
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_has_one_code() {
        for column in PATTERNS {
            let mut sorted = column;
            sorted.sort_unstable();
            assert!(sorted.into_iter().eq(0..48));
        }
        for column in GREY_PATTERNS {
            let mut sorted = column;
            sorted.sort_unstable();
            assert!(sorted.into_iter().eq(0..16));
        }
    }
}
