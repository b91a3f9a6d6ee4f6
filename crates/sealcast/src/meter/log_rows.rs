//! The rows of the CSV logs. Column names include units; an empty cell means *not measured*.

use jiff::Timestamp;
use serde::{Serialize, Serializer};

use super::labels::HandshakeOutcome;

/// State of the stream when a row was logged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// A session is being established.
    Handshake,
    /// Frames are being transferred.
    #[default]
    Steady,
    /// A publisher without viewers, or a viewer without a publisher.
    Idle,
}

/// ISO 8601 in UTC with microseconds; every value has the same width.
pub(super) fn iso<S: Serializer>(time: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("{time:.6}"))
}

/// Declares a row and its column names together, so that header and fields cannot differ.
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
pub(super) use row;

row! {
    /// One handshake with any outcome: a line of `handshake.csv`. Its duration, CPU time and energy are those of the
    /// exchange: at both ends from the first handshake message that this end sent or received until this end has the
    /// session established and its last message is handed to the carrier. What comes before that is not part of it:
    /// connecting, a retry cookie or QUIC's own handshake, the libraries' start-up and the initiator's key pair.
    HandshakeRow {
        /// The first handshake message, sent or received; the connection, if no message came.
        #[serde(serialize_with = "iso")]
        start: Timestamp,
        /// End of the handshake.
        #[serde(serialize_with = "iso")]
        end: Timestamp,
        /// Always [`Phase::Handshake`] for a separate handshake.
        phase: Phase,
        /// Wall time of the exchange by the monotonic clock, in milliseconds; empty if no message came. It is the
        /// initiator's that is longer, by a round trip: it sends the first message and receives the last.
        duration_ms: Option<f64>,
        /// Key establishment mechanism; empty if none was negotiated.
        mechanism: String,
        /// Suite; empty if none was negotiated.
        suite: String,
        /// Role of this end: `initiator` or `responder`.
        role: String,
        /// Peer id, or the address of a peer that was not authenticated.
        peer: String,
        /// Handshake bytes sent, including framing.
        bytes_sent: u64,
        /// Handshake bytes received, including framing.
        bytes_received: u64,
        /// First use of the cryptographic libraries by this process, in milliseconds: the same in all its rows. It
        /// lies before the exchange, and outside `keygen_ms`.
        startup_ms: f64,
        /// Time for generating this end's key pair and its first message before the exchange, in milliseconds; only
        /// for the initiator. A responder's work on keys (encapsulation) is part of the exchange.
        keygen_ms: Option<f64>,
        /// CPU time of this end's thread in the exchange, in milliseconds, without the time that it waits.
        cpu_ms: f64,
        /// Energy of the exchange in joules, of everything that the meter covers; empty without a meter, and if the
        /// exchange was shorter than ten times what the meter and this machine can tell apart.
        energy_joules: Option<f64>,
        /// Outcome.
        outcome: HandshakeOutcome,
    }
}

row! {
    /// State of the running stream, ten times a second: a line of `steady_stream.csv`. Counts are totals since the
    /// start.
    SteadyRow {
        /// Time of the sample.
        #[serde(serialize_with = "iso")]
        time: Timestamp,
        /// State of the stream.
        phase: Phase,
        /// CPU use since the previous row, in percent of one core.
        cpu_percent: Option<f64>,
        /// Resident memory in bytes.
        rss_bytes: Option<u64>,
        /// Hottest sensor in °C.
        temperature_celsius: Option<f64>,
        /// Frames sent, or received and opened.
        frames: u64,
        /// Frames per second since the previous row.
        fps: f64,
        /// Bytes on the wire.
        bytes: u64,
        /// Megabits per second since the previous row.
        mbit_s: f64,
        /// Records sealed.
        records_sealed: u64,
        /// Records opened.
        records_opened: u64,
        /// Records refused.
        open_failures: u64,
        /// Frames dropped.
        dropped: u64,
        /// Current power in watts, of everything that the meter covers.
        power_watts: Option<f64>,
        /// Energy since the start in joules, of everything that the meter covers.
        energy_joules: Option<f64>,
    }
}

row! {
    /// One sealed unit at a viewer gateway: a line of `network_latency.csv`. Timestamps are by the viewer gateway's
    /// clock, in ns since 1970; values that depend on the camera gateway's timestamp are empty before the first clock
    /// exchange.
    UnitRow {
        /// Time when the row was created.
        #[serde(serialize_with = "iso")]
        time: Timestamp,
        /// The path under which players request the camera; empty if it had just ended.
        camera: String,
        /// Number of the frame that the unit belongs to: packets sealed together.
        frame: u64,
        /// Index of the unit in the frame, from 0.
        unit: u32,
        /// Length of its record in bytes, including header and tag.
        bytes: u32,
        /// Transport between the gateways: tcp, udp or quic.
        carrier: &'static str,
        /// True if it was encrypted; false if it was authenticated in clear.
        encrypted: bool,
        /// True if it was recovered from repair symbols instead of being received.
        repaired: bool,
        /// Time just before its frame was sealed: the camera gateway's timestamp, converted.
        sealed_ns: Option<u64>,
        /// Time when it arrived or could be recovered.
        arrived_ns: u64,
        /// Time when it was opened and, in datagrams, its frame was next in order.
        opened_ns: u64,
        /// The camera gateway's share: from the arrival of the frame's first packet to the timestamp, in
        /// microseconds.
        camera_gateway_us: f64,
        /// From the timestamp to its arrival, in microseconds; may be negative within the uncertainty.
        network_us: Option<f64>,
        /// From the timestamp until it was opened, in microseconds; may be negative within the uncertainty.
        link_us: Option<f64>,
        /// The viewer gateway's share: from the moment when its frame no longer waited for anything until its packets
        /// were in the players' queues, in microseconds.
        viewer_gateway_us: f64,
        /// The camera gateway's clock minus the viewer gateway's, in microseconds.
        clock_offset_us: Option<f64>,
        /// Half the 95 % interval of the clock offset if the path is equally fast in both directions, in microseconds.
        clock_spread_us: Option<f64>,
        /// The same whatever the path, in microseconds.
        clock_uncertainty_us: Option<f64>,
    }
}

row! {
    /// One picture at a viewer gateway: a line of `picture_latency.csv`. A picture is the packets of a video track with
    /// one RTP timestamp. Timestamps are by the viewer gateway's clock, in ns since 1970; stages are in microseconds,
    /// and follow one another without a gap.
    PictureRow {
        /// Time when the row was created.
        #[serde(serialize_with = "iso")]
        time: Timestamp,
        /// The path under which players request the camera.
        camera: String,
        /// Number of the track, from 0.
        track: u8,
        /// The RTP timestamp.
        rtp_timestamp: u32,
        /// Number of packets that arrived.
        packets: u32,
        /// Their length in bytes.
        bytes: u64,
        /// True if the packet arrived that ends the picture; false if another picture began first.
        ended: bool,
        /// Time when its last packet arrived, and nothing before it was missing.
        arrived_ns: u64,
        /// Time when its last packet was passed to the players.
        delivered_ns: u64,
        /// From the arrival of its first packet at the camera gateway to that of its last.
        gather_us: f64,
        /// The camera gateway's share: from there until its last packet was sealed.
        camera_gateway_us: f64,
        /// From there until its last packet arrived, by the corrected clock; empty before the first clock exchange.
        network_us: Option<f64>,
        /// The viewer gateway's share: from there until its last packet was passed to the players.
        viewer_gateway_us: f64,
        /// The whole, by the corrected clock.
        total_us: Option<f64>,
        /// The camera gateway's clock minus the viewer gateway's.
        clock_offset_us: Option<f64>,
        /// Half the 95 % interval of that, whatever the path.
        clock_uncertainty_us: Option<f64>,
    }
}

row! {
    /// One frame at the viewer: a line of `frames_latency.csv`. Times are wall clocks in ns since 1970: those from
    /// `stamped_ns` to `sealed_ns` by the publisher's clock, the others by the viewer's. The offset, added to the
    /// viewer's clock, gives the publisher's. Stages are in microseconds; from `capture_us` to `present_us` they follow
    /// one another without a gap.
    FrameRow {
        /// Time when the row was created.
        #[serde(serialize_with = "iso")]
        time: Timestamp,
        /// State of the stream.
        phase: Phase,
        /// Number of the frame.
        frame: u64,
        /// True if it can be decoded without earlier frames.
        keyframe: bool,
        /// Size of the coded frame in bytes.
        bytes: u64,
        /// Kind of `stamped_ns`: exposure_start, frame_end or arrival.
        stamp: &'static str,
        /// The instant that the source stamped.
        stamped_ns: u64,
        /// Time when the picture was complete at the source.
        captured_ns: u64,
        /// Time when it was encoded.
        encoded_ns: u64,
        /// Time just before it was sealed.
        sealed_ns: u64,
        /// Time when its last record had arrived.
        received_ns: u64,
        /// Time when it was verified and opened, and nothing before it was missing.
        opened_ns: u64,
        /// Time when the sink took it.
        taken_ns: u64,
        /// Time when it was decoded, if it was.
        decoded_ns: Option<u64>,
        /// Time when the sink had passed it on.
        presented_ns: u64,
        /// Capture stage.
        capture_us: f64,
        /// Encode stage.
        encode_us: f64,
        /// Queue stage.
        queue_us: f64,
        /// Seal stage; the frame after it carries it, so it is empty if that was lost. The network stage then includes
        /// it.
        seal_us: Option<f64>,
        /// Send stage; empty like the seal stage, or if the frame had not left when the next was sealed.
        send_us: Option<f64>,
        /// Network stage, by the corrected clock; may be negative within the uncertainty; empty before the first clock
        /// exchange.
        network_us: Option<f64>,
        /// Reassembly stage.
        reassembly_us: f64,
        /// Open stage.
        open_us: f64,
        /// Wait stage.
        wait_us: f64,
        /// Decode stage.
        decode_us: Option<f64>,
        /// Present stage.
        present_us: f64,
        /// From `stamped_ns` to `presented_ns` by the corrected clock; empty before the first clock exchange.
        total_us: Option<f64>,
        /// The publisher's clock minus the viewer's at `received_ns`, in microseconds.
        clock_offset_us: Option<f64>,
        /// Half the 95 % interval of the clock offset if the path is equally fast in both directions, in microseconds.
        clock_spread_us: Option<f64>,
        /// The same whatever the path, in microseconds.
        clock_uncertainty_us: Option<f64>,
        /// Rate of the publisher's clock minus that of the viewer's, in parts per million.
        clock_rate_ppm: Option<f64>,
        /// True if the publisher kept the frame for this viewer, which joined after it: the stages say nothing of the
        /// path.
        kept: bool,
    }
}
