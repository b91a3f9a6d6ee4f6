//! The columns computed from samples.

use crate::harness::{Better, Column};

pub(super) fn columns() -> Vec<Column> {
    vec![
        Column::median("gbit_per_second", "carried", "Gbit/s").digits(2),
        Column::median("gbit_per_core", "carried per core", "Gbit/s")
            .digits(2)
            .drawn()
            .found_in_times(Better::More, 0.05)
            .judged(Better::More),
        Column::times("times_bare", "gbit_per_core", "per core beside bare"),
        Column::times("times_boringtun", "gbit_per_core", "beside boringtun").beside("boringtun"),
        Column::times("times_stunnel", "gbit_per_core", "beside stunnel").beside("stunnel"),
        Column::median("loss", "lost", "%").percent().digits(3),
        Column::sum("datagrams", "datagrams", "").hidden(),
        Column::sum("datagrams_lost", "datagrams lost", "").hidden(),
        Column::sum("bytes", "bytes", "").hidden(),
        Column::median("elapsed_s", "duration", "s").hidden(),
        Column::median("cpu_s", "processor time", "s").hidden(),
    ]
}
