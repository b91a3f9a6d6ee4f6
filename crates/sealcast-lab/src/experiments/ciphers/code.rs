//! Code size of each cipher in the running program.

use std::collections::HashMap;

use object::{Object, ObjectSymbol, SymbolKind};

/// Submodules of a cipher that belong to another kernel or another mode of it.
const KERNELS: [&str; 10] = [
    "definition",
    "words",
    "lanes",
    "abreast",
    "sha",
    "avx2",
    "avx512",
    "neon",
    "x86_64",
    "authenticated",
];

/// Libraries whose functions can be identified by name, and a part of names that excludes them.
const LIBRARIES: [(&str, &[&str], &str); 2] = [
    ("ascon-aead128", &["ascon_aead::", "ascon_core::"], "rng"),
    ("chacha20", &["chacha20::"], "rng"),
];

/// The program's functions and constants, by their names in the source.
pub(super) struct Code {
    /// Name and size in bytes.
    symbols: Vec<(String, u64)>,
}

impl Code {
    /// The symbols of the running program. `None` if it is stripped or not an ELF file.
    pub(super) fn of_this_program() -> Option<Self> {
        let bytes = std::fs::read("/proc/self/exe").ok()?;
        let program = object::File::parse(&*bytes).ok()?;
        let named = program.symbols().filter_map(|symbol| {
            let counts = matches!(symbol.kind(), SymbolKind::Text | SymbolKind::Data) && symbol.size() > 0;
            let name = rustc_demangle::demangle(symbol.name().ok()?);
            counts.then(|| (symbol.address(), (format!("{name:#}"), symbol.size())))
        });
        // Two names for the same address are one function.
        let at: HashMap<u64, (String, u64)> = named.collect();
        let symbols: Vec<_> = at.into_values().collect();
        (!symbols.is_empty()).then_some(Self { symbols })
    }

    /// Bytes of one implementation: the symbols with its name, and those shared by all implementations of its cipher.
    /// `None` if they cannot be identified.
    pub(super) fn bytes_of(&self, cipher: &str, implementation: &str) -> Option<u64> {
        if let Some((_, prefixes, other)) = LIBRARIES.iter().find(|(name, ..)| *name == cipher) {
            let own = |name: &str| prefixes.iter().any(|prefix| name.contains(prefix)) && !name.contains(other);
            return some(self.sum(own));
        }
        // All versions of a cipher are in one module.
        let module = cipher.trim_end_matches("-v2").replace('-', "_");
        let module = if module == "mickey_v1" {
            "mickey".to_owned()
        } else {
            module
        };
        let path = format!("sealcast_cipher::{module}::");
        let part = |name: &str| {
            let (_, rest) = name.split_once(&path)?;
            let part = rest
                .split(|letter: char| !letter.is_alphanumeric() && letter != '_')
                .next()?;
            Some(part.to_lowercase())
        };
        let own = some(self.sum(|name| part(name).as_deref() == Some(implementation)))?;
        let shared = self.sum(|name| part(name).is_some_and(|part| !KERNELS.contains(&part.as_str())));
        Some(own + shared)
    }

    fn sum(&self, counts: impl Fn(&str) -> bool) -> u64 {
        let own = self.symbols.iter().filter(|(name, _)| counts(name));
        own.map(|(_, bytes)| bytes).sum()
    }
}

fn some(bytes: u64) -> Option<u64> {
    (bytes > 0).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_has_its_own_functions_and_the_shared_ones_and_not_its_siblings() {
        let symbols = [
            (
                "<sealcast_cipher::rabbit::avx2::X as sealcast_cipher::cipher::Kernel>::start",
                1000,
            ),
            (
                "sealcast_cipher::rabbit::avx512::<impl A for sealcast_cipher::rabbit::avx2::Y>::start",
                200,
            ),
            ("sealcast_cipher::rabbit::next", 30),
            (
                "<sealcast_cipher::rc4::Definition as sealcast_cipher::cipher::Kernel>::step",
                4,
            ),
            ("sealcast_cipher::mickey::words::clock", 5),
            ("sealcast_cipher::cipher::Keystream<K>::xor", 7),
        ];
        let code = Code {
            symbols: symbols.map(|(name, bytes)| (name.to_owned(), bytes)).to_vec(),
        };
        assert_eq!(code.bytes_of("rabbit", "avx2"), Some(1030));
        assert_eq!(code.bytes_of("rabbit", "avx512"), Some(230));
        assert_eq!(code.bytes_of("rc4", "definition"), Some(4));
        assert_eq!(code.bytes_of("mickey-v2", "words"), Some(5));
        assert_eq!(code.bytes_of("mickey-v1", "words"), Some(5));
        assert_eq!(code.bytes_of("rabbit", "words"), None);
        assert_eq!(code.bytes_of("aes-128-gcm", "aws-lc-rs"), None);
    }

    #[test]
    fn this_program_has_trivium_in_it() {
        // This call keeps the linker from dropping the ciphers.
        crate::ciphers::implementation::all();
        let code = Code::of_this_program().expect("tests are not stripped");
        let bytes = code.bytes_of("trivium", "words").expect("its functions have names");
        assert!((100..100_000).contains(&bytes), "{bytes}");
    }
}
