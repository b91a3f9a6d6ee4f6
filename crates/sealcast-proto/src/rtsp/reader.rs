//! A parser that splits the bytes of a connection into messages, in whatever pieces they arrive.
//!
//! It is lenient where cameras and players are: lines may end without a carriage return, empty lines may precede a
//! message, a status may have no reason phrase, a header may be folded and its value may contain any bytes. It is
//! strict about `Content-Length`, where leniency would let two parsers disagree about the end of a message.

use super::message::{Headers, MAX_BODY, MAX_HEAD, MAX_HEADERS, Message, Method, Request, Response, VERSION};
use crate::words::is_unsafe;

/// Maximum number of unread bytes: a message of maximum length, and as much again after it.
pub const MAX_UNREAD: usize = 2 * (MAX_HEAD + MAX_BODY);

/// The received bytes are not RTSP. The start of the next message is unknown, so the connection must end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotRtsp {
    /// The head is longer than [`MAX_HEAD`].
    #[error("the head of a message has no end within {MAX_HEAD} bytes")]
    LongHead,
    /// More than [`MAX_HEADERS`] headers.
    #[error("a message has more than {MAX_HEADERS} headers")]
    ManyHeaders,
    /// The first line is neither that of a request nor that of a response.
    #[error("what came is neither an RTSP request nor a response")]
    FirstLine,
    /// A line among the headers is not a header.
    #[error("a line among the headers is no header")]
    Header,
    /// `Content-Length` is not a number, has two different values, or is above [`MAX_BODY`].
    #[error("a content length is no number up to {MAX_BODY}")]
    BodyLength,
    /// More than [`MAX_UNREAD`] bytes arrived while an earlier request was not answered yet.
    #[error("more than {MAX_UNREAD} bytes came before an answer")]
    Unread,
}

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
}

impl MessageReader {
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
        self.skip_empty_lines();
        let unread = &self.bytes[self.at..];
        match unread {
            waiting if waiting.len() < self.awaited.max(1) => Ok(None),
            [b'$', ..] => Ok(self.next_packet().map(|(channel, bytes)| Message::Data {
                channel,
                bytes: bytes.to_vec(),
            })),
            _ => {
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
                self.next_text(head)
            }
        }
    }

    fn skip_empty_lines(&mut self) {
        let lines = self.bytes[self.at..]
            .iter()
            .take_while(|byte| matches!(byte, b'\r' | b'\n'));
        let lines = lines.count();
        self.at += lines;
        self.scanned = self.scanned.saturating_sub(lines);
    }

    fn next_text(&mut self, head: usize) -> Result<Option<Message>, NotRtsp> {
        let unread = &self.bytes[self.at..];
        let (mut message, length) = parse_head(&unread[..head])?;
        let Some(came) = unread.get(head..head + length) else {
            self.awaited = head + length;
            return Ok(None);
        };
        if let Message::Request(Request { body, .. }) | Message::Response(Response { body, .. }) = &mut message {
            *body = came.to_vec();
        }
        self.read(head + length);
        Ok(Some(message))
    }

    fn read(&mut self, length: usize) {
        self.at += length;
        self.scanned = 0;
        self.awaited = 0;
    }
}

/// Index after the empty line that ends the headers.
fn head_length(unread: &[u8], from: usize) -> Option<usize> {
    (from..unread.len()).find_map(|at| match &unread[at..] {
        [b'\n', b'\n', ..] => Some(at + 2),
        [b'\n', b'\r', b'\n', ..] => Some(at + 3),
        _ => None,
    })
}

/// Parses a head, and returns the message without its body, and the length of the body.
fn parse_head(head: &[u8]) -> Result<(Message, usize), NotRtsp> {
    let text = String::from_utf8_lossy(head);
    let mut lines = text.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line));
    let first = lines.next().unwrap_or_default();
    let mut headers = parse_headers(lines)?;
    let length = body_length(&headers)?;
    headers.remove("Content-Length");
    let body = Vec::new();
    if let Some((status, reason)) = parse_status_line(first) {
        let reason = clean(reason);
        return Ok((
            Message::Response(Response {
                status,
                reason,
                headers,
                body,
            }),
            length,
        ));
    }
    let mut words = first.split_ascii_whitespace();
    let (Some(method), Some(url), Some(version), None) = (words.next(), words.next(), words.next(), words.next())
    else {
        return Err(NotRtsp::FirstLine);
    };
    let token = method
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-');
    if !token || !version.starts_with("RTSP/") || url.chars().any(is_unsafe) {
        return Err(NotRtsp::FirstLine);
    }
    Ok((
        Message::Request(Request {
            method: Method::parse(method),
            url: url.to_owned(),
            version_one: version == VERSION,
            headers,
            body,
        }),
        length,
    ))
}

fn parse_status_line(line: &str) -> Option<(u16, &str)> {
    let rest = line.strip_prefix("RTSP/")?;
    let (_, rest) = rest.split_once(' ')?;
    let rest = rest.trim_ascii();
    let (code, reason) = rest.split_once(' ').unwrap_or((rest, ""));
    let code = (code.len() == 3 && code.bytes().all(|byte| byte.is_ascii_digit())).then_some(code)?;
    Some((code.parse().ok().filter(|code| *code >= 100)?, reason))
}

fn parse_headers<'a>(lines: impl Iterator<Item = &'a str>) -> Result<Headers, NotRtsp> {
    let mut headers = Headers::default();
    for line in lines.take_while(|line| !line.is_empty()) {
        if line.starts_with([' ', '\t']) {
            if !headers.fold(&clean(line)) {
                return Err(NotRtsp::Header);
            }
            continue;
        }
        let (name, value) = line.split_once(':').ok_or(NotRtsp::Header)?;
        let name = name.trim_ascii_end();
        if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(NotRtsp::Header);
        }
        if headers.len() == MAX_HEADERS {
            return Err(NotRtsp::ManyHeaders);
        }
        headers.add(name, clean(value));
    }
    Ok(headers)
}

/// Removes unsafe characters and surrounding whitespace, so that the value can be logged and written again.
fn clean(value: &str) -> String {
    let kept: String = value.chars().filter(|letter| !is_unsafe(*letter)).collect();
    kept.trim_ascii().to_owned()
}

fn body_length(headers: &Headers) -> Result<usize, NotRtsp> {
    let mut lengths = headers.all("Content-Length").map(|value| {
        let digits = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
        let length = value.parse().ok().filter(|length| digits && *length <= MAX_BODY);
        length.ok_or(NotRtsp::BodyLength)
    });
    let first = lengths.next().unwrap_or(Ok(0))?;
    for other in lengths {
        if other? != first {
            return Err(NotRtsp::BodyLength);
        }
    }
    Ok(first)
}

#[cfg(test)]
#[path = "reader_tests.rs"]
mod tests;
