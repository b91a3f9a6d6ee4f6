//! Properties of a cipher that do not depend on a key: name, valid sizes, publication.

use core::fmt;

/// Name and valid sizes of a cipher, common to all its kernels.
#[derive(Debug)]
pub struct Facts {
    /// Lower case, as in files of test vectors: `grain-128a`.
    pub name: &'static str,
    /// Valid key sizes in bytes.
    pub key_bytes: Sizes,
    /// Valid IV sizes in bytes; exactly 0 if the cipher has none.
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

/// A set of sizes in bytes: an arithmetic sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// The smallest.
    pub least: usize,
    /// The largest.
    pub most: usize,
    /// The difference between neighbours, at least 1.
    pub step: usize,
}

impl Sizes {
    pub(crate) const fn exactly(bytes: usize) -> Self {
        Self::steps(bytes, bytes, 1)
    }

    pub(crate) const fn steps(least: usize, most: usize, step: usize) -> Self {
        Self { least, most, step }
    }

    /// True if the size is in the set.
    #[must_use]
    pub fn contains(self, bytes: usize) -> bool {
        (self.least..=self.most).contains(&bytes) && (bytes - self.least).is_multiple_of(self.step)
    }

    /// All sizes in ascending order.
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

/// The reason why a cipher refuses its input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The cipher has no keys or IVs of this size.
    Size {
        /// [`Facts::name`].
        cipher: &'static str,
        /// `key` or `IV`.
        input: &'static str,
        /// The valid sizes.
        allowed: Sizes,
        /// The given size in bytes.
        given: usize,
    },
    /// This machine lacks instructions that the kernel uses.
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
