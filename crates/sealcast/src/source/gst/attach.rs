//! Joins the element that takes frames to the user's pipeline.

use gstreamer::prelude::*;
use gstreamer::{Caps, Pad};
use gstreamer_app::AppSink;

use crate::failure::{Failure, FailureKind, Result};
use crate::gst::Pipeline;

/// Name of the element that takes the frames.
pub(super) const SINK: &str = "sealcast";

/// H.264 in whole access units with start codes.
const UNITS: &str = "video/x-h264,stream-format=byte-stream,alignment=au";
/// Profiles with 4:2:0 and 8 bits, which every viewer decodes. An encoder that is not told makes 4:4:4 of a source that
/// offers it.
const PROFILES: &str = "profile={constrained-baseline,baseline,main,constrained-high,progressive-high,high}";
/// Pictures as the program's encoder takes them.
const PICTURES: &str = "video/x-raw,format=I420,colorimetry=bt601";

/// Most names of formats that a message lists.
const MAX_NAMED: usize = 4;

fn caps(text: &str) -> Result<Caps> {
    text.parse().map_err(|error| {
        let what = format!("GStreamer does not know its own formats: {error}");
        Failure::new(FailureKind::Internal, what, "please report this")
    })
}

/// Lets `sink` take what sealcast carries, and puts a converter before it where one is needed.
///
/// # Errors
/// The pipeline gives something else, or the converter is not installed.
pub(super) fn attach(pipeline: &Pipeline, sink: &AppSink) -> Result<()> {
    let coded = caps(&format!("{UNITS}; image/jpeg"))?;
    let pad = sink
        .static_pad("sink")
        .ok_or_else(|| pipeline.broken("its end is missing"))?;
    let offered = pad.peer().map(|peer| (peer.query_caps(None), peer));
    let Some((offered, peer)) = offered.filter(|(offered, _)| !offered.is_any()) else {
        // What comes is known only when it comes.
        sink.set_caps(Some(&caps(&format!("{UNITS}; image/jpeg; video/x-raw,format=I420"))?));
        return Ok(());
    };
    if offered.can_intersect(&coded) {
        let played = caps(&format!("{UNITS},{PROFILES}; image/jpeg"))?;
        let told = offered.iter().all(|structure| structure.has_field("profile"));
        let chosen = if told && offered.can_intersect(&played) {
            played
        } else {
            coded
        };
        sink.set_caps(Some(&chosen));
        return Ok(());
    }
    let (h264, raw) = (caps("video/x-h264")?, caps("video/x-raw")?);
    let (converter, taken) = if offered.can_intersect(&h264) {
        ("h264parse", UNITS)
    } else if offered.can_intersect(&raw) {
        ("videoconvert", PICTURES)
    } else {
        return Err(not_carried(&offered));
    };
    sink.set_caps(Some(&caps(taken)?));
    insert(pipeline, converter, &peer, &pad)
}

fn insert(pipeline: &Pipeline, factory: &str, from: &Pad, to: &Pad) -> Result<()> {
    let element = pipeline.add(factory)?;
    let ends = element.static_pad("sink").zip(element.static_pad("src"));
    let (into, out) = ends.ok_or_else(|| pipeline.broken("a converter has no ends"))?;
    from.unlink(to).map_err(|error| pipeline.broken(&error.to_string()))?;
    let joined = from.link(&into).and_then(|_| out.link(to));
    joined.map(|_| ()).map_err(|error| pipeline.broken(&error.to_string()))
}

fn not_carried(offered: &Caps) -> Failure {
    let mut names: Vec<String> = offered
        .iter_with_features()
        .map(
            |(structure, features)| match features.is_equal(&gstreamer::CAPS_FEATURES_MEMORY_SYSTEM_MEMORY) {
                true => structure.name().to_string(),
                false => format!("{}({features})", structure.name()),
            },
        )
        .collect();
    names.dedup();
    names.truncate(MAX_NAMED);
    let what = match names.as_slice() {
        [] => "the GStreamer pipeline gives nothing: its elements do not agree on a format".to_owned(),
        names => format!(
            "the GStreamer pipeline gives {}, not H.264, JPEG or raw pictures",
            names.join(", ")
        ),
    };
    Failure::new(
        FailureKind::Source,
        what,
        "let it end in an encoder, as in ! x264enc tune=zerolatency, or in raw pictures: ! videoconvert",
    )
}
