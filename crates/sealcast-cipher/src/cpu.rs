//! What this processor can execute: found out once, at run time, and kept as values that prove it.
//!
//! A function compiled for more instructions than every processor has is safe to call only where these are. So a kernel
//! made of them keeps a proof in its key, and there is no way to a proof but through [`Cpu::detect`], nor to a register
//! but with a proof.
#![allow(unsafe_code)]

use zeroize::Zeroize;

/// Proof that this processor has some instructions.
pub trait Cpu: Copy + Zeroize {
    /// As kernels made of them are called.
    const NAME: &'static str;

    /// Asks the processor.
    fn detect() -> Option<Self>;

    /// Does the work in a function of its own that is compiled for these instructions. Elsewhere each of them would be
    /// a call.
    fn run<T: Task>(self, task: T) -> T::Output;
}

/// Work for [`Cpu::run`].
pub trait Task {
    /// What comes of it.
    type Output;

    /// Has to be `#[inline(always)]`, like all that it calls for each word: a function of its own would be compiled for
    /// every processor.
    fn run(self) -> Self::Output;
}

/// What every processor has.
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

/// A proof for features of x86-64, whose names stand once each for `cpufeatures` and for the compiler.
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

        /// A proof is no secret: wiping a key leaves it as it is.
        impl Zeroize for $cpu {
            fn zeroize(&mut self) {}
        }
    };
}

#[cfg(target_arch = "x86_64")]
features! {
    /// Proof that this processor and its operating system have AVX2.
    pub Avx2, avx2: "avx2"
}

#[cfg(target_arch = "x86_64")]
features! {
    /// Proof that they have AVX-512 as it is since Ice Lake and Zen 4: F, BW, DQ, VL, VBMI and VBMI2, and GFNI.
    pub Avx512, avx512: "avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512vbmi", "avx512vbmi2", "gfni"
}

#[cfg(target_arch = "x86_64")]
features! {
    /// Proof that they have SHA extensions and SSSE3.
    pub(crate) Sha, sha: "sha", "ssse3"
}

/// Proof that this processor has NEON: every one of aarch64 with a floating-point unit does.
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

/// As for those of x86-64.
#[cfg(target_arch = "aarch64")]
impl Zeroize for Neon {
    fn zeroize(&mut self) {}
}
