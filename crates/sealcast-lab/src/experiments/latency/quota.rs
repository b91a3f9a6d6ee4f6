//! A slower machine: a control group whose processes get a share of a processor.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use sealcast::failure::{Failure, FailureKind, Result};

/// Where the kernel shows control groups; version 1 has a folder for each controller.
const GROUPS: &str = "/sys/fs/cgroup";
/// Interval after which the share is renewed, in µs. It is short, so that a process which used up its share does not
/// wait for long, as on a slower machine; the kernel allows no shares below a millisecond.
const PERIOD_US: u32 = 20_000;

/// A control group; it is removed when it is dropped, after its processes have ended.
#[derive(Debug)]
pub(super) struct Quota {
    folder: PathBuf,
}

impl Quota {
    /// A group with this share of a processor, 5 to 100 percent.
    ///
    /// # Errors
    /// There are no control groups for processor time here, or this account may not make any.
    pub(super) fn new(percent: u32) -> Result<Self> {
        Self::below(Path::new(GROUPS), percent).map_err(|error| {
            let what = format!("no control group can be made to slow a process down ({error})");
            let hint = "run it as root where /sys/fs/cgroup can be written, or leave the cases with cpu_percent out";
            Failure::new(FailureKind::Usage, what, hint)
        })
    }

    fn below(groups: &Path, percent: u32) -> io::Result<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("sealcast-lab-{}-{number}", std::process::id());
        let quota_us = PERIOD_US * percent / 100;
        let first = groups.join("cpu");
        let (folder, limits) = match first.join("cpu.cfs_quota_us").is_file() {
            true => (
                first.join(name),
                vec![
                    ("cpu.cfs_period_us", PERIOD_US.to_string()),
                    ("cpu.cfs_quota_us", quota_us.to_string()),
                ],
            ),
            false => {
                fs::write(groups.join("cgroup.subtree_control"), "+cpu")?;
                (groups.join(name), vec![("cpu.max", format!("{quota_us} {PERIOD_US}"))])
            }
        };
        fs::create_dir(&folder)?;
        let quota = Self { folder };
        for (file, value) in limits {
            fs::write(quota.folder.join(file), value)?;
        }
        Ok(quota)
    }

    /// Moves a process into the group.
    ///
    /// # Errors
    /// The process has ended.
    pub(super) fn hold(&self, process: u32) -> Result<()> {
        fs::write(self.folder.join("cgroup.procs"), process.to_string()).map_err(|error| {
            let what = format!("process {process} cannot be slowed down ({error})");
            Failure::new(
                FailureKind::Network,
                what,
                "see what it printed, in the files of the run",
            )
        })
    }
}

impl Drop for Quota {
    fn drop(&mut self) {
        // A group that still has processes stays, with a name that tells whose it was.
        let _ = fs::remove_dir(&self.folder);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_gets_its_share_in_the_words_of_either_version() {
        let groups = tempfile::tempdir().expect("a folder");
        let at = |path: &Path, file: &str| fs::read_to_string(path.join(file)).expect(file);
        let second = Quota::below(groups.path(), 10).expect("version 2");
        assert_eq!(at(&second.folder, "cpu.max"), "2000 20000");
        assert_eq!(at(groups.path(), "cgroup.subtree_control"), "+cpu");
        fs::create_dir(groups.path().join("cpu")).expect("a folder");
        fs::write(groups.path().join("cpu/cpu.cfs_quota_us"), "-1").expect("a file");
        let first = Quota::below(groups.path(), 50).expect("version 1");
        assert_eq!(at(&first.folder, "cpu.cfs_quota_us"), "10000");
        assert_eq!(at(&first.folder, "cpu.cfs_period_us"), "20000");
        first.hold(42).expect("a group");
        assert_eq!(at(&first.folder, "cgroup.procs"), "42");
    }

    #[test]
    fn without_control_groups_the_failure_says_what_to_do() {
        let nothing = tempfile::tempdir().expect("a folder");
        let refused = Quota::below(&nothing.path().join("none"), 10);
        assert_eq!(refused.expect_err("no folder").kind(), io::ErrorKind::NotFound);
    }
}
