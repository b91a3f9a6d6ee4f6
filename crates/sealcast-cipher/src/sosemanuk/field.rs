//! Multiplication by α and by its inverse in GF(2^32): a shift, and a table for the byte that is shifted out.

use crate::registers::Words;

/// GF(2^8) is defined by the polynomial x^8 + x^7 + x^5 + x^3 + 1, of which β is a root.
const REDUCED: u16 = 0b1_1010_1001;

const fn times_beta(x: u8) -> u8 {
    let doubled = (x as u16) << 1;
    (if doubled > 0xFF { doubled ^ REDUCED } else { doubled }) as u8
}

/// For each byte c the word c·β^a, c·β^b, c·β^c, c·β^d, most significant byte first.
const fn table(powers: [usize; 4]) -> [u32; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut part = 0;
        while part < 4 {
            let mut product = byte as u8;
            let mut power = 0;
            while power < powers[part] {
                product = times_beta(product);
                power += 1;
            }
            table[byte] |= (product as u32) << (24 - 8 * part);
            part += 1;
        }
        byte += 1;
    }
    table
}

/// α is a root of X^4 + β^23 X^3 + β^245 X^2 + β^48 X + β^239.
pub(super) static ALPHA: [u32; 256] = table([23, 245, 48, 239]);
pub(super) static INVERSE: [u32; 256] = table([16, 39, 6, 64]);

/// Words as elements of GF(2^32).
pub(crate) trait Field: Words {
    /// Multiplies by α.
    fn times_alpha(self) -> Self;

    /// Divides by α.
    fn over_alpha(self) -> Self;
}

impl Field for u32 {
    #[inline(always)]
    fn times_alpha(self) -> Self {
        self << 8 ^ ALPHA[(self >> 24) as usize]
    }

    #[inline(always)]
    fn over_alpha(self) -> Self {
        self >> 8 ^ INVERSE[(self & 0xFF) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dividing_by_alpha_undoes_multiplying() {
        for bit in 0..32 {
            assert_eq!((1_u32 << bit).times_alpha().over_alpha(), 1 << bit);
        }
    }
}
