//! The gateway pair: RTSP cameras on one side, RTSP players on the other, and a sealed session in between
//! (protocol.md §9).
//!
//! ```text
//! camera gateway:  upstream (one RTSP client per camera) ─► subscribers ─► queue per session ─► session: seal
//! viewer gateway:  link: open ─► subscribers (of one camera) ─┬► queue per player ─► player (RTSP server)
//!                                                             └► RTP sender per player that watches over UDP
//! ```
//!
//! Requests travel the other way: from a player to the request multiplexer of its camera at the viewer gateway, which
//! sends one request for all players to the camera gateway, and from the multiplexer there to the camera.

mod arrivals;
pub(crate) mod camera;
mod kept_packets;
mod packet;
mod packet_batch;
mod players;
mod request_mux;
mod rtp_sender;
mod subscribers;
mod viewer;

#[cfg(feature = "fuzzing")]
pub use camera::fuzzing;
pub use camera::{CameraAt, check_selection, packet_rate};
pub use players::{PlayersSink, players_address};
pub use viewer::{ViewerGatewayOptions, viewer_gateway};

use std::time::Duration;

use crate::run::media::queue::QueueLimits;

/// Time limit for sending the close message.
const GOODBYE_PATIENCE: Duration = Duration::from_millis(500);
/// Limit of the queue of one session or player. A picture of a large camera has some hundred packets.
const PACKETS: QueueLimits = QueueLimits {
    frames: 2048,
    bytes: 8 << 20,
};
/// Maximum number of queued events per session or player. It covers the answers to all requests that may be open at
/// once, and the end of every camera.
const MAX_EVENTS: usize = 64;
/// Maximum number of requests queued for a camera or for the link.
const MAX_REQUESTS: usize = 64;
