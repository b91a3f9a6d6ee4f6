//! Payloads of control records (protocol.md §4).

use super::data::{channels, put_channels};
use super::{
    Addresses, CameraName, CellPlan, DataChannel, Feedback, GroupMessage, MAX_LATENCY, MAX_STREAM, Malformed, Numbers,
    Orientation, Reader, Selection, put_bytes16,
};

/// Maximum length of a text in words of a close message, or of a camera's state, in bytes.
const MAX_TEXT: usize = 256;

/// Maximum length of a message between gateways in bytes; it fits into four parts of a control message.
pub const MAX_GATEWAY_MESSAGE: usize = 4096;

/// Maximum number of cameras of one publisher; their names fit into two parts of a control message.
pub const MAX_CAMERAS: usize = 32;

/// Maximum number of parts of one control message on datagrams.
pub(crate) const MAX_PARTS: u8 = 4;

/// Maximum length of a mechanism's public key or ciphertext in bytes.
pub(crate) const MAX_KEM_FIELD: usize = 2048;

/// Reason for the end of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CloseReason {
    /// The source has no more frames.
    EndOfStream,
    /// The peer is neither on the allow list nor invited.
    NotAuthorised,
    /// The program was asked to stop.
    GoingAway,
    /// The peer broke the protocol.
    ProtocolError,
    /// A key reached its hard limit and no new epoch was agreed.
    KeyLimit,
    /// The maximum number of viewers is reached.
    TooManyViewers,
    /// The source failed.
    SourceFailed,
    /// The viewer was too slow for too long.
    TooSlow,
    /// Another session of the same peer took its place.
    Replaced,
    /// The publisher does not have what the viewer's wish asks for.
    NotOffered,
    /// A reason this version does not know.
    Other(u8),
}

impl CloseReason {
    fn byte(self) -> u8 {
        match self {
            Self::EndOfStream => 1,
            Self::NotAuthorised => 2,
            Self::GoingAway => 3,
            Self::ProtocolError => 4,
            Self::KeyLimit => 5,
            Self::TooManyViewers => 6,
            Self::SourceFailed => 7,
            Self::TooSlow => 8,
            Self::Replaced => 9,
            Self::NotOffered => 10,
            Self::Other(byte) => byte,
        }
    }

    fn from_byte(byte: u8) -> Self {
        match byte {
            1 => Self::EndOfStream,
            2 => Self::NotAuthorised,
            3 => Self::GoingAway,
            4 => Self::ProtocolError,
            5 => Self::KeyLimit,
            6 => Self::TooManyViewers,
            7 => Self::SourceFailed,
            8 => Self::TooSlow,
            9 => Self::Replaced,
            10 => Self::NotOffered,
            other => Self::Other(other),
        }
    }
}

impl std::fmt::Display for CloseReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::EndOfStream => f.write_str("end of stream"),
            Self::NotAuthorised => f.write_str("not authorised"),
            Self::GoingAway => f.write_str("going away"),
            Self::ProtocolError => f.write_str("protocol error"),
            Self::KeyLimit => f.write_str("key limit reached"),
            Self::TooManyViewers => f.write_str("too many viewers"),
            Self::SourceFailed => f.write_str("source failed"),
            Self::TooSlow => f.write_str("too slow"),
            Self::Replaced => f.write_str("replaced"),
            Self::NotOffered => f.write_str("not offered"),
            Self::Other(byte) => write!(f, "reason {byte}"),
        }
    }
}

/// Whether a publisher's camera gives pictures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CameraState<'a> {
    /// True if it does.
    pub on: bool,
    /// Since when, by the publisher's wall clock, ns.
    pub since: u64,
    /// The reason in words, at most 256 bytes.
    pub why: &'a str,
}

impl<'a> CameraState<'a> {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(if self.on { 1 } else { 2 });
        out.extend_from_slice(&self.since.to_be_bytes());
        put_text(out, self.why);
    }

    fn parse(reader: &mut Reader<'a>) -> Result<Self, Malformed> {
        let on = match reader.u8()? {
            1 => true,
            2 => false,
            _ => return Err(Malformed),
        };
        let (since, why) = (reader.u64()?, text(reader)?);
        Ok(Self { on, since, why })
    }
}

/// A control message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Control<'a> {
    /// The responder admits the initiator.
    Welcome,
    /// The last message of a session.
    Close {
        /// The reason.
        reason: CloseReason,
        /// The reason in words, at most 256 bytes.
        text: &'a str,
    },
    /// The publisher proposes the next epoch.
    RekeyOffer {
        /// Low 16 bits of the epoch's number.
        epoch: u16,
        /// Mechanism identifier.
        mechanism: u8,
        /// The mechanism's public key.
        share: &'a [u8],
        /// The publisher's signature.
        signature: [u8; 64],
    },
    /// The viewer has installed the next epoch's openers.
    RekeyAnswer {
        /// Low 16 bits of the epoch's number.
        epoch: u16,
        /// The mechanism's ciphertext.
        ciphertext: &'a [u8],
        /// The viewer's signature.
        signature: [u8; 64],
    },
    /// The viewer needs a keyframe to continue decoding.
    KeyframeRequest {
        /// The stream.
        stream: u32,
    },
    /// A ping, which also measures the round trip and the offset of the clocks.
    Ping {
        /// The sender's wall clock, ns.
        t1: u64,
    },
    /// The answer to a ping.
    Pong {
        /// Copied from the ping.
        t1: u64,
        /// Wall clock when the ping arrived, ns.
        t2: u64,
        /// Wall clock when the pong was sent, ns.
        t3: u64,
    },
    /// The viewer asks for a new epoch.
    RekeyRequest,
    /// The publisher announces a selection. It leaves nothing in clear before the viewer has acknowledged it.
    Selection {
        /// Number of the selection, counted from 1 within a session.
        number: u16,
        /// The selection.
        selection: Selection,
    },
    /// The viewer accepts the records that a selection leaves in clear.
    SelectionAck {
        /// Number of the selection.
        number: u16,
    },
    /// A part of a control message that does not fit into a datagram.
    Part {
        /// Number of the message among those sent in parts.
        message: u16,
        /// Index of the part.
        index: u8,
        /// Number of parts, 2 to `MAX_PARTS`.
        count: u8,
        /// Bytes of the part.
        bytes: &'a [u8],
    },
    /// The viewer asks for missing records.
    Nack(Numbers<'a>),
    /// The viewer reports which records have arrived.
    Feedback(Feedback<'a>),
    /// The publisher tests whether a datagram of this length arrives.
    Probe {
        /// Identifies the answer.
        token: u32,
        /// Number of zero bytes that follow.
        padding: usize,
    },
    /// The viewer reports that a probe has arrived.
    ProbeAck {
        /// Token of the probe.
        token: u32,
    },
    /// The responder asks for proof that the initiator receives at an address.
    PathChallenge {
        /// To be repeated in the answer.
        token: [u8; 8],
    },
    /// The initiator received the challenge at the address from which it sends this.
    PathResponse {
        /// Token of the challenge.
        token: [u8; 8],
    },
    /// The publisher announces the cells that both ends send from here on. It is the first message in the first cell.
    Shape {
        /// Its own cells.
        publisher: CellPlan,
        /// The viewer's cells.
        viewer: CellPlan,
    },
    /// A message between gateways, see [`GatewayMessage`](crate::rtsp::GatewayMessage).
    Gateway(&'a [u8]),
    /// A message of a group.
    Group(GroupMessage<'a>),
    /// The viewer says how long media may wait for a byte stream.
    Budget {
        /// Milliseconds, at most [`MAX_LATENCY`].
        milliseconds: u16,
    },
    /// The publisher says how pictures are turned before they are shown, from here on.
    Orientation(Orientation),
    /// The publisher says whether its camera gives pictures.
    Camera(CameraState<'a>),
    /// The publisher tells the cameras that the viewer may watch, 1 to [`MAX_CAMERAS`].
    Cameras(Vec<CameraName>),
    /// The publisher says where it can be reached.
    Addresses(Addresses<'a>),
    /// The viewer says which data channels it wants, or the publisher which it has, at most
    /// [`MAX_DATA_CHANNELS`](super::MAX_DATA_CHANNELS).
    Data(Vec<DataChannel>),
    /// A message of a type that this version does not know; it is ignored.
    Unknown,
}

impl<'a> Control<'a> {
    /// Returns the payload's bytes. A text longer than 256 bytes is cut at a character boundary.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        match *self {
            Self::Welcome => out.push(1),
            Self::Close { reason, text } => {
                out.extend_from_slice(&[2, reason.byte()]);
                put_text(&mut out, text);
            }
            Self::KeyframeRequest { stream } => {
                out.push(5);
                out.extend_from_slice(&stream.to_be_bytes());
            }
            Self::Ping { t1 } => {
                out.push(6);
                out.extend_from_slice(&t1.to_be_bytes());
            }
            Self::Pong { t1, t2, t3 } => {
                out.push(7);
                for stamp in [t1, t2, t3] {
                    out.extend_from_slice(&stamp.to_be_bytes());
                }
            }
            Self::RekeyRequest => out.push(8),
            Self::Selection { number, selection } => {
                out.push(9);
                out.extend_from_slice(&number.to_be_bytes());
                let (mode, argument) = selection.to_wire();
                out.push(mode);
                out.extend_from_slice(&argument.to_be_bytes());
            }
            Self::SelectionAck { number } => {
                out.push(10);
                out.extend_from_slice(&number.to_be_bytes());
            }
            Self::Shape { publisher, viewer } => {
                out.push(19);
                publisher.put(&mut out);
                viewer.put(&mut out);
            }
            Self::Gateway(message) => {
                out.push(16);
                out.extend_from_slice(message);
            }
            Self::Group(message) => message.put(&mut out),
            Self::Budget { milliseconds } => {
                out.push(35);
                out.extend_from_slice(&milliseconds.to_be_bytes());
            }
            Self::Orientation(orientation) => {
                out.push(39);
                orientation.put(&mut out);
            }
            Self::Camera(state) => {
                out.push(36);
                state.put(&mut out);
            }
            Self::Cameras(ref names) => put_camera_names(&mut out, names),
            Self::Data(ref channels) => {
                out.push(40);
                put_channels(&mut out, channels);
            }
            Self::Addresses(addresses) => {
                out.push(37);
                addresses.put(&mut out);
            }
            _ => self.put_of_rekeying(&mut out),
        }
        out
    }

    /// Appends a message of the exchange for a new epoch, or one of datagrams.
    fn put_of_rekeying(&self, out: &mut Vec<u8>) {
        match *self {
            Self::RekeyOffer {
                epoch,
                mechanism,
                share,
                signature,
            } => {
                out.push(3);
                out.extend_from_slice(&epoch.to_be_bytes());
                out.push(mechanism);
                put_bytes16(out, share);
                out.extend_from_slice(&signature);
            }
            Self::RekeyAnswer {
                epoch,
                ciphertext,
                signature,
            } => {
                out.push(4);
                out.extend_from_slice(&epoch.to_be_bytes());
                put_bytes16(out, ciphertext);
                out.extend_from_slice(&signature);
            }
            _ => self.put_of_datagrams(out),
        }
    }

    /// Appends a message that is sent only where records travel in datagrams.
    fn put_of_datagrams(&self, out: &mut Vec<u8>) {
        match *self {
            Self::Part {
                message,
                index,
                count,
                bytes,
            } => {
                out.push(11);
                out.extend_from_slice(&message.to_be_bytes());
                out.extend_from_slice(&[index, count]);
                out.extend_from_slice(bytes);
            }
            Self::Nack(numbers) => {
                out.push(12);
                numbers.put(out);
            }
            Self::Feedback(feedback) => {
                out.push(13);
                feedback.put(out);
            }
            Self::Probe { token, padding } => {
                out.push(14);
                out.extend_from_slice(&token.to_be_bytes());
                out.resize(out.len() + padding, 0);
            }
            Self::ProbeAck { token } => {
                out.push(15);
                out.extend_from_slice(&token.to_be_bytes());
            }
            Self::PathChallenge { token } => {
                out.push(17);
                out.extend_from_slice(&token);
            }
            Self::PathResponse { token } => {
                out.push(18);
                out.extend_from_slice(&token);
            }
            _ => {}
        }
    }

    /// Parses the payload of a control record.
    ///
    /// # Errors
    /// [`Malformed`] for a known type with invalid fields.
    pub fn parse(payload: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(payload);
        let kind = reader.u8()?;
        let message = match kind {
            1 => Self::Welcome,
            2 => Self::Close {
                reason: CloseReason::from_byte(reader.u8()?),
                text: text(&mut reader)?,
            },
            3 => Self::RekeyOffer {
                epoch: reader.u16()?,
                mechanism: reader.u8()?,
                share: kem_field(reader.bytes16()?)?,
                signature: reader.array()?,
            },
            4 => Self::RekeyAnswer {
                epoch: reader.u16()?,
                ciphertext: kem_field(reader.bytes16()?)?,
                signature: reader.array()?,
            },
            5 => Self::KeyframeRequest {
                stream: media_stream(reader.u32()?)?,
            },
            6 => Self::Ping { t1: reader.u64()? },
            7 => Self::Pong {
                t1: reader.u64()?,
                t2: reader.u64()?,
                t3: reader.u64()?,
            },
            8 => Self::RekeyRequest,
            9 => Self::Selection {
                number: selection_number(reader.u16()?)?,
                selection: Selection::from_wire(reader.u8()?, reader.u16()?).ok_or(Malformed)?,
            },
            10 => Self::SelectionAck {
                number: selection_number(reader.u16()?)?,
            },
            11 => Self::parse_part(&mut reader)?,
            12 => Self::Nack(Numbers::parse(&mut reader)?),
            13 => Self::Feedback(Feedback::parse(&mut reader)?),
            14 => Self::parse_probe(&mut reader)?,
            15 => Self::ProbeAck { token: reader.u32()? },
            16 => Self::Gateway(gateway_message(reader.rest())?),
            17 => Self::PathChallenge { token: reader.array()? },
            18 => Self::PathResponse { token: reader.array()? },
            19 => Self::Shape {
                publisher: CellPlan::parse(&mut reader)?,
                viewer: CellPlan::parse(&mut reader)?,
            },
            35 => Self::Budget {
                milliseconds: budget(reader.u16()?)?,
            },
            39 => Self::Orientation(Orientation::parse(&mut reader)?),
            36 => Self::Camera(CameraState::parse(&mut reader)?),
            40 => Self::Data(channels(&mut reader)?),
            42 => Self::Cameras(camera_names(&mut reader)?),
            37 => Self::Addresses(Addresses::parse(&mut reader)?),
            _ => match GroupMessage::parse(kind, &mut reader)? {
                Some(message) => Self::Group(message),
                None => return Ok(Self::Unknown),
            },
        };
        reader.finish()?;
        Ok(message)
    }

    fn parse_probe(reader: &mut Reader<'a>) -> Result<Self, Malformed> {
        let (token, padding) = (reader.u32()?, reader.rest());
        let padding = padding.iter().all(|&byte| byte == 0).then_some(padding.len());
        let padding = padding.ok_or(Malformed)?;
        Ok(Self::Probe { token, padding })
    }

    fn parse_part(reader: &mut Reader<'a>) -> Result<Self, Malformed> {
        let (message, index, count) = (reader.u16()?, reader.u8()?, reader.u8()?);
        let bytes = reader.rest();
        if !(2..=MAX_PARTS).contains(&count) || index >= count || bytes.is_empty() {
            return Err(Malformed);
        }
        Ok(Self::Part {
            message,
            index,
            count,
            bytes,
        })
    }
}

/// Appends a text, cut to [`MAX_TEXT`] bytes at a character boundary.
fn put_text(out: &mut Vec<u8>, text: &str) {
    put_bytes16(out, &text.as_bytes()[..text.floor_char_boundary(MAX_TEXT)]);
}

/// Reads a text of at most [`MAX_TEXT`] bytes.
fn text<'a>(reader: &mut Reader<'a>) -> Result<&'a str, Malformed> {
    let text = reader.bytes16()?;
    match text.len() {
        0..=MAX_TEXT => std::str::from_utf8(text).map_err(|_| Malformed),
        _ => Err(Malformed),
    }
}

fn put_camera_names(out: &mut Vec<u8>, names: &[CameraName]) {
    out.extend_from_slice(&[42, names.len() as u8]);
    for name in names {
        out.push(name.as_str().len() as u8);
        out.extend_from_slice(name.as_str().as_bytes());
    }
}

/// Reads the names of 1 to [`MAX_CAMERAS`] cameras.
fn camera_names(reader: &mut Reader<'_>) -> Result<Vec<CameraName>, Malformed> {
    let count = usize::from(reader.u8()?);
    if !(1..=MAX_CAMERAS).contains(&count) {
        return Err(Malformed);
    }
    let name = |reader: &mut Reader<'_>| {
        let name = std::str::from_utf8(reader.bytes8()?).ok().and_then(CameraName::new);
        name.filter(|name| *name != CameraName::NONE).ok_or(Malformed)
    };
    (0..count).map(|_| name(reader)).collect()
}

/// Checks the number of a media stream: 1 to [`MAX_STREAM`].
fn media_stream(stream: u32) -> Result<u32, Malformed> {
    (1..=MAX_STREAM).contains(&stream).then_some(stream).ok_or(Malformed)
}

/// Checks the length of a gateway message: 1 to [`MAX_GATEWAY_MESSAGE`] bytes.
fn gateway_message(message: &[u8]) -> Result<&[u8], Malformed> {
    let fits = (1..=MAX_GATEWAY_MESSAGE).contains(&message.len());
    fits.then_some(message).ok_or(Malformed)
}

/// Checks the number of a selection; they are counted from 1.
fn selection_number(number: u16) -> Result<u16, Malformed> {
    (number > 0).then_some(number).ok_or(Malformed)
}

/// Checks a latency budget: at most [`MAX_LATENCY`].
fn budget(milliseconds: u16) -> Result<u16, Malformed> {
    let fits = milliseconds <= MAX_LATENCY;
    fits.then_some(milliseconds).ok_or(Malformed)
}

/// Checks the length of a public key or ciphertext: 1 to [`MAX_KEM_FIELD`] bytes.
pub(crate) fn kem_field(bytes: &[u8]) -> Result<&[u8], Malformed> {
    if bytes.is_empty() || bytes.len() > MAX_KEM_FIELD {
        Err(Malformed)
    } else {
        Ok(bytes)
    }
}
