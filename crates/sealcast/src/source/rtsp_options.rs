//! Address of a camera, options for reaching it, and secrets that must not be displayed.

use std::fmt;
use std::path::Path;

use retina::client::Credentials;
use serde::{Deserialize, Serialize};
use url::Url;

use crate::failure::{Failure, FailureKind, Result};
use crate::keys::fingerprint::Fingerprint;
use crate::private_file::read_secret_line;

/// Environment variable for the camera's password.
pub(super) const PASSWORD_VARIABLE: &str = "SEALCAST_RTSP_PASSWORD";

/// Transport of the camera's packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    /// The default: TCP, or UDP if the camera refuses TCP.
    #[serde(skip)]
    Auto,
    /// Interleaved with the RTSP messages on one TCP connection.
    Tcp,
    /// UDP datagrams. A datagram that arrives out of order counts as lost.
    Udp,
}

/// A camera, and the options for reaching it.
#[derive(Clone, PartialEq, Eq)]
pub struct RtspOptions {
    /// The URL without user, password and our options.
    pub(super) url: Url,
    pub(super) credentials: Option<Credentials>,
    /// Transport of the packets.
    pub transport: Transport,
    /// Pinned fingerprint of the camera's TLS certificate.
    pub(crate) fingerprint: Option<Fingerprint>,
    /// True if the source reconnects after the camera disconnects.
    pub reconnect: bool,
}

impl RtspOptions {
    /// Reads `rtsp[s]://[USER[:PASSWORD]@]HOST[:PORT]/PATH[?OPTIONS]`. The options `transport=tcp|udp`,
    /// `fingerprint=sha256:HEX`, `credentials=@FILE` and `reconnect=no` are ours; all others belong to the camera.
    ///
    /// The password comes from the file (one line `USER:PASSWORD`), from the URL, or from the environment variable
    /// `SEALCAST_RTSP_PASSWORD`.
    ///
    /// # Errors
    /// Kind `Usage`. The messages never repeat the URL, since it may hold a password.
    pub fn parse(text: &str) -> Result<Self> {
        let usage = |what: &str, hint: &str| Failure::new(FailureKind::Usage, what, hint);
        let shape = "write rtsp://USER:PASSWORD@HOST:PORT/PATH, with %23 for # and %40 for @ in the password";
        let mut url = Url::parse(text).map_err(|e| usage(&format!("the camera's URL is wrong: {e}"), shape))?;
        if !matches!(url.scheme(), "rtsp" | "rtsps") || url.host_str().is_none_or(str::is_empty) {
            return Err(usage("the camera's URL names no host", shape));
        }
        let from_url = (unescape(url.username()), url.password().map(unescape));
        let cleared = url.set_username("").and_then(|()| url.set_password(None));
        cleared.map_err(|()| usage("the camera's URL names no host", shape))?;
        let (mut transport, mut fingerprint, mut reconnect, mut file) = (None, None, true, None);
        let mut theirs = Vec::new();
        // Keep the camera's own options byte for byte: cameras are particular about their order and escapes.
        for pair in url
            .query()
            .unwrap_or_default()
            .split('&')
            .filter(|pair| !pair.is_empty())
        {
            match pair.split_once('=').unwrap_or((pair, "")) {
                ("transport", "tcp") => transport = Some(Transport::Tcp),
                ("transport", "udp") => transport = Some(Transport::Udp),
                ("transport", _) => {
                    return Err(usage(
                        "this transport does not exist",
                        "use transport=tcp or transport=udp",
                    ));
                }
                ("fingerprint", value) => fingerprint = Some(value.parse()?),
                ("reconnect", value) => reconnect = !matches!(value, "no" | "off" | "0" | "false"),
                ("credentials", value) => file = Some(unescape(value)),
                _ => theirs.push(pair),
            }
        }
        let query = (!theirs.is_empty()).then(|| theirs.join("&"));
        url.set_query(query.as_deref());
        let credentials = match file {
            Some(file) => Some(read_credentials(&file)?),
            None => combine(from_url, std::env::var(PASSWORD_VARIABLE).ok()),
        };
        let options = Self {
            url,
            credentials,
            transport: Transport::Auto,
            fingerprint: None,
            reconnect,
        };
        options.with(transport, fingerprint)
    }

    /// Applies options that were given separately from the URL; they override those of the URL.
    ///
    /// # Errors
    /// Kind `Usage`: an option does not fit the URL's scheme.
    pub(crate) fn with(mut self, transport: Option<Transport>, fingerprint: Option<Fingerprint>) -> Result<Self> {
        self.transport = transport.unwrap_or(self.transport);
        self.fingerprint = fingerprint.or(self.fingerprint);
        let (what, hint) = match self.url.scheme() {
            "rtsps" if self.transport == Transport::Udp => (
                "over rtsps:// packets cannot come by UDP, where they would go in clear",
                "leave transport=udp away: within TLS they come on the RTSP connection",
            ),
            "rtsp" if self.fingerprint.is_some() => (
                "a camera at rtsp:// shows no certificate that could have this fingerprint",
                "use rtsps://, or leave the fingerprint away",
            ),
            _ => return Ok(self),
        };
        Err(Failure::new(FailureKind::Usage, what, hint))
    }

    /// True if the connection uses TLS.
    pub(super) fn within_tls(&self) -> bool {
        self.url.scheme() == "rtsps"
    }

    /// The user's name and password.
    pub(crate) fn login(&self) -> Option<(&str, &str)> {
        self.credentials
            .as_ref()
            .map(|login| (&*login.username, &*login.password))
    }

    /// The camera's URL without secrets.
    pub fn shown(&self) -> &str {
        self.url.as_str()
    }
}

impl fmt::Debug for RtspOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RtspOptions")
            .field("url", &self.shown())
            .field("credentials", &self.credentials.as_ref().map(|_| "(hidden)"))
            .field("transport", &self.transport)
            .field("fingerprint", &self.fingerprint)
            .field("reconnect", &self.reconnect)
            .finish()
    }
}

fn combine((username, password): (String, Option<String>), variable: Option<String>) -> Option<Credentials> {
    if username.is_empty() {
        return None;
    }
    Some(Credentials {
        username,
        password: password.or(variable).unwrap_or_default(),
    })
}

fn read_credentials(file: &str) -> Result<Credentials> {
    let fail = |what: String| {
        let hint = "write one line USER:PASSWORD into it, and point to it with ?credentials=@FILE";
        Failure::new(FailureKind::Keys, what, hint)
    };
    let path = file
        .strip_prefix('@')
        .ok_or_else(|| fail("credentials= names no file".into()))?;
    let line = read_secret_line(Path::new(path))?;
    let (username, password) = line
        .trim()
        .split_once(':')
        .ok_or_else(|| fail(format!("{path} holds no credentials")))?;
    Ok(Credentials {
        username: username.into(),
        password: password.into(),
    })
}

/// Decodes the percent escapes (`%40`) in a part of a URL; invalid ones are kept.
fn unescape(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [byte, tail @ ..] = rest {
        let escaped = (*byte == b'%').then(|| tail.get(..2)).flatten();
        let value = escaped
            .and_then(|hex| std::str::from_utf8(hex).ok())
            .and_then(|hex| u8::from_str_radix(hex, 16).ok());
        out.push(value.unwrap_or(*byte));
        rest = if value.is_some() { &tail[2..] } else { tail };
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
#[path = "rtsp_tests.rs"]
mod tests;
