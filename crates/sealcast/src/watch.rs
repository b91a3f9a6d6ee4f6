//! Descriptors that the runtime watches.

use std::io;
use std::os::fd::AsRawFd;

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Have the runtime watch a descriptor for one thing alone. A socket for datagrams that is watched for room as well as
/// for what comes wakes its task after every datagram that left, which costs as much as the datagram did.
#[allow(
    deprecated,
    reason = "the successor is `unsafe` for owners that may change their descriptor, which none of ours does"
)]
pub(crate) fn watch_for<T: AsRawFd>(owner: T, interest: Interest) -> io::Result<AsyncFd<T>> {
    AsyncFd::with_interest(owner, interest)
}
