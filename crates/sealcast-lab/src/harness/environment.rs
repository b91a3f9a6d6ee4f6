//! The environment recorded with every result: machine, versions, and load average.

use std::collections::BTreeMap;

use sealcast::platform::machine::Machine;
use sealcast::platform::versions::LIBRARIES;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The kernel's file with the congestion control that new TCP connections use. Each network namespace has its own.
pub(crate) const CONGESTION_CONTROL: &str = "/proc/sys/net/ipv4/tcp_congestion_control";

/// The properties of machine and program that figures depend on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Environment {
    /// Version of this program.
    pub(crate) version: String,
    pub(crate) libraries: BTreeMap<String, String>,
    pub(crate) machine: Value,
}

impl Environment {
    pub(crate) fn detect() -> Self {
        let owned = |(name, version): &(&str, &str)| ((*name).to_owned(), (*version).to_owned());
        Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            libraries: LIBRARIES.iter().map(owned).collect(),
            machine: serde_json::to_value(Machine::detect()).unwrap_or_default(),
        }
    }

    /// The machine in one line.
    pub(crate) fn machine_line(&self) -> String {
        let word = |field: &str| self.machine[field].as_str().unwrap_or("unknown").to_owned();
        format!(
            "{}, {} cores, {}",
            word("cpu_model"),
            self.machine["cores"],
            word("kernel")
        )
    }

    /// Versions in one line.
    pub(crate) fn versions_line(&self) -> String {
        let libraries = self
            .libraries
            .iter()
            .map(|(name, version)| format!(", {name} {version}"));
        format!("sealcast {}{}", self.version, libraries.collect::<String>())
    }
}

/// The TCP congestion control in use here, such as `cubic` or `bbr`; an explanation if it is unknown.
pub(crate) fn congestion_control() -> String {
    match std::fs::read_to_string(CONGESTION_CONTROL) {
        Ok(name) => name.trim().to_owned(),
        Err(error) => format!("not known ({CONGESTION_CONTROL}: {error})"),
    }
}

/// The kernel's load averages, unparsed; empty if they cannot be read.
pub(crate) fn load_average() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.trim().to_owned()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_congestion_control_is_one_of_those_the_kernel_has() {
        let all = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").expect("Linux");
        let name = super::congestion_control();
        assert!(
            all.split_whitespace().any(|known| known == name),
            "{name} is none of {all}"
        );
    }
}
