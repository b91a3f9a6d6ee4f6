//! Whether there are file descriptors for as many viewers as are configured.

use rustix::process::{Resource, getrlimit};

use super::finding::Finding;

const CHECK: &str = "descriptors";
/// Descriptors that the program needs without a viewer: logs, lists, listeners, a page, a decoder, the runtime.
const BASE: u64 = 64;
/// Descriptors for each viewer: its connection, and one more while it is accepted.
const EACH: u64 = 2;

pub(super) fn check(viewers: u32) -> Finding {
    let limit = getrlimit(Resource::Nofile);
    judge(viewers, limit.current, limit.maximum)
}

/// Judges the limit in force and the highest that the user may set; `None` is no limit.
fn judge(viewers: u32, current: Option<u64>, maximum: Option<u64>) -> Finding {
    let needed = BASE + EACH * u64::from(viewers);
    let Some(limit) = current.filter(|&limit| limit < needed) else {
        let limit = current.map_or_else(|| "any number of".to_owned(), |limit| limit.to_string());
        let saw = format!("{limit} file descriptors are allowed, and {viewers} viewers need about {needed}");
        return Finding::ok(CHECK, saw);
    };
    let saw = format!("{limit} file descriptors are allowed, and {viewers} viewers need about {needed}");
    let advice = match maximum {
        Some(maximum) if maximum < needed => format!(
            "as root, allow more: LimitNOFILE={needed} in the unit of systemd, or a line in /etc/security/limits.conf"
        ),
        _ => format!("run before it: ulimit -n {needed}; for a unit of systemd, LimitNOFILE={needed}"),
    };
    Finding::warning(CHECK, saw, advice)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Verdict;

    #[test]
    fn too_few_descriptors_are_a_warning_that_says_who_can_raise_the_limit() {
        assert_eq!(judge(16, Some(1024), Some(4096)).verdict, Verdict::Ok);
        assert_eq!(judge(12_288, None, None).verdict, Verdict::Ok);
        let own = judge(1000, Some(1024), Some(4096));
        assert_eq!(own.verdict, Verdict::Warning);
        assert!(own.advice.is_some_and(|words| words.contains("ulimit -n 2064")));
        let root = judge(12_288, Some(1024), Some(4096));
        assert!(
            root.advice
                .is_some_and(|words| words.starts_with("as root") && words.contains("LimitNOFILE=24640"))
        );
    }
}
