//! Rewriting of a camera's session description (SDP, RFC 8866) for the other gateway: control URLs are replaced by
//! ours; addresses, ports and the `u=`, `p=` and `k=` lines are removed; all other lines stay unchanged.

use std::borrow::Cow;

use super::tracks::{MAX_TRACKS, Track, TrackSet};
use super::url::{join, track_control};
use crate::rtp::{MediaDescription, Medium, lines};

/// Replaces the camera's address.
const NO_ADDRESS: &str = "IN IP4 0.0.0.0";

/// A rewritten description, and the URLs of the camera's tracks.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Description {
    /// The rewritten session description.
    pub(super) sdp: Vec<u8>,
    /// Base of the camera's relative URLs.
    pub(super) base: String,
    /// The camera's URL of all tracks together.
    pub(super) aggregate: String,
    /// The camera's URL of each track; 1 to 16.
    pub(super) tracks: Vec<String>,
    /// The tracks with pictures.
    pub(super) pictures: TrackSet,
}

/// A camera's description cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DescriptionError {
    /// It describes no tracks.
    #[error("the camera describes no track")]
    NoTracks,
    /// It describes more than 16 tracks.
    #[error("the camera describes more than {MAX_TRACKS} tracks")]
    ManyTracks,
}

/// Rewrites a camera's SDP. `base` is the base of its relative URLs. `host` is the camera's host, which is removed
/// wherever it appears.
///
/// # Errors
/// [`DescriptionError`] for no track, or more than 16.
pub(super) fn rewrite(sdp: &[u8], base: &str, host: &str) -> Result<Description, DescriptionError> {
    let mut rewriter = Rewriter {
        base,
        host: host.as_bytes(),
        out: Vec::with_capacity(sdp.len()),
        aggregate: base.to_owned(),
        tracks: Vec::new(),
        pictures: TrackSet::default(),
        has_control: false,
        ending: b"\r\n",
    };
    for line in lines(sdp) {
        rewriter.line(line)?;
    }
    if rewriter.tracks.is_empty() {
        return Err(DescriptionError::NoTracks);
    }
    rewriter.end_section();
    Ok(Description {
        sdp: rewriter.out,
        base: base.to_owned(),
        aggregate: rewriter.aggregate,
        tracks: rewriter.tracks,
        pictures: rewriter.pictures,
    })
}

/// Returns true if two descriptions have the same tracks with the same codecs and parameters, so that a player that was
/// given one of them can play the other. Names, versions and times are ignored.
pub fn same_media(one: &[u8], other: &[u8]) -> bool {
    let [one, other] = [one, other].map(MediaDescription::parse);
    let playable = |medium: &Medium| (medium.kind.clone(), medium.encrypted, medium.formats.clone());
    one.media.iter().map(playable).eq(other.media.iter().map(playable))
}

struct Rewriter<'a> {
    base: &'a str,
    host: &'a [u8],
    out: Vec<u8>,
    aggregate: String,
    tracks: Vec<String>,
    pictures: TrackSet,
    /// True if the current section has already given its control URL.
    has_control: bool,
    /// Line ending of the description, as of the last line that had one.
    ending: &'static [u8],
}

impl Rewriter<'_> {
    fn line(&mut self, line: &[u8]) -> Result<(), DescriptionError> {
        let (content, ending) = match line {
            [content @ .., b'\r', b'\n'] => (content, &b"\r\n"[..]),
            [content @ .., b'\n'] => (content, &b"\n"[..]),
            // The last line has no line ending. Trailing carriage returns are removed: with an ending appended, the
            // last of them would become part of it.
            mut content => {
                while let [shorter @ .., b'\r'] = content {
                    content = shorter;
                }
                (content, self.ending)
            }
        };
        self.ending = ending;
        let content = &*regular(content);
        match content {
            [] => {}
            [b'm', b'=', media @ ..] => self.media(media)?,
            [b'o', b'=', origin @ ..] => {
                let names: Vec<&[u8]> = origin.split(|byte| *byte == b' ').take(4).collect();
                let names = names.split_last_chunk::<1>().filter(|(names, _)| names.len() == 3);
                let names = names.map_or_else(Vec::new, |(names, _)| names.join(&b' '));
                let tells = names.is_empty() || self.tells_host(&names);
                let names = if tells { &b"- 0 0"[..] } else { &names };
                self.put(&[b"o=", names, b" ", NO_ADDRESS.as_bytes()]);
            }
            [b'c', b'=', ..] => self.put(&[b"c=", NO_ADDRESS.as_bytes()]),
            [b's', b'=', ..] if self.tells_host(content) => self.put(&[b"s=-"]),
            [b'a', b'=', attribute @ ..] => self.attribute(content, attribute),
            // URI, phone number and key are only of use on the camera's side.
            [b'u' | b'p' | b'k', b'=', ..] => {}
            _ if self.tells_host(content) => {}
            _ => self.put(&[content]),
        }
        Ok(())
    }

    /// Begins a new track. Its port is written as 0, since it has a meaning only on the camera's side.
    fn media(&mut self, media: &[u8]) -> Result<(), DescriptionError> {
        self.end_section();
        if self.tracks.len() == usize::from(MAX_TRACKS) {
            return Err(DescriptionError::ManyTracks);
        }
        // The default is the URL of the whole session: a camera may leave out that of its only track.
        self.tracks.push(self.aggregate.clone());
        let (kind, rest) = field(media);
        let (_port, rest) = field(rest);
        let kind = if kind.is_empty() { b"-" } else { kind };
        if let Some(track) = Track::new(self.tracks.len() - 1).filter(|_| kind.eq_ignore_ascii_case(b"video")) {
            self.pictures.insert(track);
        }
        let line = [b"m=", kind, b" 0 ", rest].concat();
        // A track whose media line contains the camera's host cannot be played, but it keeps its number.
        self.put(&[if self.tells_host(&line) {
            b"m=application 0 - 0"
        } else {
            &line
        }]);
        Ok(())
    }

    fn attribute(&mut self, content: &[u8], attribute: &[u8]) {
        let named = attribute.split_at_checked(b"control:".len());
        if let Some((_, control)) = named.filter(|(name, _)| name.eq_ignore_ascii_case(b"control:")) {
            if !std::mem::replace(&mut self.has_control, true) {
                let url = join(self.base, String::from_utf8_lossy(control).trim());
                *self.tracks.last_mut().unwrap_or(&mut self.aggregate) = url;
                self.put_control();
            }
            return;
        }
        let addresses: [&[u8]; 3] = [b"rtcp:", b"source-filter:", b"candidate:"];
        let tells = addresses.iter().any(|name| attribute.starts_with(name)) || self.tells_host(content);
        if !tells {
            self.put(&[content]);
        }
    }

    /// Ends a section, adding a control URL if it had none.
    fn end_section(&mut self) {
        if !std::mem::take(&mut self.has_control) {
            self.put_control();
        }
    }

    fn put_control(&mut self) {
        let control = self
            .tracks
            .len()
            .checked_sub(1)
            .map_or_else(|| "*".to_owned(), track_control);
        self.put(&[b"a=control:", control.as_bytes()]);
    }

    fn put(&mut self, parts: &[&[u8]]) {
        self.out.extend(parts.iter().copied().flatten());
        self.out.extend_from_slice(self.ending);
    }

    fn tells_host(&self, content: &[u8]) -> bool {
        !self.host.is_empty() && content.windows(self.host.len()).any(|window| window == self.host)
    }
}

/// A line as the standard has it, where only whitespace before it or the case of its letter are odd.
fn regular(line: &[u8]) -> Cow<'_, [u8]> {
    match line.trim_ascii_start() {
        content @ [kind, b'=', value @ ..] if content != line || kind.is_ascii_uppercase() => {
            Cow::Owned([&[kind.to_ascii_lowercase(), b'='], value].concat())
        }
        _ => Cow::Borrowed(line),
    }
}

/// Splits the first field off, and the spaces around it.
fn field(fields: &[u8]) -> (&[u8], &[u8]) {
    let fields = fields.trim_ascii_start();
    let end = fields.iter().position(u8::is_ascii_whitespace).unwrap_or(fields.len());
    let (field, rest) = fields.split_at(end);
    (field, rest.trim_ascii_start())
}

#[cfg(test)]
#[path = "sdp_tests.rs"]
mod tests;
