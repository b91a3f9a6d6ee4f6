//! URLs of sinks.

use super::rtp::RtpSink;
use super::segments::{OPTIONS, SegmentOptions, SegmentSink};
use super::{FileSink, NullSink, Sink, StdoutSink, http};
use crate::archive::{ArchiveOptions, ArchiveSink};
use crate::config::secrets::redact;
use crate::failure::{Failure, FailureKind, Result};
use crate::source::{Options, file_path};
use crate::suggest;

/// Forms of a sink URL, for help and error messages.
pub const SINK_URLS: &str = "window:, file:OUT.mp4, -?format=mkv for a player behind a pipe, \
    http://127.0.0.1:9880 for a page, rtsp://127.0.0.1:8554/NAME for other players, \
    rtp://127.0.0.1:5600 for a ground station, archive:DIR?to=…, gst:PIPELINE, or null:";

/// Parts of a time in the names of recordings in several files.
const TIMES: [&str; 6] = ["%Y", "%m", "%d", "%H", "%M", "%S"];

/// Opens the sink of `url`.
///
/// # Errors
/// Kind `Usage` if the URL names no sink, kind `Sink` if the sink cannot be opened.
pub fn open(url: &str) -> Result<Box<dyn Sink>> {
    if let Some(rest) = url
        .strip_prefix('-')
        .filter(|rest| rest.is_empty() || rest.starts_with('?'))
    {
        return Ok(Box::new(StdoutSink::open(rest)?));
    }
    match url.split_once(':') {
        Some(("null", "")) => Ok(Box::new(NullSink::default())),
        Some(("file", rest)) => {
            let (path, mut options) = Options::split(rest);
            let segments = SegmentOptions::take(&mut options)?;
            let overwrite = options.flag("overwrite");
            options.finish(OPTIONS)?;
            let path = file_path(path)?;
            if segments.is_none() && TIMES.iter().any(|time| path.to_string_lossy().contains(time)) {
                let what = format!(
                    "{} has times in its name, as recordings in several files have",
                    path.display()
                );
                let hint = "say how long each is: add ?segment=10m";
                return Err(Failure::new(FailureKind::Usage, what, hint));
            }
            Ok(match segments {
                Some(segments) => Box::new(SegmentSink::open(&path, segments)?),
                None => Box::new(FileSink::create(&path, overwrite)?),
            })
        }
        Some(("archive", rest)) => Ok(Box::new(ArchiveSink::open(ArchiveOptions::parse(rest)?)?)),
        Some(("window", rest)) => Ok(Box::new(super::window::open(rest)?)),
        #[cfg(feature = "gst")]
        Some(("gst", pipeline)) => Ok(Box::new(super::gst::open(pipeline)?)),
        #[cfg(not(feature = "gst"))]
        Some(("gst", _)) => Err(crate::gst::absent()),
        Some(("rtp", _)) => Ok(Box::new(RtpSink::open(url)?)),
        Some(("http", _)) => Ok(Box::new(http::open(url, None)?)),
        _ => {
            let what = format!("\"{}\" is not a sink", redact(url));
            let hint = suggest::sink(url).unwrap_or_else(|| format!("use {SINK_URLS}"));
            Err(Failure::new(FailureKind::Usage, what, hint))
        }
    }
}
