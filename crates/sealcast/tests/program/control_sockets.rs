//! The control socket that every program has without being asked: where it is, and who commands through it.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::Path;
use std::process::Command;

use sealcast_testkit::built::built;
use sealcast_testkit::media::path;
use sealcast_testkit::program::{PATIENCE, Publisher, home, publish, publish_by, sealcast};
use sealcast_testkit::skips::skipped;

const CARD: &str = "test:160x120@5";

/// Runs a command of the program. Returns whether it succeeded, and what it said.
fn run(command: &mut Command) -> (bool, String) {
    let output = command.output().expect("it runs");
    let said = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8(said).expect("text"))
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).expect("it is there").permissions().mode() & 0o777
}

#[test]
fn a_publisher_takes_commands_unasked_and_leaves_nothing_in_clear_by_them() {
    let home = home();
    let mut publisher = publish(home.path(), CARD, &[]);
    let folder = home.path().join("keys/publishers/camera");
    assert_eq!((mode(&folder), mode(&folder.join("control"))), (0o700, 0o600));
    for (selection, words) in [
        ("all", "ok encrypt all"),
        ("none", "was given --control PATH"),
        ("rate:50", "was given --control PATH"),
        ("keyframes", "was given --control PATH"),
    ] {
        let (done, said) = run(sealcast(home.path()).args(["control", "encrypt", selection]));
        assert!(
            done == (selection == "all") && said.contains(words),
            "{selection}: {said}"
        );
    }
    let (_, said) = run(sealcast(home.path()).args(["control", "status"]));
    assert!(said.starts_with("ok encrypt=all "), "{said}");
    publisher.program.stop();
    assert!(!folder.join("control").exists());
}

#[test]
fn the_folder_of_a_service_has_the_socket_and_commands_find_it_there() {
    let (home, runtime) = (home(), home());
    let mut command = sealcast(home.path());
    command.args(["publish", CARD, "--listen", "tcp://127.0.0.1:0"]);
    command.env("RUNTIME_DIRECTORY", format!("{}:/run/other", path(runtime.path())));
    let mut publisher = publish_by(command);
    let socket = runtime.path().join("control");
    assert_eq!(mode(&socket), 0o600);
    for command in [
        vec!["control", "status"],
        vec!["control", "--socket", path(&socket), "status"],
    ] {
        let (done, said) = run(sealcast(home.path()).args(&command));
        assert!(done && said.starts_with("ok encrypt=all "), "{command:?}: {said}");
    }
    let (done, said) = run(sealcast(home.path()).args(["peers", "list"]));
    assert!(done && said.starts_with("nobody is listed yet"), "{said}");
    publisher.program.stop();
    assert!(!socket.exists() && !home.path().join("keys/publishers/camera/control").exists());
}

#[test]
fn where_no_socket_can_be_made_the_publisher_says_so_once_and_runs() {
    let home = home();
    let identity = home.path().join("identity");
    assert!(run(sealcast(home.path()).args(["keygen", path(&identity)])).0);
    let long = home.path().join("x".repeat(120));
    // Nobody makes a folder there, not even the superuser.
    let read_only = Path::new("/proc/sealcast");
    for keys in [&long, read_only] {
        let mut command = sealcast(home.path());
        command
            .env("SEALCAST_HOME", keys)
            .args(["publish", CARD, "--listen", "tcp://127.0.0.1:0"]);
        let Publisher { mut program, ticket } = publish_by({
            command.args(["--identity", path(&identity)]);
            command
        });
        assert_eq!(
            program.said().matches("without a control socket").count(),
            1,
            "{}",
            program.said()
        );
        assert!(ticket.contains('#'));
        program.stop();
    }
}

/// True if a command of this machine runs.
fn runs(command: &str, arguments: &[&str]) -> bool {
    Command::new(command)
        .args(arguments)
        .output()
        .is_ok_and(|output| output.status.success())
}

/// The program in the namespaces of a publisher that `unshare` started.
fn beside(publisher: &Publisher) -> Command {
    let id = publisher.program.id();
    let children = fs::read_to_string(format!("/proc/{id}/task/{id}/children")).expect("it runs");
    let mut command = Command::new("nsenter");
    command.args(["--pid", "--mount", "--target", children.trim()]);
    command.arg(built("sealcast"));
    command
}

#[test]
fn commands_pass_between_namespaces_of_processes_where_it_can_be_seen_who_asks() {
    if !runs("unshare", &["--pid", "--fork", "--mount-proc", "true"]) {
        return skipped("no unshare, or not run by root");
    }
    let within = |home: &Path, with: &[&str]| {
        let mut command = Command::new("unshare");
        command
            .args(["--pid", "--fork", "--kill-child"])
            .args(with)
            .arg(built("sealcast"));
        command.env("SEALCAST_HOME", home.join("keys")).current_dir(home);
        command
    };
    let status = ["control", "status"];
    let outer = home();
    let mut publisher = publish(outer.path(), CARD, &[]);
    for with in [&[][..], &["--mount-proc"]] {
        let (done, said) = run(within(outer.path(), with).args(status));
        assert!(done && said.starts_with("ok encrypt=all "), "{with:?}: {said}");
    }
    publisher.program.stop();
    // Within, with the /proc of outside or with one of its own, and asked from outside and within.
    for (with, words) in [
        (&[][..], "unshare --mount-proc"),
        (&["--mount-proc"], "ok encrypt=all "),
    ] {
        let inner = home();
        let mut command = within(inner.path(), with);
        command.args(["publish", CARD, "--listen", "tcp://127.0.0.1:0"]);
        let publisher = publish_by(command);
        let (done, said) = run(sealcast(inner.path()).args(status));
        assert!(done && said.starts_with("ok encrypt=all "), "{with:?}: {said}");
        let (_, said) = run(beside(&publisher)
            .args(status)
            .env("SEALCAST_HOME", inner.path().join("keys")));
        assert!(said.contains(words), "{with:?}: {said}");
    }
}

/// Arguments of `setpriv` for a user who has nothing.
const AS_NOBODY: [&str; 5] = ["--reuid", "65534", "--regid", "65534", "--clear-groups"];

/// True if tests may be other users; if not, says that the calling test is skipped.
fn is_root() -> bool {
    let runs = runs("setpriv", &[&AS_NOBODY[..], &["true"]].concat());
    if !runs {
        skipped("no setpriv, or not run by root");
    }
    runs
}

#[test]
fn root_commands_the_program_of_a_user() {
    if !is_root() {
        return;
    }
    let home = home();
    chown(home.path(), Some(65534), Some(65534)).expect("root may");
    let program = home.path().join("sealcast");
    fs::copy(built("sealcast"), &program).expect("a copy that others can run");
    let keys = home.path().join("keys");
    let mut command = Command::new("setpriv");
    command.args(AS_NOBODY).arg(&program).current_dir(home.path());
    command.args(["publish", CARD, "--listen", "tcp://127.0.0.1:0"]);
    command.env("SEALCAST_HOME", &keys);
    let mut publisher = publish_by(command);
    let socket = keys.join("publishers/camera/control");
    assert_eq!(fs::metadata(&socket).expect("it is there").uid(), 65534);
    let (done, said) = run(sealcast(home.path()).args(["control", "--socket", path(&socket), "status"]));
    assert!(done && said.starts_with("ok encrypt=all "), "{said}");
    // As one who looks after the machine does it: with the user's folder.
    let (done, said) = run(sealcast(home.path()).args(["invite", "--label", "anna", "--ticket-file", "-"]));
    assert!(done && said.contains("sealcast://"), "{said}");
    let (done, said) = run(sealcast(home.path()).args(["peers", "list"]));
    assert!(done && said.contains("anna"), "{said}");
    publisher.program.stop();
    // What root asked for belongs to the user still.
    let others: Vec<_> = fs::read_dir(socket.parent().expect("a folder"))
        .expect("a folder")
        .map(|entry| entry.expect("an entry"))
        .filter(|entry| entry.metadata().expect("it is there").uid() != 65534)
        .collect();
    assert!(others.is_empty(), "{others:?}");
}

#[test]
fn another_user_of_the_machine_commands_nothing() {
    if !is_root() {
        return;
    }
    let home = home();
    let mut publisher = publish(home.path(), CARD, &[]);
    // The modes are opened, so that the credentials alone keep the other user out.
    let keys = home.path().join("keys");
    let folder = keys.join("publishers/camera");
    for opened in [
        home.path(),
        &keys,
        &keys.join("publishers"),
        &folder,
        &folder.join("control"),
    ] {
        fs::set_permissions(opened, fs::Permissions::from_mode(0o777)).expect("ours");
    }
    let program = home.path().join("sealcast");
    fs::copy(built("sealcast"), &program).expect("a copy that others can run");
    let mut other = Command::new("setpriv");
    other.args(AS_NOBODY).arg(&program);
    other.args(["control", "status"]).env("SEALCAST_HOME", &keys);
    let (done, said) = run(&mut other);
    assert!(
        !done && said.contains("only the user who runs this program, and root"),
        "{said}"
    );
    publisher.program.says("a command was refused", PATIENCE);
    publisher.program.stop();
}
