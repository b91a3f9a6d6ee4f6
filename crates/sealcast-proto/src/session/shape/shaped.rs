//! The state of a session's cells.

use std::time::Duration;

use super::reader::CellReader;
use super::writer::CellWriter;
use crate::wire::CellPlan;

/// A session's cells.
pub(in crate::session) struct Shaped {
    /// This end's cells; a viewer has none before the announcement.
    pub(super) writer: Option<CellWriter>,
    pub(super) reader: CellReader,
    /// A cell of the peer was opened: from here on it sends nothing else.
    pub(super) peer_sends_cells: bool,
    /// The announcement: what a publisher repeats, and a viewer accepts again.
    pub(super) announced: Option<[CellPlan; 2]>,
    pub(super) announce_at: Duration,
    /// Bytes that the carrier has not taken yet.
    pub(super) held: usize,
}
