//! Which of the processor's instructions each part of the program uses.
//!
//! The libraries choose at their first use, by the same features of the processor, and do not tell. The tables repeat
//! their rules: AWS-LC's `crypto/fipsmodule/modes/gcm.c`, `sha` and `crypto/chacha`, libaegis'
//! `aegis128x4_pick_best_implementation`. Whether AES is fast is measured besides.

use serde::Serialize;

use super::machine::CpuFeature;

/// A part, and sets of instructions, the fastest first: it uses the first set that is there as a whole.
type Rule = (&'static str, &'static [&'static [&'static str]]);

/// A part of the program, and the instructions that it uses on this machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct InUse {
    /// The part: a cipher, a hash or a codec.
    pub part: &'static str,
    /// Names as in the list of the processor's features; empty if it needs none of them here.
    pub instructions: Vec<&'static str>,
}

const X86: &[Rule] = &[
    // The wide code also asks for VBMI2, which every processor with VAES and AVX-512 has.
    (
        "AES-GCM",
        &[&["vaes", "vpclmulqdq", "avx512f"], &["aes-ni", "pclmulqdq"]],
    ),
    ("ChaCha20-Poly1305", &[&["avx2"]]),
    ("AEGIS", &[&["vaes", "avx512f"], &["vaes", "avx2"], &["aes-ni"]]),
    ("SHA-256", &[&["sha"]]),
];

const AARCH64: &[Rule] = &[
    ("AES-GCM", &[&["aes", "pmull"], &["neon"]]),
    ("ChaCha20-Poly1305", &[&["neon"]]),
    ("AEGIS", &[&["aes"]]),
    ("SHA-256", &[&["sha2"], &["neon"]]),
    ("SHA-3, in ML-KEM", &[&["sha3"]]),
    ("H.264 codec", &[&["neon"]]),
];

/// With 64-bit processors in their 32-bit mode AES and SHA-2 are there, too. libaegis has no code for that.
const ARM: &[Rule] = &[
    ("AES-GCM", &[&["aes", "pmull"], &["neon"]]),
    ("ChaCha20-Poly1305", &[&["neon"]]),
    ("SHA-256", &[&["sha2"], &["neon"]]),
    ("H.264 codec", &[&["neon"]]),
];

/// The kernels of study ciphers; only programs for the laboratory have them.
const STUDY: Rule = ("study suites", &[&["avx512f"], &["avx2"], &["neon"]]);

/// Kernels that each part uses on a machine with these features.
pub fn in_use(architecture: &str, features: &[CpuFeature]) -> Vec<InUse> {
    let rules = match architecture {
        "x86_64" | "x86" => X86,
        "aarch64" => AARCH64,
        "arm" => ARM,
        _ => &[],
    };
    let there = |name: &&str| features.iter().any(|feature| feature.name == *name && feature.detected);
    let study = cfg!(feature = "study").then_some(&STUDY);
    let chosen = |&(part, sets): &Rule| {
        let set = sets.iter().find(|set| set.iter().all(there));
        let instructions = set.map(|set| set.to_vec()).unwrap_or_default();
        InUse { part, instructions }
    };
    rules.iter().chain(study).map(chosen).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn features(names: &[(&'static str, bool)]) -> Vec<CpuFeature> {
        let feature = |&(name, detected)| CpuFeature { name, detected };
        names.iter().map(feature).collect()
    }

    fn used(architecture: &str, names: &[(&'static str, bool)], part: &str) -> Vec<&'static str> {
        let all = in_use(architecture, &features(names));
        let found = all.into_iter().find(|row| row.part == part);
        found.unwrap_or_else(|| panic!("no {part}")).instructions
    }

    #[test]
    fn the_first_set_that_is_there_as_a_whole_is_used() {
        let graviton = [
            ("neon", true),
            ("aes", true),
            ("pmull", true),
            ("sha2", true),
            ("sha3", false),
        ];
        assert_eq!(used("aarch64", &graviton, "AES-GCM"), ["aes", "pmull"]);
        assert_eq!(used("aarch64", &graviton, "SHA-256"), ["sha2"]);
        assert!(used("aarch64", &graviton, "SHA-3, in ML-KEM").is_empty());
        // A Raspberry Pi 4 has no crypto extensions.
        let pi = [
            ("neon", true),
            ("aes", false),
            ("pmull", false),
            ("sha2", false),
            ("sha3", false),
        ];
        assert_eq!(used("aarch64", &pi, "AES-GCM"), ["neon"]);
        assert!(used("aarch64", &pi, "AEGIS").is_empty());
        let half = [
            ("aes-ni", true),
            ("pclmulqdq", true),
            ("vaes", true),
            ("vpclmulqdq", true),
            ("avx512f", false),
        ];
        assert_eq!(used("x86_64", &half, "AES-GCM"), ["aes-ni", "pclmulqdq"]);
        assert_eq!(used("arm", &[("neon", true)], "H.264 codec"), ["neon"]);
        assert!(in_use("riscv64", &[]).iter().all(|row| row.instructions.is_empty()));
    }

    #[test]
    fn the_rules_name_features_that_are_detected_here() {
        let machine = crate::platform::machine::Machine::detect();
        let rules = match machine.architecture {
            "x86_64" | "x86" => X86,
            "aarch64" => AARCH64,
            "arm" => ARM,
            _ => &[],
        };
        for name in rules.iter().flat_map(|rule| rule.1.iter()).flat_map(|set| set.iter()) {
            let known = machine.cpu_features.iter().any(|feature| feature.name == *name);
            assert!(known, "{name} is not looked for on {}", machine.architecture);
        }
    }
}
