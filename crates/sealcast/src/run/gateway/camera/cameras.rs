//! The cameras of a gateway as configured by their owner.

use sealcast_proto::rtsp::MAX_PATH;
use sealcast_proto::words::is_unsafe;

use crate::failure::{Failure, FailureKind, Result};
use crate::keys::allow::AllowList;
use crate::rtsp::RtspOptions;
use crate::run::session::registry::Configured;

/// A camera, how it is reached, and the viewer gateways that may see it. Its name is the path that players use.
pub type CameraAt = Configured<RtspOptions>;

impl CameraAt {
    /// Check the path of a camera.
    ///
    /// # Errors
    /// Kind `Usage`: it is too long or has control characters.
    pub fn check_path(path: &str) -> Result<()> {
        if path.len() <= MAX_PATH && !path.chars().any(is_unsafe) {
            return Ok(());
        }
        let what = "the path of a camera is too long or has control characters";
        Err(Failure::new(FailureKind::Usage, what, "write [PATH=]rtsp://…"))
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
        Self::check_path(path.unwrap_or_default())?;
        Ok(Self {
            name: path.map(|path| path.trim_matches('/').to_owned()),
            definition: RtspOptions::parse(url)?,
            allow: None,
            control: AllowList::default(),
        })
    }
}
