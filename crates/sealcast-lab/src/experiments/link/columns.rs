//! The columns computed from samples, and the charts.

use super::case::deadline;
use super::load::RATE;
use crate::harness::{Axis, Better, Chart, Column, Definition};

/// The name of the curve's series, and the longest delay on its axis in milliseconds.
pub(super) const CURVE: &str = "not_shown_yet";
pub(super) const MOST_MS: f64 = 240.0;

pub(super) fn columns() -> Vec<Column> {
    vec![
        Column::sum("frames", "frames", ""),
        Column::share("shown_in_time", "shown", "shown in time", RATE)
            .ends("shown")
            .drawn()
            .found(Better::More, 0.1)
            .rival_series("ever"),
        Column::share("whole_in_time", "whole", "whole in time", RATE).ends("whole"),
        Column::share("shown_at_any_time", "ever", "shown ever", RATE),
        Column::share("shown_in_time_at_first", "begin", "first 5 s", RATE).digits(1),
        Column::median("delay_p50_ms", "delay at 50 %", "ms")
            .drawn()
            .found(Better::Less, 5.0),
        Column::median("delay_p99_ms", "delay at 99 %", "ms").found(Better::Less, 5.0),
        Column::median("overhead", "overhead", "%")
            .percent()
            .digits(1)
            .found(Better::Less, 1.0),
        Column::median("keyframes_asked_per_minute", "keyframes asked for", "a minute").hidden(),
        Column::median("packets_lost", "packets lost", "%").percent().hidden(),
        Column::sum("packets_unread", "packets unread", "").hidden(),
        Column::most("link_late_p99_ms", "link late at 99 %", "ms").hidden(),
    ]
}

pub(super) fn charts(definition: &Definition) -> Vec<Chart> {
    let limits: Vec<f64> = definition
        .cases
        .iter()
        .filter_map(|case| Some(deadline(case).ok()?.as_secs_f64() * 1e3))
        .collect();
    let same = limits
        .first()
        .filter(|first| limits.iter().all(|limit| limit == *first));
    vec![Chart {
        series: CURVE,
        words: "The share of frames that cannot be shown yet, by the time since they were sent. A curve that ends \
                above the axis has lost frames.",
        x: delay_axis(),
        y: Axis {
            title: "not shown yet",
            from: 1e-4,
            to: 1.0,
            log: true,
            percent: true,
        },
        mark: same.map(|limit| (*limit, "deadline")),
    }]
}

/// The axis of delays.
pub(super) fn delay_axis() -> Axis {
    Axis {
        title: "ms since it was sent",
        from: 0.0,
        to: MOST_MS,
        log: false,
        percent: false,
    }
}
