//! The link between two network namespaces, with real programs over it. The tests need root and `/dev/net/tun`; without
//! one of them each test is skipped.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use sealcast_lab::net::{Direction, End, Net, NetConfig, Running};
use sealcast_lab::netem::Pings;
use sealcast_testkit::skips::skipped;

const LAB: &str = env!("CARGO_BIN_EXE_sealcast-lab");

/// Time limit for anything, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A name for namespaces that are used only by this process and this test.
fn name(test: &str) -> String {
    format!("test-{test}-{}", std::process::id())
}

fn config(test: &str, link: &str, seed: u64) -> NetConfig {
    let profile: sealcast_proto::sim::LinkProfile = link.parse().expect("a profile");
    NetConfig {
        name: name(test),
        up: profile.clone(),
        down: profile,
        seed,
        ..NetConfig::default()
    }
}

/// True if the tests can be run; says the reason if not.
fn possible() -> bool {
    let obstacle = Net::obstacle();
    if let Some(failure) = &obstacle {
        skipped(failure);
    }
    obstacle.is_none()
}

/// Waits until `so` returns true.
fn until(what: &str, mut so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !so() {
        assert!(began.elapsed() < PATIENCE, "{what}: in vain");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn ping(net: &Net, arguments: &[&str], to: &str) -> String {
    let output = net
        .command(End::A, "ping")
        .args(arguments)
        .arg(to)
        .output()
        .expect("ip runs");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("packets transmitted"), "ping: {said} {errors}");
    said
}

/// Returns the figures of ten pings that were all answered, and the number of pings sent until then. Several attempts
/// may be needed, because ping waits only briefly for the last answer, which may be late on a busy machine.
fn ten_pings(net: &Net, to: &str) -> (Pings, u64) {
    let began = Instant::now();
    for round in 1.. {
        let pings = Pings::read(&ping(net, &["-q", "-c", "10", "-i", "0.01", "-W", "60"], to));
        if let Some(pings) = pings.filter(|pings| pings.received == 10) {
            return (pings, 10 * round);
        }
        assert!(began.elapsed() < PATIENCE, "{to}: some are not answered");
    }
    unreachable!()
}

fn exists(namespace: &str) -> bool {
    Path::new("/run/netns").join(namespace).exists()
}

#[test]
fn pings_take_as_long_as_the_profile_says_at_least() {
    if !possible() {
        return;
    }
    let net = Net::start(&config("delay", "delay=20ms", 1)).expect("a link");
    let mut sent = 0;
    for to in [End::B.ipv4().to_string(), End::B.ipv6().to_string()] {
        let (pings, tried) = ten_pings(&net, &to);
        sent += tried;
        assert_eq!(pings.repeated, 0, "{to}");
        // Ping rounds to microseconds.
        assert!(pings.least >= 39.999, "{to}: {pings:?}");
    }
    until("each ping and each answer passes once", || {
        let counts = [net.report(Direction::Up).counts, net.report(Direction::Down).counts];
        counts
            .iter()
            .all(|counts| (counts.sent, counts.delivered) == (sent, sent))
    });
    // From now on there is no delay, so that at some point a ping takes less than 40 ms.
    for direction in [Direction::Up, Direction::Down] {
        net.change(direction, "perfect".parse().expect("a profile"))
            .expect("any profile will do");
    }
    until("a ping without delay", || {
        ten_pings(&net, &End::B.ipv4().to_string()).0.least < 40.0
    });
}

#[test]
fn packets_longer_than_the_mtu_disappear() {
    if !possible() {
        return;
    }
    let net = Net::start(&config("mtu", "mtu=1280", 1)).expect("a link");
    let to = End::B.ipv4().to_string();
    // 20 bytes of IPv4 header and 8 of ICMP header are added.
    until("those that fit arrive", || {
        let fits = ping(&net, &["-q", "-c", "2", "-i", "0.01", "-W", "60", "-s", "1252"], &to);
        fits.contains(" 2 received")
    });
    let too_long = ping(&net, &["-q", "-c", "2", "-i", "0.01", "-W", "0.5", "-s", "1253"], &to);
    assert!(too_long.contains(" 0 received"), "{too_long}");
    until("two that do not fit", || net.report(Direction::Up).counts.too_long == 2);
}

/// The numbers of the pings that were answered.
fn answered(seed: u64) -> Vec<String> {
    let began = Instant::now();
    loop {
        // Ping waits for the last answer for twice the longest round trip so far.
        let link = "delay=100ms loss=20%";
        let net = Net::start(&config(&format!("seed{seed}"), link, seed)).expect("a link");
        let said = ping(&net, &["-c", "200", "-i", "0.005"], &End::B.ipv4().to_string());
        let lost = net.report(Direction::Up).counts.lost + net.report(Direction::Down).counts.lost;
        let numbers: Vec<String> = said
            .lines()
            .filter_map(|line| line.split_once("icmp_seq=")?.1.split(' ').next().map(str::to_owned))
            .collect();
        // All unanswered pings must have been lost by the link. Otherwise ping did not wait long enough, because the
        // machine stood still.
        if numbers.len() as u64 + lost == 200 {
            return numbers;
        }
        assert!(began.elapsed() < PATIENCE, "{} answers, {lost} lost", numbers.len());
    }
}

#[test]
fn the_same_seed_loses_the_same_packets_of_a_real_program() {
    if !possible() {
        return;
    }
    let first = answered(1);
    // On average 64 % of 200 are answered; five standard deviations are 34.
    assert!((94..162).contains(&first.len()), "{} of 200 were answered", first.len());
    assert_eq!(first, answered(1));
    assert_ne!(first, answered(2));
}

#[test]
fn a_panic_leaves_nothing_behind() {
    if !possible() {
        return;
    }
    let a = format!("{}-a", name("panic"));
    let ended = std::panic::catch_unwind(AssertUnwindSafe(|| {
        let _net = Net::start(&config("panic", "perfect", 1)).expect("a link");
        assert!(exists(&a));
        panic!("this panic is part of the test");
    }));
    assert!(ended.is_err());
    assert!(!exists(&a) && !exists(&format!("{}-b", name("panic"))));
}

#[test]
fn namespaces_that_are_there_already_are_left_alone() {
    if !possible() {
        return;
    }
    let net = Net::start(&config("twice", "perfect", 1)).expect("a link");
    let failure = Net::start(&config("twice", "perfect", 1))
        .err()
        .expect("the names are taken");
    assert!(failure.to_string().contains("is there already"), "{failure}");
    assert!(exists(net.namespace(End::A)) && exists(net.namespace(End::B)));
}

#[test]
fn signals_take_everything_down() {
    if !possible() {
        return;
    }
    for signal in ["INT", "TERM"] {
        let name = name(&signal.to_lowercase());
        let mut lab = Command::new(LAB)
            .args([
                "net",
                "--name",
                &name,
                "--run-b",
                "sleep 1000",
                "--run-a",
                "echo begun; sleep 1000",
            ])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it runs");
        let mut output = BufReader::new(lab.stdout.take().expect("piped")).lines();
        assert_eq!(output.next().expect("a line").expect("text"), "begun");
        assert!(exists(&format!("{name}-a")));
        let status = Command::new("kill")
            .args(["-s", signal, &lab.id().to_string()])
            .status();
        assert!(status.expect("kill runs").success());
        until(&format!("SIG{signal} ends it"), || {
            lab.try_wait().expect("it is ours").is_some()
        });
        let rest: Vec<String> = output.map_while(Result::ok).collect();
        assert!(
            rest.iter().any(|line| line.starts_with("TCP congestion control: ")),
            "{rest:?}"
        );
        assert!(!exists(&format!("{name}-a")) && !exists(&format!("{name}-b")));
    }
}

#[test]
fn the_command_of_a_run_gives_it_its_exit_code() {
    if !possible() {
        return;
    }
    let output = Command::new(LAB)
        .args([
            "net",
            "--name",
            &name("code"),
            "--link",
            "delay=5ms loss=0%",
            "--up",
            "mtu=1400",
        ])
        .args([
            "--run-b",
            "sleep 1000",
            "--",
            "sh",
            "-c",
            "until ping -q -c 3 -i 0.01 10.77.0.2 | grep ' 3 received'; do :; done; exit 7",
        ])
        .output()
        .expect("it runs");
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(7), "{said}");
    assert!(said.contains(" 3 received") && said.contains("up, a to b: "), "{said}");
}

#[test]
fn lines_on_standard_input_change_the_link() {
    if !possible() {
        return;
    }
    let name = name("lines");
    let mut lab = Command::new(LAB)
        .args(["net", "--name", &name])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it runs");
    let mut input = lab.stdin.take().expect("piped");
    input
        .write_all(b"down delay=3ms\nnonsense\noutage 30s\nquit\n")
        .expect("it listens");
    let output = lab.wait_with_output().expect("it ends");
    let (said, errors) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(output.status.success(), "{said} {errors}");
    assert!(said.contains(&format!("ip netns exec {name}-a")), "{said}");
    assert!(
        said.contains("up:   perfect\ndown: delay=3ms\n") && said.contains("+30s"),
        "{said}"
    );
    assert!(errors.contains("`nonsense` is not understood"), "{errors}");
}

/// Copies the program to a place where every user may run it.
fn public_copy(dir: &Path) -> PathBuf {
    let copy = dir.join("sealcast-lab");
    // Not by this process: while it writes, another test may start a program, which holds the file open for a moment,
    // and a program that is open for writing does not run ("text file busy").
    let copied = Command::new("cp").arg(LAB).arg(&copy).status();
    assert!(copied.is_ok_and(|status| status.success()), "a copy");
    for path in [dir, &copy] {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).expect("permissions");
    }
    copy
}

#[test]
fn without_root_the_words_say_what_to_do_instead() {
    let dir = tempfile::tempdir().expect("a folder");
    let root = std::fs::metadata("/proc/self").expect("Linux").uid() == 0;
    let mut command = if root {
        Command::new("setpriv")
    } else {
        Command::new("env")
    };
    if root {
        command.args(["--reuid=65534", "--clear-groups"]);
    }
    let output = command
        .arg(public_copy(dir.path()))
        .arg("net")
        .output()
        .expect("it runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{errors}");
    assert!(
        errors.starts_with("sealcast-lab: ") && errors.contains("sealcast-lab proxy"),
        "{errors}"
    );
}
