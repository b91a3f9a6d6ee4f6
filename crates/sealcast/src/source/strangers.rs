//! Packets that a source did not take because of whom they are.

use std::ops::AddAssign;

/// Packets at the ports of a source that count for nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Strangers {
    /// From another address than the only one that counts.
    pub address: u64,
    /// No RTP.
    pub format: u64,
    /// Of another source (SSRC) than the one that counts, while both send.
    pub source: u64,
}

impl AddAssign for Strangers {
    fn add_assign(&mut self, more: Self) {
        self.address += more.address;
        self.format += more.format;
        self.source += more.source;
    }
}
