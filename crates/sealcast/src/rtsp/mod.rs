//! RTSP towards cameras: their addresses, the connection to one, and the UDP ports of its packets. The source of
//! `publish rtsp://` and the camera gateway drive the same client; so does `doctor`.

mod connect;
mod link;
mod link_error;
mod options;
mod ports;
mod tap;

pub(crate) use connect::{Place, RtspConnection, connect};
pub(crate) use link::{CameraLink, LinkEvent};
pub(crate) use link_error::LinkError;
pub(crate) use options::PASSWORD_VARIABLE;
pub use options::{RtspOptions, Transport};
pub(crate) use ports::{RtpPorts, Senders, after_others, each_datagram, send_from};
pub use tap::PacketTap;
pub(crate) use tap::{Answered, Playing, TakePackets, TapRequest, Tapped};
