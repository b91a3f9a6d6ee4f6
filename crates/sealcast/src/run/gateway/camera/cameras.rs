//! Cameras as their owner names them.

use sealcast_proto::rtsp::{CameraUrl, MAX_PATH};

use crate::failure::{Failure, FailureKind, Result};
use crate::keys::allow::AllowList;
use crate::source::rtsp::RtspOptions;

/// A camera, the path by which players ask for it, and who may.
pub struct CameraAt {
    /// Without slashes around it; `None` for every path that is no other camera's.
    pub(super) path: Option<String>,
    pub(super) target: Target,
    /// The viewer gateways that may see it; `None` for all that are let in.
    pub(super) allow: Option<AllowList>,
}

/// Where a camera is and how it is spoken to: another one makes it another camera.
#[derive(PartialEq, Eq)]
pub(super) struct Target {
    pub(super) url: CameraUrl,
    pub(super) options: RtspOptions,
}

fn usage(what: impl Into<String>, hint: &str) -> Failure {
    Failure::new(FailureKind::Usage, what, hint)
}

impl CameraAt {
    /// A camera at a path, or at every path that is no other camera's. With a list, others than its peers are answered
    /// as if there were no such camera.
    ///
    /// # Errors
    /// Kind `Usage`: the path is too long or has control characters, or cameras have no such URL.
    pub fn new(path: Option<&str>, options: RtspOptions, allow: Option<AllowList>) -> Result<Self> {
        let path = path.map(|path| path.trim_matches('/').to_owned());
        let wrong = |path: &String| path.len() > MAX_PATH || path.chars().any(char::is_control);
        if path.as_ref().is_some_and(wrong) {
            let what = "the path of a camera is too long or has control characters";
            return Err(usage(what, "write [PATH=]rtsp://…"));
        }
        let url = CameraUrl::parse(options.shown());
        let (url, _) = url.map_err(|error| usage(error.to_string(), "write rtsp[s]://HOST[:PORT]/PATH"))?;
        Ok(Self {
            path,
            target: Target { url, options },
            allow,
        })
    }
}

impl std::str::FromStr for CameraAt {
    type Err = Failure;

    /// Read `[PATH=]rtsp[s]://[USER[:PASSWORD]@]HOST[:PORT]/…`.
    fn from_str(text: &str) -> Result<Self> {
        let (path, url) = match text.split_once('=') {
            Some((path, url)) if !path.contains(':') => (Some(path), url),
            _ => (None, text),
        };
        Self::new(path, RtspOptions::parse(url)?, None)
    }
}

/// Cameras, no two at one path.
pub struct Cameras(pub(super) Vec<CameraAt>);

impl Cameras {
    /// These cameras.
    ///
    /// # Errors
    /// Kind `Usage`: there is none, or two would be at one path.
    pub fn new(cameras: Vec<CameraAt>) -> Result<Self> {
        if cameras.is_empty() {
            let hint = "name one: --camera rtsp://HOST/PATH, or with a password in --camera-file or [[gateway.camera]]";
            return Err(usage("there is no camera", hint));
        }
        for (at, camera) in cameras.iter().enumerate() {
            if cameras[..at].iter().any(|other| other.path == camera.path) {
                let what = format!("two cameras would be at {}", shown(camera.path.as_deref()));
                return Err(usage(what, "give each its own path, PATH=rtsp://… or path = \"PATH\""));
            }
        }
        Ok(Self(cameras))
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.len()
    }
}

/// A camera's path as a person reads it.
pub(super) fn shown(path: Option<&str>) -> &str {
    path.unwrap_or("every path")
}
