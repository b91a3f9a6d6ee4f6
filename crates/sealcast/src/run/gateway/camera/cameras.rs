//! The cameras as configured by their owner.

use sealcast_proto::rtsp::{CameraUrl, MAX_PATH};
use sealcast_proto::words::is_unsafe;

use crate::failure::{Failure, FailureKind, Result};
use crate::keys::allow::AllowList;
use crate::rtsp::RtspOptions;

/// A camera, the path that players use for it, and the viewer gateways that may see it.
pub struct CameraAt {
    /// The path without leading and trailing slashes; `None` for every path that no other camera has.
    pub(super) path: Option<String>,
    pub(super) target: Target,
    /// The viewer gateways that may see it; `None` for all admitted ones.
    pub(super) allow: Option<AllowList>,
    /// The viewer gateways whose players may change it.
    pub(super) control: AllowList,
}

/// A camera's address and connection settings. If they change, it counts as a different camera.
#[derive(PartialEq, Eq)]
pub(super) struct Target {
    pub(super) options: RtspOptions,
}

impl Target {
    /// The camera's URL, without secrets.
    pub(super) fn url(&self) -> &CameraUrl {
        self.options.url()
    }
}

fn usage(what: impl Into<String>, hint: &str) -> Failure {
    Failure::new(FailureKind::Usage, what, hint)
}

impl CameraAt {
    /// A camera at a path, or at every path that no other camera has. With a list `allow`, other viewer gateways are
    /// answered as if there were no such camera. Only players of those in the list `control` may change the camera.
    ///
    /// # Errors
    /// Kind `Usage`: the path is too long or has control characters, or the URL is not valid for a camera.
    pub fn new(path: Option<&str>, options: RtspOptions, allow: Option<AllowList>, control: AllowList) -> Result<Self> {
        let path = path.map(|path| path.trim_matches('/').to_owned());
        let wrong = |path: &String| path.len() > MAX_PATH || path.chars().any(is_unsafe);
        if path.as_ref().is_some_and(wrong) {
            let what = "the path of a camera is too long or has control characters";
            return Err(usage(what, "write [PATH=]rtsp://…"));
        }
        Ok(Self {
            path,
            target: Target { options },
            allow,
            control,
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
        Self::new(path, RtspOptions::parse(url)?, None, AllowList::default())
    }
}

/// The cameras; no two have the same path.
pub struct Cameras(pub(super) Vec<CameraAt>);

impl Cameras {
    /// Checks the cameras.
    ///
    /// # Errors
    /// Kind `Usage`: there are none, or two have the same path.
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

    /// The address of each camera, and how it is reached.
    pub fn options(&self) -> impl Iterator<Item = &RtspOptions> {
        self.0.iter().map(|camera| &camera.target.options)
    }

    /// Number of cameras.
    pub fn count(&self) -> usize {
        self.0.len()
    }
}

/// A camera's path as shown to the user.
pub(super) fn shown(path: Option<&str>) -> &str {
    path.unwrap_or("every path")
}
