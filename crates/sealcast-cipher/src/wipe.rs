//! Wiping of tables.

use zeroize::optimization_barrier;

/// Puts a value without secrets in the place of one with. An array's own `zeroize` writes element by element, which for
/// tables of some KiB takes a good part of the time that a packet does.
#[inline(always)]
pub(crate) fn wipe<T>(secret: &mut T, nothing: T) {
    *secret = nothing;
    optimization_barrier(secret);
}
