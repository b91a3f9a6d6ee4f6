//! The columns computed from samples, and the charts.

use crate::harness::{Axis, Better, Chart, Column, Definition};

/// The series of delays at each tenth of the packets.
pub(super) const CURVE: &str = "delay_ms";
/// The delay divided by the number of packets that arrived, in microseconds.
pub(super) const PACKET: &str = "packet_us";
/// Number of points at which the delay is read.
pub(super) const STEPS: usize = 10;
/// The values of a sample at each tenth of the packets, and the columns of the difference to no cipher.
pub(super) const TENTHS: [[&str; 2]; STEPS] = [
    ["delay_ms_at_10", "more_ms_at_10"],
    ["delay_ms_at_20", "more_ms_at_20"],
    ["delay_ms_at_30", "more_ms_at_30"],
    ["delay_ms_at_40", "more_ms_at_40"],
    ["delay_ms_at_50", "more_ms_at_50"],
    ["delay_ms_at_60", "more_ms_at_60"],
    ["delay_ms_at_70", "more_ms_at_70"],
    ["delay_ms_at_80", "more_ms_at_80"],
    ["delay_ms_at_90", "more_ms_at_90"],
    ["delay_ms", "more_ms"],
];

pub(super) fn columns() -> Vec<Column> {
    let (whole, parts) = (TENTHS[STEPS - 1], &TENTHS[..STEPS - 1]);
    let mut columns = vec![
        Column::median(whole[0], "delay", "ms")
            .digits(2)
            .drawn()
            .found_in_times(Better::Less, 0.05),
        Column::over(whole[1], whole[0], "more than none", "ms").digits(2),
        Column::over("more_us_per_packet", PACKET, "more than none, each packet", "µs").digits(3),
        Column::sum("lost", "lost", ""),
        Column::sum("foreign", "foreign", ""),
        Column::sum("stalls", "stalls", ""),
        Column::median("window", "packets under way at most", "")
            .digits(0)
            .hidden(),
    ];
    for &[delay, more] in parts {
        columns.push(Column::median(delay, "delay of a part", "ms").hidden());
        columns.push(Column::over(more, delay, "more than none", "ms").hidden());
    }
    columns
}

pub(super) fn charts(_: &Definition) -> Vec<Chart> {
    vec![Chart {
        series: CURVE,
        words: "The time since the start of sending until so many of the packets had come and were deciphered: the \
                mean over rounds.",
        x: Axis {
            title: "share of the packets sent",
            from: 1.0 / STEPS as f64,
            to: 1.0,
            log: false,
            percent: true,
        },
        y: Axis {
            title: "ms since the start of sending",
            from: 0.0,
            to: f64::INFINITY,
            log: false,
            percent: false,
        },
        mark: None,
    }]
}
