//! The values of a run, as a whole and by periods.

use std::fmt::Write as _;

use serde_json::Value;

use crate::experiments::stream::{Figures, Seen, between};
use crate::harness::Sample;

/// Series with a value for each period.
pub(super) const FPS: &str = "fps_of";
pub(super) const DELAY: &str = "delay_p50_ms_of";
pub(super) const CPU: &str = "cpu_us_per_frame_of";
/// Series with estimates of how much a figure changes in an hour.
pub(super) const DELAY_TREND: &str = "delay_trend";
pub(super) const CPU_TREND: &str = "cpu_trend";
pub(super) const FPS_TREND: &str = "fps_trend";

const HOUR_S: f64 = 3600.0;
/// A shorter run's change, taken for that of an hour, would mostly be what else the machine did in those minutes.
const LEAST_FOR_TREND_S: f64 = HOUR_S;

/// The figures of each period.
pub(super) fn periods(seen: &Seen) -> Vec<Figures> {
    let pairs = seen.marks.windows(2);
    pairs.map(|pair| between(&seen.frames, &pair[0], &pair[1])).collect()
}

/// The sample of a run. `None` if no frame was received while it was measured.
pub(super) fn sample(seen: &Seen, periods: &[Figures]) -> Option<Sample> {
    let whole = between(&seen.frames, seen.marks.first()?, seen.marks.last()?);
    if whole.frames == 0 {
        return None;
    }
    let count = |report: &Value, name: &str| report["totals"][name].as_f64();
    let sent = count(&seen.publisher, "frames_out").filter(|frames| *frames > 0.0);
    let both = count(&seen.publisher, "bytes_out").zip(count(&seen.publisher, "bytes_in"));
    let stage = |report: &Value, name: &str| report["stages"][name]["p50_ns"].as_f64().map(|ns| ns * 1e-3);
    let sample = Sample::default()
        .with("fps", whole.fps)
        .with("frames", whole.frames as f64)
        .with("lost", whole.lost as f64)
        .with(
            "lost_share",
            whole.lost as f64 / (whole.lost as f64 + whole.frames as f64),
        )
        .with("network_p50_ms", whole.network_p50_ms)
        .with("network_p95_ms", whole.network_p95_ms)
        .with("delay_p50_ms", whole.delay_p50_ms)
        .with("delay_p95_ms", whole.delay_p95_ms)
        .with("publisher_cpu_us", whole.publisher_us)
        .with("viewer_cpu_us", whole.viewer_us)
        .with("cpu_us", whole.publisher_us + whole.viewer_us)
        .with_some("seal_us", stage(&seen.publisher, "seal"))
        .with_some("open_us", stage(&seen.viewer, "open"))
        .with_some(
            "bytes_per_frame",
            both.zip(sent).map(|((out, back), frames)| (out + back) / frames),
        )
        .with("seconds", whole.seconds);
    let series = |of: fn(&Figures) -> f64| periods.iter().map(of).collect::<Vec<f64>>();
    let (fps, delay) = (series(|one| one.fps), series(|one| one.delay_p50_ms));
    let cpu = series(|one| one.publisher_us + one.viewer_us);
    let sample = match whole.seconds >= LEAST_FOR_TREND_S {
        true => sample
            .with_series(FPS_TREND, by_the_hour(periods, &fps))
            .with_series(DELAY_TREND, by_the_hour(periods, &delay))
            .with_series(CPU_TREND, by_the_hour(periods, &cpu)),
        false => sample,
    };
    // A curve has no place for a period without frames.
    let is_whole = |values: &Vec<f64>| values.iter().all(|value| value.is_finite());
    let curves = [(FPS, fps), (DELAY, delay), (CPU, cpu)].into_iter();
    Some(
        curves
            .filter(|(_, values)| is_whole(values))
            .fold(sample, |sample, (name, values)| sample.with_series(name, values)),
    )
}

/// Estimates of the change in an hour: each period of the first half beside the one half a run later (Theil's
/// incomplete method). No period is in two of them, so they can be resampled.
fn by_the_hour(periods: &[Figures], values: &[f64]) -> Vec<f64> {
    let half = values.len() / 2;
    let later = values.len() - half;
    let apart: f64 = periods[..later].iter().map(|one| one.seconds).sum::<f64>() / HOUR_S;
    let pairs = values[..half].iter().zip(&values[later..]);
    let changes = pairs.map(|(before, after)| (after - before) / apart);
    changes.filter(|change| change.is_finite()).collect()
}

/// The table of periods, as a CSV file.
pub(super) fn table(periods: &[Figures]) -> String {
    let mut text = String::from(
        "from_s,seconds,frames,fps,lost,network_p50_ms,network_p95_ms,delay_p50_ms,delay_p95_ms,publisher_cpu_us,\
         viewer_cpu_us\n",
    );
    let mut from = 0.0;
    for one in periods {
        let figures = [
            from,
            one.seconds,
            one.frames as f64,
            one.fps,
            one.lost as f64,
            one.network_p50_ms,
            one.network_p95_ms,
            one.delay_p50_ms,
            one.delay_p95_ms,
            one.publisher_us,
            one.viewer_us,
        ];
        let cell = |value: f64| {
            if value.is_finite() {
                value.to_string()
            } else {
                String::new()
            }
        };
        let _ = writeln!(text, "{}", figures.map(cell).join(","));
        from += one.seconds;
    }
    text
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::*;
    use crate::experiments::stream::{Frame, Mark};

    /// A frame each 100 ms with a delay that grows by a millisecond each second; every tenth is lost.
    fn seen(seconds: i64) -> Seen {
        let frames = (0..seconds * 10).filter(|number| number % 10 != 5).map(|number| Frame {
            number: number as u64,
            keyframe: false,
            bytes: 1000.0,
            sealed_ns: None,
            received_ns: number * 100_000_000,
            network_ms: Some(2.0),
            delay_ms: Some(20.0 + number as f64 / 10.0),
            total_ms: None,
            stages: [None; 11],
        });
        let mark = |at: i64| Mark {
            at_ns: at * 1_000_000_000,
            publisher: Duration::from_millis(9 * at as u64),
            viewer: Duration::from_micros(4500 * at as u64),
        };
        Seen {
            frames: frames.collect(),
            marks: (0..=10).map(|period| mark(period * seconds / 10)).collect(),
            publisher: json!({"totals": {"frames_out": 10, "bytes_out": 900, "bytes_in": 100},
                "stages": {"seal": {"p50_ns": 5000}}}),
            viewer: json!({"stages": {"open": {"p50_ns": 7000}}}),
        }
    }

    #[test]
    fn figures_of_a_run_follow_from_its_frames_marks_and_reports() {
        let seen = seen(20);
        let periods = periods(&seen);
        let sample = sample(&seen, &periods).expect("frames");
        let value = |name: &str| sample.value(name).expect(name);
        assert_eq!((value("frames"), value("lost"), value("fps")), (180.0, 20.0, 9.0));
        assert_eq!((value("publisher_cpu_us"), value("viewer_cpu_us")), (1000.0, 500.0));
        assert_eq!(
            (value("seal_us"), value("open_us"), value("bytes_per_frame")),
            (5.0, 7.0, 100.0)
        );
        assert!((value("delay_p50_ms") - 30.0).abs() < 0.2 && value("network_p95_ms") == 2.0);
        assert_eq!(
            (sample.series[FPS].as_slice(), periods.len()),
            ([9.0; 10].as_slice(), 10)
        );
        assert!(!sample.series.contains_key(DELAY_TREND), "too short to tell");
        assert_eq!(table(&periods).lines().count(), 11);
    }

    #[test]
    fn a_trend_is_found_and_where_there_is_none_it_is_zero() {
        let seen = seen(4000);
        let sample = sample(&seen, &periods(&seen)).expect("frames");
        // A millisecond a second is 3600 in an hour.
        assert_eq!(sample.series[DELAY_TREND].len(), 5);
        assert!(
            sample.series[DELAY_TREND]
                .iter()
                .all(|change| (change - 3600.0).abs() < 1e-6)
        );
        assert_eq!(sample.series[FPS_TREND], [0.0; 5]);
    }

    #[test]
    fn a_run_without_frames_has_no_sample() {
        let mut seen = seen(20);
        seen.frames.clear();
        let periods = periods(&seen);
        assert_eq!(sample(&seen, &periods), None);
        assert!(
            table(&periods)
                .lines()
                .nth(1)
                .is_some_and(|line| line.contains(",0,0,0,,,,,"))
        );
    }
}
