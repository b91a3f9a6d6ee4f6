//! The values of a run of a stream.

use std::time::Duration;

use sealcast::meter::statistics::{median, quantile};
use serde_json::Value;

use super::ends::{Mark, Seen};
use super::frames::Frame;
use crate::harness::Sample;
use crate::report::FRAME_STAGES;

/// Figures of a stretch of time.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Figures {
    pub(crate) seconds: f64,
    pub(crate) frames: usize,
    /// Frames whose numbers lie between those that were received.
    pub(crate) lost: u64,
    pub(crate) fps: f64,
    pub(crate) network_p50_ms: f64,
    pub(crate) network_p95_ms: f64,
    pub(crate) delay_p50_ms: f64,
    pub(crate) delay_p95_ms: f64,
    pub(crate) publisher_us: f64,
    pub(crate) viewer_us: f64,
}

/// The figures between two marks.
pub(crate) fn between(frames: &[Frame], from: &Mark, to: &Mark) -> Figures {
    let is_within = |frame: &&Frame| (from.at_ns..to.at_ns).contains(&frame.received_ns);
    let own: Vec<&Frame> = frames.iter().filter(is_within).collect();
    let numbers = || own.iter().map(|frame| frame.number);
    let span = numbers()
        .max()
        .zip(numbers().min())
        .map_or(0, |(last, first)| last - first + 1);
    let mut distinct: Vec<u64> = numbers().collect();
    distinct.sort_unstable();
    distinct.dedup();
    let sorted = |of: fn(&Frame) -> Option<f64>| {
        let mut values: Vec<f64> = own.iter().filter_map(|frame| of(frame)).collect();
        values.sort_by(f64::total_cmp);
        values
    };
    let (network, delay) = (sorted(|frame| frame.network_ms), sorted(|frame| frame.delay_ms));
    let at = |values: &[f64], share| {
        if values.is_empty() {
            f64::NAN
        } else {
            quantile(values, share)
        }
    };
    let seconds = (to.at_ns - from.at_ns) as f64 * 1e-9;
    let each = |from: Duration, to: Duration| to.saturating_sub(from).as_secs_f64() * 1e6 / own.len() as f64;
    Figures {
        seconds,
        frames: own.len(),
        lost: span - distinct.len() as u64,
        fps: own.len() as f64 / seconds,
        network_p50_ms: at(&network, 0.5),
        network_p95_ms: at(&network, 0.95),
        delay_p50_ms: at(&delay, 0.5),
        delay_p95_ms: at(&delay, 0.95),
        publisher_us: each(from.publisher, to.publisher),
        viewer_us: each(from.viewer, to.viewer),
    }
}

/// The share of the frames that were received, of those between the first and the last of them.
pub(crate) fn delivered(figures: &Figures) -> f64 {
    let frames = figures.frames as f64;
    frames / (frames + figures.lost as f64)
}

/// The share of the records of which an end's report says that they were opened, of all that came: of those that it
/// refused most have a wrong tag. `None` if none came.
pub(crate) fn verified(report: &Value) -> Option<f64> {
    let opened = report["totals"]["records_opened"].as_f64()?;
    let refused = report["totals"]["open_failures"].as_object()?;
    let refused: f64 = refused.values().filter_map(Value::as_f64).sum();
    (opened + refused > 0.0).then(|| opened / (opened + refused))
}

/// The greatest temperature that either end saw.
fn hottest(seen: &Seen) -> Option<f64> {
    let ends = [&seen.publisher, &seen.viewer];
    let seen = ends.map(|report| report["resources"]["max_temperature_celsius"].as_f64());
    seen.into_iter().flatten().reduce(f64::max)
}

/// The sample of a run: of all frames between its first mark and its last, and of both reports. `None` if no frame was
/// received in that time.
pub(crate) fn sample(seen: &Seen) -> Option<Sample> {
    let (from, to) = (seen.marks.first()?, seen.marks.last()?);
    let whole = between(&seen.frames, from, to);
    if whole.frames == 0 {
        return None;
    }
    let received = from.at_ns..to.at_ns;
    let within = || seen.frames.iter().filter(|frame| received.contains(&frame.received_ns));
    let middle = |of: &dyn Fn(&Frame) -> Option<f64>| {
        let mut values: Vec<f64> = within().filter_map(of).collect();
        (!values.is_empty()).then(|| median(&mut values))
    };
    let mut totals: Vec<f64> = within().filter_map(|frame| frame.total_ms).collect();
    totals.sort_by(f64::total_cmp);
    let count = |report: &Value, name: &str| report["totals"][name].as_f64();
    let memory = |report: &Value| report["resources"]["max_rss_bytes"].as_f64().map(|bytes| bytes / 1e6);
    let both = count(&seen.publisher, "bytes_out").zip(count(&seen.publisher, "bytes_in"));
    let sent = count(&seen.publisher, "frames_out").filter(|frames| *frames > 0.0);
    let sample = Sample::default()
        .with("seconds", whole.seconds)
        .with("frames", whole.frames as f64)
        .with("fps", whole.fps)
        .with("lost", whole.lost as f64)
        .with("delivered", delivered(&whole))
        .with_some("verified", verified(&seen.viewer))
        .with_some("temperature_celsius", hottest(seen))
        .with_some("freezes", count(&seen.viewer, "freezes"))
        .with_some("frozen_ms", count(&seen.viewer, "frozen_ms"))
        .with("network_p50_ms", whole.network_p50_ms)
        .with("opened_p50_ms", whole.delay_p50_ms)
        .with("opened_p95_ms", whole.delay_p95_ms)
        .with("video_p50_ms", quantile(&totals, 0.5))
        .with("video_p95_ms", quantile(&totals, 0.95))
        .with("publisher_cpu_us", whole.publisher_us)
        .with("viewer_cpu_us", whole.viewer_us)
        .with("cpu_us", whole.publisher_us + whole.viewer_us)
        .with_some("publisher_mb", memory(&seen.publisher))
        .with_some("viewer_mb", memory(&seen.viewer))
        .with_some(
            "memory_mb",
            memory(&seen.publisher)
                .zip(memory(&seen.viewer))
                .map(|(one, other)| one + other),
        )
        .with_some(
            "bytes_per_frame",
            both.zip(sent).map(|((out, back), frames)| (out + back) / frames),
        );
    Some(FRAME_STAGES.iter().fold(sample, |sample, stage| {
        sample.with_some(&format!("{stage}_us"), middle(&|frame| frame.stage_us(stage)))
    }))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn shares_are_of_all_that_was_sent_and_of_all_that_came() {
        let figures = Figures {
            frames: 197,
            lost: 3,
            ..Figures::default()
        };
        assert_eq!(delivered(&figures), 0.985);
        let report = json!({"totals": {"records_opened": 6, "open_failures": {"tag": 1, "replayed": 1}}});
        assert_eq!(verified(&report), Some(0.75));
        let none = json!({"totals": {"records_opened": 0, "open_failures": {}}});
        assert_eq!(verified(&none), None);
    }
}
