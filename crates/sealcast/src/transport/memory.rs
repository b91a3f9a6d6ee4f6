//! The in-memory sibling of TCP.

use tokio::io::DuplexStream;

use super::StreamTransport;

/// Two carriers joined in memory, each direction holding at most `capacity` bytes.
pub fn memory_pair(capacity: usize) -> (StreamTransport<DuplexStream>, StreamTransport<DuplexStream>) {
    let (left, right) = tokio::io::duplex(capacity);
    (StreamTransport::new(left), StreamTransport::new(right))
}
