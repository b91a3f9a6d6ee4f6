//! The gateway pair: cameras that speak RTSP on one side, players that speak RTSP on the other, and a sealed session
//! between (protocol.md §9).
//!
//! ```text
//! camera gateway:  upstream (RTSP client, one a camera) ─► audience ─► a queue a session ─► session: seal
//! viewer gateway:  link: open ─► audience (one a camera) ─┬► a queue a player ─► player (RTSP server)
//!                                                         └► an outlet a player, where it watches over UDP
//! ```
//!
//! Wishes go the other way: from a player to the desk of its camera at the viewer gateway, from there in one voice to
//! the camera gateway, and to the camera from the desk there.

mod audience;
mod camera;
mod desk;
mod outlet;
mod packet_run;
mod ports;
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
/// News that wait for one session or player: the answers to what it may ask at once, and the end of all its cameras.
const MAX_NEWS: usize = 64;
/// Wishes that wait for a camera, or for the link.
const MAX_WISHES: usize = 64;

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
