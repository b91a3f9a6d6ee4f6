//! GStreamer: pipelines that a user writes as sources and sinks. The feature `gst` brings it in.

#[cfg(feature = "gst")]
mod packages;
#[cfg(feature = "gst")]
mod pipeline;
#[cfg(feature = "gst")]
mod words;

#[cfg(feature = "gst")]
pub(crate) use pipeline::Pipeline;

#[cfg(not(feature = "gst"))]
use crate::failure::{Failure, FailureKind};

/// The version of GStreamer's library that runs here; `None` if this build has none.
pub fn version() -> Option<String> {
    #[cfg(feature = "gst")]
    return {
        let (major, minor, micro, _) = gstreamer::version();
        Some(format!("{major}.{minor}.{micro}"))
    };
    #[cfg(not(feature = "gst"))]
    None
}

/// The failure for a `gst:` URL of a build without the feature.
#[cfg(not(feature = "gst"))]
pub(crate) fn absent() -> Failure {
    Failure::new(
        FailureKind::Usage,
        "this build of sealcast has no GStreamer, which gst: needs",
        "build it with GStreamer's headers (Debian: libgstreamer1.0-dev, libgstreamer-plugins-base1.0-dev): \
         cargo install --path crates/sealcast --features gst",
    )
}
