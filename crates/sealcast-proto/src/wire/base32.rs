//! Base32 in lower case without padding, the only accepted encoding of identifiers (protocol.md §6).

use std::sync::LazyLock;

use data_encoding::{Encoding, Specification};

static LOWER: LazyLock<Encoding> = LazyLock::new(|| {
    let mut specification = Specification::new();
    specification.symbols.push_str("abcdefghijklmnopqrstuvwxyz234567");
    specification.encoding().expect("32 distinct symbols are an encoding")
});

pub(crate) fn encode(bytes: &[u8]) -> String {
    LOWER.encode(bytes)
}

/// Decodes exactly `N` bytes. Only the canonical encoding is accepted: unused trailing bits must be zero.
pub(crate) fn decode<const N: usize>(text: &str) -> Option<[u8; N]> {
    if text.len() != (N * 8).div_ceil(5) {
        return None;
    }
    let mut bytes = zeroize::Zeroizing::new([0; N]);
    let written = LOWER.decode_mut(text.as_bytes(), bytes.as_mut()).ok()?;
    (written == N).then(|| *bytes)
}
