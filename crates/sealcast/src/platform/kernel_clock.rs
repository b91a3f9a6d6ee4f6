//! State of the wall clock by the kernel: whether something keeps it right, and how far it may be off.

use std::process::{Command, Stdio};

use serde::Serialize;

/// Places of the program that reads it: the folder is not always on a user's path.
const PROGRAMS: [&str; 3] = ["adjtimex", "/usr/sbin/adjtimex", "/sbin/adjtimex"];

/// Bits of the status (linux/timex.h): nothing keeps the clock right; offsets are in nanoseconds.
const UNSYNCHRONISED: i64 = 0x40;
const NANOSECONDS: i64 = 0x2000;

/// Parts per million in a unit of the kernel's frequency.
const PPM: f64 = 1.0 / 65_536.0;

/// The kernel's estimate of its wall clock, which `adjtimex(2)` returns. It is the kernel's word for what NTP or PTP
/// last told it, and no measurement of ours: it stands beside our own estimate of the peer's clock.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct KernelClock {
    /// True if NTP, PTP or another program keeps the clock right.
    pub synchronised: bool,
    /// Offset that is still to be corrected, in microseconds.
    pub offset_us: f64,
    /// Maximum error in microseconds; 16 s where nothing keeps the clock right.
    pub maximum_error_us: u64,
    /// Estimated error in microseconds.
    pub estimated_error_us: u64,
    /// Correction of the clock's rate in parts per million.
    pub rate_ppm: f64,
}

impl KernelClock {
    /// Reads it by the program `adjtimex`, because a call of our own would need `unsafe`.
    ///
    /// # Errors
    /// Words for the user: the program is missing, or says something else.
    pub fn read() -> Result<Self, String> {
        for program in PROGRAMS {
            let mut command = Command::new(program);
            command.arg("--print").env_clear().stdin(Stdio::null());
            match command.output() {
                // Its exit status is the state of the clock.
                Ok(said) => {
                    return Self::parse(&String::from_utf8_lossy(&said.stdout))
                        .ok_or_else(|| format!("{program} says something else than expected"));
                }
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => return Err(format!("{program} does not start: {error}")),
            }
        }
        Err("the program adjtimex is not installed".to_owned())
    }

    /// Parses the lines `name: value` that the program prints.
    fn parse(text: &str) -> Option<Self> {
        let value = |name: &str| {
            let line = text.lines().find_map(|line| line.trim().strip_prefix(name));
            line?.strip_prefix(':')?.trim().parse::<i64>().ok()
        };
        let status = value("status")?;
        let unit = if status & NANOSECONDS == 0 { 1.0 } else { 1e-3 };
        Some(Self {
            synchronised: status & UNSYNCHRONISED == 0,
            offset_us: value("offset")? as f64 * unit,
            maximum_error_us: u64::try_from(value("maxerror")?).ok()?,
            estimated_error_us: u64::try_from(value("esterror")?).ok()?,
            rate_ppm: value("frequency")? as f64 * PPM,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_adjtimex_prints_is_read_in_the_units_that_the_status_names() {
        let text = "         mode: 0\n       offset: -12500\n    frequency: 655360\n     maxerror: 2250\n\
                    \x20    esterror: 40\n       status: 8193\ntime_constant: 7\n    precision: 1\n\
                    \x20   tolerance: 32768000\n         tick: 10000\n\
                    \x20    raw time:  1795449155s 610483us = 1795449155.610483\n return value = 0\n";
        let clock = KernelClock::parse(text).expect("it is complete");
        let expected = KernelClock {
            synchronised: true,
            offset_us: -12.5,
            maximum_error_us: 2250,
            estimated_error_us: 40,
            rate_ppm: 10.0,
        };
        assert_eq!(clock, expected);
        let free = KernelClock::parse(&text.replace("8193", "64")).expect("it is complete");
        assert!(!free.synchronised && (free.offset_us + 12_500.0).abs() < 1e-9);
        assert_eq!(KernelClock::parse(&text.replace("maxerror", "error")), None);
        assert_eq!(KernelClock::parse(""), None);
    }

    #[test]
    fn this_machines_kernel_is_asked_or_the_reason_is_said() {
        match KernelClock::read() {
            Ok(clock) => assert!(clock.maximum_error_us >= clock.estimated_error_us || !clock.synchronised),
            Err(words) => assert!(words.contains("adjtimex"), "{words}"),
        }
    }
}
