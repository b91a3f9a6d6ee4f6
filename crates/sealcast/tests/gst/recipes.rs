//! The commands of docs/cameras.md and docs/gstreamer.md, with cameras and displays that every machine has.

use std::path::Path;
use std::process::{Command, Stdio};

use sealcast_testkit::media::{path, pictures};
use sealcast_testkit::program::{MANY_USES, Program, file_url, home, publish, publish_by, sealcast, until};
use tempfile::TempDir;

/// Substitutes for a camera, a display and an encoder of other machines.
const STAND_INS: [(&str, &str); 6] = [
    ("v4l2src device=/dev/video0", CAMERA),
    ("v4l2src", CAMERA),
    ("libcamerasrc", CAMERA),
    ("v4l2h264enc", "x264enc tune=zerolatency"),
    ("autovideosink sync=false", "fakesink"),
    ("autovideosink", "fakesink"),
];
/// Frames that a viewer must get.
const FRAMES: usize = 25;
const CAMERA: &str = "videotestsrc is-live=true ! video/x-raw,width=1280,height=720,framerate=30/1 ! identity";
/// In the place of rpicam-vid: what it says that it writes with the options of the recipe.
const RPICAM: &str = "ffmpeg -v error -re -f lavfi -i testsrc2=size=1280x720:rate=30 -c:v libx264 -preset ultrafast \
     -tune zerolatency -profile:v baseline -pix_fmt yuv420p -g 60 -bsf:v dump_extra -flush_packets 1 -f h264 -";

/// The commands in the blocks of code that begin with this, each on one line.
fn commands(document: &str, begins: &str) -> Vec<String> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(document);
    let text = std::fs::read_to_string(file).expect("a document").replace("\\\n", "");
    let blocks = text.split("```").skip(1).step_by(2);
    let lines = blocks.flat_map(str::lines).filter(|line| line.starts_with(begins));
    lines
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect()
}

fn with_stand_ins(command: &str) -> String {
    let mut left = command;
    let mut out = String::new();
    while let Some(first) = left.chars().next() {
        let found = STAND_INS.iter().find(|(name, _)| left.starts_with(name));
        let (text, length) = found.map_or((&left[..first.len_utf8()], first.len_utf8()), |(name, by)| {
            (*by, name.len())
        });
        out.push_str(text);
        left = &left[length..];
    }
    out
}

/// The text in the single quotes of a command.
fn quoted(command: &str) -> &str {
    command.split('\'').nth(1).expect("quotes")
}

/// Watches until enough frames came, in the folder of the viewer.
fn watched(eyes: &TempDir, ticket: &str, sink: &str) {
    let log = eyes.path().join("log");
    let mut command = sealcast(eyes.path());
    command.args(["watch", ticket, "--to", sink, "--log-dir", path(&log)]);
    command.current_dir(eyes.path());
    let mut viewer = Program::run("the viewer", command);
    let frames = log.join("frames_latency.csv");
    let lines = || std::fs::read_to_string(&frames).map_or(0, |text| text.lines().count());
    until("enough frames came", || lines() > FRAMES);
    viewer.stop();
}

fn assert_plays(file: &Path, recipe: &str) {
    let count = pictures(&["-i", path(file)]).len();
    assert!(count >= FRAMES, "{count} pictures of {recipe}");
}

/// Watches until there are frames, and checks that they decode.
fn shows(ticket: &str, recipe: &str) {
    let eyes = home();
    let file = eyes.path().join("out.h264");
    watched(&eyes, ticket, &file_url(&file));
    assert_plays(&file, recipe);
}

#[test]
fn what_another_program_pipes_in_is_published() {
    let mut recipes = commands("cameras.md", "gst-launch-1.0");
    recipes.extend(commands("cameras.md", "rpicam-vid"));
    assert!(recipes.len() >= 3, "{recipes:?}");
    for recipe in recipes {
        let (producer, publisher) = recipe.split_once(" | ").expect("a pipe");
        assert!(publisher.starts_with("sealcast publish"), "{publisher}");
        let producer = match producer.starts_with("rpicam-vid") {
            true => RPICAM.to_owned(),
            false => with_stand_ins(producer),
        };
        let mut shell = Command::new("sh");
        let (_producer, output) = Program::piped("the camera", shell.args(["-c", &format!("exec {producer}")]));
        let camera = home();
        let mut command = sealcast(camera.path());
        command.args(["publish", quoted(publisher), "--listen", "tcp://127.0.0.1:0"]);
        command.args(MANY_USES).stdin(Stdio::from(output));
        let publisher = publish_by(command);
        shows(&publisher.ticket, &recipe);
    }
}

#[test]
fn pipelines_of_the_documents_are_published() {
    let recipes = commands("gstreamer.md", "sealcast publish");
    assert!(recipes.len() >= 3, "{recipes:?}");
    for recipe in recipes {
        let camera = home();
        let publisher = publish(camera.path(), &with_stand_ins(quoted(&recipe)), &[]);
        shows(&publisher.ticket, &recipe);
    }
}

#[test]
fn pipelines_of_the_documents_take_what_is_watched() {
    let camera = home();
    let publisher = publish(camera.path(), "test:640x480@25?gop=25", &[]);
    let recipes = commands("gstreamer.md", "sealcast watch");
    assert!(recipes.len() >= 3, "{recipes:?}");
    for recipe in recipes {
        let eyes = home();
        let sink = with_stand_ins(quoted(&recipe));
        watched(&eyes, &publisher.ticket, &sink);
        if let Some(name) = sink.split("location=").nth(1) {
            assert_plays(&eyes.path().join(name), &recipe);
        }
    }
}
