//! The URL at which players are served.

use std::net::SocketAddr;
use std::path::Path;
use std::str::FromStr;

use sealcast_proto::rtsp::{Credentials, DigestAlgorithm, MAX_PATH};

use super::Login;
use crate::config::secrets::redact;
use crate::failure::{Failure, FailureKind, Result};
use crate::private_file::read_secret_line;
use crate::source::Options;
use crate::transport::parse_local_address;

/// Default port for players.
const DEFAULT_PORT: u16 = 8554;
const OPTIONS: &str = "user=NAME, password=@FILE and open";

/// `rtsp://ADDRESS[:PORT][/PATH][?user=NAME&password=@FILE]`.
pub(super) struct PlayersUrl {
    pub(super) address: SocketAddr,
    /// Without slashes around it.
    pub(super) path: String,
    pub(super) login: Option<Login>,
}

impl FromStr for PlayersUrl {
    type Err = Failure;

    /// Parse it, and read the password.
    fn from_str(text: &str) -> Result<Self> {
        let usage = |why: &str, hint: &str| {
            let what = format!("\"{}\": {why}", redact(text));
            Failure::new(FailureKind::Usage, what, hint)
        };
        let example = "write rtsp://127.0.0.1:8554/front";
        let rest = text
            .strip_prefix("rtsp://")
            .ok_or_else(|| usage("players are served by rtsp://", example))?;
        let (place, mut options) = Options::split(rest);
        let (user, password, open) = (options.take("user"), options.take("password"), options.flag("open"));
        options.finish(OPTIONS)?;
        let (authority, path) = place.split_once('/').unwrap_or((place, ""));
        let address = parse_local_address(authority, DEFAULT_PORT)
            .ok_or_else(|| usage("it begins with no address of this machine", example))?;
        let path = path.trim_matches('/').to_owned();
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
        if path.len() > MAX_PATH || !path.bytes().all(plain) {
            return Err(usage("its path may have letters, digits and -._~/ alone", example));
        }
        let login = match (user, password) {
            (None, None) if address.ip().is_loopback() || open => None,
            (None, None) => {
                let why = "whoever reaches this address would see the picture";
                return Err(usage(
                    why,
                    "add ?user=NAME&password=@FILE, or ?open if that is what you want",
                ));
            }
            (Some(user), Some(file)) if !open => {
                let file = file.strip_prefix('@').filter(|file| !file.is_empty());
                let file = file.ok_or_else(|| {
                    usage(
                        "a password stands in a file that only you can read",
                        "write password=@FILE",
                    )
                })?;
                let password = read_secret_line(Path::new(file))?;
                // MD5 is the only algorithm that all players support.
                Some((Credentials::new(&user, password), DigestAlgorithm::Md5))
            }
            _ => return Err(usage("user and password go together, and without open", example)),
        };
        Ok(Self { address, path, login })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_default_port_and_a_path_without_slashes() {
        for (text, address, path) in [
            ("rtsp://127.0.0.1:8555/front", "127.0.0.1:8555", "front"),
            ("rtsp://localhost/front/", "127.0.0.1:8554", "front"),
            ("rtsp://[::1]", "[::1]:8554", ""),
            ("rtsp://0.0.0.0/a/b?open", "0.0.0.0:8554", "a/b"),
        ] {
            let url: PlayersUrl = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(
                (url.address.to_string().as_str(), url.path.as_str()),
                (address, path),
                "{text}"
            );
            assert!(url.login.is_none());
        }
    }

    #[test]
    fn what_would_open_the_picture_or_show_a_password_is_refused() {
        for (text, words) in [
            ("rtsp://0.0.0.0:8554/front", "user=NAME&password=@FILE"),
            ("rtsp://127.0.0.1/?user=a", "go together"),
            ("rtsp://127.0.0.1/?user=a&password=hunter2", "password=@FILE"),
            ("rtsp://0.0.0.0/?user=a&password=@f&open", "go together"),
            ("rtsp://camera/front", "no address"),
            ("rtsp://127.0.0.1/a%20b", "letters"),
            ("rtsp://127.0.0.1/?pace", "no option \"pace\""),
            ("rtsps://127.0.0.1/", "rtsp://"),
        ] {
            let failure = text.parse::<PlayersUrl>().err().expect(text);
            assert_eq!(failure.kind, FailureKind::Usage);
            let told = failure.to_string();
            assert!(told.contains(words) && !told.contains("hunter2"), "{told}");
        }
    }

    #[test]
    fn the_password_is_that_of_a_private_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("password");
        crate::private_file::write_secret(&file, b"letmesee\n").expect("written");
        let text = format!("rtsp://0.0.0.0/front?user=vlc&password=@{}", file.display());
        let url: PlayersUrl = text.parse().expect("a URL");
        assert!(url.login.is_some());
    }
}
