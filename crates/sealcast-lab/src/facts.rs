//! What must stand beside every network result.

/// The kernel's file with the congestion control that new TCP connections use. Each network namespace has its own.
pub const CONGESTION_CONTROL: &str = "/proc/sys/net/ipv4/tcp_congestion_control";

/// The TCP congestion control in force where this program runs, such as `cubic` or `bbr`; in words if it is not known.
pub fn congestion_control() -> String {
    match std::fs::read_to_string(CONGESTION_CONTROL) {
        Ok(name) => name.trim().to_owned(),
        Err(error) => format!("not known ({CONGESTION_CONTROL}: {error})"),
    }
}

/// The kernel's load averages, as it writes them; empty if it does not tell.
pub fn load_average() -> String {
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
