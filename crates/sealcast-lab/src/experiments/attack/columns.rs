//! The columns computed from samples. Scores are those of the attacker who is best by that score.

use crate::harness::{Better, Column};

pub(super) fn columns() -> Vec<Column> {
    vec![
        Column::median("known", "in clear", "").percent().digits(1),
        Column::median("best_psnr", "best PSNR", "dB"),
        Column::median("best_ssim", "best SSIM", "").digits(3),
        Column::median("best_ms-ssim", "best MS-SSIM", "").digits(3),
        Column::median("best_vmaf", "best VMAF", ""),
        Column::median("best_lss", "best LSS", "").digits(2),
        Column::median("best_ess", "best ESS", "").digits(2).drawn(),
        Column::median("best_detail", "detail seen, most", "")
            .percent()
            .digits(1)
            .drawn(),
        Column::median("best_moving", "moving detail seen, most", "")
            .percent()
            .digits(1),
        Column::median("best_clock-errors", "clock bits wrong, least", "")
            .percent()
            .digits(1)
            .drawn(),
        Column::median("best_faces", "faces found, most", "")
            .percent()
            .digits(0),
        Column::median("best_people", "people found, most", "")
            .percent()
            .digits(0),
        Column::median("best_text-errors", "text read wrong, least", "")
            .percent()
            .digits(0),
        Column::median("coverage", "fusion: covered", "").percent().digits(1),
        Column::median("expected_coverage", "fusion: by arithmetic", "")
            .percent()
            .digits(1),
        Column::median("seal_us", "sealing a frame", "µs")
            .significant()
            .found_in_times(Better::Less, 0.05),
        Column::median("open_us", "opening a frame", "µs").significant(),
        Column::median("cpu_us", "CPU of both ends, a frame", "µs").significant(),
        Column::over("seal_saved_us", "seal_us", "sealing, beside all", "µs").significant(),
        Column::over("cpu_saved_us", "cpu_us", "CPU, beside all", "µs").significant(),
        Column::median("records", "records", "").digits(0).hidden(),
        Column::median("in_clear", "records in clear", "").digits(0).hidden(),
    ]
}
