//! Deviations of a camera from what it should do, as data. Adding a way to deviate is adding a [`Deviation`] here.

use std::sync::atomic::{AtomicUsize, Ordering};

use sealcast_proto::rtsp::{Request, Response};

use super::login::Login;

/// Requests whose answers deviate.
#[derive(Clone, Copy, Debug)]
pub enum When {
    /// All of them.
    Always,
    /// Those with this method.
    At(&'static str),
    /// Those with this method for the track with this number.
    Track(&'static str, u8),
    /// Those for a URL that ends so.
    Path(&'static str),
    /// All after PLAY but PLAY and TEARDOWN.
    KeepAlive,
}

/// One thing that a camera does otherwise than it should.
///
/// In texts, `{port}` stands for the camera's port, `{n}` for the number of the request, `{cseq}` and `{cseq-1}` for
/// its CSeq and that before, `{url}` for its URL, and `{client}`, `{server}` and `{channels}` for the ports and
/// channels of the right answer to SETUP.
#[derive(Clone, Copy, Debug)]
pub enum Deviation {
    /// It sends its packets in datagrams, and refuses the connection for them.
    OverUdp,
    /// It pauses after each picture for as many milliseconds as this says.
    Pause(fn(usize) -> u64),
    /// It writes the first of these texts as the second, once.
    Writes(When, &'static str, &'static str),
    /// It ends the lines of its head so.
    Lines(When, &'static str),
    /// It puts these bytes behind its first line.
    Adds(When, &'static [u8]),
    /// It puts these bytes before its answer.
    Before(When, &'static [u8]),
    /// It gives a header another value, or leaves it out.
    Header(When, &'static str, Option<&'static str>),
    /// It answers with a status, and with these lines.
    Refuses(When, u16, &'static str),
    /// It says nothing.
    Ignores(When),
    /// It answers twice.
    Twice(When),
    /// It wants a user and a password.
    Asks(Login),
    /// It takes other channels than those that it was offered, from this one on.
    Channels(u8),
    /// It sends these bytes after each packet on the connection.
    Between(&'static [u8]),
}

/// A request, and what is known of it.
pub(super) struct Asked<'a> {
    pub(super) request: &'a Request,
    /// Number of requests before it, on all connections of the camera.
    pub(super) number: usize,
    /// True if PLAY was asked before, on this connection.
    pub(super) plays: bool,
    pub(super) port: u16,
}

impl When {
    fn is(self, asked: &Asked<'_>) -> bool {
        let (request, method) = (asked.request, asked.request.method.name());
        let url = request.url.trim_end_matches('/');
        match self {
            Self::Always => true,
            Self::At(name) => method == name,
            Self::Track(name, track) => method == name && url.ends_with(&format!("={track}")),
            Self::Path(end) => url.ends_with(end),
            Self::KeepAlive => asked.plays && !["PLAY", "TEARDOWN"].contains(&method),
        }
    }
}

impl Deviation {
    /// Changes the answer to a request. Returns true if what was asked is not done. `nonces` counts the proofs that
    /// were accepted.
    pub(super) fn change(self, asked: &Asked<'_>, nonces: &AtomicUsize, answer: &mut Vec<u8>) -> bool {
        match self {
            Self::Writes(when, from, to) if when.is(asked) => {
                let to = filled(to, asked, answer);
                replace(answer, from.as_bytes(), to.as_bytes());
            }
            Self::Lines(when, end) if when.is(asked) => {
                let head = find(answer, b"\r\n\r\n").map_or(answer.len(), |at| at + 4);
                let body = answer.split_off(head);
                while replace(answer, b"\r\n", end.as_bytes()) {}
                answer.extend(body);
            }
            Self::Adds(when, bytes) if when.is(asked) => {
                let at = find(answer, b"\r\n").map_or(0, |at| at + 2);
                answer.splice(at..at, bytes.iter().copied());
            }
            Self::Before(when, bytes) if when.is(asked) => drop(answer.splice(..0, bytes.iter().copied())),
            Self::Header(when, name, value) if when.is(asked) => {
                let value = value.map(|value| filled(value, asked, answer));
                header(answer, name, value.as_deref());
            }
            Self::Refuses(when, status, lines) if when.is(asked) => {
                *answer = refusal(asked, status, lines);
                return true;
            }
            Self::Ignores(when) if when.is(asked) => answer.clear(),
            Self::Twice(when) if when.is(asked) => *answer = answer.repeat(2),
            Self::Asks(login) => {
                let nonce = nonces.load(Ordering::Relaxed);
                if login.admits(asked.request, nonce) {
                    nonces.fetch_add(usize::from(login.fresh), Ordering::Relaxed);
                } else {
                    *answer = refusal(asked, 401, &login.challenge(nonce));
                    return true;
                }
            }
            _ => {}
        }
        false
    }
}

fn refusal(asked: &Asked<'_>, status: u16, lines: &str) -> Vec<u8> {
    let mut answer = Response::new(status);
    let cseq = asked.request.headers.get("CSeq").unwrap_or_default();
    answer.headers.add("CSeq", cseq);
    let mut answer = answer.to_bytes();
    let lines = filled(lines, asked, &answer);
    let at = answer.len() - 2;
    answer.splice(at..at, lines.bytes());
    answer
}

/// The text with all that stands in braces.
fn filled(text: &str, asked: &Asked<'_>, answer: &[u8]) -> String {
    let cseq = asked.request.headers.get("CSeq").and_then(|number| number.parse().ok());
    let cseq: u32 = cseq.unwrap_or_default();
    let right = String::from_utf8_lossy(answer).into_owned();
    let granted = |name: &str| {
        let value = right.split_once(name).map_or("", |(_, rest)| rest);
        value.split([';', '\r']).next().unwrap_or_default().to_owned()
    };
    [
        ("{port}", asked.port.to_string()),
        ("{n}", asked.number.to_string()),
        ("{cseq-1}", cseq.saturating_sub(1).to_string()),
        ("{cseq}", cseq.to_string()),
        ("{url}", asked.request.url.clone()),
        ("{client}", granted("client_port=")),
        ("{server}", granted("server_port=")),
        ("{channels}", granted("interleaved=")),
    ]
    .into_iter()
    .fold(text.to_owned(), |text, (name, value)| text.replace(name, &value))
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len().max(1)).position(|window| window == what)
}

/// Replaces the first occurrence. Returns false if there is none.
fn replace(bytes: &mut Vec<u8>, from: &[u8], to: &[u8]) -> bool {
    let Some(at) = find(bytes, from) else { return false };
    bytes.splice(at..at + from.len(), to.iter().copied());
    true
}

/// Gives a header another value, or takes it away. A header that is not there is added.
fn header(answer: &mut Vec<u8>, name: &str, value: Option<&str>) {
    let line = value.map_or_else(String::new, |value| format!("{name}: {value}\r\n"));
    let begin = find(answer, format!("\r\n{name}: ").as_bytes()).map(|at| at + 2);
    let place = begin.or_else(|| find(answer, b"\r\n").map(|at| at + 2)).unwrap_or(0);
    let end = begin.and_then(|begin| find(&answer[begin..], b"\r\n").map(|at| begin + at + 2));
    answer.splice(place..end.unwrap_or(place), line.bytes());
}
