//! Directions of a link.

/// The direction of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the listening side to the side that the proxy connects to.
    Up,
    /// The opposite direction.
    Down,
}
