//! What is known of a cipher before a key is loaded: its name, the sizes it takes, where it was published.

use core::fmt;

/// What a cipher is called and takes, whichever kernel runs it.
#[derive(Debug)]
pub struct Facts {
    /// Lower case, as in the files of vectors: `grain-128a`.
    pub name: &'static str,
    /// Key sizes, in bytes.
    pub key_bytes: Sizes,
    /// IV sizes, in bytes; exactly 0 where the cipher has none.
    pub iv_bytes: Sizes,
    /// The publication that this crate follows.
    pub source: &'static str,
}

impl Facts {
    pub(crate) fn check_key(&self, key: &[u8]) -> Result<(), Refused> {
        self.check("key", self.key_bytes, key)
    }

    pub(crate) fn check_iv(&self, iv: &[u8]) -> Result<(), Refused> {
        self.check("IV", self.iv_bytes, iv)
    }

    fn check(&self, input: &'static str, allowed: Sizes, bytes: &[u8]) -> Result<(), Refused> {
        let given = bytes.len();
        if allowed.contains(given) {
            return Ok(());
        }
        Err(Refused::Size {
            cipher: self.name,
            input,
            allowed,
            given,
        })
    }
}

/// A set of sizes in bytes: from the least to the most in equal steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// The smallest.
    pub least: usize,
    /// The largest.
    pub most: usize,
    /// From one to the next, at least 1.
    pub step: usize,
}

impl Sizes {
    pub(crate) const fn exactly(bytes: usize) -> Self {
        Self::steps(bytes, bytes, 1)
    }

    pub(crate) const fn steps(least: usize, most: usize, step: usize) -> Self {
        Self { least, most, step }
    }

    /// Is it one of them?
    #[must_use]
    pub fn contains(self, bytes: usize) -> bool {
        (self.least..=self.most).contains(&bytes) && (bytes - self.least).is_multiple_of(self.step)
    }

    /// All of them, the smallest first.
    pub fn iter(self) -> impl Iterator<Item = usize> {
        (self.least..=self.most).step_by(self.step)
    }
}

impl fmt::Display for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.least == self.most {
            return write!(f, "{}", self.least);
        }
        write!(f, "{} to {}", self.least, self.most)?;
        if self.step > 1 {
            write!(f, " in steps of {}", self.step)?;
        }
        Ok(())
    }
}

/// Why a cipher does not take what it was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// A key or an IV has a size that the cipher does not have.
    Size {
        /// [`Facts::name`].
        cipher: &'static str,
        /// `key` or `IV`.
        input: &'static str,
        /// What it takes.
        allowed: Sizes,
        /// Bytes that it was given.
        given: usize,
    },
    /// This machine lacks instructions that the kernel is made of.
    Machine {
        /// [`Facts::name`].
        cipher: &'static str,
        /// [`Kernel::NAME`](crate::Kernel::NAME).
        kernel: &'static str,
    },
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Size {
                cipher,
                input,
                allowed,
                given,
            } => write!(
                f,
                "{cipher} does not take a {given}-byte {input}; give it one of {allowed} bytes"
            ),
            Self::Machine { cipher, kernel } => write!(
                f,
                "this processor lacks instructions of the {kernel} kernel of {cipher}; choose another kernel"
            ),
        }
    }
}

impl core::error::Error for Refused {}
