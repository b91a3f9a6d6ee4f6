//! Datagrams as they are handed out, and their counters.

use std::fmt;

/// A datagram on a channel.
#[derive(Clone, PartialEq, Eq)]
pub struct Datagram {
    /// Place of the channel in the publisher's list, from 1.
    pub channel: u8,
    /// Its bytes, 1 to [`MAX_DATAGRAM_ON_CHANNEL`](crate::wire::MAX_DATAGRAM_ON_CHANNEL).
    pub bytes: Vec<u8>,
}

impl fmt::Debug for Datagram {
    /// Shows only the length of the datagram, since it is confidential.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Datagram");
        shown.field("channel", &self.channel);
        shown.field("bytes", &self.bytes.len()).finish()
    }
}

/// Counters of a session's data channels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DataCounts {
    /// Datagrams sealed, copies left out.
    pub sent: u64,
    /// Datagrams handed out.
    pub received: u64,
    /// Dropped because they came faster than the rate, at either end.
    pub too_fast: u64,
    /// Dropped because they were empty or longer than what fits.
    pub length: u64,
    /// Received, and dropped as copies or because a newer one had been handed out.
    pub stale: u64,
    /// Never received, or too late.
    pub lost: u64,
    /// Dropped because the sender may not send on that channel.
    pub not_allowed: u64,
    /// Dropped because the key had reached its limit.
    pub no_key: u64,
}
