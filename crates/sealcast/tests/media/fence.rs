//! The fence around the decoder's process: what is refused behind it, and what becomes of a process that misbehaves.
//!
//! What is tried behind the fence is tried by a second process of this test program: `does_what_it_is_told`.

use std::fs::{self, File};
use std::io::{ErrorKind, Read, Write};
use std::mem::ManuallyDrop;
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

use sealcast::codec::{Decoder, H264Encoder, H264Settings, RESTART_INTERVAL, decoders_cpu_time, fence, jpeg};
use sealcast::media::{Codec, FrameRate, Picture};
use sealcast::source::test_card::{CardClock, CardPainter};
use sealcast_testkit::program::until;
use sealcast_testkit::skips::skipped;

/// Names the deed for the second process.
const DEED: &str = "DEED_BEHIND_THE_FENCE";
/// Exit code of a second process that lives to the end of its deed.
const LIVED: i32 = 77;
/// Exit code of one that lacks landlock.
const LACKING: i32 = 78;
const SIGSYS: i32 = 31;

fn program() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_sealcast"))
}

fn tell(deed: &str) -> ExitStatus {
    Command::new(std::env::current_exe().expect("this program"))
        .args(["fence::does_what_it_is_told", "--exact", "--nocapture"])
        .env(DEED, deed)
        .status()
        .expect("this program runs")
}

#[test]
fn does_what_it_is_told() {
    if let Ok(deed) = std::env::var(DEED) {
        act(&deed);
        // Nothing is left that could print a result.
        std::process::exit(LIVED);
    }
}

fn act(deed: &str) {
    // Closing is a call that the fence refuses.
    let file = ManuallyDrop::new(File::open("/etc/passwd").expect("a file that all may read"));
    let listener = ManuallyDrop::new(TcpListener::bind("127.0.0.1:0").expect("a port"));
    let address = listener.local_addr().expect("bound");
    let refused = |error: std::io::Error| assert_eq!(error.kind(), ErrorKind::PermissionDenied);
    if let Some(deed) = deed.strip_prefix("landlock alone: ") {
        if !fence::refuse_files_and_connections() {
            std::process::exit(LACKING);
        }
        match deed {
            "open a file" => refused(File::open("/etc/passwd").expect_err("a file")),
            "make a file" => refused(File::create("/tmp/made-behind-the-fence").expect_err("a file")),
            "list a folder" => refused(fs::read_dir("/").expect_err("a folder")),
            "connect" => refused(TcpStream::connect(address).expect_err("a connection")),
            "start a program" => refused(Command::new("/bin/true").status().expect_err("a program")),
            other => panic!("{other}"),
        }
        return;
    }
    let raised = fence::raise().expect("a fence");
    assert!(raised.seccomp, "a kernel with seccomp");
    match deed {
        "use memory" => drop(std::hint::black_box(vec![1_u8; 64 << 20])),
        "use too much memory" => {
            let much = usize::try_from(fence::MAX_MEMORY).expect("64 bits");
            assert!(Vec::<u8>::new().try_reserve_exact(much).is_err());
        }
        "open a file" => drop(File::open("/etc/passwd")),
        "make a file" => drop(File::create("/tmp/made-behind-the-fence")),
        "read an open file" => drop((&*file).read(&mut [0; 8])),
        "write to standard output" => drop(std::io::stdout().write(b"words\n")),
        "connect" => drop(TcpStream::connect(address)),
        "send a datagram" => drop(UdpSocket::bind("127.0.0.1:0")),
        "accept" => drop(listener.accept()),
        "start a program" => drop(Command::new("/bin/true").status()),
        "start a thread" => drop(thread::Builder::new().spawn(|| ())),
        "signal another process" => {
            let parent = rustix::process::getppid();
            let _ = parent.map(|parent| rustix::process::kill_process(parent, rustix::process::Signal::CONT));
        }
        other => panic!("{other}"),
    }
}

#[test]
fn landlock_alone_refuses_files_connections_and_programs() {
    for deed in [
        "open a file",
        "make a file",
        "list a folder",
        "connect",
        "start a program",
    ] {
        let status = tell(&format!("landlock alone: {deed}"));
        if status.code() == Some(LACKING) {
            skipped("this kernel has no landlock");
            return;
        }
        assert_eq!(status.code(), Some(LIVED), "{deed}: {status}");
    }
}

#[test]
fn who_tries_files_sockets_or_processes_behind_the_fence_is_killed() {
    let deeds = [
        "open a file",
        "make a file",
        "read an open file",
        "write to standard output",
        "connect",
        "send a datagram",
        "accept",
        "start a program",
        "start a thread",
        "signal another process",
    ];
    for deed in deeds {
        let status = tell(deed);
        assert_eq!(status.signal(), Some(SIGSYS), "{deed}: {status}");
    }
    assert!(!Path::new("/tmp/made-behind-the-fence").exists());
}

#[test]
fn memory_may_be_used_behind_the_fence_up_to_its_bound() {
    for deed in ["use memory", "use too much memory"] {
        let status = tell(deed);
        assert_eq!(status.code(), Some(LIVED), "{deed}: {status}");
    }
}

/// Pictures of the test card.
fn pictures(width: usize, height: usize, count: u32) -> Vec<Picture> {
    let mut painter = CardPainter::new(width, height).expect("a size that holds a clock");
    let clock = |event| CardClock {
        event,
        wall_us: u64::from(event),
    };
    (0..count)
        .map(|event| painter.paint(clock(event), Duration::from_millis(40) * event).clone())
        .collect()
}

fn h264(pictures: &[Picture]) -> Vec<Vec<u8>> {
    let rate = FrameRate {
        numerator: 25,
        denominator: 1,
    };
    let settings = H264Settings::new(pictures[0].width, pictures[0].height, rate, 1_000_000);
    let mut encoder = H264Encoder::new(settings).expect("an encoder");
    pictures
        .iter()
        .map(|picture| encoder.encode(picture).expect("a frame").0)
        .collect()
}

#[test]
fn pictures_come_through_the_fence_unchanged_and_may_change_their_size() {
    for codec in [Codec::H264, Codec::Mjpeg] {
        let mut fenced = Decoder::by_program(program(), codec).expect("a decoder");
        let mut bare = sealcast::codec::BareDecoder::new(codec).expect("a decoder");
        for (width, height) in [(320, 240), (1280, 720), (640, 482)] {
            let pictures = pictures(width, height, 5);
            let frames = match codec {
                Codec::H264 => h264(&pictures),
                _ => pictures
                    .iter()
                    .map(|picture| jpeg::encode(picture, 80).expect("a JPEG"))
                    .collect(),
            };
            for frame in frames {
                let here = bare.decode(&frame).expect("a frame that decodes");
                let there = fenced.decode(&frame).expect("a frame that decodes");
                assert!(here.is_some() && here == there, "{width}x{height}");
            }
        }
        assert!(decoders_cpu_time() > Duration::ZERO, "what decoding costs is counted");
    }
}

#[test]
fn frames_that_do_not_decode_are_errors_in_words_and_cost_no_process() {
    for codec in [Codec::H264, Codec::Mjpeg] {
        let mut decoder = Decoder::by_program(program(), codec).expect("a decoder");
        let process = decoder.process();
        let whole = match codec {
            Codec::H264 => h264(&pictures(320, 240, 1)).remove(0),
            _ => jpeg::encode(&pictures(320, 240, 1)[0], 80).expect("a JPEG"),
        };
        for hostile in [&b""[..], b"no picture", &whole[..whole.len() / 3], &vec![0xff; 1 << 20]] {
            // A beginning of a frame may well be shown.
            if let Err(failure) = decoder.decode(hostile) {
                assert!(failure.what.contains("does not decode as"), "{failure}");
            }
        }
        assert!(decoder.decode(&whole).expect("a frame that decodes").is_some());
        assert_eq!(decoder.process(), process);
    }
}

#[test]
fn a_process_that_dies_again_and_again_is_started_once_a_second_at_most() {
    let frame = h264(&pictures(320, 240, 1)).remove(0);
    let began = Instant::now();
    let mut decoder = Decoder::by_program(program(), Codec::H264).expect("a decoder");
    for death in 0..3 {
        let process = decoder.process().expect("a process").to_string();
        let killed = Command::new("kill").args(["-KILL", &process]).status();
        assert!(killed.expect("kill runs").success());
        let failure = decoder.decode(&frame).expect_err("a dead process");
        let words = format!("died at its frame {}", decoder.frames() - 1);
        assert!(
            failure.what.contains(&words) && failure.what.contains("SIGKILL"),
            "{failure}"
        );
        until("there is a picture again", || match decoder.decode(&frame) {
            Ok(picture) => picture.is_some(),
            Err(failure) => {
                assert!(failure.what.contains("starts anew in"), "{failure}");
                false
            }
        });
        assert!(
            began.elapsed() >= RESTART_INTERVAL * (death + 1),
            "too early after death {death}"
        );
    }
}

#[test]
fn a_process_that_is_no_decoder_is_refused_in_words() {
    let dir = tempfile::tempdir().expect("a directory");
    let script = |text: &str| {
        let file = dir.path().join(format!("decoder-{}", text.len()));
        fs::write(&file, format!("#!/bin/sh\n{text}\n")).expect("room for a file");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o700)).expect("our file");
        file
    };
    let cases = [
        (script("exit 3"), "exit status: 3"),
        (script("printf 'not a decoder' >&0"), "it said ["),
        (dir.path().join("nowhere"), "no such file"),
    ];
    for (program, words) in cases {
        // A file that was just written may still be held open by a process that another test is starting.
        let mut failure = None;
        until("the program can be started", || {
            let refused = Decoder::by_program(&program, Codec::H264).err().expect("no decoder");
            let busy = refused.what.contains("busy");
            failure = Some(refused);
            !busy
        });
        let failure = failure.expect("it was refused").to_string();
        assert!(
            failure.contains("does not start: ") && failure.contains(words),
            "{failure}"
        );
    }
}
