//! Secrets do not leak: they appear neither in what is printed, logged or reported, at any verbosity, nor in anything
//! that other users of the machine can see.

use std::fmt::{Debug, Display};
use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread;

use data_encoding::BASE64;
use sealcast::keys::files::End;
use sealcast_proto::keys::{Agreed, EpochKeys, EpochSecret, Identity, Invite, Secret, SharedSecret};
use sealcast_proto::seal::{Opener, Sealer};
use sealcast_proto::session::Session;
use sealcast_proto::wire::Ticket;
use sealcast_testkit::attack::{Home, Program, until};

/// Fails to compile if one of the types implements the trait, because two implementations of `some` then apply.
macro_rules! have_not {
    ($($type:ty),+ : $trait:path) => {
        $(const _: fn() = || {
            trait Ambiguous<A> {
                fn some() {}
            }
            impl<T: ?Sized> Ambiguous<()> for T {}
            struct Has;
            impl<T: ?Sized + $trait> Ambiguous<Has> for T {}
            let _ = <$type as Ambiguous<_>>::some;
        };)+
    };
}

have_not!(Secret, SharedSecret, EpochSecret, EpochKeys, Agreed, Session: Debug);
have_not!(Secret, SharedSecret, EpochSecret, EpochKeys, Agreed, Session: Display);
have_not!(Identity, Invite, Ticket, Sealer, Opener: Debug);
have_not!(Identity, Invite, Ticket, Sealer, Opener: Display);
// Two sealers with one key would use the same record number twice.
have_not!(Sealer, EpochKeys, EpochSecret: Clone);

const PASSWORD: &str = "correct-horse-battery";

/// Fails if `text` contains one of the secrets, or anything that looks like a key.
fn hides(what: &str, text: &str, secrets: &[&str]) {
    for secret in secrets {
        assert!(!text.contains(secret), "{what} shows {secret}:\n{text}");
    }
    assert_eq!(key_like(text), None, "{what}:\n{text}");
}

/// The first part of a text that looks like the bytes of a key: 32 hexadecimal digits or more, or a list of at least
/// sixteen byte values.
fn key_like(text: &str) -> Option<String> {
    let hexadecimal = text
        .split(|c: char| !c.is_ascii_hexdigit())
        .find(|word| word.len() >= 32);
    let is_byte = |word: &&str| word.trim().parse::<u8>().is_ok();
    let mut lists = text.split('[').skip(1).filter_map(|rest| rest.split_once(']'));
    let list = lists.find(|(list, _)| list.split(',').filter(is_byte).count() >= 16);
    let list = list.map(|(list, _)| list);
    hexadecimal.or(list).map(str::to_owned)
}

/// The seed in an identity file, which is its second line.
fn seed(file: &Path) -> String {
    let text = fs::read_to_string(file).expect("an identity");
    text.lines().nth(1).expect("a seed").to_owned()
}

/// Starts the program with the most verbose logging.
fn loud(home: &Home, arguments: &[&str]) -> Program {
    let mut command = home.command();
    command.arg("-vv").args(arguments).env("SEALCAST_LOG", "trace");
    Program::start(command)
}

/// Command line and environment of a process, which other users may see, depending on the system.
fn seen(program: &Program) -> String {
    let read = |name: &str| fs::read(format!("/proc/{}/{name}", program.pid())).expect("it runs");
    String::from_utf8_lossy(&[read("cmdline"), read("environ")].concat()).into_owned()
}

fn every_file(directory: &Path) -> String {
    let files = fs::read_dir(directory).expect("a directory").flatten();
    let texts = files.filter_map(|file| fs::read_to_string(file.path()).ok());
    texts.collect()
}

#[test]
fn seeds_and_invites_are_shown_to_nobody() {
    let (publisher, viewer) = (Home::new(), Home::new());
    let mut keygen = loud(&publisher, &["keygen", "--for", "publisher"]);
    assert_eq!(keygen.ends(), 0);
    let publisher_seed = seed(&publisher.file(End::Publisher.file_name()));
    let printed = String::from_utf8_lossy(&keygen.stdout()).into_owned();
    hides("keygen", &(printed + &keygen.said()), &[&publisher_seed]);

    let listen = "tcp://127.0.0.1:0";
    let observe = ["--report", "report.json", "--log-dir", "logs"];
    let more = ["--rekey-records", "32", "--ticket-file", "ticket"];
    let source = ["publish", "test:320x240@25", "--listen", listen];
    let mut publishing = loud(&publisher, &[&source[..], &observe, &more].concat());
    let ticket = until("a ticket", || {
        fs::read_to_string(publisher.file("ticket"))
            .ok()
            .filter(|t| t.ends_with('\n'))
    });
    let invite = ticket.trim().split_once('#').expect("an invite").1.to_owned();
    let mode = fs::metadata(publisher.file("ticket"))
        .expect("a file")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    viewer.write("ticket", &ticket);
    let mut watching = loud(
        &viewer,
        &[&["watch", "@ticket", "--to", "file:out.h264"][..], &observe].concat(),
    );
    publishing.says("enrolled a new viewer");
    let viewer_seed = seed(&viewer.file(End::Viewer.file_name()));
    let secrets = [publisher_seed.as_str(), &viewer_seed, &invite];
    for program in [&publishing, &watching] {
        hides("/proc", &seen(program), &secrets);
    }
    // The log covers a rekeying too.
    publishing.says("new keys");
    assert_eq!((watching.stop(), publishing.stop()), (0, 0));
    for (home, program) in [(&publisher, &publishing), (&viewer, &watching)] {
        hides("standard error", &program.said(), &secrets);
        hides("standard output", &String::from_utf8_lossy(&program.stdout()), &secrets);
        hides("the logs", &every_file(&home.file("logs")), &secrets);
        let report = fs::read_to_string(home.file("report.json")).expect("a report");
        hides("the report", &report, &secrets);
    }
    assert!(!every_file(publisher.path()).contains(&viewer_seed));
}

/// A camera that asks for a password and then has no stream. Returns its port and the requests that it receives.
fn camera() -> (u16, Arc<Mutex<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("bound").port();
    let heard = Arc::new(Mutex::new(String::new()));
    let hears = Arc::clone(&heard);
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut request = [0; 4096];
            while let Ok(count @ 1..) = stream.read(&mut request) {
                let text = String::from_utf8_lossy(&request[..count]).into_owned();
                let number = text.lines().find_map(|line| line.strip_prefix("CSeq: ")).unwrap_or("1");
                let status = match text.contains("Authorization:") {
                    true => "404 Not Found\r\n".to_owned(),
                    false => "401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"cam\"\r\n".to_owned(),
                };
                let answer = format!("RTSP/1.0 {status}CSeq: {number}\r\n\r\n");
                hears.lock().expect("no panic").push_str(&text);
                if stream.write_all(answer.as_bytes()).is_err() {
                    break;
                }
            }
        }
    });
    (port, heard)
}

#[test]
fn a_camera_password_is_shown_to_the_camera_alone() {
    let home = Home::new();
    let encoded = BASE64.encode(format!("admin:{PASSWORD}").as_bytes());
    home.write("credentials", format!("admin:{PASSWORD}\n"));
    let (port, heard) = camera();
    let urls = [
        format!("rtsp://admin:{PASSWORD}@127.0.0.1:{port}/x"),
        format!(
            "rtsp://127.0.0.1:{port}/x?credentials=@{}",
            home.file("credentials").display()
        ),
    ];
    for (number, url) in urls.iter().enumerate() {
        let mut publishing = loud(&home, &["publish", url, "--listen", "tcp://127.0.0.1:0"]);
        if number == 1 {
            hides("/proc", &seen(&publishing), &[PASSWORD]);
        }
        assert_ne!(publishing.ends(), 0);
        hides("standard error", &publishing.said(), &[PASSWORD, &encoded]);
        let told = std::mem::take(&mut *heard.lock().expect("no panic"));
        assert!(told.contains(&encoded), "the camera was told: {told}");
    }
    // The password in a configuration file that has an error elsewhere.
    let config = format!("[publish]\nsource = \"{}\"\nlisten = 5\n", urls[0]);
    home.write("c.toml", config);
    let mut publishing = loud(&home, &["publish", "--config", "c.toml"]);
    assert_eq!(publishing.ends(), 8);
    hides("standard error", &publishing.said(), &[PASSWORD]);
}

#[test]
fn a_mistyped_secret_is_not_repeated() {
    let home = Home::new();
    let invite = "d".repeat(25);
    let ticket = format!("sealcast://127.0.0.1:1/{}#{invite}", "b".repeat(51) + "a");
    let commands: [&[&str]; 7] = [
        &["watch", &ticket, "--to", "null:"],
        &["publish", &ticket],
        &["watch", "--to", &ticket],
        &["publish", "test:", "--to", &ticket],
        &["publish", "test:", "--listen", &ticket],
        &["demo", &ticket],
        &["demo", "--page", &ticket],
    ];
    for command in commands {
        let mut program = loud(&home, command);
        assert_ne!(program.ends(), 0, "{command:?}");
        let said = program.said();
        assert!(!said.contains(&invite), "{command:?}: {said}");
    }
}
