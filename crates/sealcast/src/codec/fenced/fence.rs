//! The fence: what a decoder's process may still do once the first byte of another party reaches it.
//!
//! It reads requests and answers them on descriptor 0, writes pictures to descriptor 1, and takes and returns memory.
//! Files, sockets, other processes and new privileges are out of its reach. A relay client gets a wider one
//! ([`confine`]): it speaks with the internet, and reads no file of the user's.

use std::fs;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetStatus, Scope,
    path_beneath_rules,
};
use rustix::process::{Resource, Rlimit, setrlimit};

use super::calls;
use crate::failure::{Failure, FailureKind, Result};

/// Most memory that the process may map, its own program included. A decoded picture of 8192x4320 pixels has 53 MB,
/// and H.264 may refer to sixteen of them.
pub const MAX_MEMORY: u64 = 2 << 30;

/// Highest number of a descriptor that is closed where `/proc` does not list them.
const MAX_DESCRIPTORS: i32 = 4096;

/// Newest version of landlock whose rights are refused; older kernels refuse those that they know.
const LANDLOCK: ABI = ABI::V7;

/// True if this program has a list of system calls for its kind of processor.
pub const LISTS_CALLS: bool = calls::LISTED;

/// Parts of the fence that the kernel put up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Raised {
    /// Landlock: no files, no connections.
    pub landlock: bool,
    /// Seccomp: no system call but those for reading requests, writing answers, and memory. Never where the program
    /// has no list of them ([`LISTS_CALLS`]).
    pub seccomp: bool,
}

/// Fence this process for good, or the calling thread of a process that has more of them. All descriptors but 0, 1 and
/// 2 are closed.
///
/// # Errors
/// A limit cannot be set, or privileges cannot be given up. What the kernel or this program lacks altogether is no
/// error, and stands in the result.
pub fn raise() -> Result<Raised> {
    give_up_privileges()?;
    close_descriptors();
    let landlock = refuse_files_and_connections();
    limit()?;
    let seccomp = calls::refuse_all_others();
    Ok(Raised { landlock, seccomp })
}

/// Folders of programs, their libraries, the settings of the network and the certificates of authorities.
const OF_PROGRAMS: [&str; 22] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/nix/store",
    "/gnu/store",
    "/etc/ld.so.cache",
    "/etc/ld.so.preload",
    "/etc/resolv.conf",
    "/run/systemd/resolve",
    "/run/resolvconf",
    "/run/NetworkManager",
    "/etc/hosts",
    "/etc/host.conf",
    "/etc/nsswitch.conf",
    "/etc/gai.conf",
    "/etc/ssl",
    "/etc/pki",
    "/etc/ca-certificates",
    "/dev/urandom",
];

/// Fence the calling thread, and what it starts from then on, for a program that speaks with another party over the
/// internet: it runs `program`, reads what programs need and the files in `readable`, writes none, and opens no socket
/// of this machine. So it reaches neither keys nor a control socket, whoever takes it over.
///
/// # Errors
/// Privileges cannot be given up. What the kernel or this program lacks altogether stands in the result.
pub fn confine(program: &Path, readable: &[PathBuf]) -> Result<Raised> {
    give_up_privileges()?;
    let seen = OF_PROGRAMS.iter().map(Path::new);
    let seen = seen.chain(readable.iter().map(PathBuf::as_path)).chain([program]);
    let landlock = Ruleset::default()
        .handle_access(AccessFs::from_all(LANDLOCK))
        .and_then(|ruleset| ruleset.scope(Scope::from_all(LANDLOCK)))
        .and_then(|ruleset| ruleset.create())
        .and_then(|ruleset| ruleset.add_rules(path_beneath_rules(seen, AccessFs::from_read(LANDLOCK))))
        .and_then(|ruleset| ruleset.add_rules(path_beneath_rules(["/dev/null"], AccessFs::from_file(LANDLOCK))))
        .and_then(|ruleset| ruleset.restrict_self());
    Ok(Raised {
        landlock: landlock.is_ok_and(|status| status.ruleset != RulesetStatus::NotEnforced),
        seccomp: calls::refuse_local_sockets(),
    })
}

fn give_up_privileges() -> Result<()> {
    rustix::thread::set_no_new_privs(true).map_err(|error| failed("give up the way to new privileges", error))
}

fn failed(what: &str, error: impl std::fmt::Display) -> Failure {
    Failure::new(
        FailureKind::Sink,
        format!("a process that is to be fenced cannot {what} ({error})"),
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
