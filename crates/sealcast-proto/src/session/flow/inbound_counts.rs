//! Counters of the viewer's half.

/// Counters of what arrived, for the meters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InboundCounts {
    /// Source records that arrived by themselves or were sent again.
    pub sources: u64,
    /// Repair records.
    pub repairs: u64,
    /// Source records recovered from repair records.
    pub recovered: u64,
    /// Numbers asked for.
    pub asked: u64,
    /// Blocks given up.
    pub given_up: u64,
    /// Records that arrived when they were no longer needed.
    pub late: u64,
    /// Second copies of records: those asked for or recovered whose original arrived after all, and the end of the
    /// stream, which the sender repeats when it gets no report.
    pub duplicates: u64,
    /// Source records with their payload in clear, recovered ones included, but for proofs, which always are.
    pub in_clear: u64,
}
