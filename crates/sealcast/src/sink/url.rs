//! The URLs that name sinks.

use super::{FileSink, NullSink, Sink, StdoutSink};
use crate::failure::{Failure, FailureKind, Result};
use crate::source::{Options, file_path};

/// What a sink URL may look like, for help and error messages.
pub const SINK_URLS: &str = "null:, file:OUT.mp4[?overwrite], file:OUT.h264, file:OUT.mjpeg, http://ADDRESS:PORT, or -";

/// Opens the sink that `url` names.
///
/// # Errors
/// Kind `Usage` if it names none, kind `Sink` if it cannot be opened.
pub fn open(url: &str) -> Result<Box<dyn Sink>> {
    if url == "-" {
        return Ok(Box::new(StdoutSink::open()?));
    }
    match url.split_once(':') {
        Some(("null", "")) => Ok(Box::new(NullSink::default())),
        Some(("file", rest)) => {
            let (path, mut options) = Options::split(rest);
            let overwrite = options.flag("overwrite");
            options.finish("overwrite")?;
            Ok(Box::new(FileSink::create(&file_path(path)?, overwrite)?))
        }
        Some(("http", rest)) => open_browser(rest),
        _ => {
            let what = format!("\"{url}\" is not a sink");
            Err(Failure::new(FailureKind::Usage, what, format!("use {SINK_URLS}")))
        }
    }
}

/// The door to the sink that serves browsers.
fn open_browser(rest: &str) -> Result<Box<dyn Sink>> {
    let what = format!("there is no browser sink in this build (http:{rest})");
    Err(Failure::new(FailureKind::Usage, what, "record to a file"))
}
