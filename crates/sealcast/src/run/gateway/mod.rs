//! The gateway pair: cameras that speak RTSP on one side, players that speak RTSP on the other, and a sealed session
//! between (protocol.md §9).
//!
//! ```text
//! camera gateway:  upstream (RTSP client, one a camera) ─► subscribers ─► a queue a session ─► session: seal
//! viewer gateway:  link: open ─► subscribers (of one camera) ─┬► a queue a player ─► player (RTSP server)
//!                                                             └► an RTP sender a player, where it watches over UDP
//! ```
//!
//! Requests go the other way: from a player to the request multiplexer of its camera at the viewer gateway, which sends
//! one for all players to the camera gateway, and to the camera from the multiplexer there.

mod camera;
mod packet_batch;
mod request_mux;
mod rtp_ports;
mod rtp_sender;
mod subscribers;
mod viewer;

pub use camera::{CameraAt, CameraGatewayOptions, Cameras, Renewal, camera_gateway, check_selection};
pub use viewer::{ViewerGatewayOptions, viewer_gateway};

use std::future::poll_fn;
use std::task::Poll;
use std::time::Duration;

use super::QueueLimits;

/// How long a closing session may take to say goodbye.
const GOODBYE_PATIENCE: Duration = Duration::from_millis(500);
/// The packets that wait for one session or player. A picture of a large camera is some hundred packets.
const PACKETS: QueueLimits = QueueLimits {
    frames: 2048,
    bytes: 8 << 20,
};
/// Events that wait for one session or player: the answers to what it may ask at once, and the end of all its cameras.
const MAX_EVENTS: usize = 64;
/// Wishes that wait for a camera, or for the link.
const MAX_REQUESTS: usize = 64;

/// Let the tasks go first that were just given packets: this one has nothing better to do than to look for more.
async fn after_others() {
    let mut waited = false;
    poll_fn(|context| {
        if std::mem::replace(&mut waited, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
