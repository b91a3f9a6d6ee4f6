//! Picture and sound with their times through pipes: into `publish -`, out of `watch` and `replay`, and readers that
//! are slow or go away.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{ChildStdout, Command, Stdio};
use std::thread;
use std::time::Duration;

use sealcast::failure::FailureKind;
use sealcast_testkit::media::{BUNNY, assert_in_step, clip, ffmpeg, packets, path, pictures, tool};
use sealcast_testkit::program::{
    PATIENCE, Program, counted_missing, file_url, home, publish, report, sealcast, unbroken, until, watch,
};
use sealcast_testkit::servers::cvlc;
use sealcast_testkit::skips::skipped;
use tempfile::TempDir;

use super::archives::recipient;
use super::sound::{ENOUGH, clip_with};

const DROPPED: &str = "sealcast_frames_dropped_total{cause=\"queue\"}";
/// Formats by their names here, and for ffmpeg.
const FORMATS: [(&str, &str); 2] = [("mkv", "matroska"), ("ts", "mpegts")];

/// Four seconds with sound of which only the first picture is a keyframe: who joins gets all pictures.
fn one_group(dir: &Path) -> PathBuf {
    let (input, made) = (clip(BUNNY, dir), dir.join("group.mp4"));
    let coding = [
        "-s",
        "320x180",
        "-c:v",
        "libx264",
        "-preset",
        "ultrafast",
        "-bf",
        "2",
        "-g",
        "999",
        "-sc_threshold",
        "0",
    ];
    ffmpeg(
        &[
            &["-i", path(&input), "-t", "4"],
            &coding[..],
            &["-c:a", "aac", "-ac", "2", path(&made)],
        ]
        .concat(),
    );
    made
}

/// The same file in another container.
fn rewrapped(from: &Path, (ending, format): (&str, &str)) -> PathBuf {
    let made = from.with_extension(ending);
    ffmpeg(&["-i", path(from), "-c", "copy", "-f", format, path(&made)]);
    made
}

/// Watches with its output in a file.
fn watch_to_file(home: &Path, ticket: &str, to: &str, out: &Path, more: &[&str]) -> Program {
    let mut command = sealcast(home);
    command.args(["watch", ticket, "--to", to, "--no-reconnect"]).args(more);
    let (program, mut output) = Program::piped("the viewer", &mut command);
    let mut file = File::create(out).expect("a file");
    thread::spawn(move || std::io::copy(&mut output, &mut file));
    program
}

/// Waits until what a program wrote is in the file to its end.
fn settles(file: &Path) {
    let mut before = u64::MAX;
    until("all is written", || {
        let length = fs::metadata(file).map_or(0, |file| file.len());
        thread::sleep(Duration::from_millis(100));
        std::mem::replace(&mut before, length) == length && length > 0
    });
}

#[test]
fn what_is_piped_in_with_times_comes_out_of_a_pipe_with_the_same_pictures_sound_and_times() {
    let dir = home();
    let clip = one_group(dir.path());
    let expected = pictures(&["-i", path(&clip)]);
    for ((into, out_of), option) in [(FORMATS[0], FORMATS[0]), (FORMATS[1], FORMATS[1])]
        .into_iter()
        .zip(["", "?format=ts"])
        .chain([
            ((FORMATS[0], FORMATS[1]), "?format=mkv"),
            ((FORMATS[1], FORMATS[0]), ""),
        ])
    {
        let input = fs::read(rewrapped(&clip, into)).expect("the file");
        let out = unbroken(|| {
            let (own, theirs) = (home(), home());
            let out = dir.path().join(format!("out.{}", out_of.0));
            let said = dir.path().join("report.json");
            let mut command = sealcast(own.path());
            command.args([
                "publish",
                &format!("-{option}"),
                "--listen",
                "tcp://127.0.0.1:0",
                "--ticket-file",
                "-",
            ]);
            let (mut publisher, mut pipe) = Program::run_fed("the publisher", command);
            let (first, rest) = input.split_at(input.len() / 4);
            pipe.write_all(first).expect("it reads");
            let to = format!("-?format={}&whole", out_of.0);
            let mut viewer = watch_to_file(theirs.path(), &publisher.line(), &to, &out, &["--report", path(&said)]);
            viewer.says("INFO watching", PATIENCE);
            until("the beginning is there", || {
                fs::metadata(&out).is_ok_and(|file| file.len() > 1000)
            });
            for part in rest.chunks(input.len() / 100) {
                pipe.write_all(part).expect("it reads");
                thread::sleep(Duration::from_millis(5));
            }
            drop(pipe);
            let code = viewer.ends(PATIENCE);
            publisher.succeeds(PATIENCE);
            settles(&out);
            (code == 0 && counted_missing(&report(&said)) == 0.0).then_some(out)
        });
        assert_eq!(pictures(&["-i", path(&out)]), expected, "{into:?} {out_of:?}");
        assert_in_step(&clip, &out);
        let sounds = |file: &Path| {
            let mp4 = file.with_extension("sound.mp4");
            ffmpeg(&["-i", path(file), "-map", "0:a", "-c", "copy", path(&mp4)]);
            packets(&mp4, "a")
                .into_iter()
                .map(|(digest, _)| digest)
                .collect::<Vec<String>>()
        };
        let (sent, came) = (sounds(&clip), sounds(&out));
        assert!(
            came.len() > 50 && sent.ends_with(&came),
            "{} of {} packets",
            came.len(),
            sent.len()
        );
    }
}

#[test]
fn ffmpeg_on_both_sides_of_the_pipes_has_picture_and_sound() {
    let dir = home();
    let clip = one_group(dir.path());
    for (name, format) in FORMATS {
        let out = dir.path().join(format!("taken.{name}"));
        let (own, theirs) = (home(), home());
        let mut producer = tool("ffmpeg")
            .args([
                "-nostdin",
                "-loglevel",
                "error",
                "-re",
                "-stream_loop",
                "-1",
                "-i",
                path(&clip),
            ])
            .args(["-c", "copy", "-f", format, "-"])
            .stdout(Stdio::piped())
            .spawn()
            .expect("ffmpeg runs");
        let mut command = sealcast(own.path());
        command.args(["publish", "-", "--listen", "tcp://127.0.0.1:0", "--ticket-file", "-"]);
        command.stdin(producer.stdout.take().expect("piped"));
        let publisher = Program::run("the publisher", command);
        let mut command = sealcast(theirs.path());
        command.args(["watch", &publisher.line(), "--to", &format!("-?format={name}")]);
        let (_viewer, output) = Program::piped("the viewer", &mut command);
        let taken = tool("timeout")
            .args([
                "60",
                "ffmpeg",
                "-nostdin",
                "-loglevel",
                "error",
                "-y",
                "-f",
                format,
                "-i",
                "-",
                "-t",
                "2",
            ])
            .args(["-c", "copy", path(&out)])
            .stdin(output)
            .status();
        assert!(taken.expect("ffmpeg runs").success());
        let _ = producer.kill();
        let _ = producer.wait();
        assert!(packets(&out, "v").len() > 20 && packets(&out, "a").len() > 20, "{name}");
    }
}

#[test]
fn an_archive_is_replayed_whole_into_a_pipe() {
    let (dir, clip) = clip_with("2", &["-c:a", "copy"]);
    let recipient = recipient();
    let archive = recipient.archive("archive");
    unbroken(|| {
        let own = home();
        let mut publisher = publish(own.path(), &file_url(&clip), &[]);
        let to = format!("archive:{}?to={}", archive.display(), recipient.text);
        let mut viewer = watch(dir.path(), &publisher.ticket, &["--to", &to, "--no-reconnect"]);
        let code = viewer.ends(ENOUGH);
        publisher.program.succeeds(ENOUGH);
        (code == 0).then_some(())
    });
    for (name, _) in FORMATS {
        let out = dir.path().join(format!("replayed.{name}"));
        let into = format!("-?format={name}");
        let replay = [
            "replay",
            path(&archive),
            "--identity",
            path(&recipient.file),
            "--into",
            &into,
            "--fast",
        ];
        let mut command = sealcast(dir.path());
        let output = command
            .args(replay)
            .stdout(File::create(&out).expect("a file"))
            .output()
            .expect("it runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(pictures(&["-i", path(&out)]), pictures(&["-i", path(&clip)]), "{name}");
        assert_in_step(&clip, &out);
    }
}

/// A viewer of a test card with its pipe.
struct Piped {
    viewer: Program,
    output: ChildStdout,
    _ends: (TempDir, TempDir, sealcast_testkit::program::Publisher),
}

fn test_card_in(format: &str) -> Piped {
    let (own, theirs) = (home(), home());
    let publisher = publish(own.path(), "test:320x240@25?bitrate=2M", &[]);
    let mut command = sealcast(theirs.path());
    command.args([
        "watch",
        &publisher.ticket,
        "--to",
        &format!("-?format={format}"),
        "--metrics",
        "127.0.0.1:0",
    ]);
    let (viewer, output) = Program::piped("the viewer", &mut command);
    viewer.says("/metrics", PATIENCE);
    Piped {
        viewer,
        output,
        _ends: (own, theirs, publisher),
    }
}

#[test]
fn a_reader_that_comes_late_and_then_stands_still_gets_the_newest_pictures_and_what_it_missed_is_counted() {
    for (format, _) in FORMATS {
        let dir = home();
        let out = dir.path().join(format!("late.{format}"));
        let mut piped = test_card_in(format);
        piped.viewer.has_counted(DROPPED, 5.0);
        let (mut file, mut buffer) = (File::create(&out).expect("a file"), [0; 4096]);
        for round in 0..2 {
            let mut bytes = 0;
            while bytes < 400_000 {
                let read = piped.output.read(&mut buffer).expect("it writes");
                assert!(read > 0, "it ended");
                file.write_all(&buffer[..read]).expect("space");
                bytes += read;
            }
            let before = piped.viewer.counts(DROPPED);
            piped.viewer.has_counted(DROPPED, before + 5.0 - f64::from(round));
        }
        drop(file);
        // ffmpeg would complain of pictures that refer to missing ones. The last one is cut.
        let whole = dir.path().join("whole.mp4");
        let most = (packets(&out, "v").len() - 1).to_string();
        ffmpeg(&["-i", path(&out), "-c", "copy", "-frames:v", &most, path(&whole)]);
        assert!(pictures(&["-i", path(&whole)]).len() > 20, "{format}");
    }
}

#[test]
fn a_reader_that_goes_away_ends_the_viewer_in_words() {
    let Piped {
        mut viewer,
        mut output,
        _ends,
    } = test_card_in("mkv");
    output.read_exact(&mut [0; 100_000]).expect("it writes");
    drop(output);
    assert_eq!(viewer.ends(PATIENCE), i32::from(FailureKind::Sink.exit_code()));
    assert!(viewer.said().contains("has closed it"), "{}", viewer.said());
}

/// The end of a publisher that is fed these bytes.
fn told(option: &str, bytes: &[u8]) -> (i32, String) {
    let own = home();
    let mut command = sealcast(own.path());
    command.args(["publish", &format!("-{option}"), "--listen", "tcp://127.0.0.1:0"]);
    let (mut publisher, mut pipe) = Program::run_fed("the publisher", command);
    // It may end before it read all.
    let _ = pipe.write_all(bytes);
    drop(pipe);
    let code = publisher.ends(PATIENCE);
    (code, publisher.said())
}

#[test]
fn what_cannot_be_read_from_a_pipe_is_told_in_words() {
    let dir = home();
    let made = |name: &str, coding: &[&str]| {
        let file = dir.path().join(name);
        let input = ["-f", "lavfi", "-i", "testsrc2=size=160x90:rate=25:duration=1"];
        ffmpeg(&[&input[..], coding, &[path(&file)]].concat());
        fs::read(file).expect("the file")
    };
    let mpeg2 = made("clip.ts", &["-c:v", "mpeg2video"]);
    let vp8 = made("clip.webm", &["-c:v", "libvpx", "-deadline", "realtime"]);
    let good = made("good.mkv", &["-c:v", "libx264"]);
    let broken = [&good[..good.len() / 2], &[0; 5000]].concat();
    for (option, bytes, words) in [
        ("", &mpeg2[..], "MPEG-2 video"),
        ("", &vp8, "VP8"),
        ("", &good[..60], "holds no frames"),
        ("?format=ts", &good, "holds no frames"),
        ("?format=mkv", &mpeg2, "is damaged"),
        ("", &broken, "is damaged"),
        ("?format=avi", &good, "no format of a pipe"),
    ] {
        let (code, said) = told(option, bytes);
        let expected = [FailureKind::Source, FailureKind::Usage].map(|kind| i32::from(kind.exit_code()));
        assert!(
            expected.contains(&code) && said.contains(words),
            "{option} {words}: {code} {said}"
        );
    }
}

/// The lines of the README that pipe a stream into a player: what standard output carries, and the player's words.
fn players() -> Vec<(String, Vec<String>)> {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let readme = fs::read_to_string(readme).expect("the README");
    let piped = readme.lines().filter_map(|line| {
        let (_, line) = line.split_once("sealcast watch @ticket.txt --to '-")?;
        let (option, player) = line.split_once("' | ")?;
        Some((format!("-{option}"), player.split(' ').map(str::to_owned).collect()))
    });
    piped.collect()
}

#[test]
fn the_players_of_the_readme_show_the_picture() {
    let players = players();
    assert_eq!(players.len(), 3, "{players:?}");
    for (to, words) in players {
        let (name, arguments) = words.split_first().expect("a player");
        let (mut player, shows) = match name.as_str() {
            "vlc" => {
                let mut player = cvlc();
                player.args(["-vv", "--vout=dummy", "--aout=dummy"]);
                (player, "Opening vout display wrapper")
            }
            "ffplay" => (tool(name), "Video: h264"),
            "mpv" if Command::new(name).arg("--version").output().is_err() => {
                skipped("mpv is not installed");
                continue;
            }
            _ => {
                let mut player = tool(name);
                player.args(["--vo=null", "--ao=null", "--log-file=/dev/stderr"]);
                (player, "VO: [null]")
            }
        };
        let (own, theirs) = (home(), home());
        let publisher = publish(own.path(), "test:320x240@25", &[]);
        let mut command = sealcast(theirs.path());
        command.args(["watch", &publisher.ticket, "--to", &to]);
        let (_viewer, output) = Program::piped("the viewer", &mut command);
        player.args(arguments).stdin(output);
        player.envs([("SDL_VIDEODRIVER", "dummy"), ("SDL_AUDIODRIVER", "dummy")]);
        Program::run("the player", player).says(shows, PATIENCE);
    }
}
