//! All kernels of all ciphers by name, without generics, for programs that select one at run time.

use crate::cipher::{Cipher, Kernel, Keystream, Packet};
use crate::sizes::{Facts, Refused};
use crate::{grain_128a, grain_v1, hc_128, mickey, rabbit, rc4, salsa20, sosemanuk, trivium, xor};

/// One kernel of one cipher.
pub struct Implementation {
    /// Properties of the cipher.
    pub facts: &'static Facts,
    /// The name of the kernel.
    pub kernel: &'static str,
    /// Size of a loaded key in bytes.
    pub key_state_bytes: usize,
    /// Size of a running keystream in bytes, with the rest of its last block.
    pub state_bytes: usize,
    /// As [`Kernel::available`].
    pub available: fn() -> bool,
    /// As [`Cipher::new`].
    pub load: fn(key: &[u8]) -> Result<Study, Refused>,
    /// Addresses of the functions in which the kernel's code begins: to load a key, to start a keystream, and to
    /// encipher a batch. Whoever counts code begins there, since compilers leave few other functions with a name.
    pub entries: fn() -> [usize; 3],
}

/// The kernels of the named cipher that this machine supports: the definition first, the fastest last. Empty if there
/// is no such cipher.
pub fn implementations_of(cipher: &str) -> impl Iterator<Item = &'static Implementation> {
    IMPLEMENTATIONS
        .iter()
        .filter(move |one| one.facts.name == cipher && (one.available)())
}

const fn implementation<K: Kernel>(load: fn(&[u8]) -> Result<Study, Refused>) -> Implementation {
    Implementation {
        facts: K::FACTS,
        kernel: K::NAME,
        key_state_bytes: size_of::<Cipher<K>>(),
        state_bytes: size_of::<Keystream<K>>(),
        available: K::available,
        load,
        entries: entries::<K>,
    }
}

fn entries<K: Kernel>() -> [usize; 3] {
    let (new, keystream, batch) = (Cipher::<K>::new, Cipher::<K>::keystream, Cipher::<K>::xor_batch);
    [new as *const (), keystream as *const (), batch as *const ()].map(<*const ()>::addr)
}

macro_rules! studies {
    ($($(#[$when:meta])? $name:ident: $kernel:ty,)*) => {
        /// All kernels, including those not available here: ciphers in alphabetical order, each with its definition
        /// first and its fastest kernel last.
        pub const IMPLEMENTATIONS: &[Implementation] = &[
            $($(#[$when])? implementation::<$kernel>(|key| {
                Cipher::new(key).map(|cipher| Study(Keyed::$name(cipher)))
            }),)*
        ];

        #[allow(clippy::large_enum_variant, reason = "RC4's permutation has no other place to be")]
        enum Keyed {
            $($(#[$when])? $name(Cipher<$kernel>),)*
        }

        #[allow(clippy::large_enum_variant, reason = "HC-128's tables have no other place to be")]
        enum Running {
            $($(#[$when])? $name(Keystream<$kernel>),)*
        }

        impl Study {
            /// As [`Cipher::keystream`].
            ///
            /// # Errors
            /// The cipher has no IVs of this size.
            pub fn keystream(&self, iv: &[u8]) -> Result<StudyKeystream, Refused> {
                match &self.0 {
                    $($(#[$when])? Keyed::$name(cipher) => {
                        // Constructed in place: each further move would copy room for HC-128's tables.
                        cipher.keystream(iv).map(|keystream| StudyKeystream(Running::$name(keystream)))
                    })*
                }
            }

            /// As [`Cipher::xor_batch`].
            ///
            /// # Errors
            /// An IV has an invalid size; then no packet was changed.
            pub fn xor_batch(&self, packets: &mut [Packet<'_>]) -> Result<(), Refused> {
                match &self.0 {
                    $($(#[$when])? Keyed::$name(cipher) => cipher.xor_batch(packets),)*
                }
            }
        }

        impl StudyKeystream {
            /// As [`Keystream::xor`].
            pub fn xor(&mut self, data: &mut [u8]) {
                match &mut self.0 {
                    $($(#[$when])? Running::$name(keystream) => keystream.xor(data),)*
                }
            }
        }
    };
}

/// Any cipher with its key loaded. Made by [`Implementation::load`].
pub struct Study(Keyed);

/// The keystream of any cipher with one key and one IV.
pub struct StudyKeystream(Running);

studies! {
    Grain128aDefinition: grain_128a::Definition,
    Grain128aWords: grain_128a::Words,
    #[cfg(target_arch = "x86_64")]
    Grain128aAvx2: grain_128a::Avx2,
    #[cfg(target_arch = "x86_64")]
    Grain128aAvx512: grain_128a::Avx512,
    #[cfg(target_arch = "aarch64")]
    Grain128aNeon: grain_128a::Neon,
    GrainV1Definition: grain_v1::Definition,
    GrainV1Words: grain_v1::Words,
    #[cfg(target_arch = "x86_64")]
    GrainV1Avx2: grain_v1::Avx2,
    #[cfg(target_arch = "x86_64")]
    GrainV1Avx512: grain_v1::Avx512,
    #[cfg(target_arch = "aarch64")]
    GrainV1Neon: grain_v1::Neon,
    Hc128Definition: hc_128::Definition,
    Hc128Words: hc_128::Words,
    #[cfg(target_arch = "x86_64")]
    Hc128Sha: hc_128::Sha,
    MickeyV1Definition: mickey::Definition<mickey::V1>,
    MickeyV1Words: mickey::Words<mickey::V1>,
    #[cfg(target_arch = "x86_64")]
    MickeyV1Avx2: mickey::Avx2<mickey::V1>,
    #[cfg(target_arch = "x86_64")]
    MickeyV1Avx512: mickey::Avx512<mickey::V1>,
    #[cfg(target_arch = "aarch64")]
    MickeyV1Neon: mickey::Neon<mickey::V1>,
    MickeyV2Definition: mickey::Definition<mickey::V2>,
    MickeyV2Words: mickey::Words<mickey::V2>,
    #[cfg(target_arch = "x86_64")]
    MickeyV2Avx2: mickey::Avx2<mickey::V2>,
    #[cfg(target_arch = "x86_64")]
    MickeyV2Avx512: mickey::Avx512<mickey::V2>,
    #[cfg(target_arch = "aarch64")]
    MickeyV2Neon: mickey::Neon<mickey::V2>,
    RabbitDefinition: rabbit::Definition,
    #[cfg(target_arch = "x86_64")]
    RabbitAvx2: rabbit::Avx2,
    #[cfg(target_arch = "x86_64")]
    RabbitAvx512: rabbit::Avx512,
    #[cfg(target_arch = "aarch64")]
    RabbitNeon: rabbit::Neon,
    Rc4Definition: rc4::Definition,
    Rc4Words: rc4::Words,
    #[cfg(target_arch = "x86_64")]
    Rc4X86: rc4::X86_64,
    Salsa20Definition: salsa20::Definition,
    #[cfg(target_arch = "x86_64")]
    Salsa20Avx2: salsa20::Avx2,
    #[cfg(target_arch = "x86_64")]
    Salsa20Avx512: salsa20::Avx512,
    #[cfg(target_arch = "aarch64")]
    Salsa20Neon: salsa20::Neon,
    SosemanukDefinition: sosemanuk::Definition,
    SosemanukWords: sosemanuk::Words,
    #[cfg(target_arch = "x86_64")]
    SosemanukAvx2: sosemanuk::Avx2,
    #[cfg(target_arch = "x86_64")]
    SosemanukAvx512: sosemanuk::Avx512,
    #[cfg(target_arch = "aarch64")]
    SosemanukNeon: sosemanuk::Neon,
    TriviumDefinition: trivium::Definition,
    TriviumWords: trivium::Words,
    #[cfg(target_arch = "x86_64")]
    TriviumAvx2: trivium::Avx2,
    #[cfg(target_arch = "x86_64")]
    TriviumAvx512: trivium::Avx512,
    #[cfg(target_arch = "aarch64")]
    TriviumNeon: trivium::Neon,
    XorDefinition: xor::Definition,
}
