//! The rows of a probe's logs. An empty cell means *not measured*.

use jiff::Timestamp;
use serde::Serialize;

use super::log_rows::{iso, row};

/// Way in which an event was found in a picture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ReadBy {
    /// By the picture's colours.
    #[default]
    Colour,
    /// By the clock for machines.
    Clock,
}

row! {
    /// An event that was seen: a line of `probe_events.csv`. Times are by the event server's clock, in ns since 1970.
    ProbeEventRow {
        /// Time when the row was made.
        #[serde(serialize_with = "iso")]
        time: Timestamp,
        /// Number of the event; empty if it was found by its colour, and the server named none of that colour.
        event: Option<u32>,
        /// Way in which it was found.
        by: ReadBy,
        /// Number of the frame in which it was first seen.
        frame: u64,
        /// When it was shown; empty if the server did not say.
        shown_ns: Option<u64>,
        /// Bound of that stamp's error, in microseconds.
        shown_uncertainty_us: Option<f64>,
        /// When the decoded picture was there.
        decoded_ns: u64,
        /// From the first to the second, in milliseconds.
        latency_ms: Option<f64>,
        /// Bound of its error: that of the stamp and that of the clocks.
        uncertainty_ms: Option<f64>,
        /// Bound of the error of the offset between the two clocks, in microseconds.
        clock_uncertainty_us: f64,
        /// Time for examining the picture, which is not part of the latency, in microseconds.
        examining_us: f64,
    }
}

row! {
    /// A frame with a picture: a line of `probe_frames.csv`.
    ProbeFrameRow {
        /// Time when the row was made.
        #[serde(serialize_with = "iso")]
        time: Timestamp,
        /// Number of the frame.
        frame: u64,
        /// Event or frame number in the clock for machines, if that could be read.
        strip_event: Option<u32>,
        /// Its time, in ns since 1970.
        strip_ns: Option<u64>,
        /// When the decoded picture was there, by the clock of the strip.
        decoded_ns: Option<u64>,
        /// From the first to the second, in milliseconds.
        latency_ms: Option<f64>,
        /// Bound of the error of the offset between the two clocks, in milliseconds.
        uncertainty_ms: Option<f64>,
        /// Clock for which the strip's is taken: `events`, the event server's; `session`, the publisher's; `same`, this
        /// machine's.
        clock: Option<&'static str>,
        /// From the capture stamp of a session to the decoded picture, in milliseconds.
        capture_latency_ms: Option<f64>,
        /// Bound of the error of the offset between its clock and ours, in milliseconds.
        capture_uncertainty_ms: Option<f64>,
        /// Share of the picture that changed its colour, if that was taken for an event.
        colour_change: Option<f64>,
        /// Time for decoding, in microseconds.
        decode_us: f64,
        /// Time between decoding and examining the picture, which is not part of the latency, in microseconds.
        queue_us: f64,
        /// Time for examining the picture, which is not part of the latency either, in microseconds.
        examining_us: f64,
    }
}

row! {
    /// Two pictures of two ways that show the same: a line of `probe_beside.csv`. Times are by this machine's clock, in
    /// ns since 1970.
    ProbeBesideRow {
        /// Time when the row was made.
        #[serde(serialize_with = "iso")]
        time: Timestamp,
        /// `control` if A is compared with itself, `beside` if with B.
        compared: &'static str,
        /// Way in which the pictures were paired: `clock`, `event`, `colour` or `content`.
        by: &'static str,
        /// Number of A's frame.
        frame_a: u64,
        /// Number of the other's.
        frame_b: u64,
        /// When A's decoded picture was there.
        decoded_a_ns: u64,
        /// When the other's was.
        decoded_b_ns: u64,
        /// From the first to the second, in milliseconds. Where the strips have different times it is less that
        /// difference.
        difference_ms: f64,
        /// The same for the arrival of the frames, before decoding, in milliseconds.
        arrival_difference_ms: f64,
        /// False if it may be another picture, and only the nearest.
        same: bool,
    }
}
