//! Address of a camera, options for reaching it, and secrets that must not be displayed.

use std::fmt;
use std::path::Path;

use sealcast_proto::rtsp::{CameraUrl, Credentials, Lower, unescaped};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::failure::{Failure, FailureKind, Result};
use crate::keys::fingerprint::Fingerprint;
use crate::private_file::read_secret_line;

/// Environment variable for the camera's password.
pub(crate) const PASSWORD_VARIABLE: &str = "SEALCAST_RTSP_PASSWORD";

/// Transport of the camera's packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    /// The default: TCP, or UDP if the camera refuses TCP.
    #[serde(skip)]
    Auto,
    /// Interleaved with the RTSP messages on one TCP connection.
    Tcp,
    /// UDP datagrams.
    Udp,
}

impl Transport {
    /// The transport that is tried first.
    pub(crate) fn lower(self) -> Lower {
        match self {
            Self::Auto | Self::Tcp => Lower::Interleaved,
            Self::Udp => Lower::Udp,
        }
    }
}

/// A camera, and the options for reaching it.
#[derive(Clone, PartialEq, Eq)]
pub struct RtspOptions {
    /// The URL without user, password and our options.
    url: CameraUrl,
    pub(crate) credentials: Option<Credentials>,
    /// Transport of the packets that is tried first.
    pub transport: Transport,
    /// Pinned fingerprint of the camera's TLS certificate.
    pub(crate) fingerprint: Option<Fingerprint>,
    /// True if the source reconnects after the camera disconnects.
    pub reconnect: bool,
    /// True if the camera's sound is asked for.
    pub(crate) sound: bool,
    /// True if no other transport is tried than the first.
    pub(crate) one_transport: bool,
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
        let (address, query) = text.split_once('?').unwrap_or((text, ""));
        let (mut transport, mut fingerprint, mut reconnect, mut file) = (None, None, true, None);
        let mut theirs = Vec::new();
        // Keep the camera's own options byte for byte: cameras are particular about their order and escapes.
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
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
                ("credentials", value) => file = Some(unescaped(value).to_string()),
                _ => theirs.push(pair),
            }
        }
        let mut camera = Zeroizing::new(address.to_owned());
        if !theirs.is_empty() {
            camera.push('?');
            camera.push_str(&theirs.join("&"));
        }
        let (url, from_url) = CameraUrl::parse(&camera).map_err(|error| usage(&error.to_string(), shape))?;
        let credentials = match file {
            Some(file) => Some(read_credentials(&file)?),
            None => from_url.filter(Credentials::has_user).map(|login| {
                let variable = std::env::var(PASSWORD_VARIABLE).map(Zeroizing::new);
                variable.map_or(login.clone(), |password| login.or_password(password))
            }),
        };
        let options = Self {
            url,
            credentials,
            transport: Transport::Auto,
            fingerprint: None,
            reconnect,
            sound: true,
            one_transport: false,
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
        let (what, hint) = match self.url.tls {
            true if self.transport == Transport::Udp => (
                "over rtsps:// packets cannot come by UDP, where they would go in clear",
                "leave transport=udp away: within TLS they come on the RTSP connection",
            ),
            false if self.fingerprint.is_some() => (
                "a camera at rtsp:// shows no certificate that could have this fingerprint",
                "use rtsps://, or leave the fingerprint away",
            ),
            _ => return Ok(self),
        };
        Err(Failure::new(FailureKind::Usage, what, hint))
    }

    /// The camera's URL, without secrets.
    pub(crate) fn url(&self) -> &CameraUrl {
        &self.url
    }

    /// The camera's URL as text, without secrets.
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

fn read_credentials(file: &str) -> Result<Credentials> {
    let fail = |what: String| {
        let hint = "write one line USER:PASSWORD into it, and point to it with ?credentials=@FILE";
        Failure::new(FailureKind::Keys, what, hint)
    };
    let path = file
        .strip_prefix('@')
        .ok_or_else(|| fail("credentials= names no file".into()))?;
    let line = read_secret_line(Path::new(path))?;
    let (user, password) = line
        .trim()
        .split_once(':')
        .ok_or_else(|| fail(format!("{path} holds no credentials")))?;
    Ok(Credentials::new(user, password.to_owned()))
}

#[cfg(test)]
#[path = "options_tests.rs"]
mod tests;
