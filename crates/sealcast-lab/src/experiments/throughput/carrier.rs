//! The transport below.

use std::fmt;

/// Bytes of every datagram, its own headers included.
pub(crate) const DATAGRAM: usize = 1200;

/// The transport below.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Carrier {
    /// Datagrams of 1200 bytes.
    Udp,
    /// A byte stream.
    Tcp,
}

impl fmt::Display for Carrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Udp => "udp",
            Self::Tcp => "tcp",
        })
    }
}
