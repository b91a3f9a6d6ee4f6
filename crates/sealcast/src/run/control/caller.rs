//! Processes that may command a running program: its own user and root, but no process that the program started itself.
//! Those read what other parties send, and whoever takes one of them over must not open the door.

use std::fs;
use std::io;
use std::path::Path;

use rustix::process::{geteuid, getpid, set_child_subreaper};
use tokio::net::UnixStream;

/// Maximum number of processes between a caller and the first of its machine.
const MAX_ANCESTORS: usize = 256;
/// Maximum number of times that they are looked through.
const MAX_WALKS: usize = 16;

const ANOTHER_USER: &str = "only the user who runs this program, and root, may command it; become one of them";
const OWN_CHILD: &str = "a process that this program started may not command it; do it from a shell of your own";
const UNSEEN: &str = "whether this program started the process that asks cannot be seen; give the program a /proc of \
    its own namespace that shows processes of all users (unshare --mount-proc, no hidepid), or ask from outside";

/// A process, as the kernel tells of it at the other end of a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Process {
    user: u32,
    /// 0 of a process that cannot be seen from here, since it is in another namespace of processes.
    id: i32,
}

/// Lets this process find those again that its children start and leave behind.
pub(crate) fn keep_descendants() {
    // It fails where a filter of system calls forbids it: then such a process has another parent, and is not found.
    let _ = set_child_subreaper(Some(getpid()));
}

/// The reason why who connected may not command this program, if there is one.
///
/// # Errors
/// The kernel does not tell who it is.
pub(crate) fn refusal(stream: &UnixStream) -> io::Result<Option<&'static str>> {
    let caller = stream.peer_cred()?;
    let own = Process {
        user: geteuid().as_raw(),
        id: getpid().as_raw_pid(),
    };
    let caller = Process {
        user: caller.uid(),
        id: caller.pid().unwrap_or(0),
    };
    // In the /proc of another namespace these numbers are those of other processes.
    let own_proc = fs::read_link("/proc/self").is_ok_and(|link| link == Path::new(&own.id.to_string()));
    Ok(judge(own, caller, |id| parent(id).filter(|_| own_proc)))
}

/// End of the way from a process to its ancestors.
#[derive(PartialEq, Eq)]
enum End {
    /// At this program.
    Own,
    /// At the first process of the machine.
    First,
    /// At an ancestor whose parent is not told.
    Hidden(i32),
    /// Nowhere, or already at the process itself.
    Unseen,
}

/// Follows the ancestors of a process.
fn walk(own: i32, caller: i32, parent: impl Fn(i32) -> Option<i32>) -> End {
    let Some(mut at) = parent(caller) else {
        return End::Unseen;
    };
    for _ in 0..MAX_ANCESTORS {
        match at {
            0 => return End::First,
            id if id == own => return End::Own,
            id => match parent(id) {
                Some(next) => at = next,
                None => return End::Hidden(id),
            },
        }
    }
    End::Unseen
}

/// As [`refusal`], by a table of parents. The first process has the parent 0.
fn judge(own: Process, caller: Process, parent: impl Fn(i32) -> Option<i32>) -> Option<&'static str> {
    if caller.user == 0 && own.user != 0 {
        // What this program starts never becomes root.
        return None;
    }
    if caller.user != own.user {
        return Some(ANOTHER_USER);
    }
    // Children of this program are in its namespace, or in one within.
    if caller.id == 0 || caller.id == own.id {
        return None;
    }
    let mut hidden = None;
    for _ in 0..MAX_WALKS {
        match walk(own.id, caller.id, &parent) {
            End::First => return None,
            End::Own => return Some(OWN_CHILD),
            End::Unseen => break,
            // One that is hidden belongs to another user, and this program starts none of those. One that has just
            // ended is hidden too: then its children have another parent now.
            End::Hidden(id) if hidden == Some(id) => return None,
            End::Hidden(id) => hidden = Some(id),
        }
    }
    Some(UNSEEN)
}

/// The parent of a process, as `/proc` tells.
fn parent(id: i32) -> Option<i32> {
    parent_in(&fs::read_to_string(format!("/proc/{id}/stat")).ok()?)
}

/// The parent in a line of `/proc/ID/stat`: the second word behind the name, which may have brackets and blanks.
fn parent_in(stat: &str) -> Option<i32> {
    let (_, behind) = stat.rsplit_once(')')?;
    behind.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: Process = Process { user: 1000, id: 50 };

    /// 1 is the parent of 10 and 50; 50 that of 60, and 60 that of 61; the parent of 20 is hidden; 70 and 71 go round.
    fn table(id: i32) -> Option<i32> {
        [
            (1, 0),
            (10, 1),
            (50, 1),
            (60, 50),
            (61, 60),
            (20, 19),
            (70, 71),
            (71, 70),
        ]
        .into_iter()
        .find_map(|(child, parent)| (child == id).then_some(parent))
    }

    #[test]
    fn its_user_and_root_command_a_program_and_neither_others_nor_its_children_do() {
        for (user, id, expected) in [
            (1000, 10, None),
            (1000, 50, None),
            (1000, 20, None),
            (1000, 0, None),
            (0, 10, None),
            (0, 19, None),
            (1001, 10, Some(ANOTHER_USER)),
            (65534, 0, Some(ANOTHER_USER)),
            (1000, 60, Some(OWN_CHILD)),
            (1000, 61, Some(OWN_CHILD)),
            (1000, 99, Some(UNSEEN)),
            (1000, 70, Some(UNSEEN)),
        ] {
            assert_eq!(
                judge(OWN, Process { user, id }, table),
                expected,
                "user {user}, process {id}"
            );
        }
    }

    #[test]
    fn a_descendant_is_found_although_its_ancestors_end_while_they_are_looked_through() {
        for ending in [1, 2, 5] {
            let looks = std::cell::Cell::new(0);
            // 90 is a child of 91, which is one of 92, and so on: each has ended when its own parent is asked for.
            let parent = |id: i32| match id {
                90 => {
                    looks.set(looks.get() + 1);
                    Some(if looks.get() > ending { 50 } else { 90 + looks.get() })
                }
                91.. => None,
                id => table(id),
            };
            let caller = Process { user: 1000, id: 90 };
            assert_eq!(judge(OWN, caller, parent), Some(OWN_CHILD), "{ending} ancestors");
        }
    }

    #[test]
    fn a_program_of_root_is_commanded_by_root_alone_and_not_by_its_children() {
        let own = Process { user: 0, id: 50 };
        for (user, id, expected) in [(0, 10, None), (1000, 10, Some(ANOTHER_USER)), (0, 61, Some(OWN_CHILD))] {
            assert_eq!(judge(own, Process { user, id }, table), expected);
        }
    }

    /// Names the socket that a child of a test calls.
    const CALL: &str = "SEALCAST_TEST_CALLS";
    /// Time for a child to start.
    const PATIENCE: std::time::Duration = std::time::Duration::from_secs(60);

    #[test]
    fn a_child_calls_where_it_is_told() {
        if let Some(path) = std::env::var_os(CALL) {
            let mut called = std::os::unix::net::UnixStream::connect(path).expect("a socket");
            // Until the other end has seen who it is.
            let _ = io::Read::read(&mut called, &mut [0]);
        }
    }

    #[tokio::test]
    async fn what_this_process_started_is_refused_also_if_its_own_parent_has_gone() {
        keep_descendants();
        let home = tempfile::tempdir().expect("a folder");
        let path = home.path().join("socket");
        let listener = tokio::net::UnixListener::bind(&path).expect("bound");
        let own = std::env::current_exe().expect("a test");
        let (_, here) = module_path!().split_once("::").expect("a module of this crate");
        let test = format!("{here}::a_child_calls_where_it_is_told");
        for script in [r#""$0" --exact "$1""#, r#""$0" --exact "$1" & exit"#] {
            let mut shell = std::process::Command::new("sh");
            shell.args(["-c", script]).arg(&own).arg(&test).env(CALL, &path);
            let mut child = shell.stdout(std::process::Stdio::null()).spawn().expect("a shell");
            let call = tokio::time::timeout(PATIENCE, listener.accept()).await;
            let (stream, _) = call.expect("the child calls").expect("a call");
            assert_eq!(refusal(&stream).expect("known"), Some(OWN_CHILD), "{script}");
            drop(stream);
            child.wait().expect("our own child");
        }
        let (accepted, called) = tokio::join!(listener.accept(), UnixStream::connect(&path));
        let (stream, _) = accepted.expect("a call");
        assert_eq!(refusal(&stream).expect("known"), None, "a process may call itself");
        drop(called);
    }

    #[test]
    fn the_parent_stands_behind_a_name_that_may_have_brackets() {
        assert_eq!(parent_in("7 (a) b) (c) S 42 7 7 0"), Some(42));
        assert_eq!(parent_in("7 (a) S"), None);
        assert_eq!(parent_in(""), None);
        let own = getpid().as_raw_pid();
        assert!(parent(own).is_some_and(|parent| parent != own));
    }
}
