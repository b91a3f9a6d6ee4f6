//! The media part of a session description (SDP, RFC 8866), as cameras write it: which media there are, in which
//! formats. Only `m=`, `c=` and `a=` lines are looked at, so that what is odd about the session keeps no medium away.

use core::net::IpAddr;

use super::bounds::{MAX_FORMATS, MAX_LINE, MAX_NAME, MAX_PARAMETERS, MAX_PAYLOAD_TYPE, MAX_RATE};
use super::{Format, aac};
use crate::rtsp::{MAX_TRACKS, Track};
use crate::unit::FrameRate;
use crate::words::plain;

/// Denominator of the rate of pictures.
const RATE_SCALE: u32 = 1000;

/// Encodings that are put together here, of pictures and of sound.
const PICTURES: [&str; 3] = ["h264", "h265", "jpeg"];
const SOUNDS: [&str; 4] = ["mpeg4-generic", "opus", "pcmu", "pcma"];

/// Static payload types (RFC 3551, section 6): encoding, ticks a second, channels.
const STATIC: [(u8, &str, u32, u8); 24] = [
    (0, "pcmu", 8_000, 1),
    (3, "gsm", 8_000, 1),
    (4, "g723", 8_000, 1),
    (5, "dvi4", 8_000, 1),
    (6, "dvi4", 16_000, 1),
    (7, "lpc", 8_000, 1),
    (8, "pcma", 8_000, 1),
    (9, "g722", 8_000, 1),
    (10, "l16", 44_100, 2),
    (11, "l16", 44_100, 1),
    (12, "qcelp", 8_000, 1),
    (13, "cn", 8_000, 1),
    (14, "mpa", 90_000, 1),
    (15, "g728", 8_000, 1),
    (16, "dvi4", 11_025, 1),
    (17, "dvi4", 22_050, 1),
    (18, "g729", 8_000, 1),
    (25, "celb", 90_000, 1),
    (26, "jpeg", 90_000, 1),
    (28, "nv", 90_000, 1),
    (31, "h261", 90_000, 1),
    (32, "mpv", 90_000, 1),
    (33, "mp2t", 90_000, 1),
    (34, "h263", 90_000, 1),
];

/// The media of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MediaDescription {
    /// The media by the number of their track, which is that of their `m=` line; at most 16, more are left out.
    pub media: Vec<Medium>,
}

/// A medium that a camera offers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Medium {
    /// Its kind.
    pub kind: MediaKind,
    /// Port that its packets are sent to, if they are sent without being asked for; 0 otherwise.
    pub port: u16,
    /// Address that they are sent to then, if it is said.
    pub address: Option<IpAddr>,
    /// Formats in the order of the camera, at most [`MAX_FORMATS`], each payload type once.
    pub formats: Vec<Format>,
    /// True for sound or data that the camera wants to be sent to it.
    pub back_channel: bool,
    /// True if the camera itself encrypts it (SRTP).
    pub encrypted: bool,
    /// Pictures a second, if the camera says so; more than 0 and at most 1000, not in lowest terms.
    pub frame_rate: Option<FrameRate>,
    /// Width and height of pictures, if the camera says so.
    pub size: Option<(u16, u16)>,
}

/// Kind of a medium.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MediaKind {
    /// Pictures.
    Video,
    /// Sound.
    Audio,
    /// All else, as it calls itself, in lower case: `application` for metadata, `-` for what has no name.
    Other(String),
}

impl Default for MediaKind {
    fn default() -> Self {
        Self::Other(String::new())
    }
}

impl MediaDescription {
    /// Reads a session description. Nothing in it is an error: what cannot be read is left out.
    pub fn parse(sdp: &[u8]) -> Self {
        let mut drafts = Drafts::default();
        let mut line = String::new();
        for piece in lines(sdp) {
            let folded = matches!(piece, [b' ' | b'\t', ..]);
            let text = readable(piece);
            if folded && typed(&text).is_none() {
                line.push(' ');
                line.push_str(&text);
            } else if !text.is_empty() {
                drafts.take(&line);
                line = text;
            }
        }
        drafts.take(&line);
        drafts.finish()
    }

    /// The media with the tracks that they are.
    pub fn tracks(&self) -> impl Iterator<Item = (Track, &Medium)> {
        let tracks = (0..).map_while(Track::new);
        tracks.zip(&self.media)
    }
}

impl Medium {
    /// The first format of which pictures or sound can be put together, or else the first.
    pub fn format(&self) -> Option<&Format> {
        self.formats.get(self.preferred())
    }

    fn preferred(&self) -> usize {
        let known: &[&str] = match self.kind {
            MediaKind::Video => &PICTURES,
            MediaKind::Audio => &SOUNDS,
            MediaKind::Other(_) => &[],
        };
        let is_known = |format: &Format| known.contains(&format.encoding.as_str());
        self.formats.iter().position(is_known).unwrap_or(0)
    }
}

/// The lines of a description with their ends: a line feed, or a carriage return where there is no line feed at all.
pub(crate) fn lines(sdp: &[u8]) -> impl Iterator<Item = &[u8]> {
    let end = if sdp.contains(&b'\n') { b'\n' } else { b'\r' };
    sdp.split_inclusive(move |byte| *byte == end)
}

/// The text of a line without what surrounds it, and with nothing in it that would disturb a log.
fn readable(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line.trim_ascii_start()).replace('\t', " ");
    plain(text.trim_end_matches(|letter: char| letter.is_whitespace() || letter.is_control()))
}

/// Splits a line at its `=`: the letter before it, in lower case, and the value.
fn typed(line: &str) -> Option<(char, &str)> {
    let (kind, value) = line.split_once('=')?;
    let mut letters = kind.chars();
    let kind = letters.next().filter(|_| letters.next().is_none())?;
    Some((kind.to_ascii_lowercase(), value.trim()))
}

/// Cuts a name, which goes to lower case.
fn name(text: &str) -> String {
    text.chars().take(MAX_NAME).collect::<String>().to_ascii_lowercase()
}

/// The media that were begun.
#[derive(Default)]
struct Drafts {
    media: Vec<Draft>,
    /// Address of the media that say none themselves.
    address: Option<IpAddr>,
    /// True behind the last medium that is taken.
    full: bool,
}

impl Drafts {
    fn take(&mut self, line: &str) {
        match typed(line) {
            Some(('m', value)) => {
                self.full = self.media.len() == usize::from(MAX_TRACKS);
                if !self.full {
                    self.media.push(Draft::new(value, self.address));
                }
            }
            Some(('c', value)) if !self.full => {
                let place = self.media.last_mut().map(|draft| &mut draft.medium.address);
                *place.unwrap_or(&mut self.address) = address(value);
            }
            Some(('a', value)) if !self.full && line.len() <= MAX_LINE => {
                if let Some(medium) = self.media.last_mut() {
                    medium.attribute(value);
                }
            }
            _ => {}
        }
    }

    fn finish(self) -> MediaDescription {
        let sent = |draft: &Draft| draft.sent && draft.medium.kind == MediaKind::Video;
        // ONVIF's direction is that of the client: what it sends is a back channel (Streaming Specification, section
        // 5.3). Where pictures are for sending as well, the direction is the camera's own.
        let by_client = !self.media.iter().any(sent);
        let media = self.media.into_iter().map(|draft| draft.finish(by_client)).collect();
        MediaDescription { media }
    }
}

/// A medium that is being read.
#[derive(Default)]
struct Draft {
    medium: Medium,
    /// True for `a=sendonly`.
    sent: bool,
    maps: Found,
    parameters: Found,
}

/// The attributes of one name that belong to payload types.
#[derive(Default)]
struct Found {
    count: usize,
    /// The value of the last one whose payload type the medium does not have.
    stray: String,
}

impl Found {
    /// The value meant for the medium, if it is the only one and has another payload type.
    fn meant(self) -> Option<String> {
        Some(self.stray).filter(|value| self.count == 1 && !value.is_empty())
    }
}

impl Draft {
    /// Begins a medium with the value of its `m=` line: kind, port, profile and payload types.
    fn new(line: &str, address: Option<IpAddr>) -> Self {
        let mut fields = line.split_ascii_whitespace();
        let kind = match name(fields.next().unwrap_or("-")) {
            kind if kind == "video" => MediaKind::Video,
            kind if kind == "audio" => MediaKind::Audio,
            kind => MediaKind::Other(kind),
        };
        let port = fields.next().and_then(|port| port.split('/').next()?.parse().ok());
        let profile = fields.next().unwrap_or_default();
        let mut medium = Medium {
            port: port.unwrap_or(0),
            address,
            encrypted: profile.to_ascii_uppercase().contains("RTP/SAVP"),
            kind,
            ..Medium::default()
        };
        for number in fields.filter_map(|field| field.parse().ok()) {
            let twice = medium.formats.iter().any(|format| format.payload_type == number);
            if number <= MAX_PAYLOAD_TYPE && !twice && medium.formats.len() < MAX_FORMATS {
                medium.formats.push(undescribed(number));
            }
        }
        Self {
            medium,
            ..Self::default()
        }
    }

    fn attribute(&mut self, attribute: &str) {
        let (key, value) = attribute.split_once(':').unwrap_or((attribute, ""));
        let value = value.trim();
        match key.trim().to_ascii_lowercase().as_str() {
            "rtpmap" => self.map(value),
            "fmtp" => self.parameters(value),
            "sendonly" => self.sent = true,
            "framerate" | "x-framerate" => self.medium.frame_rate = self.medium.frame_rate.or(rate(value)),
            "x-dimensions" | "framesize" => self.medium.size = self.medium.size.or(size(value)),
            _ => {}
        }
    }

    fn map(&mut self, value: &str) {
        let Some((number, map)) = numbered(value) else { return };
        self.maps.count += 1;
        match self.format_mut(number) {
            Some(format) => describe(format, map),
            None => map.clone_into(&mut self.maps.stray),
        }
    }

    fn parameters(&mut self, value: &str) {
        let Some((number, parameters)) = numbered(value) else {
            return;
        };
        self.parameters.count += 1;
        match self.format_mut(number) {
            _ if parameters.len() > MAX_PARAMETERS => {}
            Some(format) if format.parameters.is_empty() => parameters.clone_into(&mut format.parameters),
            Some(format) if format.parameters.len() + 1 + parameters.len() <= MAX_PARAMETERS => {
                format.parameters.push(';');
                format.parameters.push_str(parameters);
            }
            Some(_) => {}
            None => parameters.clone_into(&mut self.parameters.stray),
        }
    }

    fn format_mut(&mut self, number: u8) -> Option<&mut Format> {
        let mut formats = self.medium.formats.iter_mut();
        formats.find(|format| format.payload_type == number)
    }

    /// Ends the medium. What it says of a payload type that it does not have is meant for the one that it has.
    fn finish(self, by_client: bool) -> Medium {
        let mut medium = self.medium;
        medium.back_channel = by_client && self.sent;
        if let (Some(map), Some(format)) = (self.maps.meant(), medium.formats.first_mut())
            && format.encoding.is_empty()
        {
            describe(format, &map);
        }
        let preferred = medium.preferred();
        if let (Some(parameters), Some(format)) = (self.parameters.meant(), medium.formats.get_mut(preferred)) {
            format.parameters = parameters;
        }
        for format in medium.formats.iter_mut().filter(|format| format.clock_rate == 0) {
            format.clock_rate = usual_clock(format, &medium.kind);
        }
        medium
    }
}

/// Reads the address of `IN IP4 192.0.2.1/127`.
fn address(value: &str) -> Option<IpAddr> {
    value.split_ascii_whitespace().nth(2)?.split('/').next()?.parse().ok()
}

/// Splits the payload type off an attribute's value.
fn numbered(value: &str) -> Option<(u8, &str)> {
    let (number, rest) = value.split_once(' ')?;
    let number = number.parse().ok().filter(|number| *number <= MAX_PAYLOAD_TYPE)?;
    Some((number, rest.trim()))
}

/// A format of which only the payload type is known. Its clock is 0 if that says none.
fn undescribed(payload_type: u8) -> Format {
    let known = STATIC.into_iter().find(|known| known.0 == payload_type);
    let (_, encoding, clock_rate, channels) = known.unwrap_or((payload_type, "", 0, 1));
    Format {
        payload_type,
        encoding: encoding.to_owned(),
        clock_rate,
        channels,
        parameters: String::new(),
    }
}

/// Describes a format by its `a=rtpmap:`, whose value is for example `MPEG4-GENERIC/16000/2`. Its clock is 0 if that
/// says none.
fn describe(format: &mut Format, map: &str) {
    let mut fields = map.split('/').map(str::trim);
    let encoding = fields.next().and_then(|encoding| encoding.split_whitespace().next());
    let Some(encoding) = encoding.map(name) else { return };
    format.encoding = match encoding.as_str() {
        "hevc" => "h265".to_owned(),
        _ => encoding,
    };
    format.clock_rate = fields.next().and_then(|clock| clock.parse().ok()).unwrap_or(0);
    let channels = fields.next().and_then(|channels| channels.parse().ok());
    format.channels = channels.filter(|channels| *channels > 0).unwrap_or(1);
}

/// The usual clock of a format whose description has none.
fn usual_clock(format: &Format, kind: &MediaKind) -> u32 {
    let known = STATIC.iter().find(|known| known.1 == format.encoding);
    match (format.encoding.as_str(), known, kind) {
        (_, Some(known), _) => known.2,
        ("opus", ..) => 48_000,
        ("mpeg4-generic", ..) => aac::describe(format).map_or(90_000, |sound| sound.samples_per_second),
        (.., MediaKind::Audio) => 8_000,
        _ => 90_000,
    }
}

/// Reads pictures a second, `25` or `29.97`.
fn rate(value: &str) -> Option<FrameRate> {
    let value = value.split_whitespace().next()?;
    let (whole, part) = value.split_once('.').unwrap_or((value, ""));
    let digits = format!("{part:0<3}");
    let whole: u32 = whole.parse().ok()?;
    let part: u32 = digits.get(..3)?.parse().ok()?;
    let numerator = whole.checked_mul(RATE_SCALE)?.checked_add(part)?;
    (1..=MAX_RATE * RATE_SCALE).contains(&numerator).then_some(FrameRate {
        numerator,
        denominator: RATE_SCALE,
    })
}

/// Reads the last two numbers of `1920,1080`, or of `96 1920-1080`.
fn size(value: &str) -> Option<(u16, u16)> {
    let mut numbers = value.split(|letter: char| !letter.is_ascii_digit());
    let mut next = || numbers.by_ref().rev().find(|number| !number.is_empty());
    let (height, width) = (next()?.parse().ok()?, next()?.parse().ok()?);
    (width > 0 && height > 0).then_some((width, height))
}

#[cfg(test)]
#[path = "media_tests.rs"]
mod tests;
