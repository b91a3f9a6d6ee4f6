//! Instruction sets of this processor: detected once, at run time, and represented by values that prove their
//! presence.
//!
//! A function compiled for additional instructions is safe to call only on processors that have them. Such a kernel
//! therefore keeps a proof in its key. A proof can only be obtained from [`Cpu::detect`], and vector registers only
//! with a proof.
#![allow(unsafe_code)]

use zeroize::Zeroize;

/// Proof that this processor has certain instructions.
pub trait Cpu: Copy + Zeroize {
    /// The name of kernels that use them.
    const NAME: &'static str;

    /// Detects them.
    fn detect() -> Option<Self>;

    /// Runs the task in a function compiled for these instructions. Elsewhere each of them would be a function call.
    fn run<T: Task>(self, task: T) -> T::Output;
}

/// A task for [`Cpu::run`].
pub trait Task {
    /// Its result.
    type Output;

    /// Must be `#[inline(always)]`, like all functions that it calls for each word: a separate function would be
    /// compiled for the baseline processor.
    fn run(self) -> Self::Output;
}

/// The baseline that every processor has.
impl Cpu for () {
    const NAME: &'static str = "words";

    fn detect() -> Option<Self> {
        Some(())
    }

    #[inline(never)]
    fn run<T: Task>(self, task: T) -> T::Output {
        task.run()
    }
}

/// A proof for x86-64 features, whose names are listed only once for `cpufeatures` and the compiler.
#[cfg(target_arch = "x86_64")]
macro_rules! features {
    ($(#[$doc:meta])* $visible:vis $cpu:ident, $name:ident: $($feature:tt),+) => {
        cpufeatures::new!($name, $($feature),+);

        $(#[$doc])*
        #[derive(Clone, Copy)]
        $visible struct $cpu(());

        impl Cpu for $cpu {
            const NAME: &'static str = stringify!($name);

            fn detect() -> Option<Self> {
                $name::get().then_some(Self(()))
            }

            fn run<T: Task>(self, task: T) -> T::Output {
                $(#[target_feature(enable = $feature)])+
                #[inline(never)]
                fn compiled<T: Task>(task: T) -> T::Output {
                    task.run()
                }
                // SAFETY: `self` proves that the processor has these instructions.
                unsafe { compiled(task) }
            }
        }

        /// A proof is not secret, so wiping a key leaves it unchanged.
        impl Zeroize for $cpu {
            fn zeroize(&mut self) {}
        }
    };
}

#[cfg(target_arch = "x86_64")]
features! {
    /// Proof that this processor and its operating system support AVX2.
    pub Avx2, avx2: "avx2"
}

#[cfg(target_arch = "x86_64")]
features! {
    /// Proof of AVX-512 as in Ice Lake, Zen 4 and later: F, BW, DQ, VL, VBMI and VBMI2, and GFNI.
    pub Avx512, avx512: "avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512vbmi", "avx512vbmi2", "gfni"
}

#[cfg(target_arch = "x86_64")]
features! {
    /// Proof of SHA extensions and SSSE3.
    pub(crate) Sha, sha: "sha", "ssse3"
}

/// Proof that this processor has NEON, as every aarch64 processor with a floating-point unit does.
#[cfg(target_arch = "aarch64")]
#[derive(Clone, Copy)]
pub struct Neon(());

#[cfg(target_arch = "aarch64")]
impl Cpu for Neon {
    const NAME: &'static str = "neon";

    fn detect() -> Option<Self> {
        cfg!(target_feature = "neon").then_some(Self(()))
    }

    #[inline(never)]
    fn run<T: Task>(self, task: T) -> T::Output {
        task.run()
    }
}

/// A proof is not secret, as on x86-64.
#[cfg(target_arch = "aarch64")]
impl Zeroize for Neon {
    fn zeroize(&mut self) {}
}
