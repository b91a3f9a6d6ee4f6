//! Another user of the same machine: reaches ports on loopback, and files as far as their modes allow.

use std::fs;
use std::io::Read;
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use sealcast_testkit::attack::{Home, Program, until};
use sealcast_testkit::page::{self, Page};

const CARD: &str = "test:160x120@25";
/// Connections that a page and the metrics serve at once.
const PLACES: usize = 64;

const WATCH_PATHS: [&str; 7] = [
    "/",
    "/page.css",
    "/page.js",
    "/stream.mjpeg",
    "/snapshot.jpg",
    "/health",
    "/nothing",
];
const DEMO_PATHS: [&str; 8] = [
    "/",
    "/page.css",
    "/page.js",
    "/camera.mjpeg",
    "/wire.mjpeg",
    "/viewer.mjpeg",
    "/events",
    "/stats.json",
];

/// The address of an `http://` that the program printed or logged.
fn address(text: &str) -> SocketAddr {
    let rest = text.split("http://").nth(1).expect("an address");
    let end = rest.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | ':')));
    rest[..end.unwrap_or(rest.len())].parse().expect("an address")
}

fn printed(program: &Program, words: &str) -> String {
    until(&format!("it prints '{words}'"), || {
        let text = String::from_utf8_lossy(&program.stdout()).into_owned();
        text.lines().find(|line| line.contains(words)).map(str::to_owned)
    })
}

/// A page of `command`, whose token is in a file, as a program whose output is no terminal needs it.
fn page_of(home: &Home, command: &str, option: &str, token: &str) -> (Program, Page) {
    home.write("token", token);
    let program = home.start(&format!("{command} {option} http://127.0.0.1:0?token=@token"));
    let address = address(&printed(&program, "http://"));
    let token = token.to_owned();
    (program, Page { address, token })
}

/// A publisher, and the home of a viewer that has its ticket in a file.
fn published() -> ([Home; 2], Program) {
    let homes = [Home::new(), Home::new()];
    let (publisher, ticket) = homes[0].publish(CARD, "");
    homes[1].write("ticket", ticket);
    (homes, publisher)
}

/// A publisher, and a viewer that shows its picture on a page.
fn watched() -> ([Home; 2], [Program; 2], Page) {
    let (homes, publisher) = published();
    let (viewer, page) = page_of(&homes[1], "watch @ticket", "--to", "the-token-of-a-viewer");
    until("the picture is on the page", || {
        page.get("/snapshot.jpg").0.starts_with("http/1.1 200").then_some(())
    });
    (homes, [publisher, viewer], page)
}

/// Fails unless every path is refused, in words, under these headers.
fn assert_refused(at: SocketAddr, paths: &[&str], headers: &str) {
    for path in paths {
        let stream = page::ask(at, path, &format!("Host: 127.0.0.1\r\n{headers}"));
        // An answer that is no refusal may be a stream without an end.
        let mut answer = Vec::new();
        stream.take(4096).read_to_end(&mut answer).expect("an answer");
        let answer = String::from_utf8_lossy(&answer);
        assert!(answer.starts_with("HTTP/1.1 403"), "{path} with {headers:?}: {answer}");
        for words in ["referrer-policy: no-referrer", "nosniff", "token"] {
            assert!(answer.contains(words), "no {words}: {answer}");
        }
    }
}

#[test]
fn who_does_not_know_the_token_sees_nothing_of_a_page() {
    let (_home, _programs, page) = watched();
    let other_home = Home::new();
    let (_demo, other) = page_of(&other_home, "demo", "--page", "the-token-of-a-demo");
    for (page, paths, stranger) in [(&page, &WATCH_PATHS[..], &other), (&other, &DEMO_PATHS, &page)] {
        let (at, port) = (page.address, page.address.port());
        assert_refused(at, paths, "");
        let cut = &page.token[1..];
        for wrong in [stranger.token.as_str(), cut, ""] {
            assert_refused(at, paths, &format!("Authorization: Bearer {wrong}\r\n"));
            assert_refused(at, paths, &format!("Cookie: sealcast-{port}={wrong}\r\n"));
            let in_url: Vec<_> = paths.iter().map(|path| format!("{path}?token={wrong}")).collect();
            assert_refused(at, &in_url.iter().map(String::as_str).collect::<Vec<_>>(), "");
        }
        // The right token under the name of another page's cookie.
        assert_refused(at, paths, &format!("Cookie: sealcast-1={}\r\n", page.token));
        assert!(page.get("/").0.starts_with("http/1.1 200"));
    }
}

#[test]
fn the_address_printed_on_a_terminal_opens_the_page_by_a_cookie() {
    let (homes, _publisher) = published();
    let viewer = on_a_terminal(&homes[1], "watch @ticket --to http://127.0.0.1:0");
    let line = printed(&viewer, "/?token=");
    let url = line
        .split_whitespace()
        .find(|word| word.starts_with("http://"))
        .expect("a URL");
    let page = Page::at(url);
    assert!(!viewer.said().contains(&page.token), "the token is in no log");
    let at = page.address;
    let (head, _) = page::get(at, &format!("/?token={}", page.token), "Host: localhost\r\n");
    assert!(
        head.starts_with("http/1.1 303") && head.contains("\r\nlocation: /\r\n"),
        "{head}"
    );
    let cookie = format!("sealcast-{}", at.port());
    let expected = format!(
        "set-cookie: {cookie}={}; path=/; httponly; samesite=strict\r\n",
        page.token
    );
    assert!(head.contains(&expected.to_lowercase()), "{head}");
    let headers = format!("Host: localhost\r\nCookie: {cookie}={}\r\n", page.token);
    assert!(page::get(at, "/health", &headers).0.starts_with("http/1.1 200"));
}

#[test]
fn a_ticket_with_an_invite_does_not_go_into_a_log_unasked() {
    let home = Home::new();
    let publish = format!("publish {CARD} --listen tcp://127.0.0.1:0");
    for command in [publish.as_str(), "watch --listen tcp://127.0.0.1:0 --to null:"] {
        let mut piped = home.start(command);
        piped.says("--ticket-file -");
        assert!(!String::from_utf8_lossy(&piped.stdout()).contains("sealcast://"));
        assert!(!piped.said().contains("sealcast://"), "{}", piped.said());
        assert_eq!(piped.stop(), 0, "the next one has the same lists of peers");
        let mut shown = on_a_terminal(&home, command);
        assert!(printed(&shown, "sealcast://").contains('#'));
        shown.stop();
    }
    // `script` ends before the publisher under it does, whose lists must not be these.
    let public = home.start(&format!("{publish} --no-invite --name public"));
    assert!(
        !public.ticket().contains('#'),
        "a ticket without an invite is no secret"
    );
}

/// Runs the program with `wrapper`, which is given its command line.
fn wrapped(home: &Home, mut wrapper: Command) -> Program {
    wrapper.current_dir(home.path()).stdin(Stdio::null());
    for (name, value) in home.command().get_envs() {
        match value {
            Some(value) => wrapper.env(name, value),
            None => wrapper.env_remove(name),
        };
    }
    Program::start(wrapper)
}

/// Runs the program with a terminal as its output.
fn on_a_terminal(home: &Home, arguments: &str) -> Program {
    let mut script = Command::new("script");
    let line = format!("{} {arguments}", home.command().get_program().display());
    script.args(["-qefc", &line, "/dev/null"]);
    wrapped(home, script)
}

/// Runs the program as a user for whom new files are open to everybody.
fn careless(home: &Home, arguments: &str) -> Program {
    let mut shell = Command::new("sh");
    shell.args(["-c", "umask 0; exec \"$0\" \"$@\""]);
    shell
        .arg(home.command().get_program())
        .args(arguments.split_whitespace());
    wrapped(home, shell)
}

/// The files and folders beneath a folder, with their modes.
fn modes(folder: &Path) -> Vec<(PathBuf, u32)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let mode = entry.metadata().expect("it exists").permissions().mode() & 0o777;
        found.push((entry.path(), mode));
        if entry.path().is_dir() {
            found.extend(modes(&entry.path()));
        }
    }
    found
}

#[test]
fn everything_that_the_program_writes_is_its_users_alone() {
    let [home, viewer] = [Home::new(), Home::new()];
    let observe = |name: &str| format!("--report {name}.json --log-dir logs/{name}");
    let listen = "--listen tcp://127.0.0.1:0 --ticket-file ticket --control control";
    let publishing = careless(&home, &format!("publish {CARD} {listen} {}", observe("publish")));
    let written = until("the ticket is written", || {
        let ticket = fs::read_to_string(home.file("ticket")).ok();
        ticket.filter(|ticket| ticket.ends_with('\n'))
    });
    viewer.write("ticket-of-the-test", written);
    let mut programs = vec![publishing];
    for recording in ["out.h264", "out.mp4"] {
        let watch = format!("watch @ticket-of-the-test --to file:{recording}");
        programs.push(careless(&viewer, &format!("{watch} {}", observe(recording))));
        until("a recording grows", || {
            let file = fs::metadata(viewer.file(recording));
            file.is_ok_and(|file| file.len() > 0).then_some(())
        });
    }
    let found = modes(home.path());
    assert!(found.contains(&(home.file("control"), 0o600)), "{found:?}");
    for mut program in programs.into_iter().rev() {
        assert_eq!(program.stop(), 0, "{}", program.said());
    }
    let found = [modes(home.path()), modes(viewer.path())].concat();
    let names = [
        "publishers/camera/identity",
        "identity-viewer",
        "invites",
        "enrolled",
        "ticket",
        "publish.json",
        "out.h264",
        "out.mp4",
        "out.mp4.json",
    ];
    for name in names {
        assert!(
            found.iter().any(|(path, _)| path.ends_with(name)),
            "no {name} in {found:?}"
        );
    }
    let is_log = |path: &Path| path.extension().is_some_and(|end| end == "csv");
    let logs = found.iter().filter(|(path, _)| is_log(path)).count();
    assert_eq!(logs, 15, "five logs of three programs: {found:?}");
    for (path, mode) in &found {
        let expected = if path.is_dir() { 0o700 } else { 0o600 };
        assert_eq!(*mode, expected, "{} is {mode:o}", path.display());
    }
}

#[test]
fn secrets_that_others_can_read_and_lists_that_they_can_write_are_refused() {
    let home = Home::new();
    let secret = |name: &str, content: &str, mode: u32| {
        let file = home.write(name, content);
        fs::set_permissions(file, PermissionsExt::from_mode(mode)).expect("our own file");
    };
    assert_eq!(home.start("keygen key").ends(), 0);
    let key = fs::read_to_string(home.file("key")).expect("an identity");
    let ticket = format!("sealcast://127.0.0.1:1/{}#{}", "b".repeat(51) + "a", "a".repeat(26));
    let publish = "publish --listen tcp://127.0.0.1:0";
    let cases = [
        (
            "login",
            "admin:secret",
            "publish rtsp://127.0.0.1:1/x?credentials=@login".to_owned(),
        ),
        ("open", key.as_str(), format!("{publish} test: --identity open")),
        (
            "cameras",
            "rtsp://a:b@127.0.0.1:1/x",
            "gateway camera --camera-file cameras".to_owned(),
        ),
        (
            "password",
            "secret",
            format!("gateway viewer --peer {ticket} --rtsp-user u --rtsp-password-file password"),
        ),
        (
            "page",
            "sixteen-or-more-characters",
            "demo --page http://127.0.0.1:0?token=@page".to_owned(),
        ),
    ];
    for (name, content, command) in &cases {
        for mode in [0o644, 0o640, 0o602] {
            secret(name, content, mode);
            let mut refused = home.start(command);
            assert_eq!(refused.ends(), 7, "{command}: {}", refused.said());
            let said = refused.said();
            let words = [format!("mode {mode:04o}"), format!("chmod 600 {name}")];
            assert!(words.iter().all(|words| said.contains(words)), "{command}: {said}");
        }
    }
    for list in ["enrolled", "invites"] {
        let file = home.file("publishers/camera").join(list);
        drop(home.start(&format!("{publish} test: --ticket-file -")).ticket());
        assert!(file.exists() || fs::write(&file, "").is_ok());
        let before = fs::read(&file).expect("readable");
        fs::set_permissions(&file, PermissionsExt::from_mode(0o666)).expect("our own file");
        let publisher = home.start(&format!("{publish} test: --ticket-file -"));
        publisher.ticket();
        publisher.says(&format!("run: chmod 600 {}", file.display()));
        assert_eq!(fs::read(&file).expect("readable"), before, "{list} was changed");
        drop(publisher);
        fs::remove_file(file).expect("our own file");
    }
    secret("list", "", 0o666);
    let mut refused = home.start(&format!("{publish} test: --allow list"));
    assert_eq!(refused.ends(), 7);
    assert!(refused.said().contains("chmod go-w list"), "{}", refused.said());
    secret("list", "", 0o644);
    let admitted = home.start(&format!("{publish} test: --allow list --ticket-file -"));
    admitted.ticket();
}

#[test]
fn a_ticket_that_others_can_read_becomes_the_users_alone_and_one_that_they_can_write_is_refused() {
    let home = Home::new();
    let ticket = format!("sealcast://127.0.0.1:1/{}#{}", "b".repeat(51) + "a", "a".repeat(26));
    let with = |mode: u32| {
        let file = home.write("ticket", &ticket);
        fs::set_permissions(file, PermissionsExt::from_mode(mode)).expect("our own file");
    };
    for command in ["watch @ticket --to null: --no-reconnect", "publish test: --to @ticket"] {
        for mode in [0o644, 0o640] {
            with(mode);
            let used = home.start(command);
            used.says(&format!("mode {mode:04o}"));
            let now = fs::metadata(home.file("ticket")).expect("there").permissions().mode();
            assert_eq!(now & 0o777, 0o600, "{command}");
        }
        with(0o602);
        let mut refused = home.start(command);
        assert_eq!(refused.ends(), 7, "{command}: {}", refused.said());
        assert!(refused.said().contains("chmod 600 ticket"), "{}", refused.said());
    }
}

/// Connections that say nothing.
fn silent(at: SocketAddr, count: usize) -> Vec<TcpStream> {
    let connect = |_| TcpStream::connect(at).expect("a connection");
    (0..count).map(connect).collect()
}

#[test]
fn connections_that_say_nothing_do_not_keep_the_user_out() {
    let (_home, [_publisher, viewer], page) = watched();
    let at_rest = viewer.descriptors();
    let _silent = silent(page.address, 3 * PLACES);
    assert!(page.get("/snapshot.jpg").0.starts_with("http/1.1 200"));
    let most = at_rest + PLACES;
    assert!(viewer.descriptors() <= most, "{} of {most}", viewer.descriptors());
}

#[test]
fn metrics_are_for_this_machine_and_have_bounds() {
    let home = Home::new();
    let (publisher, _) = home.publish(CARD, "--metrics 127.0.0.1:0");
    publisher.says("http://");
    let at = address(&publisher.said());
    let (head, body) = page::get(at, "/metrics", "Host: rebound.example\r\n");
    assert!(head.starts_with("http/1.1 403"), "{head}");
    assert!(!String::from_utf8_lossy(&body).contains("sealcast_"));
    let at_rest = publisher.descriptors();
    let _silent = silent(at, 3 * PLACES);
    let (head, body) = page::get(at, "/metrics", "Host: localhost\r\n");
    assert!(head.starts_with("http/1.1 200") && head.contains("nosniff"), "{head}");
    assert!(String::from_utf8_lossy(&body).contains("sealcast_viewers"));
    let most = at_rest + PLACES;
    assert!(publisher.descriptors() <= most, "{} of {most}", publisher.descriptors());
}

#[test]
fn a_codec_does_not_print_where_it_is_in_memory() {
    let home = Home::new();
    // On a busy machine a short demo is over before there is a picture.
    let said = [1, 8, 64].into_iter().find_map(|seconds| {
        let mut demo = home.start(&format!("demo --headless --seconds {seconds}"));
        assert_eq!(demo.ends(), 0, "{}", demo.said());
        Some(demo.said()).filter(|said| said.contains("a viewer watches"))
    });
    let said = said.expect("our own lines are printed");
    assert!(!said.contains("0x"), "{said}");
}
