//! The columns computed from samples.

use crate::harness::{Better, Column};

pub(super) fn columns() -> Vec<Column> {
    vec![
        Column::median("viewer_us", "processor time", "µs a frame and viewer")
            .significant()
            .drawn()
            .found_in_times(Better::Less, 0.05)
            .judged(Better::Less),
        Column::times("times_plain", "viewer_us", "beside the plain fan-out"),
        Column::times("times_alone", "viewer_us", "beside sealing for each").beside("alone"),
        Column::over(
            "more_us",
            "viewer_us",
            "more than the plain fan-out",
            "µs a frame and viewer",
        ),
        Column::median("frame_us", "processor time, all viewers", "µs a frame").significant(),
        Column::over("more_frame_us", "frame_us", "more than the plain fan-out", "µs a frame").digits(0),
        Column::median("core_percent", "of a core", "%"),
        Column::median("p50_ms", "source to viewer, p50", "ms")
            .digits(2)
            .drawn()
            .judged(Better::Less),
        Column::median("p99_ms", "p99", "ms").digits(2),
        Column::over("p50_more_than_direct_ms", "p50_ms", "p50 over sessions", "ms")
            .digits(2)
            .beside("group"),
        Column::over("p99_more_than_direct_ms", "p99_ms", "p99 over sessions", "ms")
            .digits(2)
            .beside("group"),
        Column::over("p50_more_than_unsealed_ms", "p50_ms", "p50 over plain objects", "ms")
            .digits(2)
            .beside("relayed-plain"),
        Column::over("p99_more_than_unsealed_ms", "p99_ms", "p99 over plain objects", "ms")
            .digits(2)
            .beside("relayed-plain"),
        Column::median("late", "later than 100 ms", "").percent(),
        Column::median("fps", "frames", "a second and viewer"),
        Column::median("least_fps", "at the slowest viewer", "a second"),
        Column::sum("frames", "frames at viewers", "").hidden(),
    ]
}
