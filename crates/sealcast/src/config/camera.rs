//! `[[camera]]`: a camera of `publish` or `gateway camera`.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::option::{Kind, Opt, Setting, key};
use super::secrets::has_secret;

/// A camera: its name and source, who may see it, and what differs from the settings of all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Camera {
    /// Name by which viewers choose it, or the path that players use for it. Without one: every path that no other
    /// camera has, and for `publish` the only camera.
    pub name: Option<String>,
    /// Source of its pictures, which must not contain a password. `gateway camera` takes RTSP URLs alone.
    pub source: Option<String>,
    /// File whose first line is the source, for one with a password.
    pub source_file: Option<PathBuf>,
    /// The peers that may see it; without it, all admitted ones.
    pub allow: Option<Allow>,
    /// The viewer gateways whose players may change it; without it, none.
    pub control: Option<Allow>,
    /// Parts of it that are encrypted, instead of `encrypt` in `[publish]`. For `publish` alone.
    pub encrypt: Option<String>,
    /// Whether it is sealed once for all viewers, instead of `group` in `[publish]`. For `publish` alone.
    pub group: Option<bool>,
    /// Mode in which it signs, instead of `sign` in `[publish]`. For `publish` alone.
    pub sign: Option<String>,
    /// Whether its sound is sent, instead of `sound` in `[publish]`. For `publish` alone.
    pub sound: Option<bool>,
}

impl Setting for Vec<Camera> {
    const KIND: Kind = Kind::Tables;

    fn unset() -> Option<Self> {
        Some(Self::new())
    }
}

/// A list of peers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected a file, or a list of peer ids")]
pub enum Allow {
    /// File with their peer ids.
    File(PathBuf),
    /// Their peer ids.
    Peers(Vec<String>),
}

/// The option that holds all cameras. It stands beside the sections, since both `publish` and `gateway camera` have it.
pub(super) const CAMERAS: Opt = Opt {
    section: "camera",
    key: "camera",
    path: "camera",
    help: "The cameras, one section each, at the end of the file. They are read again on SIGHUP, which adds, removes \
           and changes cameras while the others go on. A viewer chooses a camera by its name, and gets the first one \
           that it may see if it names none. Players of gateways request a camera by its name as a path; one without a \
           name is served at all other paths",
    ..key().excludes("publish.source_file").example(EXAMPLE)
};

/// The cameras of the example file.
const EXAMPLE: &str = r#"# [[camera]]
# name = "front"
## Its source, as of publish.source; for `gateway camera` an RTSP URL.
# source = "rtsp://192.0.2.10/stream1"
## Who may see it: peer ids, or a file with one a line. Without it, everybody who is admitted.
# allow = ["mfrggzdfmztwq2lkmfrggzdfmztwq2lkmfrggzdfmztwq2lkmfrq"]
## Instead of what [publish] says of all cameras, for `publish`.
# encrypt = "all"
# group = true
# sign = "both"
# sound = false

# [[camera]]
# name = "yard"
## File that only you can read, whose first line is the source, for one with a password. Excludes `source`.
# source_file = "/etc/sealcast/yard-url"
# allow = "/etc/sealcast/yard-allowed"
## Gateways whose players may change it: SET_PARAMETER; of `gateway camera` also how PLAY plays. Without it, none.
# control = ["mfrggzdfmztwq2lkmfrggzdfmztwq2lkmfrggzdfmztwq2lkmfrq"]
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
        let (key, what, hint) = match (&camera.source, &camera.source_file) {
            (Some(source), _) if has_secret(source) => (
                "source",
                "the source of a camera carries a password, which must not be in a configuration file",
                "write it into a file that only you can read, and name that file in source_file",
            ),
            (Some(_), Some(_)) => (
                "source_file",
                "source and source_file exclude each other",
                "keep one of them",
            ),
            (None, None) => (
                "",
                "a camera has no source",
                "add source = \"rtsp://HOST/PATH\", or source_file",
            ),
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

    #[test]
    fn cameras_have_sections_of_their_own() {
        let text = "[gateway]\nrtsp = \"127.0.0.1:9554\"\n[[camera]]\nname = \"front\"\nsource = \"rtsps://cam/1\"\n\
                    allow = [\"a\", \"b\"]\nencrypt = \"none\"\ngroup = true\nsound = false\n\
                    [[camera]]\nsource_file = \"/yard\"\nallow = \"/friends\"\ncontrol = [\"c\"]\n";
        let config: Config = toml::from_str(text).unwrap();
        let [front, yard] = &config.camera[..] else {
            panic!("two cameras")
        };
        assert_eq!(front.name.as_deref(), Some("front"));
        assert_eq!(front.allow, Some(Allow::Peers(vec!["a".to_owned(), "b".to_owned()])));
        assert_eq!((front.group, front.sound), (Some(true), Some(false)));
        assert_eq!(yard.allow, Some(Allow::File("/friends".into())));
        let controls = [&front.control, &yard.control];
        assert_eq!(controls, [&None, &Some(Allow::Peers(vec!["c".to_owned()]))]);
    }

    #[test]
    fn what_is_wrong_with_a_camera_is_placed_and_named() {
        let camera = "[[camera]]\nsource = \"rtsp://cam/\"\n[[camera]]\n";
        for (keys, place, words) in [
            ("name = \"x\"\n", "line 3, column 1", "a camera has no source"),
            (
                "sorce = \"rtsp://cam/\"\n",
                "line 4, column 1",
                "did you mean `source`?",
            ),
            ("source = \"rtsp://u:hush@cam/\"\n", "line 4, column 1", "source_file"),
            (
                "source = \"rtsp://cam/\"\nsource_file = \"x\"\n",
                "line 5, column 1",
                "exclude each other",
            ),
            (
                "source = \"rtsp://cam/\"\nallow = 3\n",
                "line 5, column 9",
                "a list of peer ids",
            ),
            (
                "source = \"rtsp://cam/\"\ngroup = \"yes\"\n",
                "line 5, column 9",
                "true or false",
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
