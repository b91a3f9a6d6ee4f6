//! The fence's list of system calls, compiled for the kernel.

use std::collections::BTreeMap;

use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen as Width, SeccompCmpOp as Is, SeccompCondition,
    SeccompFilter, SeccompRule,
};

/// The descriptor for requests and their answers,
const REQUESTS: u64 = 0;
/// the one for pictures,
const PICTURES: u64 = 1;
/// and standard error, which leads nowhere.
const NOWHERE: u64 = 2;

/// There is a list.
pub(super) const LISTED: bool = true;

/// Seccomp: any system call that is not listed ends the process. False if the kernel has none.
pub(super) fn refuse_all_others() -> bool {
    filter().is_ok_and(|filter| seccompiler::apply_filter(&filter).is_ok())
}

/// Seccomp: no socket but those of the internet and the kernel's own (by which the library of names learns of
/// addresses), and no call by which such a refusal is gone round or another process is reached. False if the kernel has
/// none.
pub(super) fn refuse_local_sockets() -> bool {
    local_sockets().is_ok_and(|filter| seccompiler::apply_filter(&filter).is_ok())
}

fn local_sockets() -> Result<BpfProgram, BackendError> {
    let other_than = |domain| when(0, Width::Dword, Is::Ne, bits(domain));
    let local = all([
        other_than(libc::AF_INET)?,
        other_than(libc::AF_INET6)?,
        other_than(libc::AF_NETLINK)?,
    ])?;
    let never = [
        libc::SYS_bpf,
        libc::SYS_io_uring_setup,
        libc::SYS_perf_event_open,
        libc::SYS_pidfd_getfd,
        libc::SYS_process_vm_readv,
        libc::SYS_process_vm_writev,
        libc::SYS_ptrace,
        libc::SYS_userfaultfd,
    ];
    let mut rules = BTreeMap::from(never.map(|call| (call, Vec::new())));
    rules.insert(libc::SYS_socket, vec![local]);
    let refused = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    let architecture = std::env::consts::ARCH.try_into()?;
    SeccompFilter::new(rules, SeccompAction::Allow, refused, architecture)?.try_into()
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
