//! An in-memory transport, the counterpart of TCP.

use tokio::io::DuplexStream;

use super::StreamTransport;

/// Two transports connected in memory; each direction holds at most `capacity` bytes.
pub fn memory_pair(capacity: usize) -> (StreamTransport<DuplexStream>, StreamTransport<DuplexStream>) {
    let (left, right) = tokio::io::duplex(capacity);
    (StreamTransport::new(left), StreamTransport::new(right))
}
