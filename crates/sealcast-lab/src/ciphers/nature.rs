//! Properties of a cipher's design: block or stream.

/// The units that a cipher works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Nature {
    /// Description.
    pub(crate) form: &'static str,
    /// Bytes per application of its core; for ciphers that produce single bits, the smallest amount available.
    pub(crate) block_bytes: usize,
}

/// The properties of a cipher by its name. An unknown name belongs to a foreign cipher, which is taken to produce
/// single bytes.
pub(crate) fn of(cipher: &str) -> Nature {
    let (form, block_bytes) = match cipher {
        "trivium" | "grain-v1" | "grain-128a" | "mickey-v1" | "mickey-v2" => ("stream of bits", 1),
        "hc-128" => ("stream of words", 4),
        "rabbit" | "sosemanuk" => ("stream of words", 16),
        "salsa20" | "chacha20" => ("stream of blocks", 64),
        "chacha20-poly1305" => ("stream of blocks, tag", 64),
        "aes-128-ctr" => ("block cipher as a stream", 16),
        "aes-128-gcm" | "aes-256-gcm" => ("block cipher as a stream, tag", 16),
        "aegis-128l" => ("stream of blocks, tag", 32),
        "aegis-128x4" => ("stream of blocks, tag", 128),
        "ascon-aead128" => ("sponge, tag", 16),
        "rc4" | "xor" => ("stream of bytes", 1),
        _ => ("not known, taken by bytes", 1),
    };
    Nature { form, block_bytes }
}
