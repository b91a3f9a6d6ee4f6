//! The variable-length codes of CAVLC (ITU-T H.264, clause 9.2), as the standard lists them, and made into tables that
//! are read by the next bits. A code is a length in bits and a value; length 0 means that there is none.

/// Length and value of a code.
type Code = (u8, u8);

/// Table 9-5, columns 0 to 2: `coeff_token` by the number of coefficients and of trailing ones.
const COEFF_TOKEN: [[[Code; 4]; 17]; 3] = [
    [
        [(1, 1), (0, 0), (0, 0), (0, 0)],
        [(6, 5), (2, 1), (0, 0), (0, 0)],
        [(8, 7), (6, 4), (3, 1), (0, 0)],
        [(9, 7), (8, 6), (7, 5), (5, 3)],
        [(10, 7), (9, 6), (8, 5), (6, 3)],
        [(11, 7), (10, 6), (9, 5), (7, 4)],
        [(13, 15), (11, 6), (10, 5), (8, 4)],
        [(13, 11), (13, 14), (11, 5), (9, 4)],
        [(13, 8), (13, 10), (13, 13), (10, 4)],
        [(14, 15), (14, 14), (13, 9), (11, 4)],
        [(14, 11), (14, 10), (14, 13), (13, 12)],
        [(15, 15), (15, 14), (14, 9), (14, 12)],
        [(15, 11), (15, 10), (15, 13), (14, 8)],
        [(16, 15), (15, 1), (15, 9), (15, 12)],
        [(16, 11), (16, 14), (16, 13), (15, 8)],
        [(16, 7), (16, 10), (16, 9), (16, 12)],
        [(16, 4), (16, 6), (16, 5), (16, 8)],
    ],
    [
        [(2, 3), (0, 0), (0, 0), (0, 0)],
        [(6, 11), (2, 2), (0, 0), (0, 0)],
        [(6, 7), (5, 7), (3, 3), (0, 0)],
        [(7, 7), (6, 10), (6, 9), (4, 5)],
        [(8, 7), (6, 6), (6, 5), (4, 4)],
        [(8, 4), (7, 6), (7, 5), (5, 6)],
        [(9, 7), (8, 6), (8, 5), (6, 8)],
        [(11, 15), (9, 6), (9, 5), (6, 4)],
        [(11, 11), (11, 14), (11, 13), (7, 4)],
        [(12, 15), (11, 10), (11, 9), (9, 4)],
        [(12, 11), (12, 14), (12, 13), (11, 12)],
        [(12, 8), (12, 10), (12, 9), (11, 8)],
        [(13, 15), (13, 14), (13, 13), (12, 12)],
        [(13, 11), (13, 10), (13, 9), (13, 12)],
        [(13, 7), (14, 11), (13, 6), (13, 8)],
        [(14, 9), (14, 8), (14, 10), (13, 1)],
        [(14, 7), (14, 6), (14, 5), (14, 4)],
    ],
    [
        [(4, 15), (0, 0), (0, 0), (0, 0)],
        [(6, 15), (4, 14), (0, 0), (0, 0)],
        [(6, 11), (5, 15), (4, 13), (0, 0)],
        [(6, 8), (5, 12), (5, 14), (4, 12)],
        [(7, 15), (5, 10), (5, 11), (4, 11)],
        [(7, 11), (5, 8), (5, 9), (4, 10)],
        [(7, 9), (6, 14), (6, 13), (4, 9)],
        [(7, 8), (6, 10), (6, 9), (4, 8)],
        [(8, 15), (7, 14), (7, 13), (5, 13)],
        [(8, 11), (8, 14), (7, 10), (6, 12)],
        [(9, 15), (8, 10), (8, 13), (7, 12)],
        [(9, 11), (9, 14), (8, 9), (8, 12)],
        [(9, 8), (9, 10), (9, 13), (8, 8)],
        [(10, 13), (9, 7), (9, 9), (9, 12)],
        [(10, 9), (10, 12), (10, 11), (10, 10)],
        [(10, 5), (10, 8), (10, 7), (10, 6)],
        [(10, 1), (10, 4), (10, 3), (10, 2)],
    ],
];

/// Table 9-5, the column for chroma DC of 4:2:0.
const CHROMA_DC_TOKEN: [[Code; 4]; 5] = [
    [(2, 1), (0, 0), (0, 0), (0, 0)],
    [(6, 7), (1, 1), (0, 0), (0, 0)],
    [(6, 4), (6, 6), (3, 1), (0, 0)],
    [(6, 3), (7, 3), (7, 2), (6, 5)],
    [(6, 2), (8, 3), (8, 2), (7, 0)],
];

/// Tables 9-7 and 9-8: `total_zeros` of blocks with up to 16 coefficients, by the number of coefficients less 1.
const TOTAL_ZEROS: [&[Code]; 15] = [
    &[
        (1, 1),
        (3, 3),
        (3, 2),
        (4, 3),
        (4, 2),
        (5, 3),
        (5, 2),
        (6, 3),
        (6, 2),
        (7, 3),
        (7, 2),
        (8, 3),
        (8, 2),
        (9, 3),
        (9, 2),
        (9, 1),
    ],
    &[
        (3, 7),
        (3, 6),
        (3, 5),
        (3, 4),
        (3, 3),
        (4, 5),
        (4, 4),
        (4, 3),
        (4, 2),
        (5, 3),
        (5, 2),
        (6, 3),
        (6, 2),
        (6, 1),
        (6, 0),
    ],
    &[
        (4, 5),
        (3, 7),
        (3, 6),
        (3, 5),
        (4, 4),
        (4, 3),
        (3, 4),
        (3, 3),
        (4, 2),
        (5, 3),
        (5, 2),
        (6, 1),
        (5, 1),
        (6, 0),
    ],
    &[
        (5, 3),
        (3, 7),
        (4, 5),
        (4, 4),
        (3, 6),
        (3, 5),
        (3, 4),
        (4, 3),
        (3, 3),
        (4, 2),
        (5, 2),
        (5, 1),
        (5, 0),
    ],
    &[
        (4, 5),
        (4, 4),
        (4, 3),
        (3, 7),
        (3, 6),
        (3, 5),
        (3, 4),
        (3, 3),
        (4, 2),
        (5, 1),
        (4, 1),
        (5, 0),
    ],
    &[
        (6, 1),
        (5, 1),
        (3, 7),
        (3, 6),
        (3, 5),
        (3, 4),
        (3, 3),
        (3, 2),
        (4, 1),
        (3, 1),
        (6, 0),
    ],
    &[
        (6, 1),
        (5, 1),
        (3, 5),
        (3, 4),
        (3, 3),
        (2, 3),
        (3, 2),
        (4, 1),
        (3, 1),
        (6, 0),
    ],
    &[(6, 1), (4, 1), (5, 1), (3, 3), (2, 3), (2, 2), (3, 2), (3, 1), (6, 0)],
    &[(6, 1), (6, 0), (4, 1), (2, 3), (2, 2), (3, 1), (2, 1), (5, 1)],
    &[(5, 1), (5, 0), (3, 1), (2, 3), (2, 2), (2, 1), (4, 1)],
    &[(4, 0), (4, 1), (3, 1), (3, 2), (1, 1), (3, 3)],
    &[(4, 0), (4, 1), (2, 1), (1, 1), (3, 1)],
    &[(3, 0), (3, 1), (1, 1), (2, 1)],
    &[(2, 0), (2, 1), (1, 1)],
    &[(1, 0), (1, 1)],
];

/// Table 9-9 (a): `total_zeros` of chroma DC of 4:2:0.
const CHROMA_DC_ZEROS: [&[Code]; 3] = [
    &[(1, 1), (2, 1), (3, 1), (3, 0)],
    &[(1, 1), (2, 1), (2, 0)],
    &[(1, 1), (1, 0)],
];

/// Table 9-10: `run_before` by the number of zeros left, 1 to 6. With more left see [`run_before`].
const RUN_BEFORE: [&[Code]; 6] = [
    &[(1, 1), (1, 0)],
    &[(1, 1), (2, 1), (2, 0)],
    &[(2, 3), (2, 2), (2, 1), (2, 0)],
    &[(2, 3), (2, 2), (2, 1), (3, 1), (3, 0)],
    &[(2, 3), (2, 2), (3, 3), (3, 2), (3, 1), (3, 0)],
    &[(2, 3), (3, 0), (3, 1), (3, 3), (3, 2), (3, 5), (3, 4)],
];

/// Content of a `coeff_token`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token {
    /// Length of the code in bits; 0 if there is no such code.
    pub(super) length: u8,
    /// Number of coefficients that are not 0.
    pub(super) total: u8,
    /// Number of the last ones among them that are 1 or -1, at most 3.
    pub(super) ones: u8,
}

const NO_TOKEN: Token = Token {
    length: 0,
    total: 0,
    ones: 0,
};

/// Tokens by the number of leading zeros, up to 15, and the three bits after the first one: no code has more.
static TOKENS: [[Token; 128]; 3] = [tokens(0), tokens(1), tokens(2)];
static CHROMA_TOKENS: [Token; 256] = chroma_tokens();
/// Length and number of zeros by the next nine bits.
static ZEROS: [[Code; 512]; 15] = by_bits(&TOTAL_ZEROS);
static CHROMA_ZEROS: [[Code; 8]; 3] = by_bits(&CHROMA_DC_ZEROS);
static RUNS: [[Code; 8]; 6] = by_bits(&RUN_BEFORE);

const fn tokens(column: usize) -> [Token; 128] {
    let mut out = [NO_TOKEN; 128];
    let mut total = 0;
    while total <= 16 {
        let mut ones = 0;
        while ones < 4 {
            let (length, value) = COEFF_TOKEN[column][total][ones];
            if length > 0 {
                let after = value.ilog2();
                let zeros = length as u32 - after - 1;
                let first = zeros * 8 + ((value as u32 - (1 << after)) << (3 - after));
                let mut entry = 0;
                while entry < 1 << (3 - after) {
                    out[(first + entry) as usize] = Token {
                        length,
                        total: total as u8,
                        ones: ones as u8,
                    };
                    entry += 1;
                }
            }
            ones += 1;
        }
        total += 1;
    }
    out
}

const fn chroma_tokens() -> [Token; 256] {
    let mut out = [NO_TOKEN; 256];
    let mut total = 0;
    while total <= 4 {
        let mut ones = 0;
        while ones < 4 {
            let (length, value) = CHROMA_DC_TOKEN[total][ones];
            if length > 0 {
                let mut entry = 0;
                while entry < 1 << (8 - length) {
                    out[((value as usize) << (8 - length)) + entry] = Token {
                        length,
                        total: total as u8,
                        ones: ones as u8,
                    };
                    entry += 1;
                }
            }
            ones += 1;
        }
        total += 1;
    }
    out
}

/// Tables by the next `log2(BITS)` bits: the length of the code and the index of what it says.
const fn by_bits<const BITS: usize, const TABLES: usize>(codes: &[&[Code]; TABLES]) -> [[Code; BITS]; TABLES] {
    let mut out = [[(0, 0); BITS]; TABLES];
    let mut table = 0;
    while table < TABLES {
        let mut index = 0;
        while index < codes[table].len() {
            let (length, value) = codes[table][index];
            let shift = BITS.ilog2() - length as u32;
            let mut entry = 0;
            while entry < 1 << shift {
                out[table][((value as usize) << shift) + entry] = (length, index as u8);
                entry += 1;
            }
            index += 1;
        }
        table += 1;
    }
    out
}

/// The `coeff_token` at the begin of `word`, for a block whose neighbours have `expected` coefficients: nC.
#[inline]
pub(super) fn coeff_token(word: u64, expected: u8) -> Token {
    let table = match expected {
        0 | 1 => 0,
        2 | 3 => 1,
        4..=7 => 2,
        _ => return fixed_token(word),
    };
    let zeros = word.leading_zeros();
    if zeros > 15 {
        return NO_TOKEN;
    }
    let after = (word << (zeros + 1)) >> 61;
    TOKENS[table][(zeros * 8) as usize + after as usize]
}

/// Table 9-5, the column from 8 on: six bits.
fn fixed_token(word: u64) -> Token {
    let code = (word >> 58) as u8;
    let (total, ones) = if code == 3 { (0, 0) } else { (code / 4 + 1, code % 4) };
    if ones > total {
        return NO_TOKEN;
    }
    Token { length: 6, total, ones }
}

/// The `coeff_token` of chroma DC at the begin of `word`.
#[inline]
pub(super) fn chroma_dc_token(word: u64) -> Token {
    CHROMA_TOKENS[(word >> 56) as usize]
}

/// Length and value of `total_zeros` at the begin of `word`, after `total` coefficients, 1 to 15.
#[inline]
pub(super) fn total_zeros(word: u64, total: usize) -> Code {
    ZEROS[total - 1][(word >> 55) as usize]
}

/// Length and value of `total_zeros` of chroma DC at the begin of `word`, after `total` coefficients, 1 to 3.
#[inline]
pub(super) fn chroma_dc_zeros(word: u64, total: usize) -> Code {
    CHROMA_ZEROS[total - 1][(word >> 61) as usize]
}

/// Length and value of `run_before` at the begin of `word`, with `left` zeros left, at least 1.
#[inline]
pub(super) fn run_before(word: u64, left: usize) -> Code {
    let next = (word >> 61) as usize;
    match (left, next) {
        (..=6, _) => RUNS[left - 1][next],
        (_, 1..) => (3, 7 - next as u8),
        _ => match word.leading_zeros() as u8 {
            zeros @ 3..=10 => (zeros + 1, zeros + 4),
            _ => (0, 0),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The share of all bit strings that the codes take: 2 to the power of minus their length, in 65536ths. Fails if
    /// one code begins with another.
    fn share(codes: &[Code]) -> u32 {
        let codes: Vec<Code> = codes.iter().copied().filter(|code| code.0 > 0).collect();
        for (index, (length, value)) in codes.iter().enumerate() {
            assert!(u32::from(*value) < 1 << length);
            for (other, longer) in &codes[index + 1..] {
                let (short, long) = (length.min(other), length.max(other));
                let begin = |length: u8, value: u8| u32::from(value) >> (length - short);
                assert_ne!(begin(*length, *value), begin(*other, *longer), "{short} {long}");
            }
        }
        codes.iter().map(|(length, _)| 65_536 >> length).sum()
    }

    #[test]
    fn no_code_begins_with_another_and_only_those_that_the_standard_leaves_out_are_missing() {
        // 9-5: the strings without a meaning are those with more leading zeros than any code: 15, 13 and 10.
        let tokens = COEFF_TOKEN.map(|column| share(column.as_flattened()));
        assert_eq!(tokens, [65_536 - 2, 65_536 - 8, 65_536 - 64]);
        assert_eq!(share(CHROMA_DC_TOKEN.as_flattened()), 65_536);
        for (index, codes) in TOTAL_ZEROS.iter().enumerate() {
            assert_eq!(codes.len(), 16 - index);
            let expected = if index == 0 { 65_536 - 128 } else { 65_536 };
            assert_eq!(share(codes), expected, "{index}");
        }
        for codes in CHROMA_DC_ZEROS.iter().chain(&RUN_BEFORE) {
            assert_eq!(share(codes), 65_536);
        }
    }

    #[test]
    fn what_is_read_is_the_code_that_stands_there() {
        for (column, expected) in [(0, 1), (1, 2), (2, 4)] {
            for (total, row) in COEFF_TOKEN[column].iter().enumerate() {
                for (ones, &(length, value)) in row.iter().enumerate().filter(|(_, code)| code.0 > 0) {
                    let word = u64::from(value) << (64 - length);
                    for noise in [0, u64::MAX >> length] {
                        let token = coeff_token(word | noise, expected);
                        assert_eq!(
                            (token.length, token.total.into(), token.ones.into()),
                            (length, total, ones)
                        );
                    }
                }
            }
        }
        assert_eq!(coeff_token(3 << 58, 8), Token { length: 6, ..NO_TOKEN });
        let full = Token {
            length: 6,
            total: 16,
            ones: 3,
        };
        assert_eq!(coeff_token(u64::MAX, 16), full);
        assert_eq!(coeff_token(0, 0), NO_TOKEN);
        for left in 7..=15 {
            for run in 0..=6 {
                assert_eq!(run_before((7 - run) << 61, left), (3, run as u8));
            }
            for run in 7..=14_u8 {
                assert_eq!(run_before(1 << (63 - (run - 4)), left), (run - 3, run));
            }
        }
    }
}
