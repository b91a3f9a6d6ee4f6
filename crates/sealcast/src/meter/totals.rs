//! All counters at one moment.

use std::collections::BTreeMap;

use serde::Serialize;

/// All counters at one moment, for logs and reports.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Totals {
    /// Frames sealed and sent.
    pub frames_out: u64,
    /// Frames received, verified and opened.
    pub frames_in: u64,
    /// Packets of sound sealed and sent.
    pub sound_out: u64,
    /// Packets of sound received, verified and opened.
    pub sound_in: u64,
    /// Packets of sound dropped, or missing among those received.
    pub sound_dropped: u64,
    /// Freezes of the picture at the sink, as WebRTC's statistics count them.
    pub freezes: u64,
    /// Time in which it was frozen, in ms.
    pub frozen_ms: u64,
    /// Bytes of sealed records sent, including framing.
    pub bytes_out: u64,
    /// Bytes of records received and opened, including framing.
    pub bytes_in: u64,
    /// Records sealed.
    pub records_sealed: u64,
    /// Records opened.
    pub records_opened: u64,
    /// Records sealed whose payload was left in clear; included in `records_sealed`.
    pub records_sealed_in_clear: u64,
    /// Records opened whose payload was in clear; included in `records_opened`.
    pub records_opened_in_clear: u64,
    /// Bytes sent in addition to coded frames, by kind.
    pub overhead_bytes: BTreeMap<&'static str, u64>,
    /// Media records received twice, which repair can cause.
    pub records_duplicate: u64,
    /// Records refused, by reason.
    pub open_failures: BTreeMap<&'static str, u64>,
    /// Received datagrams that were not delivered to a session, by reason.
    pub datagrams_refused: BTreeMap<&'static str, u64>,
    /// Datagrams dropped instead of sent, by reason.
    pub datagrams_unsent: BTreeMap<&'static str, u64>,
    /// Datagrams sent to peers without a session, by content.
    pub door_answers: BTreeMap<&'static str, u64>,
    /// Connections turned away, or ended otherwise than by a goodbye, by reason.
    pub turned_away: BTreeMap<&'static str, u64>,
    /// Frames dropped, by cause.
    pub frames_dropped: BTreeMap<&'static str, u64>,
    /// RTCP of players that was not passed on to a camera, by reason.
    pub rtcp_refused: BTreeMap<&'static str, u64>,
    /// Rekeys, by cause.
    pub rekeys: BTreeMap<&'static str, u64>,
    /// Handshakes, by outcome.
    pub handshakes: BTreeMap<&'static str, u64>,
    /// Media records on transports with loss, by outcome.
    pub media_packets: BTreeMap<&'static str, u64>,
}

impl Totals {
    /// Records refused for any reason.
    pub fn all_open_failures(&self) -> u64 {
        self.open_failures.values().sum()
    }

    /// Datagrams not delivered to a session, for any reason.
    pub fn all_datagrams_refused(&self) -> u64 {
        self.datagrams_refused.values().sum()
    }

    /// Frames dropped for any cause.
    pub fn all_frames_dropped(&self) -> u64 {
        self.frames_dropped.values().sum()
    }
}
