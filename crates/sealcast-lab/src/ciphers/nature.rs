//! Properties of a cipher: block or stream, and what is known against it.

/// The units that a cipher works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Nature {
    /// Description.
    pub(crate) form: &'static str,
    /// Bytes per application of its core; for ciphers that produce single bits, the smallest amount available.
    pub(crate) block_bytes: usize,
}

/// The best attack that is known on a cipher with the key length that it has here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Attack {
    /// None that would be faster in practice than trying all keys.
    TryingKeys,
    /// One that is faster, in words.
    Faster(&'static str),
    /// A cipher of which nothing is known here.
    Unknown,
}

/// Attacks that are known against a cipher.
pub(crate) fn attack(cipher: &str) -> Attack {
    match cipher {
        "xor" => Attack::Faster("none is needed: the key repeats, so known bytes of a packet show it"),
        "rc4" => Attack::Faster("its keystream is biased: the same data under many keys can be read (RFC 7465)"),
        "grain-v1" | "grain-128a" => {
            Attack::Faster("fast correlation, below the number of keys (Todo and others, CRYPTO 2018)")
        }
        "mickey-v1" => {
            Attack::Faster("a time-memory trade-off (Hong and Kim, INDOCRYPT 2005), which led to MICKEY 2.0")
        }
        "trivium" | "mickey-v2" | "hc-128" | "rabbit" | "sosemanuk" | "salsa20" | "chacha20" | "chacha20-poly1305"
        | "aes-128-ctr" | "aes-128-gcm" | "aes-256-gcm" | "aegis-128l" | "aegis-128x4" | "ascon-aead128" => {
            Attack::TryingKeys
        }
        _ => Attack::Unknown,
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ciphers::catalogue;

    #[test]
    fn something_is_known_of_every_cipher_of_this_build_and_nothing_of_others() {
        for one in catalogue::all() {
            assert_ne!(attack(&one.cipher), Attack::Unknown, "{}", one.cipher);
        }
        assert_eq!(attack("my-own"), Attack::Unknown);
    }
}
