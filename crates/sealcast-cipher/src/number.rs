//! Bytes read as one number.

/// At most 16 bytes, the lowest first.
pub(crate) fn little_endian(bytes: &[u8]) -> u128 {
    bytes
        .iter()
        .rev()
        .fold(0, |number, &byte| number << 8 | u128::from(byte))
}

/// At most 16 bytes, the highest first.
pub(crate) fn big_endian(bytes: &[u8]) -> u128 {
    bytes.iter().fold(0, |number, &byte| number << 8 | u128::from(byte))
}

/// The `N` little-endian words that the bytes begin with.
pub(crate) fn words<const N: usize>(bytes: &[u8]) -> [u32; N] {
    let (words, _) = bytes.as_chunks::<4>();
    core::array::from_fn(|i| u32::from_le_bytes(words[i]))
}
