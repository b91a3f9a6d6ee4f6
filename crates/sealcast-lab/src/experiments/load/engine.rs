//! One measurement: the highest rate that an implementation sustains.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use sealcast::failure::Result;
use sealcast::media::Picture;
use serde::Deserialize;

use super::choice::NONE;
use super::pipeline::{Frames, Pipeline, Sink};
use super::search::highest;
use crate::ciphers::choice;
use crate::ciphers::implementation::Implementation;
use crate::experiments::ciphers::pictures;
use crate::harness::process::Stop;
use crate::harness::scheduling;
use crate::harness::{Definition, Engine, Opened, Place, Sample, Turn};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    /// Where packets go.
    sink: Sink,
    /// Path of the clip to take frames from; the test card if empty.
    clip: String,
    /// Says that systems were chosen by their speed; without effect here.
    #[serde(default, rename = "fastest_of_each")]
    _fastest_of_each: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    /// True if the image filter runs before the cipher.
    filter: bool,
}

struct Load {
    frames: Frames,
    sink: Sink,
    filters: BTreeMap<String, bool>,
    implementations: BTreeMap<String, Implementation>,
}

pub(super) fn open(definition: &Definition, _: &Place<'_>) -> Result<Opened> {
    let settings: Settings = definition.settings()?;
    let clip = (!settings.clip.is_empty()).then(|| PathBuf::from(&settings.clip));
    let frames = Frames::new(&same_size(pictures(clip.as_deref())?));
    let mut filters = BTreeMap::new();
    for case in &definition.cases {
        filters.insert(case.name.clone(), case.read::<Case>()?.filter);
    }
    let ciphers = definition.systems.iter().filter(|system| system.name != NONE);
    let implementations = choice::of_systems(ciphers)?;
    let absent = implementations.iter().filter_map(|one| {
        let why = match one.load() {
            Some(_) => format!("WRONG, not measured: {}", one.verify().err()?),
            None => "it is a foreign cipher, which only `ciphers` can measure".to_owned(),
        };
        Some((one.name(), why))
    });
    let from = clip.map_or_else(|| "test card".to_owned(), |path| path.display().to_string());
    let (width, height, bytes) = (frames.width, frames.height, frames.bytes());
    let facts = [
        ("frames", format!("{from}, {width}x{height}, {bytes} bytes")),
        ("sink", settings.sink.name().to_owned()),
    ];
    Ok(Opened {
        absent: absent.collect(),
        facts: facts.map(|(name, words)| (name.to_owned(), words)).into(),
        ..Opened::new(Load {
            frames,
            sink: settings.sink,
            filters,
            implementations: implementations.into_iter().map(|one| (one.name(), one)).collect(),
        })
    })
}

/// The pictures of the same size as the first, since the size may change within a clip.
fn same_size(mut pictures: Vec<Picture>) -> Vec<Picture> {
    let size = (pictures[0].width, pictures[0].height);
    pictures.retain(|picture| (picture.width, picture.height) == size);
    pictures
}

impl Engine for Load {
    fn measure(&self, turn: &Turn, seconds: f64, stop: Stop<'_>) -> Result<Sample> {
        scheduling::raise_priority();
        let cipher = self.implementations.get(&turn.system);
        let mut pipeline = Pipeline::new(&self.frames, cipher, self.filters[&turn.case], self.sink)?;
        // Times the second frame: the first one only warms up.
        pipeline.frame(0)?;
        let began = Instant::now();
        pipeline.frame(1)?;
        let guess = 0.5 / began.elapsed().as_secs_f64();
        let held = Duration::from_secs_f64(seconds);
        let found = highest(guess, |rate| pipeline.holds(rate, held, stop))?;
        let sample = Sample::default();
        let sample = match found {
            Some(_) => sample,
            None => sample.lacking("not even one frame a second is held".to_owned()),
        };
        let rate = found.unwrap_or(0.0);
        Ok(sample
            .with("frames_per_s", rate)
            .with("mbit_per_s", rate * self.frames.bytes() as f64 * 8e-6))
    }
}
