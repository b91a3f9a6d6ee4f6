//! One measurement: a scene, streamed by this program, and what the attackers make of what passes a tap.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use sealcast::failure::{Failure, FailureKind, Result};
use sealcast_proto::sim::{LinkProfile, Random};

use super::case::{Attack, Case, Plan, Settings, System};
use super::scene::Scene;
use super::scores::{FEATURES, KINDS, Stream};
use crate::experiments::stream::{self, Frame, Seen, Viewer, between, profile};
use crate::harness::process::{Stop, last_words, sealcast_program};
use crate::harness::{Definition, Engine, Opened, Place, Sample, Turn};
use crate::proxy::{Direction, Tap};
use crate::traffic::activity;
use crate::traffic::trace::Packet;

/// Seconds that a scene goes on after what is measured: programs take a moment to notice the first frame, and must not
/// come to the end of the file.
const TAIL_SECONDS: usize = 8;

struct Traffic {
    settings: Settings,
    plan: Plan,
    cases: BTreeMap<String, (Case, Option<LinkProfile>)>,
    systems: BTreeMap<String, System>,
    seed: u64,
    folder: PathBuf,
}

pub(super) fn open(definition: &Definition, place: &Place<'_>) -> Result<Opened> {
    let (settings, plan) = Settings::read(definition)?;
    let mut cases = BTreeMap::new();
    for entry in &definition.cases {
        let case: Case = entry.read()?;
        let link = profile(&entry.name, &case.link)?;
        cases.insert(entry.name.clone(), (case, link));
    }
    let mut systems = BTreeMap::new();
    for entry in &definition.systems {
        systems.insert(entry.name.clone(), entry.read::<System>()?);
    }
    let mut absent = Vec::new();
    for (name, system) in &systems {
        if let Some(why) = system.refused(place.folder)? {
            absent.push((name.clone(), why));
        }
    }
    let facts = vec![(
        "source".to_owned(),
        format!("{}, {}", settings.picture, settings.encoding),
    )];
    Ok(Opened {
        facts,
        absent,
        ..Opened::new(Traffic {
            settings,
            plan,
            cases,
            systems,
            seed: definition.seed,
            folder: place.folder.join("runs"),
        })
    })
}

impl System {
    /// Reason why this build's publisher refuses these options, if it does: the program is asked to publish a file that
    /// is not there, which it finds out only after it has read its options.
    fn refused(&self, folder: &Path) -> Result<Option<String>> {
        if self.publisher.is_empty() {
            return Ok(None);
        }
        let home = folder.join("asked-home");
        let mut publish = sealcast_program(None, &home)?;
        let nothing = format!("file:{}", home.join("nothing.y4m").display());
        publish.args(["publish", &nothing]).args(&self.publisher);
        publish
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let asked = publish.spawn().and_then(|mut asked| {
            // At the end of its input it would stop before it looks for the file.
            let _input = asked.stdin.take();
            asked.wait_with_output()
        });
        // Its identity is of no use to anybody.
        let _ = fs::remove_dir_all(&home);
        let asked = asked.map_err(|error| {
            let what = format!("this program cannot be started again ({error})");
            Failure::new(FailureKind::Internal, what, "please report this")
        })?;
        if asked.status.code() == Some(FailureKind::Source.exit_code().into()) {
            return Ok(None);
        }
        let words = String::from_utf8_lossy(&asked.stderr);
        let line = words.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        Ok(Some(format!(
            "this build refuses {} ({line})",
            self.publisher.join(" ")
        )))
    }
}

impl Engine for Traffic {
    fn measure(&self, turn: &Turn, seconds: f64, stop: Stop<'_>) -> Result<Sample> {
        let (case, link) = &self.cases[&turn.case];
        let system = &self.systems[&turn.system];
        // All systems of a round show the same scene.
        let place = self
            .cases
            .keys()
            .position(|name| *name == turn.case)
            .unwrap_or_default();
        let seed = Random::new(self.seed ^ ((turn.round as u64) << 32) ^ place as u64).next_u64();
        let folder = self.folder.join(format!(
            "{}-{}-{}",
            turn.case,
            turn.system.replace(':', "-"),
            turn.round + 1
        ));
        let run = Run {
            traffic: self,
            case,
            link: link.as_ref(),
            system,
            seed,
            folder: &folder,
            seconds,
            stop,
        };
        let sample = match case.attack {
            Attack::Sort => run.sorts(),
            _ => run.scene(),
        };
        sample.map_err(|failure| Failure {
            what: failure.what + &last_words(&folder),
            ..failure
        })
    }
}

/// A turn.
struct Run<'a> {
    traffic: &'a Traffic,
    case: &'a Case,
    link: Option<&'a LinkProfile>,
    system: &'a System,
    seed: u64,
    folder: &'a Path,
    seconds: f64,
    stop: Stop<'a>,
}

impl Run<'_> {
    /// A stream of a scene.
    fn scene(&self) -> Result<Sample> {
        let (settings, plan) = (&self.traffic.settings, &self.traffic.plan);
        let tail = TAIL_SECONDS * plan.rate;
        let scene = settings.scene(plan, self.case.attack, self.seconds, tail, self.seed);
        let count = scene.frames - tail;
        if scene.spans.is_empty() {
            let what = "no span of the scene fits into the seconds of a measurement";
            return Err(Failure::new(FailureKind::Usage, what, "name more --seconds"));
        }
        if self.system.drawn {
            let drawn = Stream::drawn(count, &mut self.drawn());
            return Ok(drawn.attacked(self.case.attack, &scene, plan));
        }
        let file = self.folder.with_extension("y4m");
        painted(&scene, &file)?;
        let encoding = self.system.encoding.as_ref().unwrap_or(&settings.encoding);
        let source = format!("file:{}?{encoding}", file.display());
        let seen = self.stream(&source, count);
        // It is large, and its seed is known.
        let _ = fs::remove_file(&file);
        let (seen, packets) = seen?;
        let stream = by_frames(&seen.frames, &packets, plan.rate, count)?;
        fs::write(self.folder.join("frames.csv"), stream.table(&scene)).map_err(|error| {
            let what = format!("the frames cannot be written ({error})");
            Failure::new(FailureKind::Sink, what, "choose another --out")
        })?;
        let sample = stream.attacked(self.case.attack, &scene, plan);
        Ok(with_costs(sample, &seen, &packets))
    }

    /// A stream of each source that is to be told from the others.
    fn sorts(&self) -> Result<Sample> {
        let plan = &self.traffic.plan;
        let each = self.seconds / self.case.sources.len().max(1) as f64;
        let count = plan.lead + ((each * plan.rate as f64) as usize / plan.span).max(1) * plan.span;
        let (mut kinds, mut features) = (Vec::new(), Vec::new());
        let mut random = self.drawn();
        for (kind, source) in self.case.sources.iter().enumerate() {
            let stream = match self.system.drawn {
                true => Stream::drawn(count, &mut random),
                false => {
                    let (seen, packets) = self.stream(source, count)?;
                    by_frames(&seen.frames, &packets, plan.rate, count)?
                }
            };
            for window in stream.frames[plan.lead..].chunks_exact(plan.span) {
                kinds.push(kind as f64);
                features.extend(activity::features(window));
            }
        }
        Ok(Sample::default()
            .with_series(KINDS, kinds)
            .with_series(FEATURES, features))
    }

    /// Generator from which a random trace is drawn: another one than that of the scene.
    fn drawn(&self) -> Random {
        Random::new(self.seed ^ 0x7261_6e64)
    }

    /// Streams a source for so many of its frames; returns what both ends saw, and what passed towards the viewer.
    fn stream(&self, source: &str, frames: usize) -> Result<(Seen, Vec<Packet>)> {
        let tap = Tap::default();
        let seconds = frames as f64 / self.traffic.plan.rate as f64;
        let stream = stream::Stream {
            source,
            listen: &self.case.listen,
            options: &[],
            publisher: &self.system.publisher,
            viewer: Viewer::Watch,
            link: self.link,
            tap: Some(&tap),
            net: None,
            seed: self.seed,
            warm_up: Duration::ZERO,
            grid: None,
            periods: vec![Duration::from_secs_f64(seconds)],
            meter: "none",
            without_aes: false,
            folder: self.folder,
            stop: self.stop,
        };
        let seen = stream.run()?;
        let passed = tap
            .passed()
            .into_iter()
            .filter(|passed| passed.direction == Direction::Down);
        let packets = passed.map(|passed| Packet {
            at: passed.at_ns as f64 * 1e-9,
            bytes: f64::from(passed.bytes),
        });
        Ok((seen, packets.collect()))
    }
}

fn painted(scene: &Scene, file: &Path) -> Result<()> {
    let unwritable = |error: std::io::Error| {
        let what = format!("{} cannot be written ({error})", file.display());
        Failure::new(FailureKind::Sink, what, "choose another --out, with room for the scene")
    };
    fs::create_dir_all(file.parent().unwrap_or(Path::new("."))).map_err(unwritable)?;
    let mut to = BufWriter::new(File::create(file).map_err(unwritable)?);
    scene.write(&mut to).map_err(unwritable)
}

/// Bytes of each frame. The viewer's log says when frames were sealed: that is the truth about the scene, and not what
/// attackers know.
fn by_frames(frames: &[Frame], packets: &[Packet], rate: usize, count: usize) -> Result<Stream> {
    let sealed = |frame: &Frame| Some(frame.sealed_ns? as f64 * 1e-9);
    let mut began: Vec<f64> = frames
        .iter()
        .filter_map(|frame| Some(sealed(frame)? - frame.number as f64 / rate as f64))
        .collect();
    if began.is_empty() {
        let what = "the viewer's log has no frame with the time of its sealing";
        return Err(Failure::new(FailureKind::Network, what, "see the files of the run"));
    }
    let began = sealcast::meter::statistics::median(&mut began);
    let keyframes: Vec<f64> = frames
        .iter()
        .filter(|frame| frame.keyframe)
        .filter_map(sealed)
        .collect();
    Ok(Stream::of(packets, began, rate, count, &keyframes))
}

/// Adds what the stream cost: bytes towards the viewer, and delays.
fn with_costs(sample: Sample, seen: &Seen, packets: &[Packet]) -> Sample {
    let [from, .., to] = seen.marks.as_slice() else {
        return sample;
    };
    let figures = between(&seen.frames, from, to);
    let within = (from.at_ns as f64 * 1e-9)..(to.at_ns as f64 * 1e-9);
    let bytes: f64 = packets
        .iter()
        .filter(|packet| within.contains(&packet.at))
        .map(|packet| packet.bytes)
        .sum();
    sample
        .with("bytes_a_second", bytes / figures.seconds)
        .with("delay_p50_ms", figures.delay_p50_ms)
        .with("delay_p95_ms", figures.delay_p95_ms)
        .with("fps", figures.fps)
        .with("lost", figures.lost as f64)
}
