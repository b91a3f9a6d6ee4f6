//! Overview of who is admitted, who is here, and how the cameras are: as programs read it (JSON), and as people do.
//!
//! A running program gathers it (`run/session/overview.rs`); of one that does not run, what its files say. The names of
//! the fields are those of the JSON, which docs/peers.md describes.

mod screen;
mod table;
mod words;

use serde::{Deserialize, Serialize};

pub(crate) use screen::Page;
pub(crate) use words::counted;

/// Ground on which a peer is admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum AdmittedBy {
    /// An invite enrolled it.
    Invite,
    /// By its id, by a command.
    Id,
    /// By its id, on the hand-written list.
    Hand,
    /// It may open nothing.
    ArchiveNode,
    /// Everybody is.
    Open,
}

/// A session that stands. Times are in UTC, to the second.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct SessionRow {
    /// The peer's id.
    pub(crate) peer: String,
    /// The name of the peer; empty for none.
    pub(crate) label: String,
    /// The camera, by the name that the session wished for; empty for the only one, or for all of a gateway.
    pub(crate) camera: String,
    pub(crate) since: String,
    /// `None` behind a relay.
    pub(crate) address: Option<String>,
    /// The relay that the session goes through.
    pub(crate) relay: Option<String>,
    /// `tcp`, `udp`, `quic`, `web` or `relay`.
    pub(crate) carrier: String,
    /// Media that this session carries, bit/s; `None` where it goes another way, or is not known yet.
    pub(crate) bit_rate: Option<u64>,
    /// Share of packets that the path loses, 0 to 1; `None` where the carrier loses none.
    pub(crate) loss: Option<f64>,
    /// Smoothed round trip of the session's pings, ms.
    pub(crate) round_trip_ms: Option<f64>,
    /// Since when it has its present keys.
    pub(crate) keys_since: String,
}

/// A peer that is admitted, or is here.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct PeerRow {
    pub(crate) id: String,
    pub(crate) label: String,
    pub(crate) admitted: AdmittedBy,
    /// The name of the invite that enrolled it.
    pub(crate) invite: Option<String>,
    /// The day on which it was listed.
    pub(crate) listed: Option<String>,
    /// The cameras that it may watch; `None` for all.
    pub(crate) cameras: Option<Vec<String>>,
    /// When the last of its sessions ended; `None` if that is not known.
    pub(crate) last_seen: Option<String>,
    /// Its sessions now.
    pub(crate) sessions: Vec<SessionRow>,
}

/// An invite that has not been withdrawn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct InviteRow {
    pub(crate) name: String,
    pub(crate) label: String,
    /// Its maker: `user`, or `start` and the carrier of its ticket.
    pub(crate) made_by: String,
    pub(crate) uses_left: u32,
    pub(crate) uses: u32,
    pub(crate) expires: String,
    pub(crate) expired: bool,
}

/// The answer to `peers list`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct PeersOverview {
    /// The name of the end, if it is known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) name: Option<String>,
    /// True if a running program says so, and not its files: then sessions are known.
    pub(crate) running: bool,
    pub(crate) peers: Vec<PeerRow>,
    /// Peers of the hand-written list that are left out.
    pub(crate) more_by_hand: usize,
    pub(crate) invites: Vec<InviteRow>,
}

/// A camera as it is now.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct CameraRow {
    /// Empty for the only one.
    pub(crate) name: String,
    /// The units of it that are encrypted; `None` of a viewer's.
    pub(crate) encrypt: Option<String>,
    /// `on`, `off`, `ended` once its source does not come again, or `None` where nobody knows: a gateway connects to a
    /// camera when somebody watches.
    pub(crate) state: Option<String>,
    /// Since when.
    pub(crate) since: Option<String>,
    /// Reason why it is off, or has ended.
    pub(crate) why: Option<String>,
    pub(crate) codec: Option<String>,
    /// In pixels.
    pub(crate) width: Option<u16>,
    pub(crate) height: Option<u16>,
    /// Frames per second.
    pub(crate) frame_rate: Option<f64>,
    /// Frames since the program started.
    pub(crate) frames: u64,
    pub(crate) viewers: usize,
}

/// The answer to `status`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct StatusOverview {
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) name: Option<String>,
    /// `publisher`, `camera gateway` or `viewer`.
    pub(crate) kind: String,
    /// The number of its process.
    pub(crate) process: u32,
    /// The units that are encrypted of every camera; `None` of a viewer, and where cameras differ.
    pub(crate) encrypt: Option<String>,
    pub(crate) cameras: Vec<CameraRow>,
    pub(crate) sessions: Vec<SessionRow>,
    /// The last epoch of keys that began.
    pub(crate) epoch: u64,
    /// Since when the oldest keys of a session are in use.
    pub(crate) oldest_keys_since: Option<String>,
    /// Records sealed, and those of them that were left in clear.
    pub(crate) records_out: u64,
    pub(crate) records_in_clear: u64,
}
