//! Messages and packets between the two gateways, inside the sealed session (protocol.md §9): requests, answers, and
//! unmodified RTP and RTCP packets.

use super::tracks::{Channel, TrackSet};
use crate::wire::{MAX_GATEWAY_MESSAGE, MAX_STREAM, Malformed, Reader, put_bytes16};
use crate::words::is_unsafe;

/// Maximum length of a carried header value in bytes.
pub const MAX_CARRIED_VALUE: usize = 1024;

/// Number of a camera in the session of two gateways: that of its media stream, 1 to 15.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CameraNumber(u8);

impl CameraNumber {
    /// The camera with this media stream, or `None` if there is no such stream.
    pub fn new(stream: u8) -> Option<Self> {
        (1..=MAX_STREAM).contains(&u32::from(stream)).then_some(Self(stream))
    }

    /// The media stream, as numbered in `OutgoingFrame` and in records.
    pub fn stream(self) -> u32 {
        self.0.into()
    }
}

/// Commands of a player to a camera.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// Start or resume these tracks; never an empty set.
    Play(TrackSet),
    /// Pause.
    Pause,
    /// Read parameters.
    GetParameter,
    /// Set parameters.
    SetParameter,
    /// End the session: nobody watches any more.
    Teardown,
}

/// RTSP headers that are carried between the gateways, in their order on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum CarriedHeader {
    /// The part of the stream.
    Range = 1,
    /// Playback speed.
    Scale,
    /// Delivery speed.
    Speed,
    /// First sequence number and RTP time of each track.
    RtpInfo,
    /// Type of the body.
    ContentType,
    /// ONVIF replay: whether the sender paces the stream.
    RateControl,
    /// ONVIF replay: whether the new position takes effect at once.
    Immediate,
    /// ONVIF replay: which frames are sent.
    Frames,
}

impl CarriedHeader {
    /// All headers, in order.
    pub const ALL: [Self; 8] = [
        Self::Range,
        Self::Scale,
        Self::Speed,
        Self::RtpInfo,
        Self::ContentType,
        Self::RateControl,
        Self::Immediate,
        Self::Frames,
    ];

    /// Name of the header in RTSP.
    pub fn name(self) -> &'static str {
        match self {
            Self::Range => "Range",
            Self::Scale => "Scale",
            Self::Speed => "Speed",
            Self::RtpInfo => "RTP-Info",
            Self::ContentType => "Content-Type",
            Self::RateControl => "Rate-Control",
            Self::Immediate => "Immediate",
            Self::Frames => "Frames",
        }
    }
}

/// Headers and body of a command or of its answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parameters {
    headers: Vec<(CarriedHeader, String)>,
    /// Parameters, or a session description (SDP).
    pub body: Vec<u8>,
}

impl Parameters {
    /// Parameters that consist of a body alone.
    pub fn of_body(body: Vec<u8>) -> Self {
        Self {
            headers: Vec::new(),
            body,
        }
    }

    /// Returns the value of a header.
    pub fn get(&self, header: CarriedHeader) -> Option<&str> {
        let at = self.headers.binary_search_by_key(&header, |(header, _)| *header).ok()?;
        Some(&self.headers[at].1)
    }

    /// Sets a header, keeping the order. A value is left out if it may not be carried: if it is not printable ASCII,
    /// empty, or longer than [`MAX_CARRIED_VALUE`].
    pub fn set(&mut self, header: CarriedHeader, value: String) {
        if !may_cross(value.as_bytes()) {
            return;
        }
        match self.headers.binary_search_by_key(&header, |(header, _)| *header) {
            Ok(at) => self.headers[at].1 = value,
            Err(at) => self.headers.insert(at, (header, value)),
        }
    }

    /// Removes a header.
    pub fn remove(&mut self, header: CarriedHeader) {
        self.headers.retain(|(other, _)| *other != header);
    }

    /// The headers, in order.
    pub fn headers(&self) -> impl Iterator<Item = (CarriedHeader, &str)> {
        self.headers.iter().map(|(header, value)| (*header, value.as_str()))
    }

    fn put(&self, out: &mut Vec<u8>) {
        out.push(u8::try_from(self.headers.len()).expect("no header twice, and there are eight"));
        for (header, value) in &self.headers {
            out.push(*header as u8);
            put_bytes16(out, value.as_bytes());
        }
        put_bytes16(out, &self.body);
    }

    fn parse(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let mut headers: Vec<(CarriedHeader, String)> = Vec::new();
        for _ in 0..reader.u8()? {
            let number = reader.u8()?;
            let header = CarriedHeader::ALL.into_iter().find(|header| *header as u8 == number);
            let header = header.ok_or(Malformed)?;
            let value = reader.bytes16()?;
            if !may_cross(value) || headers.last().is_some_and(|(before, _)| *before >= header) {
                return Err(Malformed);
            }
            headers.push((header, String::from_utf8(value.to_vec()).map_err(|_| Malformed)?));
        }
        let body = reader.bytes16()?.to_vec();
        Ok(Self { headers, body })
    }
}

fn may_cross(value: &[u8]) -> bool {
    (1..=MAX_CARRIED_VALUE).contains(&value.len()) && value.iter().all(|byte| (0x20..=0x7e).contains(byte))
}

/// Status of an answer or of a camera's end: an RTSP status code from 200 to 599.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CarriedStatus(u16);

impl CarriedStatus {
    /// The command was carried out.
    pub const OK: Self = Self(200);
    /// The camera's answer was meant for its gateway only, or is not valid.
    pub const BAD_GATEWAY: Self = Self(502);
    /// The camera did not answer in time.
    pub const TIMEOUT: Self = Self(504);

    /// Translates a camera's status for the player. A status that concerns only the camera gateway (redirects, 401,
    /// 407), or that is out of range, becomes [`BAD_GATEWAY`](Self::BAD_GATEWAY).
    pub fn of_camera(code: u16) -> Self {
        match code {
            300..=399 | 401 | 407 => Self::BAD_GATEWAY,
            200..=599 => Self(code),
            _ => Self::BAD_GATEWAY,
        }
    }

    /// The status code.
    pub fn code(self) -> u16 {
        self.0
    }

    /// Returns true for success (200 to 299).
    pub fn is_ok(self) -> bool {
        (200..300).contains(&self.0)
    }

    fn parse(code: u16) -> Result<Self, Malformed> {
        (200..=599).contains(&code).then_some(Self(code)).ok_or(Malformed)
    }
}

/// A message between gateways.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GatewayMessage {
    /// Request of a player for the camera at a path.
    Describe {
        /// Number of the request.
        request: u32,
        /// Path without a leading slash; at most 255 bytes.
        path: String,
    },
    /// Command of a player to a camera.
    Command {
        /// Number of the request.
        request: u32,
        /// The camera.
        camera: CameraNumber,
        /// The command.
        verb: Verb,
        /// Headers and body.
        with: Parameters,
    },
    /// The answer to a request.
    Answer {
        /// Number of the request.
        request: u32,
        /// The camera; `None` where a description failed.
        camera: Option<CameraNumber>,
        /// Result.
        status: CarriedStatus,
        /// Headers and body; the body of a description is its SDP.
        with: Parameters,
    },
    /// An RTCP packet from a player to the camera.
    Packet {
        /// The camera.
        camera: CameraNumber,
        /// The channel, always one for RTCP.
        channel: Channel,
        /// The packet; at least one byte.
        bytes: Vec<u8>,
    },
    /// A camera is gone.
    Ended {
        /// The camera.
        camera: CameraNumber,
        /// The reason, as a status.
        status: CarriedStatus,
    },
    /// Tracks of a camera whose packets come over a connection, and so in order. Those of all others come in
    /// datagrams.
    InOrder {
        /// The camera.
        camera: CameraNumber,
        /// The tracks.
        tracks: TrackSet,
    },
    /// A message of a type that this version does not know; it is ignored.
    Unknown,
}

impl GatewayMessage {
    /// Returns the bytes of the message.
    ///
    /// # Errors
    /// [`TooLong`] if a path, a body or a packet does not fit. The caller then refuses the request or drops the packet.
    pub fn to_bytes(&self) -> Result<Vec<u8>, TooLong> {
        let mut out = Vec::new();
        match self {
            Self::Describe { request, path } => {
                out.push(1);
                out.extend_from_slice(&request.to_be_bytes());
                out.push(u8::try_from(path.len()).map_err(|_| TooLong)?);
                out.extend_from_slice(path.as_bytes());
            }
            Self::Command { with, .. } | Self::Answer { with, .. } if with.body.len() > MAX_GATEWAY_MESSAGE => {
                return Err(TooLong);
            }
            Self::Command {
                request,
                camera,
                verb,
                with,
            } => {
                let (verb, tracks) = verb.fields();
                out.push(2);
                out.extend_from_slice(&request.to_be_bytes());
                out.extend_from_slice(&[camera.0, verb]);
                out.extend_from_slice(&tracks.to_be_bytes());
                with.put(&mut out);
            }
            Self::Answer {
                request,
                camera,
                status,
                with,
            } => {
                out.push(3);
                out.extend_from_slice(&request.to_be_bytes());
                out.push(camera.map_or(0, |camera| camera.0));
                out.extend_from_slice(&status.0.to_be_bytes());
                with.put(&mut out);
            }
            Self::Packet { camera, channel, bytes } => {
                out.extend_from_slice(&[4, camera.0, channel.number()]);
                out.extend_from_slice(bytes);
            }
            Self::Ended { camera, status } => {
                out.extend_from_slice(&[5, camera.0]);
                out.extend_from_slice(&status.0.to_be_bytes());
            }
            Self::InOrder { camera, tracks } => {
                out.extend_from_slice(&[7, camera.0]);
                out.extend_from_slice(&tracks.bits().to_be_bytes());
            }
            Self::Unknown => out.push(0),
        }
        if out.len() > MAX_GATEWAY_MESSAGE {
            Err(TooLong)
        } else {
            Ok(out)
        }
    }

    /// Returns true if only the viewer gateway may send this message, false if only the camera gateway may, and `None`
    /// for an unknown type.
    pub fn is_of_viewer(&self) -> Option<bool> {
        match self {
            Self::Describe { .. } | Self::Command { .. } | Self::Packet { .. } => Some(true),
            Self::Answer { .. } | Self::Ended { .. } | Self::InOrder { .. } => Some(false),
            Self::Unknown => None,
        }
    }

    /// Parses a message.
    ///
    /// # Errors
    /// [`Malformed`] for a known type with invalid fields.
    pub fn parse(message: &[u8]) -> Result<Self, Malformed> {
        if message.len() > MAX_GATEWAY_MESSAGE {
            return Err(Malformed);
        }
        let mut reader = Reader::new(message);
        let parsed = match reader.u8()? {
            1 => Self::Describe {
                request: reader.u32()?,
                path: parse_path(reader.bytes8()?)?,
            },
            2 => Self::Command {
                request: reader.u32()?,
                camera: parse_camera(&mut reader)?,
                verb: Verb::parse(&mut reader)?,
                with: Parameters::parse(&mut reader)?,
            },
            3 => Self::parse_answer(&mut reader)?,
            4 => Self::Packet {
                camera: parse_camera(&mut reader)?,
                // Players send a camera no media.
                channel: Channel::from_number(reader.u8()?)
                    .filter(|channel| channel.rtcp)
                    .ok_or(Malformed)?,
                bytes: Some(reader.rest().to_vec())
                    .filter(|bytes| !bytes.is_empty())
                    .ok_or(Malformed)?,
            },
            5 => Self::Ended {
                camera: parse_camera(&mut reader)?,
                status: CarriedStatus::parse(reader.u16()?)?,
            },
            7 => Self::InOrder {
                camera: parse_camera(&mut reader)?,
                tracks: TrackSet::from_bits(reader.u16()?),
            },
            _ => return Ok(Self::Unknown),
        };
        reader.finish()?;
        Ok(parsed)
    }

    fn parse_answer(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let (request, camera) = (reader.u32()?, reader.u8()?);
        let status = CarriedStatus::parse(reader.u16()?)?;
        let camera = match camera {
            0 if !status.is_ok() => None,
            stream => Some(CameraNumber::new(stream).ok_or(Malformed)?),
        };
        let with = Parameters::parse(reader)?;
        Ok(Self::Answer {
            request,
            camera,
            status,
            with,
        })
    }
}

impl Verb {
    fn fields(self) -> (u8, u16) {
        match self {
            Self::Play(tracks) => (1, tracks.bits()),
            Self::Pause => (2, 0),
            Self::GetParameter => (3, 0),
            Self::SetParameter => (4, 0),
            Self::Teardown => (5, 0),
        }
    }

    fn parse(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        match (reader.u8()?, reader.u16()?) {
            (1, tracks) if tracks != 0 => Ok(Self::Play(TrackSet::from_bits(tracks))),
            (2, 0) => Ok(Self::Pause),
            (3, 0) => Ok(Self::GetParameter),
            (4, 0) => Ok(Self::SetParameter),
            (5, 0) => Ok(Self::Teardown),
            _ => Err(Malformed),
        }
    }
}

fn parse_camera(reader: &mut Reader<'_>) -> Result<CameraNumber, Malformed> {
    CameraNumber::new(reader.u8()?).ok_or(Malformed)
}

fn parse_path(bytes: &[u8]) -> Result<String, Malformed> {
    let path = std::str::from_utf8(bytes).map_err(|_| Malformed)?;
    let fits = !path.starts_with('/') && !path.chars().any(is_unsafe);
    fits.then(|| path.to_owned()).ok_or(Malformed)
}

/// A message is longer than [`MAX_GATEWAY_MESSAGE`], its path longer than 255 bytes, or a packet longer than 65 535
/// bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("too long to cross between the gateways")]
pub struct TooLong;

/// Appends a packet to the frame that carries it. An empty packet is not appended.
///
/// # Errors
/// [`TooLong`] for more than 65 535 bytes; nothing is appended then.
pub fn put_packet(frame: &mut Vec<u8>, channel: Channel, packet: &[u8]) -> Result<(), TooLong> {
    if packet.len() > usize::from(u16::MAX) {
        return Err(TooLong);
    }
    if !packet.is_empty() {
        frame.push(channel.number());
        put_bytes16(frame, packet);
    }
    Ok(())
}

/// Iterates over the packets of a frame, unmodified and in order. A malformed frame ends with an error; the packets
/// before it are complete.
pub fn packets(frame: &[u8]) -> Packets<'_> {
    Packets { rest: Some(frame) }
}

/// Returns true if the last packet of a frame completes a picture, so that nothing follows at once: it is an RTP packet
/// with the marker bit set (RFC 3550, section 5.1, and the payload formats of video). False for a malformed frame.
pub fn ends_picture(frame: &[u8]) -> bool {
    let last = packets(frame).last();
    last.and_then(Result::ok)
        .is_some_and(|(channel, packet)| !channel.rtcp && packet.get(1).is_some_and(|second| second & 0x80 != 0))
}

/// The timestamp of an RTP packet, which all packets of a picture share, and whether it ends the picture (the marker
/// bit; RFC 3550, section 5.1, and the payload formats of video). `None` for anything else.
pub fn rtp_picture(packet: &[u8]) -> Option<(u32, bool)> {
    let (head, _) = packet.split_first_chunk::<8>()?;
    let [first, second, _, _, timestamp @ ..] = *head;
    (first >> 6 == 2).then_some((u32::from_be_bytes(timestamp), second & 0x80 != 0))
}

/// Iterator returned by [`packets`].
pub struct Packets<'a> {
    rest: Option<&'a [u8]>,
}

impl<'a> Iterator for Packets<'a> {
    type Item = Result<(Channel, &'a [u8]), Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut reader = Reader::new(self.rest.take()?);
        let packet = parse_packet(&mut reader);
        if packet.is_ok() {
            self.rest = Some(reader.rest()).filter(|rest| !rest.is_empty());
        }
        Some(packet)
    }
}

fn parse_packet<'a>(reader: &mut Reader<'a>) -> Result<(Channel, &'a [u8]), Malformed> {
    let channel = Channel::from_number(reader.u8()?).ok_or(Malformed)?;
    let bytes = reader.bytes16()?;
    if bytes.is_empty() {
        Err(Malformed)
    } else {
        Ok((channel, bytes))
    }
}

#[cfg(test)]
#[path = "carried_tests.rs"]
mod tests;
