//! Every bad input ends the program with one sentence that names it and says what to do, and with the documented exit
//! code (docs/exit-codes.md).

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Stdio;
use std::thread;

use sealcast::failure::FailureKind;
use sealcast_testkit::attack::{Act, Direction, Home, Program, Proxy, ffmpeg, is_control, path};

/// The arguments of the program, the exit code, and words of the sentence.
type Case<'a> = (String, i32, &'a [&'a str]);

/// Waits for a program to end with this exit code. Returns the sentence that it printed.
fn sentence(program: &mut Program, code: i32, what: &str) -> String {
    let ended = program.ends();
    let said = program.said();
    assert_eq!(ended, code, "{what}: {said}");
    assert!(!said.contains("panicked"), "{what}: {said}");
    let mut lines = said.lines().skip_while(|line| !line.starts_with("sealcast: "));
    let line = lines.next().unwrap_or_else(|| panic!("{what}: no sentence: {said}"));
    assert!(lines.next().is_none(), "{what}: more than a sentence: {said}");
    assert!(line.contains("; "), "{what}: it does not say what to do: {line}");
    line.to_owned()
}

fn check(home: &Home, cases: &[Case<'_>]) {
    for (typed, code, words) in cases {
        let line = sentence(&mut home.start(typed), *code, typed);
        for word in *words {
            assert!(line.contains(word), "{typed}: '{word}' is missing: {line}");
        }
        assert!(!line.contains("hunter2"), "{typed}: {line}");
    }
}

fn publish(rest: &str) -> String {
    format!("publish --listen tcp://127.0.0.1:0 {rest}")
}

/// Arguments that watch a well-formed ticket at an address where nobody answers.
fn nobody(rest: &str) -> String {
    format!(
        "watch sealcast://127.0.0.1:1/{} --no-reconnect {rest}",
        "b".repeat(51) + "a"
    )
}

#[test]
fn usage() {
    let case = |typed: &str, words: &'static [&'static str]| (publish(typed), 2, words);
    let cases = [
        case("ftp://u:hunter2@x", &["\"ftp\" is not a source", "use rtsp://"]),
        case(
            "clip.mp4",
            &["\"clip.mp4\" is not a source", "did you mean file:clip.mp4?"],
        ),
        case("/dev/video0", &["did you mean v4l2:/dev/video0?"]),
        case("rstp://u:hunter2@h/", &["did you mean rtsp://u:***@h/?"]),
        case("file:", &["names no file"]),
        case("rtsp://u:hunter2@", &["the camera's URL"]),
        case("rtsp://u:hunter2@h:99999/", &["the camera's URL"]),
        case("test:641x480", &["641x480", "even sides"]),
        case("test: --suite rot13", &["rot13", "aes-256-gcm"]),
        case("test: --mech rsa512", &["rsa512", "x25519-mlkem768"]),
        case("test: --suite aes-256-gcm,aes-256-gcm", &["twice"]),
        case("test: --rekey-seconds 0", &["0 s", "1 to 600"]),
        case("test: --rekey-seconds 11m", &["660 s", "1 to 600"]),
        case("test: --invite-hours 366d", &["cannot live", "up to 365d"]),
        case("test: --rekey-seconds 601", &["601 s", "1 to 600"]),
        case("test: --rekey-records 8", &["8 records", "16 to 1048576"]),
        case("test: --rekey-records 1048577", &["1048577 records"]),
        case(
            "test: --metrics 0.0.0.0:0",
            &["0.0.0.0:0", "other machines", "127.0.0.1", "?token=@FILE"],
        ),
        case("test: --metrics [::]:0", &["other machines"]),
        case("test: --advertise UPPER", &["UPPER", "--advertise"]),
    ];
    let home = Home::new();
    check(&home, &cases);
    let more = [
        (
            "publish test: --listen udp://127.0.0.1:0 --unit frame".to_owned(),
            2,
            &["does not fit a datagram", "--unit packet"][..],
        ),
        (
            "publish test: --listen udp://0.0.0.0:1?latncy=5".to_owned(),
            2,
            &["write latency="],
        ),
        (
            "publish test: --listen tcp://camera.example:1".to_owned(),
            2,
            &["camera.example:1"],
        ),
        ("publish".to_owned(), 2, &["no source"]),
        ("watch".to_owned(), 2, &["no ticket"]),
        (nobody("--to screen:"), 2, &["\"screen:\" is not a sink", "use window:"]),
        (nobody("--to out.mp4"), 2, &["did you mean file:out.mp4?"]),
        (nobody("--to file:out.xyz"), 2, &["out.xyz", ".mp4"]),
        (nobody("--to http://0.0.0.0:0"), 2, &["open to everybody", "127.0.0.1"]),
    ];
    check(&home, &more);
    for typed in [
        "frobnicate",
        "publish test: --seconds x",
        "publish test: --max-viewers 0",
        "watch --listen",
    ] {
        let mut program = home.start(typed);
        assert_eq!(program.ends(), 2, "{typed}");
        assert!(program.said().starts_with("error: "), "{typed}: {}", program.said());
    }
}

#[test]
fn addresses_that_a_ticket_cannot_say() {
    let case = |typed: &str, words: &'static [&'static str]| (publish(&format!("test: {typed}")), 2, words);
    let cases = [
        case("--advertise fe80::1%eth0", &["fe80::1%eth0", "--advertise"]),
        case(
            "--advertise a --advertise b --advertise c --advertise d --advertise e",
            &["at most 4"],
        ),
        case(
            "--also-listen udp://127.0.0.1:0 --advertise camera.example:80",
            &["one advertised port"],
        ),
    ];
    check(&Home::new(), &cases);
}

/// A camera that answers every request in the same way, or closes the connection.
fn camera(answer: &'static str) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("bound").port();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut request = [0; 4096];
            while let Ok(count @ 1..) = stream.read(&mut request) {
                let text = String::from_utf8_lossy(&request[..count]);
                let number = text.lines().find_map(|line| line.strip_prefix("CSeq: ")).unwrap_or("1");
                let sent = stream.write_all(answer.replace("{}", number).as_bytes());
                if answer.is_empty() || sent.is_err() {
                    break;
                }
            }
        }
    });
    port
}

#[test]
fn sources() {
    let home = Home::new();
    let video = ["-f", "lavfi", "-i", "testsrc2=size=128x96:rate=25:duration=1"];
    let vp9 = home.file("vp9.mp4");
    ffmpeg(&[&video[..], &["-c:v", "libvpx-vp9", path(&vp9)]].concat());
    let audio = home.file("audio.mp4");
    ffmpeg(&["-f", "lavfi", "-i", "sine=d=1", "-c:a", "aac", path(&audio)]);
    home.write("text.mp4", "this is a text");
    home.write("empty.mp4", "");
    let hangs_up = camera("");
    let not_found = camera("RTSP/1.0 404 Not Found\r\nCSeq: {}\r\n\r\n");
    let web_page = camera("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
    let refuses = camera("RTSP/1.0 401 Unauthorized\r\nCSeq: {}\r\nWWW-Authenticate: Basic realm=\"x\"\r\n\r\n");
    let rtsp = |port: u16| publish(&format!("rtsp://admin:hunter2@127.0.0.1:{port}/x"));
    let mail = camera("220 mail.example ESMTP\r\n");
    let cases: [Case<'_>; 12] = [
        (publish("file:missing.mp4"), 3, &["missing.mp4", "check the path"]),
        (publish("file:vp9.mp4"), 3, &["VP9", "ffmpeg"]),
        (publish("file:audio.mp4"), 3, &["audio", "ffmpeg"]),
        (publish("file:text.mp4"), 3, &["text.mp4", "no format known"]),
        (publish("file:empty.mp4"), 3, &["empty.mp4"]),
        (publish("file:."), 3, &["directory"]),
        (rtsp(1), 3, &["127.0.0.1:1", "Connection refused", "camera is on"]),
        (rtsp(hangs_up), 3, &["127.0.0.1"]),
        (rtsp(web_page), 3, &["status 400", "check the port"]),
        (rtsp(mail), 3, &["is no RTSP camera", "check the port"]),
        (rtsp(not_found), 3, &["127.0.0.1", "no such stream", "look up the path"]),
        (rtsp(refuses), 6, &["127.0.0.1", "password"]),
    ];
    check(&home, &cases);
}

#[test]
fn sinks() {
    let home = Home::new();
    home.write("exists.mp4", "precious");
    let cases: [Case<'_>; 5] = [
        (
            nobody("--to file:exists.mp4"),
            4,
            &["exists.mp4 exists already", "?overwrite"],
        ),
        (
            nobody("--to file:no/out.mp4"),
            4,
            &["directory of no/out.mp4", "create it"],
        ),
        // Nobody can create a file there, not even root.
        (
            nobody("--to file:/sys/out.h264"),
            4,
            &["/sys/out.h264 may not be written"],
        ),
        (publish("test: --log-dir /sys/logs"), 4, &["/sys/logs"]),
        (
            publish("test: --seconds 1 --report no/report.json"),
            4,
            &["no/report.json", "make the directory"],
        ),
    ];
    check(&home, &cases);
    assert_eq!(fs::read(home.file("exists.mp4")).expect("still there"), b"precious");

    let publisher = Home::new();
    let (_program, ticket) = publisher.publish("test:320x240@25", "");
    for name in ["full.h264", "full.mp4"] {
        symlink("/dev/full", home.file(name)).expect("a link");
        let mut viewer = home.start(&format!("watch {ticket} --to file:{name}"));
        let line = sentence(&mut viewer, 4, name);
        assert!(line.contains(name) && line.contains("is full"), "{line}");
    }
    let mut viewer = home.start(&format!("watch {ticket} --to file:out.mjpeg"));
    let line = sentence(&mut viewer, 4, "the wrong codec");
    assert!(
        line.contains("H.264") && line.contains("out.mjpeg") && line.contains(".h264"),
        "{line}"
    );
    assert!(!home.file("out.mjpeg").exists());
    let full = fs::OpenOptions::new().write(true).open("/dev/full").expect("a device");
    let output = home
        .command()
        .args(["watch", &ticket, "--to", "-"])
        .stdout(Stdio::from(full))
        .output();
    let output = output.expect("it runs");
    assert_eq!(output.status.code(), Some(4));
    assert!(String::from_utf8_lossy(&output.stderr).contains("standard output is full"));
}

#[test]
fn network() {
    let home = Home::new();
    let held = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = held.local_addr().expect("bound").port();
    let host = format!(
        "watch sealcast://nowhere.invalid:1/{} --no-reconnect --to null:",
        "b".repeat(51) + "a"
    );
    let cases: [Case<'_>; 5] = [
        (
            format!("publish test: --listen tcp://127.0.0.1:{port}"),
            5,
            &["another program listens there"],
        ),
        (
            "publish test: --listen tcp://192.0.2.1:0".to_owned(),
            5,
            &["192.0.2.1", "address of this machine"],
        ),
        (
            publish(&format!("test: --metrics 127.0.0.1:{port}")),
            5,
            &["metrics", "another"],
        ),
        (
            nobody("--to null:"),
            5,
            &["127.0.0.1:1", "check that the other end runs"],
        ),
        (host, 5, &["nowhere.invalid", "check the name"]),
    ];
    check(&home, &cases);
}

#[test]
fn keys_and_tickets() {
    let home = Home::new();
    let mut keygen = home.start("keygen key");
    assert_eq!(keygen.ends(), 0);
    fs::copy(home.file("key"), home.file("open")).expect("a copy");
    fs::set_permissions(home.file("open"), PermissionsExt::from_mode(0o644)).expect("our own file");
    home.write("garbage", "sealcast-identity-1\nhunter2\n");
    home.write("binary", [0xff; 99]);
    home.write("long", [b'a'; 5000]);
    home.write("list", "nobody\n");
    let ticket = |typed: &str| format!("watch {typed} --no-reconnect --to null:");
    let (id, invite) = ("b".repeat(51) + "a", "a".repeat(25));
    let mut cases: Vec<Case<'_>> = vec![
        ("keygen key".to_owned(), 7, &["key exists already", "never overwritten"]),
        ("keygen /sys/key".to_owned(), 7, &["/sys/key cannot be written"]),
        (
            publish("test: --identity missing"),
            7,
            &["missing does not exist", "keygen"],
        ),
        (publish("test: --identity open"), 7, &["mode 0644", "chmod 600 open"]),
        (publish("test: --identity ."), 7, &["is a directory"]),
        (
            publish("test: --identity garbage"),
            7,
            &["garbage is not an identity file"],
        ),
        (publish("test: --identity binary"), 7, &["binary cannot be read"]),
        (publish("test: --identity long"), 7, &["far too long"]),
        (publish("test: --allow list"), 7, &["line 1 of the allow list"]),
        (publish("test: --ticket-file key"), 7, &["key exists already"]),
        (ticket("@missing"), 7, &["missing does not exist", "--ticket-file FILE"]),
        (
            ticket("ticket.txt"),
            7,
            &["that is no ticket", "did you mean @ticket.txt?"],
        ),
        (ticket("garbage"), 7, &["did you mean @garbage?"]),
        (ticket(&format!("http://h:1/{id}")), 7, &["copy the whole link"]),
        (ticket("@open"), 7, &["that is no ticket"]),
        (ticket("@garbage"), 7, &["that is no ticket"]),
        (ticket("-"), 7, &["that is no ticket"]),
    ];
    for typed in [
        "hello".to_owned(),
        "sealcast://h:1/short".to_owned(),
        format!("sealcast://h/{id}"),
        format!("sealcast://H:1/{id}"),
        format!("sealcast://h:0/{id}"),
        format!("sealcast://h:1/{}", id.to_uppercase()),
        format!("sealcast://h:1/{id}#"),
        format!("sealcast://h:1/{id}#{invite}"),
        format!("sealcast://h:1/{id}?x=1"),
        format!("sealcast://{}:1/{id}", "h".repeat(600)),
    ] {
        cases.push((ticket(&typed), 7, &["that is no ticket", "copy the whole line"]));
    }
    cases.push((
        ticket(&format!("sealcast://h:1/{id}?transport=rtp")),
        7,
        &["transport=udp or quic"],
    ));
    check(&home, &cases);
}

#[test]
fn configuration() {
    let home = Home::new();
    home.write("typo.toml", "[publish]\nsource = \"test:\"\n  sorce = \"test:\"\n");
    home.write("kind.toml", "[publish]\nlisten = 5\n");
    home.write("form.toml", "[publish\n");
    home.write("zero.toml", "[publish]\nsource = \"test:\"\nrekey_seconds = 0\n");
    home.write("long.toml", "[publish]\nsource = \"test:\"\nrekey_seconds = 601\n");
    home.write(
        "suite.toml",
        "[publish]\nsource = \"test:\"\n[session]\nsuites = [\"rot13\"]\n",
    );
    home.write(
        "place.toml",
        "[publish]\nsource = \"test:\"\nsuites = [\"aes-256-gcm\"]\n",
    );
    home.write(
        "mtu.toml",
        "[publish]\nsource = \"test:\"\nlisten = \"udp://[::]?mtu=9\"\n",
    );
    let mut cases: Vec<Case<'_>> = vec![(
        "publish --config none.toml".to_owned(),
        8,
        &["none.toml cannot be read"],
    )];
    for command in ["publish --config", "config check --config", "config check"] {
        let case = |file: &str, words: &'static [&'static str]| (format!("{command} {file}"), 8, words);
        cases.extend([
            case("typo.toml", &["typo.toml, line 3, column 3", "did you mean `source`?"]),
            case("kind.toml", &["kind.toml, line 2, column 10", "a text in quotes"]),
            case("form.toml", &["form.toml, line 1"]),
            case("zero.toml", &["zero.toml, line 3"]),
            case("long.toml", &["long.toml, line 3", "601 s", "1 to 600"]),
            case("suite.toml", &["suite.toml, line 4", "rot13", "aes-256-gcm"]),
            case(
                "place.toml",
                &["place.toml, line 3", "belongs into the section [session]"],
            ),
            case("mtu.toml", &["mtu cannot be \"9\"", "1200 to 8972"]),
        ]);
    }
    check(&home, &cases);
    for (name, value, words) in [
        (
            "SEALCAST_PUBLISH_LISTNE",
            "tcp://[::]:1",
            "did you mean SEALCAST_PUBLISH_LISTEN?",
        ),
        (
            "SEALCAST_PUBLISH_SUITES",
            "aes-256-gcm",
            "did you mean SEALCAST_SESSION_SUITES?",
        ),
        ("SEALCAST_PUBLISH_OPEN", "maybe", "true or false"),
        ("SEALCAST_SESSION_SUITES", "rot13", "there is no suite"),
    ] {
        let mut command = home.command();
        command.args(["publish", "test:"]).env(name, value);
        let line = sentence(&mut Program::start(command), 8, name);
        assert!(line.contains(name) && line.contains(words), "{line}");
    }
}

#[test]
fn a_key_limit() {
    // If the machine stands still for 2 s, silence ends the session before the key limit does.
    let ended = (0..5).find_map(|_| key_limit());
    let line = ended.expect("a session that reaches its key limit");
    assert!(
        line.contains("key limit reached") && line.contains("connect again"),
        "{line}"
    );
}

/// The sentence of a viewer that agrees on no new keys, or `None` if silence ended its connection first.
fn key_limit() -> Option<String> {
    let (publisher, viewer) = (Home::new(), Home::new());
    let (_program, ticket) = publisher.publish("test:320x240@100", "--rekey-records 16");
    // The proxy drops the viewer's answers to offers of new keys, which alone are so long, so that none are agreed on.
    let proxy = Proxy::start(Proxy::port_of(&ticket), |seen, message| match seen.direction {
        Direction::Up if is_control(&message) && message.len() > 1000 => Act::drop(),
        _ => Act::pass(message),
    });
    let mut watching = viewer.start(&format!("watch {} --to null: --no-reconnect", proxy.ticket(&ticket)));
    let code = watching.ends();
    (code != i32::from(FailureKind::Network.exit_code())).then(|| sentence(&mut watching, 9, "a key limit"))
}

#[test]
fn the_documented_table_is_that_of_the_program() {
    let kinds = [
        (FailureKind::Internal, "defect"),
        (FailureKind::Usage, "usage"),
        (FailureKind::Source, "source"),
        (FailureKind::Sink, "output"),
        (FailureKind::Network, "network"),
        (FailureKind::Refused, "refused"),
        (FailureKind::Keys, "keys"),
        (FailureKind::Config, "configuration"),
        (FailureKind::Limit, "key limit"),
        (FailureKind::Alarm, "alarm"),
    ];
    let mut wanted: Vec<(u8, &str)> = kinds.map(|(kind, name)| (kind.exit_code(), name)).to_vec();
    wanted.insert(0, (0, "done"));
    let document = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/exit-codes.md");
    let document = fs::read_to_string(document).expect("a document");
    let rows = document.lines().filter_map(|line| {
        let mut cells = line.strip_prefix("| ")?.split(" | ");
        Some((cells.next()?.parse::<u8>().ok()?, cells.next()?))
    });
    assert_eq!(rows.collect::<Vec<_>>(), wanted);
    let help = Home::new();
    let mut help = help.start("--help");
    assert_eq!(help.ends(), 0);
    let listed = wanted
        .iter()
        .map(|(code, name)| format!("{code} {name}"))
        .collect::<Vec<_>>()
        .join(", ");
    let said = String::from_utf8_lossy(&help.stdout()).into_owned();
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains(&format!("Exit codes: {listed}.")), "{said}");
}

#[test]
fn a_viewer_whose_time_is_over_tells_why_it_reached_nobody() {
    let home = Home::new();
    let ticket = |host: &str| format!("sealcast://{host}:1/{}", "b".repeat(51) + "a");
    // A name under .invalid has no address anywhere (RFC 6761, section 6.4).
    for (host, words) in [("camera.invalid", "camera.invalid:1"), ("127.0.0.1", "127.0.0.1:1")] {
        for command in ["watch", "probe"] {
            let typed = format!("{command} {} --seconds 1", ticket(host));
            let mut program = home.start(&typed);
            let ended = program.ends();
            let said = program.said();
            assert_eq!(ended, 5, "{typed}: {said}");
            let line = said.lines().find(|line| line.starts_with("sealcast: "));
            assert!(line.is_some_and(|line| line.contains(words)), "{typed}: {said}");
        }
    }
}

#[test]
fn an_output_that_nobody_reads_on_is_no_panic_and_a_full_one_has_a_sentence() {
    let home = Home::new();
    for typed in [
        "print-config",
        "print-config --json",
        "devices",
        "config example",
        "config check",
        "completions bash",
        "doctor",
    ] {
        let run = |output: Stdio| {
            let mut command = home.command();
            command.args(typed.split(' ')).stdout(output).stderr(Stdio::piped());
            command.output().expect("it runs")
        };
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let ended = run(writer.into());
        let said = String::from_utf8_lossy(&ended.stderr);
        assert!(
            !said.contains("panicked") && ended.status.code() != Some(101),
            "{typed}: {said}"
        );
        let full = fs::File::options().write(true).open("/dev/full").expect("a device");
        let ended = run(full.into());
        let said = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(4), "{typed}: {said}");
        assert!(said.contains("standard output cannot be written"), "{typed}: {said}");
    }
}
