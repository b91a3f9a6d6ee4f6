//! Reports of GStreamer, in words.

use gstreamer::glib;
use gstreamer::message;
use gstreamer::prelude::*;
use gstreamer::{CoreError, ParseError, ResourceError, StreamError};

use sealcast_proto::words::plain;

use super::packages::package_of;
use crate::config::secrets::redact;
use crate::failure::{Failure, FailureKind};

/// Most characters of an element's explanation that are shown.
const MAX_DETAIL: usize = 240;

/// Advice where nothing better is known.
const TRY_IT: &str = "try the pipeline with gst-launch-1.0; with GST_DEBUG=3 in the environment GStreamer tells more";

/// A text that is no pipeline, or names elements that are not installed.
pub(super) fn unparsed(kind: FailureKind, error: &glib::Error, not_installed: &[String]) -> Failure {
    if not_installed.is_empty() || !error.matches(ParseError::NoSuchElement) {
        let what = format!("the GStreamer pipeline cannot be made: {}", sentence(error.message()));
        return Failure::new(kind, plain(&redact(&what)), TRY_IT);
    }
    missing(kind, not_installed)
}

/// Elements that are not installed.
pub(super) fn missing(kind: FailureKind, names: &[String]) -> Failure {
    let mut packages: Vec<&str> = names.iter().filter_map(|name| package_of(name)).collect();
    packages.dedup();
    let names = names.join(", ");
    let hint = match packages.as_slice() {
        [] => "check the spelling with gst-inspect-1.0, or install the plugin that has it".to_owned(),
        packages => format!("install {} (its name on Debian)", packages.join(", ")),
    };
    Failure::new(kind, format!("GStreamer has no element {names}"), hint)
}

/// An element's error.
pub(super) fn failed(kind: FailureKind, error: &message::Error) -> Failure {
    let source = error.src().map_or_else(|| "an element".into(), |source| source.name());
    let detail = error.debug().and_then(|debug| detail(&debug));
    let told = error.error();
    let mut what = format!("GStreamer's {source}: {}", sentence(told.message()));
    if let Some(detail) = &detail {
        what += &format!(" ({detail})");
    }
    Failure::new(kind, plain(&redact(&what)), hint(&told, detail.as_deref()))
}

fn hint(error: &glib::Error, detail: Option<&str>) -> String {
    let says = |part: &str| detail.is_some_and(|detail| detail.contains(part));
    let hint = match error.kind::<ResourceError>() {
        Some(ResourceError::Busy) => "end the other program that uses it, or choose another device",
        Some(ResourceError::NotFound | ResourceError::OpenRead | ResourceError::OpenReadWrite) => {
            "check that it exists and that this user may open it"
        }
        Some(ResourceError::OpenWrite | ResourceError::Write) => "check the place it writes to, and its free space",
        Some(ResourceError::NoSpaceLeft) => "free some space, or write elsewhere",
        Some(ResourceError::NotAuthorized) => "check name and password",
        _ if error.matches(CoreError::MissingPlugin) || error.matches(StreamError::CodecNotFound) => {
            "install the plugin for it: Debian has gstreamer1.0-plugins-good, -bad, -ugly and gstreamer1.0-libav"
        }
        _ if says("not-negotiated") || says("not-linked") => {
            "two elements do not agree on a format: put videoconvert, h264parse or other caps between them"
        }
        _ => TRY_IT,
    };
    hint.to_owned()
}

/// The reason in an element's debugging text, which begins with a place in GStreamer's sources and the path of the
/// element.
fn detail(debug: &str) -> Option<String> {
    let reason = debug.split_once('\n').map(|(_, reason)| sentence(reason))?;
    let short: String = reason.chars().take(MAX_DETAIL).collect();
    (!short.is_empty()).then_some(short)
}

/// A message of the library as a part of a sentence of ours.
pub(super) fn sentence(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_debugging_text_only_the_reason_is_shown() {
        let debug =
            "../src/base.c(3127): loop (): /GstPipeline:p/GstV:v:\nstreaming stopped, reason\nnot-negotiated (-4).";
        assert_eq!(
            detail(debug).as_deref(),
            Some("streaming stopped, reason not-negotiated (-4)")
        );
        assert_eq!(detail("../src/base.c(3127): loop (): /GstPipeline:p"), None);
        assert_eq!(
            detail(&format!("x\n{}", "y".repeat(9000))).map(|text| text.len()),
            Some(MAX_DETAIL)
        );
    }

    #[test]
    fn a_missing_element_names_its_package() {
        let missing = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            missing(FailureKind::Source, &names)
        };
        let failure = missing(&["x264enc"]);
        assert_eq!(
            failure.to_string(),
            "GStreamer has no element x264enc; install gstreamer1.0-plugins-ugly (its name on Debian)"
        );
        let failure = missing(&["queue9", "foo"]);
        assert!(failure.what.ends_with("queue9, foo"), "{failure}");
        let failure = missing(&["foo"]);
        assert!(failure.hint.contains("spelling"), "{failure}");
    }
}
