//! RTSP messages (RFC 2326) and their serialisation.

use crate::words::is_unsafe;
use std::fmt;

/// Maximum length of a message's head in bytes: first line, headers and the empty line after them.
pub const MAX_HEAD: usize = 16 << 10;
/// Maximum number of headers of a message.
pub const MAX_HEADERS: usize = 64;
/// Maximum length of a message's body in bytes.
pub const MAX_BODY: usize = 64 << 10;
/// Maximum number of unread bytes: a message of maximum length, and as much again after it.
pub const MAX_UNREAD: usize = 2 * (MAX_HEAD + MAX_BODY);

/// Method of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Method {
    /// Asks which methods are supported.
    Options,
    /// Asks for the description of a stream.
    Describe,
    /// Describes what the client will send.
    Announce,
    /// Chooses the transport of a track.
    Setup,
    /// Starts or resumes.
    Play,
    /// Pauses.
    Pause,
    /// Starts recording of what the client sends.
    Record,
    /// Reads parameters; without a body, a keep-alive.
    GetParameter,
    /// Sets parameters.
    SetParameter,
    /// Ends the session.
    Teardown,
    /// Refers the client to another server.
    Redirect,
    /// Any other method.
    Other(String),
}

impl Method {
    const ALL: [(Self, &'static str); 11] = [
        (Self::Options, "OPTIONS"),
        (Self::Describe, "DESCRIBE"),
        (Self::Announce, "ANNOUNCE"),
        (Self::Setup, "SETUP"),
        (Self::Play, "PLAY"),
        (Self::Pause, "PAUSE"),
        (Self::Record, "RECORD"),
        (Self::GetParameter, "GET_PARAMETER"),
        (Self::SetParameter, "SET_PARAMETER"),
        (Self::Teardown, "TEARDOWN"),
        (Self::Redirect, "REDIRECT"),
    ];

    pub(super) fn parse(name: &str) -> Self {
        let known = Self::ALL.into_iter().find(|(_, known)| *known == name);
        known.map_or_else(|| Self::Other(name.to_owned()), |(method, _)| method)
    }

    /// The method's name.
    pub fn name(&self) -> &str {
        match self {
            Self::Other(name) => name,
            known => {
                let named = Self::ALL.iter().find(|(method, _)| method == known);
                named.expect("all but others are listed").1
            }
        }
    }
}

/// Headers of a message, in order. `Content-Length` is not among them: it is derived from the body. Names are compared
/// case-insensitively. Values may be secret, so `Debug` shows names only.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Headers(Vec<(String, String)>);

impl Headers {
    /// Returns the value of the first header with this name.
    pub fn get(&self, name: &str) -> Option<&str> {
        let named = self.0.iter().find(|(other, _)| other.eq_ignore_ascii_case(name));
        named.map(|(_, value)| value.as_str())
    }

    /// Returns the values of all headers with this name.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let named = self.0.iter().filter(move |(other, _)| other.eq_ignore_ascii_case(name));
        named.map(|(_, value)| value.as_str())
    }

    /// Appends a header. Characters that could end it, or could do harm in a log, are removed from the value.
    pub fn add(&mut self, name: &str, value: impl Into<String>) {
        let mut value = value.into();
        value.retain(|letter| !is_unsafe(letter));
        self.0.push((name.to_owned(), value));
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn remove(&mut self, name: &str) {
        self.0.retain(|(other, _)| !other.eq_ignore_ascii_case(name));
    }

    /// Appends to the last value, for a folded header. Returns false if there is no header yet.
    pub(super) fn fold(&mut self, more: &str) -> bool {
        let Some((_, value)) = self.0.last_mut() else {
            return false;
        };
        value.push(' ');
        value.push_str(more);
        true
    }

    fn put(&self, out: &mut Vec<u8>, body: &[u8]) {
        for (name, value) in &self.0 {
            out.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
        }
        if !body.is_empty() {
            out.extend_from_slice(format!("Content-Length: {}\r\n", body.len()).as_bytes());
        }
        out.extend_from_slice(b"\r\n");
        out.extend_from_slice(body);
    }
}

impl fmt::Debug for Headers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(name, _)| name)).finish()
    }
}

/// A request.
#[derive(Clone, PartialEq, Eq)]
pub struct Request {
    /// The method.
    pub method: Method,
    /// The URL, or `*`.
    pub url: String,
    /// True for RTSP/1.0, false for any other version.
    pub version_one: bool,
    /// Its headers.
    pub headers: Headers,
    /// Body, usually empty.
    pub body: Vec<u8>,
}

impl Request {
    /// Creates a request without headers and body.
    pub fn new(method: Method, url: impl Into<String>) -> Self {
        Self {
            method,
            url: url.into(),
            version_one: true,
            headers: Headers::default(),
            body: Vec::new(),
        }
    }

    /// Returns the bytes of the request.
    pub fn to_bytes(&self) -> Vec<u8> {
        let version = if self.version_one { VERSION } else { "RTSP/2.0" };
        let mut out = format!("{} {} {version}\r\n", self.method.name(), self.url).into_bytes();
        self.headers.put(&mut out, &self.body);
        out
    }
}

impl fmt::Debug for Request {
    /// Omits the URL and the header values, since both may contain credentials.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("method", &self.method.name())
            .field("headers", &self.headers)
            .field("body", &self.body.len())
            .finish_non_exhaustive()
    }
}

/// A response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// The status code, 100 to 999.
    pub status: u16,
    /// Reason phrase.
    pub reason: String,
    /// Its headers.
    pub headers: Headers,
    /// Body, usually empty.
    pub body: Vec<u8>,
}

impl Response {
    /// Creates a response with the standard reason phrase, without headers and body.
    pub fn new(status: u16) -> Self {
        Self {
            status,
            reason: reason(status).to_owned(),
            headers: Headers::default(),
            body: Vec::new(),
        }
    }

    /// Returns the bytes of the response.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = format!("{VERSION} {} {}\r\n", self.status, self.reason).into_bytes();
        self.headers.put(&mut out, &self.body);
        out
    }
}

pub(super) const VERSION: &str = "RTSP/1.0";

/// A message received on an RTSP connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// A request.
    Request(Request),
    /// A response.
    Response(Response),
    /// An interleaved packet.
    Data {
        /// Number of its channel on this connection.
        channel: u8,
        /// The packet.
        bytes: Vec<u8>,
    },
}

/// Appends an interleaved packet: `$`, channel number, length, packet (RFC 2326 §10.12). A packet longer than 65 535
/// bytes is left out; no transport delivers one.
pub fn put_data(out: &mut Vec<u8>, channel: u8, packet: &[u8]) {
    let Ok(length) = u16::try_from(packet.len()) else {
        return;
    };
    out.extend_from_slice(&[b'$', channel]);
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(packet);
}

/// Reason phrase of a status (RFC 2326 §7.1.1).
fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        401 => "Unauthorized",
        404 => "Not Found",
        405 => "Method Not Allowed",
        413 => "Request Entity Too Large",
        414 => "Request-URI Too Large",
        451 => "Parameter Not Understood",
        453 => "Not Enough Bandwidth",
        454 => "Session Not Found",
        455 => "Method Not Valid in This State",
        457 => "Invalid Range",
        459 => "Aggregate Operation Not Allowed",
        460 => "Only Aggregate Operation Allowed",
        461 => "Unsupported Transport",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Time-out",
        505 => "RTSP Version Not Supported",
        551 => "Option Not Supported",
        _ => match status / 100 {
            1 => "Continue",
            2 => "Success",
            3 => "Redirection",
            4 => "Client Error",
            _ => "Server Error",
        },
    }
}
