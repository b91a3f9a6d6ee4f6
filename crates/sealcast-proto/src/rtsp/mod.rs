//! The protocol logic of the two gateways: an RTSP client towards cameras, an RTSP server towards players, and the
//! messages that are carried between the gateways (protocol.md §9). RTSP itself ends at each gateway.

mod auth;
mod carried;
mod challenge;
mod client;
mod credentials;
mod digest;
mod head;
mod keyframes;
mod message;
mod not_rtsp;
mod oddity;
mod reader;
mod rtcp;
mod sdp;
mod server;
mod tracks;
mod transport;
mod url;

pub use auth::{AuthError, DigestAlgorithm};
pub use carried::{
    CameraNumber, CarriedHeader, CarriedStatus, GatewayMessage, MAX_CARRIED_VALUE, Packets, Parameters, TooLong, Verb,
    ends_picture, packets, put_packet, rtp_picture,
};
pub use client::{
    CameraClient, CameraConfig, CameraError, CameraEvent, CameraInput, CameraOutput, Lower, MAX_REDIRECTS,
    RESPONSE_PATIENCE,
};
pub use credentials::Credentials;
pub use keyframes::Keyframes;
pub use message::{Headers, MAX_BODY, MAX_HEAD, MAX_HEADERS, MAX_UNREAD, Message, Method, Request, Response, put_data};
pub use not_rtsp::NotRtsp;
pub use oddity::{Oddities, Oddity};
pub use reader::MessageReader;
pub use rtcp::{ForCamera, MAX_COMPOUND, rtcp_for_camera};
pub use sdp::{DescriptionError, same_media};
pub use server::{
    ANSWER_PATIENCE, MAX_LOGINS, MAX_PATH, PLAYER_TIMEOUT, PlayerAnswer, PlayerConfig, PlayerError, PlayerEvent,
    PlayerInput, PlayerOutput, PlayerServer,
};
pub use tracks::{Channel, Interleaving, MAX_TRACKS, Track, TrackSet};
pub use transport::{Granted, Offer, PortPair, Route, parse_granted, parse_offers};
pub use url::{CameraUrl, MAX_URL, UrlError, announced_times, unescaped};

pub use crate::wire::MAX_GATEWAY_MESSAGE;
