//! The fence: what a decoder's process may still do once the first byte of another party reaches it.
//!
//! It reads requests and answers them on descriptor 0, writes pictures to descriptor 1, and takes and returns memory.
//! Files, sockets, other processes and new privileges are out of its reach.

use std::collections::BTreeMap;
use std::fs;

use landlock::{ABI, Access, AccessFs, AccessNet, Ruleset, RulesetAttr, RulesetStatus, Scope};
use rustix::process::{Resource, Rlimit, setrlimit};
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen as Width, SeccompCmpOp as Is, SeccompCondition,
    SeccompFilter, SeccompRule,
};

use crate::failure::{Failure, FailureKind, Result};

/// Most memory that the process may map, its own program included. A decoded picture of 8192x4320 pixels has 53 MB,
/// and H.264 may refer to sixteen of them.
pub const MAX_MEMORY: u64 = 2 << 30;

/// Highest number of a descriptor that is closed where `/proc` does not list them.
const MAX_DESCRIPTORS: i32 = 4096;

/// Newest version of landlock whose rights are refused; older kernels refuse those that they know.
const LANDLOCK: ABI = ABI::V7;

/// The descriptor for requests and their answers,
const REQUESTS: u64 = 0;
/// the one for pictures,
const PICTURES: u64 = 1;
/// and standard error, which leads nowhere.
const NOWHERE: u64 = 2;

/// What of the fence the kernel put up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Raised {
    /// Landlock: no files, no connections.
    pub landlock: bool,
    /// Seccomp: no system call but those for reading requests, writing answers, and memory.
    pub seccomp: bool,
}

/// Fence this process for good, or the calling thread of a process that has more of them. All descriptors but 0, 1 and
/// 2 are closed.
///
/// # Errors
/// A limit cannot be set, or privileges cannot be given up. What the kernel lacks altogether is no error, and stands in
/// the result.
pub fn raise() -> Result<Raised> {
    give_up_privileges()?;
    close_descriptors();
    let landlock = refuse_files_and_connections();
    limit()?;
    let seccomp = refuse_system_calls();
    Ok(Raised { landlock, seccomp })
}

fn give_up_privileges() -> Result<()> {
    rustix::thread::set_no_new_privs(true).map_err(|error| failed("give up the way to new privileges", error))
}

fn failed(what: &str, error: impl std::fmt::Display) -> Failure {
    Failure::new(
        FailureKind::Sink,
        format!("the decoder's process cannot {what} ({error})"),
        "check what confines sealcast from outside",
    )
}

/// Close what was inherited besides the standard descriptors: ours close by themselves, but who started us may have
/// left others.
fn close_descriptors() {
    let listed = fs::read_dir("/proc/self/fd").map(|entries| {
        let names = entries.flatten().map(|entry| entry.file_name());
        names
            .filter_map(|name| name.to_str()?.parse().ok())
            .collect::<Vec<i32>>()
    });
    let open = listed.unwrap_or_else(|_| (0..MAX_DESCRIPTORS).collect());
    for descriptor in open.into_iter().filter(|&descriptor| descriptor > 2) {
        // The folder that listed them is closed already.
        let _ = nix::unistd::close(descriptor);
    }
}

/// Landlock without a single rule: every file, connection and foreign process is refused. False if the kernel has none.
pub fn refuse_files_and_connections() -> bool {
    let ruled = || {
        Ruleset::default()
            .handle_access(AccessFs::from_all(LANDLOCK))?
            .handle_access(AccessNet::from_all(LANDLOCK))?
            .scope(Scope::from_all(LANDLOCK))?
            .create()?
            .restrict_self()
    };
    ruled().is_ok_and(|status| status.ruleset != RulesetStatus::NotEnforced)
}

fn limit() -> Result<()> {
    let limits = [
        (Resource::Core, 0),
        (Resource::Nproc, 0),
        (Resource::Nofile, 0),
        (Resource::As, MAX_MEMORY),
    ];
    for (resource, most) in limits {
        let most = Rlimit {
            current: Some(most),
            maximum: Some(most),
        };
        setrlimit(resource, most).map_err(|error| failed("limit itself", error))?;
    }
    Ok(())
}

/// Seccomp: any system call that is not listed ends the process. False if the kernel has none.
pub fn refuse_system_calls() -> bool {
    filter().is_ok_and(|filter| seccompiler::apply_filter(&filter).is_ok())
}

fn filter() -> Result<BpfProgram, BackendError> {
    let architecture = std::env::consts::ARCH.try_into()?;
    SeccompFilter::new(rules()?, SeccompAction::KillProcess, SeccompAction::Allow, architecture)?.try_into()
}

/// The calls that are left: each with the conditions of which one must hold, or with none.
fn rules() -> Result<BTreeMap<i64, Vec<SeccompRule>>, BackendError> {
    let descriptor = |number| when(0, Width::Dword, Is::Eq, number);
    let not_executable = || when(2, Width::Qword, Is::MaskedEq(bits(libc::PROT_EXEC)), 0);
    let no_file = when(
        3,
        Width::Dword,
        Is::MaskedEq(bits(libc::MAP_ANONYMOUS)),
        bits(libc::MAP_ANONYMOUS),
    );
    let own = || when(0, Width::Dword, Is::Eq, u64::from(std::process::id()));
    let mut rules = BTreeMap::from([
        (libc::SYS_read, vec![all([descriptor(REQUESTS)?])?]),
        (
            libc::SYS_write,
            vec![all([descriptor(REQUESTS)?])?, all([descriptor(NOWHERE)?])?],
        ),
        (libc::SYS_pwrite64, vec![all([descriptor(PICTURES)?])?]),
        (libc::SYS_mmap, vec![all([not_executable()?, no_file?])?]),
        (libc::SYS_mprotect, vec![all([not_executable()?])?]),
        // An abort, which says more than the end for a forbidden call: glibc's, and musl's.
        (libc::SYS_tgkill, vec![all([own()?])?]),
        (libc::SYS_tkill, vec![all([own()?])?]),
    ]);
    let free = [
        libc::SYS_brk,
        libc::SYS_clock_gettime,
        libc::SYS_exit,
        libc::SYS_exit_group,
        libc::SYS_futex,
        libc::SYS_getpid,
        libc::SYS_getrandom,
        libc::SYS_gettid,
        libc::SYS_gettimeofday,
        libc::SYS_madvise,
        libc::SYS_mremap,
        libc::SYS_munmap,
        libc::SYS_restart_syscall,
        libc::SYS_rt_sigaction,
        libc::SYS_rt_sigprocmask,
        libc::SYS_rt_sigreturn,
        libc::SYS_sched_yield,
        libc::SYS_sigaltstack,
    ];
    rules.extend(free.map(|call| (call, Vec::new())));
    Ok(rules)
}

fn when(argument: u8, width: Width, is: Is, value: u64) -> Result<SeccompCondition, BackendError> {
    SeccompCondition::new(argument, width, is, value)
}

fn all<const N: usize>(conditions: [SeccompCondition; N]) -> Result<SeccompRule, BackendError> {
    SeccompRule::new(conditions.into())
}

/// Flags of the kernel are positive.
fn bits(flags: i32) -> u64 {
    u64::from(flags.unsigned_abs())
}
