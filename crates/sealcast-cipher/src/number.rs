//! Bytes read as one number.

/// At most 16 bytes, least significant first.
#[inline(always)]
pub(crate) fn little_endian(bytes: &[u8]) -> u128 {
    let (words, rest) = bytes.as_chunks::<4>();
    let rest = rest
        .iter()
        .rev()
        .fold(0, |number, &byte| number << 8 | u128::from(byte));
    words.iter().rev().fold(rest, |number, &word| {
        number << 32 | u128::from(u32::from_le_bytes(word))
    })
}

/// At most 16 bytes, most significant first.
#[inline(always)]
pub(crate) fn big_endian(bytes: &[u8]) -> u128 {
    let (words, rest) = bytes.as_chunks::<4>();
    let number = words
        .iter()
        .fold(0, |number, &word| number << 32 | u128::from(u32::from_be_bytes(word)));
    rest.iter().fold(number, |number, &byte| number << 8 | u128::from(byte))
}

/// The first `N` little-endian words of the bytes.
pub(crate) fn words<const N: usize>(bytes: &[u8]) -> [u32; N] {
    let (words, _) = bytes.as_chunks::<4>();
    core::array::from_fn(|i| u32::from_le_bytes(words[i]))
}
