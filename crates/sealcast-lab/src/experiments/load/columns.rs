//! The columns computed from samples.

use crate::harness::{Better, Column};

pub(super) fn columns() -> Vec<Column> {
    vec![
        Column::median("frames_per_s", "frames held", "a second")
            .significant()
            .drawn()
            .found(Better::More, 0.0),
        Column::median("mbit_per_s", "raw video", "Mbit/s").significant(),
        Column::times("times_none", "frames_per_s", "frames beside no cipher"),
    ]
}
