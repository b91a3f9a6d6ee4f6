//! Passes over blocks of transform coefficients in CAVLC (ITU-T H.264, clauses 7.3.5.3.2 and 9.2).

use super::Refusal;
use super::bits::BitReader;
use super::tables::{Token, chroma_dc_token, chroma_dc_zeros, coeff_token, run_before, total_zeros};

/// Longest `level_prefix`. Pictures with 8 bits per sample have at most 15; one more for each bit of a sample and for
/// escapes, up to 14 bits (clause 9.2.2.1).
const MAX_PREFIX: u32 = 25;

/// Passes over a block of up to `most` coefficients, 15 or 16, whose neighbours have `expected`. Returns the number of
/// coefficients that are not 0.
#[inline]
pub(super) fn block(bits: &mut BitReader<'_>, expected: u8, most: u8) -> Result<u8, Refusal> {
    let token = coeff_token(bits.peek(), expected);
    let total = begin(bits, token, most)?;
    if total == 0 {
        return Ok(0);
    }
    levels(bits, token)?;
    let mut zeros = 0;
    if total < most {
        let (length, value) = total_zeros(bits.peek(), total.into());
        zeros = take(bits, length, value, most - total)?;
    }
    runs(bits, total, zeros)?;
    Ok(total)
}

/// Passes over the chroma DC coefficients of 4:2:0. Returns the number of those that are not 0.
#[inline]
pub(super) fn chroma_dc(bits: &mut BitReader<'_>) -> Result<u8, Refusal> {
    let token = chroma_dc_token(bits.peek());
    let total = begin(bits, token, 4)?;
    if total == 0 {
        return Ok(0);
    }
    levels(bits, token)?;
    let mut zeros = 0;
    if total < 4 {
        let (length, value) = chroma_dc_zeros(bits.peek(), total.into());
        zeros = take(bits, length, value, 4 - total)?;
    }
    runs(bits, total, zeros)?;
    Ok(total)
}

#[inline]
fn begin(bits: &mut BitReader<'_>, token: Token, most: u8) -> Result<u8, Refusal> {
    take(bits, token.length, token.total, most)
}

/// Skips a code. Fails if there is none or its value is too high.
#[inline]
fn take(bits: &mut BitReader<'_>, length: u8, value: u8, most: u8) -> Result<u8, Refusal> {
    if length == 0 || value > most {
        return Err(Refusal::Broken);
    }
    bits.skip(length.into());
    Ok(value)
}

/// Passes over the signs of the trailing ones and the levels of the other coefficients. The length of each code depends
/// on the magnitude of the level before it.
#[inline]
fn levels(bits: &mut BitReader<'_>, token: Token) -> Result<(), Refusal> {
    bits.skip(token.ones.into());
    let mut suffix_length = u32::from(token.total > 10 && token.ones < 3);
    for index in token.ones..token.total {
        let prefix = bits.peek().leading_zeros();
        if prefix > MAX_PREFIX {
            return Err(Refusal::Broken);
        }
        bits.skip(prefix as usize + 1);
        let suffix_size = match prefix {
            14 if suffix_length == 0 => 4,
            15.. => prefix - 3,
            _ => suffix_length,
        };
        let mut code = (prefix.min(15) << suffix_length) + bits.read(suffix_size as usize);
        if prefix >= 15 && suffix_length == 0 {
            code += 15;
        }
        if prefix >= 16 {
            code += (1 << (prefix - 3)) - 4096;
        }
        if index == token.ones && token.ones < 3 {
            code += 2;
        }
        let magnitude = code / 2 + 1;
        suffix_length = suffix_length.max(1);
        if magnitude > 3 << (suffix_length - 1) && suffix_length < 6 {
            suffix_length += 1;
        }
    }
    Ok(())
}

/// Passes over the runs of zeros before the coefficients.
#[inline]
fn runs(bits: &mut BitReader<'_>, total: u8, zeros: u8) -> Result<(), Refusal> {
    let mut left = zeros;
    for _ in 1..total {
        if left == 0 {
            break;
        }
        let (length, run) = run_before(bits.peek(), left.into());
        left -= take(bits, length, run, left)?;
    }
    Ok(())
}
