//! The rows of the CSV logs. Column names carry their units; an empty cell means *not measured*.

use jiff::Timestamp;
use serde::{Serialize, Serializer};

use super::labels::HandshakeOutcome;

/// What the stream was doing when a row was logged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// A session is being established.
    Handshake,
    /// Frames flow.
    #[default]
    Steady,
    /// A publisher without viewers, a viewer without a publisher.
    Idle,
}

/// ISO 8601 in UTC with microseconds, the same width on every line.
pub(super) fn iso<S: Serializer>(time: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("{time:.6}"))
}

/// Declares a row with its columns, so that header and fields cannot part ways.
macro_rules! row {
    ($(#[$meta:meta])* $name:ident { $($(#[$field_meta:meta])* $field:ident: $type:ty,)+ }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, Default, PartialEq, Serialize)]
        pub struct $name { $($(#[$field_meta])* pub $field: $type,)+ }

        impl $name {
            /// The columns, in order.
            pub const HEADER: &'static [&'static str] = &[$(stringify!($field),)+];
        }
    };
}

row! {
    /// One handshake, whatever its outcome: a line of `handshake.csv`.
    HandshakeRow {
        /// When it began: the connection's first byte.
        #[serde(serialize_with = "iso")]
        start: Timestamp,
        /// When it ended.
        #[serde(serialize_with = "iso")]
        end: Timestamp,
        /// Always [`Phase::Handshake`] in a handshake of its own.
        phase: Phase,
        /// How long it took, by the monotonic clock, in milliseconds.
        duration_ms: f64,
        /// Key establishment mechanism; empty if none was agreed on.
        mechanism: String,
        /// Suite; empty if none was agreed on.
        suite: String,
        /// This end's part: `initiator` or `responder`.
        role: String,
        /// Peer id, or the address of a peer that was not authenticated.
        peer: String,
        /// Handshake bytes sent, framing included.
        bytes_sent: u64,
        /// Handshake bytes received, framing included.
        bytes_received: u64,
        /// Making this end's key pair, before the handshake began, in milliseconds; only where this end initiated.
        keygen_ms: Option<f64>,
        /// CPU time of the handshake's computations on this end, in milliseconds.
        cpu_ms: Option<f64>,
        /// How it ended.
        outcome: HandshakeOutcome,
    }
}

row! {
    /// The running stream at one moment, ten times a second: a line of `steady_stream.csv`. Counts are totals since the
    /// start.
    SteadyRow {
        /// When.
        #[serde(serialize_with = "iso")]
        time: Timestamp,
        /// What the stream was doing.
        phase: Phase,
        /// CPU use since the row before, in percent of one core.
        cpu_percent: Option<f64>,
        /// Resident memory in bytes.
        rss_bytes: Option<u64>,
        /// Hottest sensor in °C.
        temperature_celsius: Option<f64>,
        /// Frames sent, or received and opened.
        frames: u64,
        /// Frames per second since the row before.
        fps: f64,
        /// Bytes on the wire.
        bytes: u64,
        /// Megabits per second since the row before.
        mbit_s: f64,
        /// Records sealed.
        records_sealed: u64,
        /// Records opened.
        records_opened: u64,
        /// Records refused.
        open_failures: u64,
        /// Frames dropped.
        dropped: u64,
        /// Power now in watts, of all that the meter covers.
        power_watts: Option<f64>,
        /// Energy since the start in joules, of all that the meter covers.
        energy_joules: Option<f64>,
    }
}

row! {
    /// One sealed unit at a viewer gateway: a line of `network_latency.csv`. Stamps are by the viewer gateway's clock,
    /// in ns since 1970; what rests on the camera gateway's stamp is empty before the first exchange of clocks.
    UnitRow {
        /// When the row was made.
        #[serde(serialize_with = "iso")]
        time: Timestamp,
        /// The path by which players ask for the camera; empty if it had just ended.
        camera: String,
        /// Number of the frame that the unit is of: packets that were sealed together.
        frame: u64,
        /// Place of the unit in it, from 0.
        unit: u32,
        /// Length of its record in bytes, header and tag included.
        bytes: u32,
        /// What the gateways are connected by: tcp, udp or quic.
        carrier: &'static str,
        /// Whether it was encrypted, and not authenticated in clear.
        encrypted: bool,
        /// Whether it did not come itself, but was put together from repair symbols.
        repaired: bool,
        /// When its frame was about to be sealed: the camera gateway's stamp, mapped.
        sealed_ns: Option<u64>,
        /// When it came, or could be put together.
        arrived_ns: u64,
        /// When it was open and, in datagrams, its frame's turn had come.
        opened_ns: u64,
        /// The camera gateway's share: from the arrival of its frame's first packet to the stamp, in microseconds.
        camera_gateway_us: f64,
        /// From the stamp to its arrival, in microseconds, never negative.
        network_us: Option<f64>,
        /// From the stamp until it was open, in microseconds, never negative.
        link_us: Option<f64>,
        /// The viewer gateway's share: from when nothing of its frame was waited for any longer until its packets stood
        /// in the players' queues, in microseconds.
        viewer_gateway_us: f64,
        /// The camera gateway's clock minus the viewer gateway's, in microseconds.
        clock_offset_us: Option<f64>,
        /// How far that may be from the truth, in microseconds.
        clock_uncertainty_us: Option<f64>,
    }
}

row! {
    /// One frame at the viewer: a line of `frames_latency.csv`. Stamps are wall clocks in ns since 1970: the first
    /// three the publisher's, the others the viewer's; the offset is what to add to the viewer's clock to have the
    /// publisher's.
    FrameRow {
        /// When the row was made.
        #[serde(serialize_with = "iso")]
        time: Timestamp,
        /// What the stream was doing.
        phase: Phase,
        /// Number of the frame.
        frame: u64,
        /// Whether it can be decoded without earlier frames.
        keyframe: bool,
        /// Size of the coded frame in bytes.
        bytes: u64,
        /// When the picture was complete at the source.
        captured_ns: u64,
        /// When it was encoded.
        encoded_ns: u64,
        /// When it was sealed.
        sealed_ns: u64,
        /// When its last byte had arrived.
        received_ns: u64,
        /// When it was verified and opened.
        opened_ns: u64,
        /// When it was decoded, where it was.
        decoded_ns: Option<u64>,
        /// Stage: encoding, in microseconds.
        encode_us: f64,
        /// Stage: sealing, of the previous frame, in microseconds; the frame itself cannot carry it.
        seal_us: Option<f64>,
        /// Stage: handing to the network, of the previous frame, in microseconds.
        send_us: Option<f64>,
        /// Stage: from just before sealing to arrival, in microseconds, by the corrected clock, never negative; empty
        /// before the first exchange of clocks.
        network_us: Option<f64>,
        /// Stage: opening, in microseconds.
        open_us: f64,
        /// Stage: decoding, in microseconds.
        decode_us: Option<f64>,
        /// The publisher's clock minus the viewer's, in microseconds.
        clock_offset_us: f64,
        /// How far that may be from the truth, in microseconds.
        clock_uncertainty_us: f64,
    }
}
