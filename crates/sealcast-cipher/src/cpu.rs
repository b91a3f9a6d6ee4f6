//! What this processor can execute: found out once, at run time, and kept as values that prove it.
//!
//! A function compiled for more instructions than every processor has is safe to call only where these are. So a kernel
//! made of them keeps a proof in its key or in its vectors, and there is no way to a proof but through `detect`.

use zeroize::Zeroize;

cpufeatures::new!(avx2, "avx2");
cpufeatures::new!(sha, "sha", "ssse3");
cpufeatures::new!(
    avx512,
    "avx512f",
    "avx512bw",
    "avx512dq",
    "avx512vl",
    "avx512vbmi",
    "avx512vbmi2",
    "gfni"
);

/// Proof that this processor and its operating system have AVX2.
#[derive(Clone, Copy)]
pub struct Avx2(());

impl Avx2 {
    pub(crate) fn detect() -> Option<Self> {
        avx2::get().then_some(Self(()))
    }
}

/// Proof that they have AVX-512 as it is since Ice Lake and Zen 4: F, BW, DQ, VL, VBMI and VBMI2, and GFNI.
#[derive(Clone, Copy)]
pub struct Avx512(());

impl Avx512 {
    pub(crate) fn detect() -> Option<Self> {
        avx512::get().then_some(Self(()))
    }
}

/// A proof is no secret: wiping a key leaves it as it is.
impl Zeroize for Avx2 {
    fn zeroize(&mut self) {}
}

/// As for [`Avx2`].
impl Zeroize for Avx512 {
    fn zeroize(&mut self) {}
}

/// Proof that they have SHA extensions and SSSE3.
#[derive(Clone, Copy)]
pub(crate) struct Sha(());

impl Sha {
    pub(crate) fn detect() -> Option<Self> {
        sha::get().then_some(Self(()))
    }
}

/// As for [`Avx2`].
impl Zeroize for Sha {
    fn zeroize(&mut self) {}
}
