//! The thinking half of the gateway pair: RTSP as cameras and players speak it, ended on each side, and what crosses
//! between (protocol.md §9).

mod carried;
mod tracks;

pub use carried::{
    CameraNumber, CarriedHeader, CarriedStatus, GatewayMessage, MAX_CARRIED_VALUE, MAX_GATEWAY_MESSAGE, Packets,
    Particulars, TooLong, Verb, packets, put_packet,
};
pub use tracks::{Channel, Interleaving, MAX_TRACKS, Track, TrackSet};
