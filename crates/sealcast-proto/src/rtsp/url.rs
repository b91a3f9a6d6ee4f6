//! URLs as cameras and players really use them. They are joined as text, the way the common clients do it, since many a
//! camera's URLs would not survive RFC 3986. None that is kept here holds credentials.

use std::fmt;

use zeroize::Zeroizing;

use super::auth::Credentials;
use super::tracks::Track;

/// The port of `rtsp://`.
const RTSP_PORT: u16 = 554;
/// The port of `rtsps://`.
const RTSPS_PORT: u16 = 322;
/// Longest URL of a camera in bytes.
const MAX_URL: usize = 2048;

/// Where a camera is. Printing it shows no credentials, for it holds none.
#[derive(Clone, PartialEq, Eq)]
pub struct CameraUrl {
    /// Whether the connection is TLS.
    pub tls: bool,
    /// A name or an address; an IPv6 address without its brackets.
    pub host: String,
    /// The TCP port.
    pub port: u16,
    text: String,
}

/// Why a text is no URL of a camera. Holds none of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UrlError {
    /// Another scheme, or none.
    #[error("a camera's URL begins with rtsp:// or rtsps://")]
    Scheme,
    /// No host, or what cannot be one.
    #[error("the camera's URL names no host")]
    Host,
    /// The port is no number from 1 to 65535.
    #[error("the camera's URL has a port that is none")]
    Port,
    /// Spaces or control characters, or too long.
    #[error("the camera's URL has a character that must be escaped, or is longer than {MAX_URL} bytes")]
    Form,
}

impl CameraUrl {
    /// Read `rtsp[s]://[USER[:PASSWORD]@]HOST[:PORT][/PATH]`. The credentials' escapes are undone; the path stays as
    /// typed.
    ///
    /// # Errors
    /// [`UrlError`] says which part is wrong, without repeating any.
    pub fn parse(text: &str) -> Result<(Self, Option<Credentials>), UrlError> {
        if text.len() > MAX_URL || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(UrlError::Form);
        }
        let (scheme, rest) = text.split_once("://").ok_or(UrlError::Scheme)?;
        let tls = match scheme.to_ascii_lowercase().as_str() {
            "rtsp" => false,
            "rtsps" => true,
            _ => return Err(UrlError::Scheme),
        };
        let (authority, path) = split_authority(rest);
        let (user_info, server) = split_user_info(authority);
        let (host, port) = match server.strip_prefix('[') {
            Some(rest) => rest.split_once(']').ok_or(UrlError::Host)?,
            None => server.split_at(server.find(':').unwrap_or(server.len())),
        };
        if host.is_empty() {
            return Err(UrlError::Host);
        }
        let port = match port.strip_prefix(':') {
            Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
                digits.parse().ok().filter(|port| *port != 0).ok_or(UrlError::Port)?
            }
            None if port.is_empty() => {
                if tls {
                    RTSPS_PORT
                } else {
                    RTSP_PORT
                }
            }
            _ => return Err(UrlError::Port),
        };
        let url = Self {
            tls,
            host: host.to_owned(),
            port,
            text: format!("{scheme}://{server}{path}"),
        };
        Ok((url, user_info.map(credentials)))
    }

    /// The URL, without credentials.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for CameraUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for CameraUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// `HOST:PORT`, with user information before it or not, and what follows.
fn split_authority(rest: &str) -> (&str, &str) {
    rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()))
}

/// Passwords with an unescaped `@` are common: the last one ends them.
fn split_user_info(authority: &str) -> (Option<&str>, &str) {
    match authority.rsplit_once('@') {
        Some((user_info, server)) => (Some(user_info), server),
        None => (None, authority),
    }
}

fn credentials(user_info: &str) -> Credentials {
    let (user, password) = user_info.split_once(':').unwrap_or((user_info, ""));
    Credentials::new(unescaped(user).as_str(), unescaped(password))
}

/// With `%XX` undone; what is no escape stays.
fn unescaped(text: &str) -> Zeroizing<String> {
    let mut bytes = Zeroizing::new(Vec::with_capacity(text.len()));
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let escape = (byte == b'%').then(|| after.get(..2)).flatten();
        let escape = escape.filter(|digits| digits.iter().all(u8::is_ascii_hexdigit));
        let escape = escape.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok());
        bytes.push(escape.unwrap_or(byte));
        rest = if escape.is_some() { &after[2..] } else { after };
    }
    Zeroizing::new(String::from_utf8_lossy(&bytes).into_owned())
}

/// Whether a text is an absolute RTSP URL.
fn is_absolute(text: &str) -> bool {
    let scheme = text.split_once("://").map_or("", |(scheme, _)| scheme);
    scheme.eq_ignore_ascii_case("rtsp") || scheme.eq_ignore_ascii_case("rtsps")
}

/// A URL without the user information in it.
pub(super) fn without_user_info(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return url.to_owned();
    };
    let (authority, path) = split_authority(rest);
    format!("{scheme}://{}{path}", split_user_info(authority).1)
}

/// The base of a camera's relative URLs: what its description was said to be of, if that is absolute, or what was
/// asked.
pub(super) fn base<'a>(said: impl Iterator<Item = &'a str>, asked: &str) -> String {
    let said = said.map(str::trim).find(|url| is_absolute(url));
    without_user_info(said.unwrap_or(asked))
}

/// A control URL of a camera, made absolute: `*` is the base itself, and anything relative comes behind it.
pub(super) fn join(base: &str, control: &str) -> String {
    if control.is_empty() || control == "*" {
        base.to_owned()
    } else if is_absolute(control) {
        without_user_info(control)
    } else {
        let slash = if base.ends_with('/') { "" } else { "/" };
        format!("{base}{slash}{control}")
    }
}

/// What a player's URL asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Asked {
    /// The camera's path, without slashes around it.
    pub(super) path: String,
    /// One of its tracks.
    pub(super) track: Option<Track>,
}

/// Read a player's URL; only the path counts. `None` for `*` and for what is no URL.
pub(super) fn asked(url: &str) -> Option<Asked> {
    if !is_absolute(url) {
        return None;
    }
    let (_, rest) = url.split_once("://")?;
    let path = split_authority(rest).1.trim_matches('/');
    let (before, last) = path.rsplit_once('/').unwrap_or(("", path));
    let track = last.strip_prefix("track").and_then(track_number);
    let path = if track.is_some() {
        before.trim_end_matches('/')
    } else {
        path
    };
    Some(Asked {
        path: path.to_owned(),
        track,
    })
}

fn track_number(digits: &str) -> Option<Track> {
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| digits.parse().ok().and_then(Track::new))?
}

/// The control URL of a track between the gateways and towards players.
pub(super) fn track_control(track: usize) -> String {
    format!("track{track}")
}

/// RTP-Info (RFC 2326 §12.33) as it crosses: a camera's URLs become our relative ones. Tracks that nobody knows are
/// left out, and parameters but `seq` and `rtptime`.
pub(super) fn rtp_info_from_camera(value: &str, base: &str, controls: &[String]) -> String {
    let entries = rtp_info_entries(value).filter_map(|(url, parameters)| {
        let url = join(base, url);
        // With one track there is nothing to mistake, and some cameras name it wrongly.
        let track = controls
            .iter()
            .position(|control| *control == url)
            .or((controls.len() == 1).then_some(0))?;
        let kept = parameters.split(';').map(str::trim).filter(|parameter| {
            let (name, value) = parameter.split_once('=').unwrap_or_default();
            matches!(name, "seq" | "rtptime") && !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit())
        });
        let mut entry = format!("url={}", track_control(track));
        for parameter in kept {
            entry.push(';');
            entry.push_str(parameter);
        }
        Some(entry)
    });
    entries.collect::<Vec<_>>().join(",")
}

/// RTP-Info as a player gets it: our relative URLs made absolute.
pub(super) fn rtp_info_for_player(value: &str, base: &str) -> String {
    let entries = rtp_info_entries(value).map(|(url, parameters)| {
        let semicolon = if parameters.is_empty() { "" } else { ";" };
        format!("url={}{semicolon}{parameters}", join(base, url))
    });
    entries.collect::<Vec<_>>().join(",")
}

/// The URL of each entry and its other parameters. URLs may hold commas, so an entry begins where `url=` does.
fn rtp_info_entries(value: &str) -> impl Iterator<Item = (&str, &str)> {
    value.split("url=").skip(1).map(|entry| {
        let entry = entry.trim_end_matches([' ', ',', ';']);
        entry.split_once(';').unwrap_or((entry, ""))
    })
}

#[cfg(test)]
#[path = "url_tests.rs"]
mod tests;
