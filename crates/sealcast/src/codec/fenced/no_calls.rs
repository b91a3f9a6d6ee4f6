//! In place of a list of system calls, where there is none for the processor: on 32-bit Arm the numbers are others, and
//! the library that compiles the list does not know that architecture.

/// There is none.
pub(super) const LISTED: bool = false;

/// False: seccomp is not in use.
pub(super) fn refuse_all_others() -> bool {
    false
}

/// False: seccomp is not in use.
pub(super) fn refuse_local_sockets() -> bool {
    false
}
