//! The recipes of the documents, run as they are typed with the programs that they name.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use sealcast_testkit::media::{BUNNY, clip, packets, tool};
use sealcast_testkit::program::{PATIENCE, Program, free_port, home, publish, sealcast, until, watch, write_private};
use sealcast_testkit::skips::skipped;
use tempfile::TempDir;

const FRAMES: &str = "sealcast_frames_total{dir=\"in\"}";

/// A recipe: its title, and the lines of its first block.
struct Recipe {
    title: String,
    lines: Vec<String>,
}

fn recipes() -> Vec<Recipe> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/recipes.md");
    let text = fs::read_to_string(file).expect("the recipes");
    let sections = text.split("\n## ").skip(1);
    let recipes = sections.map(|section| {
        let title = section.lines().next().unwrap_or_default().to_owned();
        let block = section.split("```\n").nth(1).unwrap_or_default();
        Recipe {
            title,
            lines: block.lines().map(str::to_owned).collect(),
        }
    });
    recipes.collect()
}

/// A place where lines are typed: a folder with the ticket, ports of its own, and the program in the path.
struct Shell {
    dir: TempDir,
    replaced: Vec<(&'static str, String)>,
}

impl Shell {
    fn new() -> Self {
        let ports = ["5600", "8554", "8654", "9553"].map(|shown| (shown, free_port().to_string()));
        Self {
            dir: home(),
            replaced: ports.to_vec(),
        }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn typed(&self, line: &str) -> String {
        self.replaced
            .iter()
            .fold(line.to_owned(), |line, (shown, here)| line.replace(shown, here))
    }

    /// Runs a line by the shell, in this folder, with the settings of the program's own end.
    fn run(&self, name: &'static str, line: &str) -> Program {
        let own = sealcast(self.dir.path());
        let folder = Path::new(own.get_program()).parent().expect("a folder").as_os_str();
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path: OsString = [folder, ":".as_ref(), &path].into_iter().collect();
        let mut command = Command::new("sh");
        command.args(["-c", &format!("exec {}", self.typed(line))]);
        command.current_dir(self.dir.path()).env("PATH", path);
        command.envs([("SDL_VIDEODRIVER", "dummy"), ("SDL_AUDIODRIVER", "dummy")]);
        for (setting, value) in own.get_envs() {
            match value {
                Some(value) => command.env(setting, value),
                None => command.env_remove(setting),
            };
        }
        Program::run(name, command)
    }
}

/// Pictures go from the other program to a viewer.
fn gives(recipe: &Recipe) {
    let [ours, theirs] = &recipe.lines[..] else {
        panic!("{}: two commands", recipe.title);
    };
    let mut shell = Shell::new();
    let input = clip(BUNNY, shell.dir.path());
    shell.replaced.push(("CLIP.mp4", input.display().to_string()));
    let publisher = shell.run("the publisher", ours);
    publisher.says("INFO listening", PATIENCE);
    let _sender = shell.run("the other program", theirs);
    let ticket = shell.file("front.ticket");
    until("a ticket is written", || {
        fs::metadata(&ticket).is_ok_and(|file| file.len() > 0)
    });
    let own = home();
    let ticket = format!("@{}", ticket.display());
    let viewer = watch(own.path(), &ticket, &["--to", "null:", "--metrics", "127.0.0.1:0"]);
    viewer.says("/metrics", PATIENCE);
    viewer.has_counted(FRAMES, 20.0);
    drop(publisher);
}

/// Runs a recipe that takes pictures beside a publisher of a test card. Words of the other line are changed so
/// that it needs no display; it says what is expected when it has a picture, or ends well if nothing is.
fn takes(recipe: &Recipe, changed: &[[&str; 2]], expected: Option<&str>) {
    let [ours, theirs] = &recipe.lines[..] else {
        panic!("{}: two commands", recipe.title);
    };
    let own = home();
    let publisher = publish(own.path(), "test:320x240@25?bitrate=1M", &[]);
    let shell = Shell::new();
    write_private(&shell.file("front.ticket"), &publisher.ticket);
    let viewer = shell.run("the viewer", ours);
    viewer.says("INFO watching", PATIENCE);
    let change = |line: String, [from, to]: &[&str; 2]| line.replace(from, to);
    let theirs = changed.iter().fold(theirs.clone(), change);
    let mut other = shell.run("the other program", &format!("{theirs} 1>&2"));
    match expected {
        Some(words) => _ = other.says(words, PATIENCE),
        None => other.succeeds(PATIENCE),
    }
    if theirs.contains("out.mp4") {
        assert!(packets(&shell.file("out.mp4"), "v").len() > 100, "{}", recipe.title);
    }
}

/// True if a program is there, which not every machine has.
fn has(program: &str) -> bool {
    let there = Command::new("sh")
        .args(["-c", &format!("command -v {program}")])
        .output();
    let there = there.is_ok_and(|found| found.status.success());
    if !there {
        skipped(format_args!("{program} is not installed"));
    }
    there
}

#[test]
fn each_recipe_works_as_it_is_typed() {
    for needed in ["ffmpeg", "gst-launch-1.0"] {
        tool(needed);
    }
    for recipe in recipes() {
        match recipe.title.as_str() {
            "ffmpeg gives a picture" | "GStreamer gives a picture" => gives(&recipe),
            "ffmpeg records" => takes(&recipe, &[], None),
            "GStreamer shows" => takes(
                &recipe,
                &[["udpsrc", "-v udpsrc"], ["autovideosink", "fakesink silent=false"]],
                Some("chain"),
            ),
            "mpv shows" if has("mpv") => takes(&recipe, &[["mpv ", "mpv --vo=null --ao=null "]], Some("VO: [null]")),
            "MediaMTX serves it on" if has("mediamtx") => takes(&recipe, &[], Some("is available")),
            // The line is one of the README's, which the test of pipes runs.
            "VLC shows" => assert_eq!(recipe.lines.len(), 1),
            "mpv shows" | "MediaMTX serves it on" => {}
            // Those have no command: their side is typed into a form or a file. What they get is that of the others.
            "OBS gives a picture" | "QGroundControl shows" | "go2rtc, Frigate and Home Assistant" => {}
            title => panic!("{title}: no test runs it"),
        }
    }
}
