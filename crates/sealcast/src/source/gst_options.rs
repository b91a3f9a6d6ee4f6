//! The URL of a GStreamer pipeline as a source.

use super::Encoding;
use super::url::Options;
use crate::failure::{Failure, FailureKind, Result};

/// A pipeline, and how its pictures are encoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GstOptions {
    /// The pipeline as for `gst-launch-1.0`, without an element that takes its frames.
    pub pipeline: String,
    /// Encoding of raw pictures here, if the user says.
    pub encoding: Option<Encoding>,
}

impl GstOptions {
    /// Parses what follows `gst:`. Options stand behind the last question mark; a text with white space there belongs
    /// to the pipeline, as in the URL of a camera that an element opens.
    ///
    /// # Errors
    /// Kind `Usage`: there is no pipeline, or an option makes no sense.
    pub(super) fn parse(text: &str) -> Result<Self> {
        let options = text.trim_end().rsplit_once('?').map(|(_, query)| query);
        let has_options = options.is_some_and(|query| !query.contains(char::is_whitespace));
        let (pipeline, mut options) = match has_options {
            true => Options::split(text.trim_end()),
            false => (text, Options::split("").1),
        };
        let encoding = Encoding::take(&mut options)?;
        options
            .finish("bitrate, bitrate_max, gop and quantizer of raw pictures; another ? needs quotes and a space")?;
        match pipeline.trim() {
            "" => Err(Failure::new(
                FailureKind::Usage,
                "the URL gst: has no pipeline",
                "write one as for gst-launch-1.0, without a sink: 'gst:v4l2src ! videoconvert'",
            )),
            pipeline => Ok(Self {
                pipeline: pipeline.to_owned(),
                encoding,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_stand_behind_the_pipeline() {
        let parse = |text: &str| GstOptions::parse(text).unwrap_or_else(|failure| panic!("{text}: {failure}"));
        let plain = parse("videotestsrc is-live=true ! x264enc");
        assert_eq!(
            (plain.pipeline.as_str(), plain.encoding),
            ("videotestsrc is-live=true ! x264enc", None)
        );
        let raw = parse("v4l2src ! video/x-raw,width=640?bitrate=2M&gop=0");
        assert_eq!(raw.pipeline, "v4l2src ! video/x-raw,width=640");
        let encoding = raw.encoding.expect("options");
        assert_eq!((encoding.bitrate, encoding.gop), (2_000_000, Some(0)));
        // A question mark of an element's own.
        let camera = parse("rtspsrc location=rtsp://camera/?channel=1 ! rtph264depay");
        assert!(camera.pipeline.ends_with("rtph264depay") && camera.encoding.is_none());
        for wrong in ["", "  ", "?gop=1", "v4l2src?size=3x3", "v4l2src?gop=x"] {
            assert_eq!(GstOptions::parse(wrong).expect_err(wrong).kind, FailureKind::Usage);
        }
    }
}
