//! Wiping of tables.

use zeroize::optimization_barrier;

/// Overwrites a value with secrets by one without. An array's own `zeroize` writes element by element, which for
/// tables of some KiB takes a substantial part of a packet's time.
#[inline(always)]
pub(crate) fn wipe<T>(secret: &mut T, nothing: T) {
    *secret = nothing;
    optimization_barrier(secret);
}
