//! Switching off the processor's instructions for AES and GCM.

/// The variable that the cryptography library reads when a program starts, and the value with which it does without
/// these instructions: on x86-64 AES-NI, PCLMULQDQ, VAES and VPCLMULQDQ, bits of two pairs of CPUID words, on
/// 64-bit Arm AES and PMULL.
pub(crate) const WITHOUT_AES: (&str, &str) = match cfg!(target_arch = "aarch64") {
    true => ("OPENSSL_armcap", "~0x24"),
    false => ("OPENSSL_ia32cap", "~0x200000200000000:~0x60000000000"),
};
