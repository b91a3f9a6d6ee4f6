//! The wire format: headers, framing, control messages and tickets, byte for byte as in `docs/spec/protocol.md`.

mod address;
pub(crate) mod base32;
mod camera_name;
mod cell;
mod cert_hash;
mod control;
mod cookie;
mod data;
pub(crate) mod datagram;
#[cfg(test)]
mod exhaustive_tests;
mod feedback;
mod framing;
mod group_message;
mod header;
mod orientation;
mod peer;
mod reader;
mod selection;
mod ticket;
mod ticket_error;
mod ticket_mac;

pub use address::{Address, Addresses, Host, MAX_ADDRESSES};
pub use camera_name::CameraName;
pub(crate) use cell::Cell;
pub use cell::{CELL_OVERHEAD, CellPlan, MAX_CELL, MIN_CELL};
pub use cert_hash::CertHash;
pub use control::{CameraState, CloseReason, Control, MAX_CAMERAS, MAX_GATEWAY_MESSAGE};
pub(crate) use control::{MAX_PARTS, kem_field};
pub use cookie::{AddressBytes, RetryCookies, Unconnected};
pub(crate) use data::{DATA_HEADER, DataPayload};
pub use data::{DataChannel, DataName, DataOrder, DataStanding, MAX_DATA_CHANNELS, MAX_DATAGRAM_ON_CHANNEL};
pub use datagram::{BASE_DATAGRAM, CONNECTION_LEN, COOKIE_DATAGRAM, MAX_DATAGRAM, MAX_GROUP_RECORD, connection_of};
pub use feedback::{Feedback, MAX_NACK_ENTRIES, MAX_RECEIVED_BYTES, Numbers};
pub(crate) use framing::append;
pub use framing::{LENGTH_PREFIX, MessageLength, message_length, write_framed};
pub use group_message::{GroupMessage, Hearing, MediaFrom, MulticastGroup};
pub(crate) use header::check;
pub use header::{Accept, BadForm, Flags, HEADER_LEN, Header, Kind, MAX_STREAM};
pub use orientation::Orientation;
pub use peer::{Invite, PeerId};
pub(crate) use reader::{Reader, put_bytes16};
pub use selection::{Level, Permille, Selection};
pub use ticket::{
    BroadcastName, MAX_BROADCAST, MAX_CERT_HASHES, MAX_LATENCY, MAX_TICKET, MAX_TICKET_WITH_ADDRESSES, Ticket,
    TransportKind,
};
pub use ticket_error::TicketError;
pub use ticket_mac::{QUIC_ID_LEN, TICKET_MAC_LEN, TicketMac};

/// Maximum length of a message in an established session in bytes: header, payload and tag together (protocol.md §1).
pub const MAX_RECORD: usize = 8 << 20;

/// Maximum length of a message that a publisher takes in an established session, in bytes: a viewer sends control
/// messages only, and the longest has some 4 KiB (protocol.md §1).
pub const MAX_CONTROL_RECORD: usize = 16 << 10;

/// Maximum length of a message before a session is established, in bytes (protocol.md §1).
pub const MAX_HANDSHAKE_MESSAGE: usize = 4096;

/// Length of every record's authentication tag in bytes.
pub const TAG_LEN: usize = 16;

/// Length of the random number of a knock, and of a cookie, in bytes.
pub const COOKIE_LEN: usize = 16;

/// A message does not have the form that the protocol requires. It is always the sender's fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("malformed message")]
pub struct Malformed;
