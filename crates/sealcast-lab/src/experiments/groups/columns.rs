//! The columns computed from samples. The cases of each part have figures in columns of their own.

use crate::harness::{Better, Column};

/// A figure that differs between cases by orders of magnitude.
fn figure(key: &'static str, title: &'static str, unit: &'static str) -> Column {
    Column::median(key, title, unit).significant()
}

/// A counted figure.
fn count(key: &'static str, title: &'static str, unit: &'static str) -> Column {
    Column::median(key, title, unit).digits(0)
}

/// A ratio that is part of a sample.
fn ratio(key: &'static str, title: &'static str) -> Column {
    Column::median(key, title, "times").digits(2)
}

pub(super) fn columns() -> Vec<Column> {
    let mut columns = small();
    columns.extend(simulated());
    columns.extend(keys());
    columns.extend(media());
    columns
}

fn small() -> Vec<Column> {
    vec![
        figure("group_ms", "founding, wall time", "ms"),
        figure("group_cpu_ms", "founding, CPU time of all", "ms"),
        figure("leader_cpu_ms", "founding, CPU time of the leader", "ms"),
        count("group_bytes", "founding, on the wire", "bytes"),
        figure("pair_ms", "a pair, wall time", "ms"),
        figure("pair_cpu_ms", "a pair, CPU time", "ms"),
        ratio("time_times_model", "wall time beside (N-1) pairs"),
        ratio("cpu_times_model", "CPU time beside (N-1) pairs"),
        ratio("energy_times_model", "energy beside (N-1) pairs"),
        figure("mj_per_group", "founding, energy", "mJ"),
        figure("rekey_leader_us", "rekeying, CPU time of the leader", "µs"),
        figure("rekey_other_us", "rekeying, CPU time of each other", "µs"),
        count("rekey_sheet_bytes", "rekeying, the sheet", "bytes"),
    ]
}

fn simulated() -> Vec<Column> {
    vec![
        figure("camera_us", "camera's CPU time, each change", "µs"),
        figure("viewer_us", "viewer's CPU time, each sheet", "µs"),
        count("camera_bytes", "camera sends, each change", "bytes"),
        count("sheet_bytes", "a sheet for everybody", "bytes"),
        count("longest_sheet_bytes", "the longest", "bytes").hidden(),
        count("path_bytes", "a sheet for one viewer", "bytes").hidden(),
        figure("keyed_p99_ms", "until a viewer has the key, p99", "ms"),
        figure("keyed_last_ms", "until the last viewer has the key", "ms"),
        count("in_force_ms", "until a change is in force, at most", "ms"),
        Column::sum("frames", "frames at viewers", ""),
        Column::sum("frames_late", "before their key", ""),
        Column::sum("frames_lost", "lost to keys", ""),
        Column::sum("refused", "refused by the removed", ""),
        Column::sum("changes", "changes", "").hidden(),
        Column::sum("announcements", "epochs", ""),
        Column::sum("repeated", "sheets repeated", ""),
        Column::sum("asked", "sheets asked for", ""),
    ]
}

/// One operation's columns.
macro_rules! operation {
    ($name:literal, $title:literal) => {
        [
            figure(concat!($name, "_camera_ms"), concat!($title, ", camera"), "ms CPU")
                .found_in_times(Better::Less, 0.05),
            Column::times(
                concat!($name, "_camera_times"),
                concat!($name, "_camera_ms"),
                concat!($title, ", camera beside sealcast"),
            )
            .beside("sealcast"),
            figure(concat!($name, "_bytes"), concat!($title, ", camera sends"), "bytes")
                .found_in_times(Better::Less, 0.05),
            Column::times(
                concat!($name, "_bytes_times"),
                concat!($name, "_bytes"),
                concat!($title, ", bytes beside sealcast"),
            )
            .beside("sealcast"),
            figure(
                concat!($name, "_received_bytes"),
                concat!($title, ", camera receives"),
                "bytes",
            )
            .hidden(),
            figure(concat!($name, "_member_ms"), concat!($title, ", each member"), "ms CPU"),
            figure(concat!($name, "_joiner_ms"), concat!($title, ", who joins"), "ms CPU"),
        ]
    };
}

fn keys() -> Vec<Column> {
    let all = [
        operation!("create", "all join"),
        operation!("add", "one joins"),
        operation!("remove", "one is removed"),
        operation!("rekey", "rekeying"),
    ];
    all.into_iter().flatten().collect()
}

fn media() -> Vec<Column> {
    vec![
        figure("fan_out_us", "CPU time, all viewers", "µs a frame"),
        Column::times("fan_out_times", "fan_out_us", "beside sealing once").beside("sealed-once"),
        figure("viewer_us_of_fan_out", "CPU time, each viewer", "µs a frame"),
        figure("wire_bytes", "on the wire", "bytes a frame").hidden(),
        figure("seal_us", "sealing and signing", "µs CPU a frame"),
        Column::over("seal_over_us", "seal_us", "more than without", "µs").beside("sign-off"),
        figure("open_us", "opening and verifying", "µs CPU a frame"),
        Column::over("open_over_us", "open_us", "more than without", "µs").beside("sign-off"),
        figure("frame_bytes", "on the wire", "bytes a frame"),
        figure("gop_sign_us", "signing a group of pictures", "µs CPU"),
        figure("gop_bytes", "its message", "bytes"),
    ]
}
