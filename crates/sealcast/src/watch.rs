//! File descriptors watched by the runtime.

use std::io;
use std::os::fd::AsRawFd;

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Register a descriptor with the runtime for a single interest. A datagram socket watched for both reading and
/// writing wakes its task after every datagram it sends, which costs as much as sending the datagram.
#[allow(
    deprecated,
    reason = "the successor is `unsafe` for owners that may change their descriptor, which none of ours does"
)]
pub(crate) fn watch_for<T: AsRawFd>(owner: T, interest: Interest) -> io::Result<AsyncFd<T>> {
    AsyncFd::with_interest(owner, interest)
}
