//! The head of a message: its first line and its headers.
//!
//! Two manners: of players nothing is forgiven that could let two parsers disagree about the end of a message; of a
//! camera everything is that leaves a meaning.

use super::message::{Headers, MAX_BODY, MAX_HEADERS, Message, Method, Request, Response, VERSION};
use super::not_rtsp::NotRtsp;
use crate::words::is_unsafe;

/// Longest name of a header that is taken for one behind an empty line.
const MAX_NAME: usize = 40;
/// Longest first word of a message: a method or a version.
const MAX_WORD: usize = 32;

/// Manner of reading.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Manner {
    /// As the standard says, with what is common among players.
    #[default]
    Strict,
    /// As cameras write: lines that are no headers are skipped, and the version of an answer may be any.
    Lenient,
}

/// Index after the empty line that ends the headers, looked for from `from` on.
pub(super) fn head_length(unread: &[u8], from: usize) -> Option<usize> {
    (from..unread.len()).find_map(|at| match &unread[at..] {
        [b'\n', b'\n', ..] => Some(at + 2),
        [b'\n', b'\r', b'\n', ..] => Some(at + 3),
        _ => None,
    })
}

/// Length of a head whose headers go on behind an empty line, as a few cameras write them, in at most `most` bytes.
pub(super) fn continued(unread: &[u8], head: usize, most: usize) -> usize {
    let mut end = head;
    while let Some(rest) = unread.get(end..).filter(|rest| begins_with_header(rest)) {
        match head_length(rest, 0).filter(|more| end + more <= most) {
            Some(more) => end += more,
            None => break,
        }
    }
    end
}

/// True for `Name:`. No message begins so, nor does a description.
fn begins_with_header(bytes: &[u8]) -> bool {
    let name = bytes.iter().take(MAX_NAME + 1);
    let length = name
        .take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'-')
        .count();
    (1..=MAX_NAME).contains(&length) && bytes.get(length) == Some(&b':')
}

/// True if the bytes so far may begin a message of text; more of them never make it true again.
pub(super) fn may_begin(unread: &[u8]) -> bool {
    let mut lines = unread.split(|byte| *byte == b'\n');
    let line = lines.next().unwrap_or_default();
    if lines.next().is_some() {
        let line = String::from_utf8_lossy(line);
        return parse_status_line(&line, Manner::Lenient).is_some() || parse_request_line(&line).is_ok();
    }
    let word = line.split(|byte| *byte == b' ').next().unwrap_or_default();
    let of_word = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'/' | b'.' | b'\r');
    let printed = |byte: &u8| *byte >= b' ' || matches!(byte, b'\t' | b'\r');
    (1..=MAX_WORD).contains(&word.len()) && word.iter().all(of_word) && line.iter().all(printed)
}

/// Parses a head, and returns the message without its body, and the length of the body if the head tells one.
pub(super) fn parse_head(head: &[u8], manner: Manner) -> Result<(Message, Option<usize>), NotRtsp> {
    let text = String::from_utf8_lossy(head);
    let mut lines = text.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line));
    let first = lines.next().unwrap_or_default();
    let status = parse_status_line(first, manner);
    let request = if status.is_none() {
        Some(parse_request_line(first)?)
    } else {
        None
    };
    let mut headers = match manner {
        Manner::Strict => parse_headers(lines.take_while(|line| !line.is_empty()), manner)?,
        Manner::Lenient => parse_headers(lines.filter(|line| !line.is_empty()), manner)?,
    };
    let length = body_length(&headers, manner)?;
    headers.remove("Content-Length");
    let body = Vec::new();
    let message = match (status, request) {
        (Some((status, reason)), _) => Message::Response(Response {
            status,
            reason: clean(reason),
            headers,
            body,
        }),
        (None, Some(request)) => Message::Request(Request { headers, ..request }),
        (None, None) => return Err(NotRtsp::FirstLine),
    };
    Ok((message, length))
}

fn parse_request_line(line: &str) -> Result<Request, NotRtsp> {
    let mut words = line.split_ascii_whitespace();
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
    Ok(Request {
        version_one: version == VERSION,
        ..Request::new(Method::parse(method), url)
    })
}

fn parse_status_line(line: &str, manner: Manner) -> Option<(u16, &str)> {
    let rest = match manner {
        Manner::Strict => line.strip_prefix("RTSP/")?.split_once(' ')?.1,
        Manner::Lenient => {
            let (version, rest) = line.split_once(['\t', ' '])?;
            let (protocol, _) = version.split_once('/')?;
            let known = ["RTSP", "HTTP"].iter().any(|name| protocol.eq_ignore_ascii_case(name));
            known.then_some(rest)?
        }
    };
    let rest = rest.trim_ascii();
    let (code, reason) = rest.split_once(' ').unwrap_or((rest, ""));
    let code = (code.len() == 3 && code.bytes().all(|byte| byte.is_ascii_digit())).then_some(code)?;
    Some((code.parse().ok().filter(|code| *code >= 100)?, reason))
}

fn parse_headers<'a>(lines: impl Iterator<Item = &'a str>, manner: Manner) -> Result<Headers, NotRtsp> {
    let lenient = manner == Manner::Lenient;
    let mut headers = Headers::default();
    for line in lines {
        if line.starts_with([' ', '\t']) {
            let more = clean(line);
            if !more.is_empty() && !headers.fold(&more) && !lenient {
                return Err(NotRtsp::Header);
            }
            continue;
        }
        let name = line.split_once(':').map(|(name, value)| (name.trim_ascii_end(), value));
        let named = |name: &str| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_graphic());
        let Some((name, value)) = name.filter(|(name, _)| named(name)) else {
            if lenient {
                continue;
            }
            return Err(NotRtsp::Header);
        };
        if headers.len() == MAX_HEADERS {
            if lenient {
                break;
            }
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

/// The length of the body. Of a camera the first value that begins with digits counts.
fn body_length(headers: &Headers, manner: Manner) -> Result<Option<usize>, NotRtsp> {
    let length = |digits: &str| digits.parse().ok().filter(|length| *length <= MAX_BODY);
    let mut lengths = headers.all("Content-Length");
    if manner == Manner::Lenient {
        let digits = |value: &str| value.bytes().take_while(u8::is_ascii_digit).count();
        let value = lengths
            .map(|value| &value[..digits(value)])
            .find(|value| !value.is_empty());
        return value.map(|value| length(value).ok_or(NotRtsp::BodyLength)).transpose();
    }
    let strict = |value: &str| {
        let digits = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
        length(value).filter(|_| digits).ok_or(NotRtsp::BodyLength)
    };
    let Some(first) = lengths.next().map(strict).transpose()? else {
        return Ok(None);
    };
    for other in lengths {
        if strict(other)? != first {
            return Err(NotRtsp::BodyLength);
        }
    }
    Ok(Some(first))
}
