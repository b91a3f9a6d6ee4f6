//! Whether the system lets sockets have the buffers that are asked for.

use std::path::Path;

use super::finding::Finding;
use crate::transport::udp::{RECEIVE_BUFFER, SEND_BUFFER};

const CHECK: &str = "buffers";

/// Reads the system's limits.
pub(super) fn check(system: &Path) -> Vec<Finding> {
    let limits = [
        ("rmem_max", "receive", RECEIVE_BUFFER),
        ("wmem_max", "send", SEND_BUFFER),
    ];
    let judged = limits.map(|(name, what, wanted)| {
        let read = std::fs::read_to_string(system.join(name)).ok();
        judge(name, what, wanted, read.and_then(|text| text.trim().parse().ok()))
    });
    judged.into()
}

fn judge(name: &str, what: &str, wanted: usize, limit: Option<usize>) -> Finding {
    match limit {
        None => Finding::unknown(
            CHECK,
            format!("net.core.{name} cannot be read: the limit of {what} buffers is not known"),
            format!("look with: sysctl net.core.{name}"),
        ),
        Some(limit) if limit < wanted => Finding::warning(
            CHECK,
            format!(
                "{what} buffers are limited to {limit} bytes (net.core.{name}), and UDP and QUIC ask for {wanted}: \
                 bursts may be lost"
            ),
            format!(
                "run: sudo sysctl -w net.core.{name}={wanted}, and write the same into /etc/sysctl.d/sealcast.conf"
            ),
        ),
        Some(limit) => Finding::ok(
            CHECK,
            format!("{what} buffers may have {limit} bytes, and {wanted} are asked for"),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Verdict;

    #[test]
    fn a_limit_below_what_is_asked_for_is_a_warning_with_the_command() {
        let system = tempfile::tempdir().expect("a directory");
        std::fs::write(system.path().join("rmem_max"), "212992\n").expect("written");
        std::fs::write(system.path().join("wmem_max"), format!("{SEND_BUFFER}\n")).expect("written");
        let found = check(system.path());
        assert_eq!([found[0].verdict, found[1].verdict], [Verdict::Warning, Verdict::Ok]);
        let command = format!("sysctl -w net.core.rmem_max={RECEIVE_BUFFER}");
        assert!(
            found[0].advice.as_ref().is_some_and(|words| words.contains(&command)),
            "{found:?}"
        );
        let unread = check(Path::new("/nonexistent"));
        assert!(
            unread.iter().all(|finding| finding.verdict == Verdict::Unknown),
            "{unread:?}"
        );
    }
}
