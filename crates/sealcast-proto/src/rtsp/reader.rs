//! A parser that splits the bytes of a connection into messages, in whatever pieces they arrive.
//!
//! It is lenient where cameras and players are: lines may end without a carriage return, empty lines may precede a
//! message, a status may have no reason phrase, a header may be folded and its value may contain any bytes. It is
//! strict about `Content-Length`, where leniency would let two parsers disagree about the end of a message.
//!
//! The reader of a [camera's](MessageReader::of_camera) messages forgives more, because nobody corrects cameras: what
//! is no header is skipped, junk between two messages is skipped to where the next one begins, and a description may
//! come without its length.

use super::head::{Manner, continued, head_length, may_begin, parse_head};
use super::message::{MAX_BODY, MAX_HEAD, MAX_UNREAD, Message, Request, Response};
use super::not_rtsp::NotRtsp;
use super::oddity::{Oddities, Oddity};

/// Maximum number of bytes between two messages of a camera that are skipped.
const MAX_JUNK: usize = 64 << 10;
/// The same before a camera's first message, which tells what else may be at its port.
const MAX_FIRST_JUNK: usize = 1 << 10;

/// Parser for one direction of a connection.
#[derive(Default)]
pub struct MessageReader {
    bytes: Vec<u8>,
    /// Index of the first unread byte.
    at: usize,
    /// Number of bytes after `at` in which no end of a head begins.
    scanned: usize,
    /// Length of the next message, if its head is complete and its body is not. It saves parsing the head again for
    /// every byte that arrives.
    awaited: usize,
    manner: Manner,
    /// True between junk and the message behind it.
    lost: bool,
    /// Bytes skipped since the last message.
    junk: usize,
    /// Bytes skipped in all.
    skipped: u64,
    /// True once a message was read.
    began: bool,
    /// The interleaved channels in use, which end junk.
    channels: Vec<u8>,
    /// True while the next response has a description for its body, with or without a length.
    describes: bool,
    /// True if a description without a length waits for its end.
    unended: bool,
    /// Deviations of messages that were read all the same.
    oddities: Oddities,
}

impl MessageReader {
    /// Creates the reader of a camera's messages.
    pub fn of_camera() -> Self {
        Self {
            manner: Manner::Lenient,
            ..Self::default()
        }
    }

    /// Takes received bytes.
    ///
    /// # Errors
    /// [`NotRtsp::Unread`] if more than [`MAX_UNREAD`] bytes would be unread.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), NotRtsp> {
        self.bytes.drain(..self.at);
        self.at = 0;
        if self.bytes.len() + bytes.len() > MAX_UNREAD {
            return Err(NotRtsp::Unread);
        }
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    /// Number of bytes that [`push`](Self::push) still accepts.
    pub fn room(&self) -> usize {
        MAX_UNREAD - (self.bytes.len() - self.at)
    }

    /// Returns the channel and the bytes of the next message if it is interleaved data and complete, where they lie.
    pub fn next_packet(&mut self) -> Option<(u8, &[u8])> {
        if self.lost {
            return None;
        }
        self.skip_empty_lines();
        let (&[_, channel, high, low], rest) = self.bytes[self.at..]
            .split_first_chunk()
            .filter(|(head, _)| head[0] == b'$')?;
        let length = usize::from(u16::from_be_bytes([high, low]));
        if rest.len() < length {
            return None;
        }
        self.read(4 + length);
        Some((channel, &self.bytes[self.at - length..self.at]))
    }

    /// True if the next message is interleaved data, of which the first byte suffices.
    pub fn begins_with_data(&mut self) -> bool {
        self.skip_empty_lines();
        self.bytes.get(self.at) == Some(&b'$')
    }

    /// Returns the next message, if it is complete.
    ///
    /// # Errors
    /// [`NotRtsp`]: the connection must end.
    pub fn next_message(&mut self) -> Result<Option<Message>, NotRtsp> {
        loop {
            if self.lost && !self.seek()? {
                return Ok(None);
            }
            self.skip_empty_lines();
            let unread = &self.bytes[self.at..];
            if unread.len() < self.awaited.max(1) {
                return Ok(None);
            }
            if unread[0] == b'$' {
                return Ok(self.next_packet().map(|(channel, bytes)| Message::Data {
                    channel,
                    bytes: bytes.to_vec(),
                }));
            }
            match self.next_text() {
                Err(NotRtsp::FirstLine | NotRtsp::LongHead) if self.manner == Manner::Lenient => {
                    self.lost = true;
                    self.skip(1)?;
                }
                read => return read,
            }
        }
    }

    /// Says which channel of interleaved data a camera uses. Junk ends where a packet of such a channel begins.
    pub(super) fn carries(&mut self, channel: u8) {
        if !self.channels.contains(&channel) {
            self.channels.push(channel);
        }
    }

    /// Says whether a description is what the camera was asked for.
    pub(super) fn await_description(&mut self, awaited: bool) {
        self.describes = awaited;
    }

    /// True if the description came without a length, and may go on or not.
    pub(super) fn is_unended(&self) -> bool {
        self.unended
    }

    /// Returns what has come of a response whose body has no known end, or did not come whole.
    pub(super) fn take_unended(&mut self) -> Option<Response> {
        let unread = &self.bytes[self.at..];
        let head = head_length(unread, 0)?;
        let head = continued(unread, head, MAX_HEAD);
        let (Message::Response(mut response), _) = parse_head(&unread[..head], self.manner).ok()? else {
            return None;
        };
        let body = &unread[head..];
        let end = description_end(body).unwrap_or(body.len());
        response.body = body[..end].to_vec();
        self.read(head + end);
        Some(response)
    }

    /// Number of bytes that were skipped because they are of no message.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Oddities that were passed over so far.
    pub(super) fn oddities(&self) -> Oddities {
        let mut oddities = self.oddities;
        if self.skipped > 0 {
            oddities.note(Oddity::Junk);
        }
        oddities
    }

    fn skip_empty_lines(&mut self) {
        let lines = self.bytes[self.at..]
            .iter()
            .take_while(|byte| matches!(byte, b'\r' | b'\n'));
        let lines = lines.count();
        self.at += lines;
        self.scanned = self.scanned.saturating_sub(lines);
    }

    fn next_text(&mut self) -> Result<Option<Message>, NotRtsp> {
        let unread = &self.bytes[self.at..];
        let lenient = self.manner == Manner::Lenient;
        if lenient && !may_begin(unread) {
            return Err(NotRtsp::FirstLine);
        }
        let Some(head) = head_length(unread, self.scanned) else {
            // The last three bytes may contain the beginning of the head's end, so they are scanned again.
            self.scanned = unread.len().saturating_sub(3);
            return if unread.len() > MAX_HEAD {
                Err(NotRtsp::LongHead)
            } else {
                Ok(None)
            };
        };
        if head > MAX_HEAD {
            return Err(NotRtsp::LongHead);
        }
        self.scanned = head.saturating_sub(3);
        let mut end = head;
        let (mut message, mut length) = parse_head(&unread[..head], self.manner)?;
        if lenient && length.unwrap_or(0) == 0 {
            end = continued(unread, head, MAX_HEAD);
            if end > head {
                (message, length) = parse_head(&unread[..end], self.manner)?;
            }
        }
        let described = self.describes && matches!(&message, Message::Response(response) if response.status / 100 == 2);
        self.unended = false;
        if lenient && (end > head || parse_head(&unread[..head], Manner::Strict).is_err()) {
            self.oddities.note(Oddity::Head);
        }
        if described && !ends_after(&unread[end..], length) {
            self.oddities.note(Oddity::DescriptionLength);
            length = description_end(&unread[end..]);
            if length.is_none() {
                self.unended = true;
                let long = unread.len() - end > MAX_BODY;
                return if long { Err(NotRtsp::BodyLength) } else { Ok(None) };
            }
        }
        let length = length.unwrap_or(0);
        let Some(came) = unread.get(end..end + length) else {
            self.awaited = end + length;
            return Ok(None);
        };
        if let Message::Request(Request { body, .. }) | Message::Response(Response { body, .. }) = &mut message {
            *body = came.to_vec();
        }
        self.read(end + length);
        Ok(Some(message))
    }

    fn read(&mut self, length: usize) {
        self.at += length;
        self.scanned = 0;
        self.awaited = 0;
        self.unended = false;
        self.junk = 0;
        self.began = true;
    }

    /// Skips to where a message may begin. Returns false if more bytes must come to tell.
    fn seek(&mut self) -> Result<bool, NotRtsp> {
        let unread = &self.bytes[self.at..];
        let found = (0..unread.len()).find_map(|at| match self.resumes(&unread[at..]) {
            Some(false) => None,
            other => Some((at, other.is_some())),
        });
        let (junk, certain) = found.unwrap_or((unread.len(), false));
        self.skip(junk)?;
        self.lost = !certain;
        Ok(certain)
    }

    /// True if a message of a camera begins here; `None` if more bytes must come to tell. A packet's first byte has
    /// the version of RTP and RTCP.
    fn resumes(&self, bytes: &[u8]) -> Option<bool> {
        const START: &[u8] = b"RTSP/";
        match bytes {
            [b'$'] => None,
            [b'$', channel, ..] if !self.channels.contains(channel) => Some(false),
            [b'$', _, _, _, first, ..] => Some(first >> 6 == 2),
            [b'$', ..] => None,
            _ if bytes.len() < START.len() && START.starts_with(bytes) => None,
            _ => Some(bytes.starts_with(START)),
        }
    }

    fn skip(&mut self, length: usize) -> Result<(), NotRtsp> {
        self.at += length;
        self.scanned = 0;
        self.awaited = 0;
        self.junk += length;
        self.skipped += length as u64;
        let most = if self.began { MAX_JUNK } else { MAX_FIRST_JUNK };
        if self.junk > most {
            Err(NotRtsp::FirstLine)
        } else {
            Ok(())
        }
    }
}

/// True if a description may end after this length. None ends before its first byte, nor where more of it has come.
fn ends_after(bytes: &[u8], length: Option<usize>) -> bool {
    let length = length.unwrap_or(0);
    let more = bytes.get(length..).unwrap_or_default();
    length > 0 && (matches!(more, [] | [b'$' | b'\r' | b'\n', ..]) || more.starts_with(b"RTSP/"))
}

/// End of a description whose length nobody told: where something begins that is no line of one. `None` if nothing
/// such has come yet.
fn description_end(bytes: &[u8]) -> Option<usize> {
    let mut end = 0;
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let whole = line.ends_with(b"\n");
        let text = line.trim_ascii_start();
        let of_description = text.is_empty() || matches!(text, [name, b'=', ..] if name.is_ascii_alphabetic());
        if text.starts_with(b"$") || text.starts_with(b"RTSP/") || (whole && !of_description) {
            return Some(end);
        }
        end += line.len();
    }
    None
}

#[cfg(test)]
#[path = "reader_tests.rs"]
mod tests;
