//! Joins the element that takes frames to the user's pipeline.

use gstreamer::prelude::*;
use gstreamer::{Caps, Pad};
use gstreamer_app::AppSink;

use crate::failure::{Failure, FailureKind, Result};
use crate::gst::Pipeline;

/// Name of the element that takes the frames.
pub(super) const SINK: &str = "sealcast";

/// A codec whose frames pass through.
struct Carried {
    media_type: &'static str,
    /// Whole access units: with start codes, or of AV1 a sequence of OBUs.
    units: &'static str,
    /// Profiles with 4:2:0, which viewers decode. An encoder that is not told makes 4:4:4 of a source that offers it.
    profiles: &'static str,
    /// The element that makes such units of another form.
    parser: &'static str,
}

const CARRIED: [Carried; 3] = [
    Carried {
        media_type: "video/x-h264",
        units: "video/x-h264,stream-format=byte-stream,alignment=au",
        profiles: "profile={constrained-baseline,baseline,main,constrained-high,progressive-high,high}",
        parser: "h264parse",
    },
    Carried {
        media_type: "video/x-h265",
        units: "video/x-h265,stream-format=byte-stream,alignment=au",
        profiles: "profile={main,main-10}",
        parser: "h265parse",
    },
    Carried {
        media_type: "video/x-av1",
        units: "video/x-av1,stream-format=obu-stream,alignment=tu",
        profiles: "profile=main",
        parser: "av1parse",
    },
];
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

/// Formats that pass through as they are; those with profiles only in the ones that viewers decode, if `told`.
fn passed_through(told: bool) -> Result<Caps> {
    let format = |carried: &Carried| match told {
        true => format!("{},{}", carried.units, carried.profiles),
        false => carried.units.to_owned(),
    };
    let formats: Vec<String> = CARRIED.iter().map(format).collect();
    caps(&format!("{}; image/jpeg", formats.join("; ")))
}

/// Lets `sink` take what sealcast carries, and puts a converter before it where one is needed.
///
/// # Errors
/// The pipeline gives something else, or the converter is not installed.
pub(super) fn attach(pipeline: &Pipeline, sink: &AppSink) -> Result<()> {
    let coded = passed_through(false)?;
    let pad = sink
        .static_pad("sink")
        .ok_or_else(|| pipeline.broken("its end is missing"))?;
    let offered = pad.peer().map(|peer| (peer.query_caps(None), peer));
    let Some((offered, peer)) = offered.filter(|(offered, _)| !offered.is_any()) else {
        // What comes is known only when it comes.
        sink.set_caps(Some(&caps(&format!("{coded}; video/x-raw,format=I420"))?));
        return Ok(());
    };
    // A form that is left open, as av1enc leaves its own, is none that the sink may insist on.
    let is_carried = |name: &str| CARRIED.iter().any(|carried| carried.media_type == name);
    let formed = offered
        .iter()
        .all(|structure| !is_carried(structure.name()) || structure.has_field("stream-format"));
    if formed && offered.can_intersect(&coded) {
        let played = passed_through(true)?;
        let told = offered.iter().all(|structure| structure.has_field("profile"));
        let chosen = if told && offered.can_intersect(&played) {
            played
        } else {
            coded
        };
        sink.set_caps(Some(&chosen));
        return Ok(());
    }
    let mut converter = None;
    for Carried {
        media_type,
        units,
        parser,
        ..
    } in CARRIED
    {
        let whatever_form = caps(media_type)?;
        if converter.is_none() && offered.can_intersect(&whatever_form) {
            converter = Some((parser, units));
        }
    }
    let raw = caps("video/x-raw")?;
    if converter.is_none() && offered.can_intersect(&raw) {
        converter = Some(("videoconvert", PICTURES));
    }
    let Some((converter, taken)) = converter else {
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
            "the GStreamer pipeline gives {}, not H.264, H.265, AV1, JPEG or raw pictures",
            names.join(", ")
        ),
    };
    Failure::new(
        FailureKind::Source,
        what,
        "let it end in an encoder, as in ! x264enc tune=zerolatency, or in raw pictures: ! videoconvert",
    )
}
