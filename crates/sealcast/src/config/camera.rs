//! `[[gateway.camera]]`: a camera of the camera gateway.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::secrets::has_secret;
use crate::keys::fingerprint::Fingerprint;
use crate::rtsp::Transport;

/// A camera's address, its path for players, and the viewer gateways that may see it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Camera {
    /// Path that players use for it; without it, every path that no other camera has.
    pub path: Option<String>,
    /// Its RTSP URL, which must not contain a password.
    pub url: Option<String>,
    /// File whose first line is the URL, for a URL with a password.
    pub url_file: Option<PathBuf>,
    /// Fingerprint of the camera's certificate, for an `rtsps://` URL.
    pub fingerprint: Option<Fingerprint>,
    /// The viewer gateways that may see it; without it, all admitted ones.
    pub allow: Option<Allow>,
    /// The viewer gateways whose players may change it; without it, none.
    pub control: Option<Allow>,
    /// Transport of its packets.
    pub transport: Option<Transport>,
}

/// A list of viewer gateways.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected a file, or a list of peer ids")]
pub enum Allow {
    /// File with their peer ids.
    File(PathBuf),
    /// Their peer ids.
    Peers(Vec<String>),
}

/// The cameras of the example file.
pub(super) const EXAMPLE: &str = r#"# [[gateway.camera]]
# path = "front"
## Its URL. transport = "udp" asks the camera for UDP first; the default is "tcp".
# url = "rtsp://192.0.2.10/stream1"
# transport = "udp"
## The viewer gateways that may see it: their peer ids, or a file with one per line. Without it, all.
# allow = ["mfrggzdfmztwq2lkmfrggzdfmztwq2lkmfrggzdfmztwq2lkmfrq"]
## Those of them whose players may change it: SET_PARAMETER, and position and speed of PLAY. Without it, none.
# control = ["mfrggzdfmztwq2lkmfrggzdfmztwq2lkmfrggzdfmztwq2lkmfrq"]

# [[gateway.camera]]
# path = "yard"
## File that only you can read, whose first line is the URL, for a URL with a password. Excludes `url`.
# url_file = "/etc/sealcast/yard-url"
## SHA-256 fingerprint of the certificate of an rtsps:// camera. It alone decides whether the camera is trusted.
# fingerprint = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
# allow = "/etc/sealcast/yard-allowed"
"#;

/// A problem with the camera at index `at`. Without a key, it concerns the whole camera.
pub(super) struct Problem {
    pub(super) at: usize,
    pub(super) key: &'static str,
    pub(super) what: &'static str,
    pub(super) hint: &'static str,
}

/// Check the conditions that the types of the fields cannot express.
pub(super) fn check(cameras: &[Camera]) -> Result<(), Problem> {
    for (at, camera) in cameras.iter().enumerate() {
        let (key, what, hint) = match (&camera.url, &camera.url_file) {
            (Some(url), _) if has_secret(url) => (
                "url",
                "the url of a camera carries a password, which must not be in a configuration file",
                "write the URL into a file that only you can read, and name that file in url_file",
            ),
            (Some(_), Some(_)) => ("url_file", "url and url_file exclude each other", "keep one of them"),
            (None, None) => ("", "a camera has no url", "add url = \"rtsp://HOST/PATH\", or url_file"),
            _ => continue,
        };
        return Err(Problem { at, key, what, hint });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::file::parse;
    use super::super::options::Config;
    use super::*;

    const PIN: &str = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    #[test]
    fn cameras_have_sections_of_their_own() {
        let text = format!(
            "[gateway]\nrtsp = \"127.0.0.1:9554\"\n[[gateway.camera]]\npath = \"front\"\nurl = \"rtsps://cam/1\"\n\
             fingerprint = \"{PIN}\"\nallow = [\"a\", \"b\"]\ntransport = \"tcp\"\n\
             [[gateway.camera]]\nurl_file = \"/yard\"\nallow = \"/friends\"\n\
             control = [\"c\"]\n"
        );
        let config: Config = toml::from_str(&text).unwrap();
        let [front, yard] = &config.gateway.camera[..] else {
            panic!("two cameras")
        };
        assert_eq!(front.path.as_deref(), Some("front"));
        assert_eq!(front.fingerprint.map(|pin| pin.to_string()).as_deref(), Some(PIN));
        assert_eq!(front.allow, Some(Allow::Peers(vec!["a".to_owned(), "b".to_owned()])));
        assert_eq!(front.transport, Some(Transport::Tcp));
        assert_eq!(yard.allow, Some(Allow::File("/friends".into())));
        let controls = [&front.control, &yard.control];
        assert_eq!(controls, [&None, &Some(Allow::Peers(vec!["c".to_owned()]))]);
    }

    #[test]
    fn what_is_wrong_with_a_camera_is_placed_and_named() {
        let camera = "[[gateway.camera]]\nurl = \"rtsp://cam/\"\n[[gateway.camera]]\n";
        for (keys, place, words) in [
            ("path = \"x\"\n", "line 3, column 1", "a camera has no url"),
            ("ulr = \"rtsp://cam/\"\n", "line 4, column 1", "did you mean `url`?"),
            ("url = \"rtsp://u:hush@cam/\"\n", "line 4, column 1", "url_file"),
            (
                "url = \"rtsp://cam/\"\nurl_file = \"x\"\n",
                "line 5, column 1",
                "exclude each other",
            ),
            (
                "url = \"rtsp://cam/\"\nallow = 3\n",
                "line 5, column 9",
                "a list of peer ids",
            ),
            (
                "url = \"rtsp://cam/\"\ntransport = \"upd\"\n",
                "line 5, column 13",
                "did you mean `udp`?",
            ),
            (
                "url = \"rtsps://cam/\"\nfingerprint = \"sha1:7\"\n",
                "line 5, column 15",
                "no fingerprint",
            ),
        ] {
            let failure = parse(&format!("{camera}{keys}"), Path::new("some.toml"))
                .unwrap_err()
                .to_string();
            assert!(failure.contains(place) && failure.contains(words), "{keys}: {failure}");
            assert!(!failure.contains("hush"), "{failure}");
        }
    }
}
