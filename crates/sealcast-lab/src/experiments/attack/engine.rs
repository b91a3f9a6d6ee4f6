//! One measurement: one scene under one selection, attacked by everybody.

use std::collections::BTreeMap;
use std::path::PathBuf;

use sealcast::failure::{Failure, FailureKind, Result};
use sealcast::media::Codec;
use sealcast_proto::sim::Random;
use sealcast_proto::unit::{Selection, Unit};
use serde::Deserialize;

use super::figures;
use crate::attack::{Camera, Filmed, Protection, SceneKind, Tools, Trial, vmaf_program};
use crate::harness::process::Stop;
use crate::harness::{Definition, Engine, Entry, Opened, Place, Sample, Turn};

/// Folder of pictures and videos, beside the record.
pub(super) const PICTURES: &str = "pictures";

/// Settings that all trials have in common.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    width: usize,
    height: usize,
    rate: u32,
    frames: usize,
    group: u32,
    quantizer: u32,
    quality: u8,
    scored: usize,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    scene: SceneKind,
    codec: String,
    #[serde(default = "one")]
    slices: u32,
}

fn one() -> u32 {
    1
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct System {
    encrypt: String,
    #[serde(default = "frame")]
    unit: String,
}

fn frame() -> String {
    Unit::Frame.to_string()
}

struct Attack {
    settings: Settings,
    filmed: BTreeMap<String, Filmed>,
    systems: BTreeMap<String, Protection>,
    absent_cases: BTreeMap<String, String>,
    tools: Tools,
    seed: u64,
    folder: PathBuf,
}

fn refused(what: String) -> Failure {
    Failure::new(FailureKind::Usage, what, "correct the definition")
}

pub(super) fn open(definition: &Definition, place: &Place<'_>) -> Result<Opened> {
    let settings: Settings = definition.settings()?;
    let mut attack = Attack {
        settings,
        filmed: BTreeMap::new(),
        systems: BTreeMap::new(),
        absent_cases: BTreeMap::new(),
        tools: Tools::new()?,
        seed: definition.seed,
        folder: place.folder.join(PICTURES),
    };
    let mut absent = Vec::new();
    for system in &definition.systems {
        let System { encrypt, unit } = system.read()?;
        let unit: Unit = unit.parse().map_err(|_| refused(format!("`{unit}` is no unit")))?;
        match encrypt.parse::<Selection>() {
            Ok(selection) => drop(
                attack
                    .systems
                    .insert(system.name.clone(), Protection { selection, unit }),
            ),
            Err(_) => absent.push((
                system.name.clone(),
                format!("this program knows no `--encrypt {encrypt}`"),
            )),
        }
    }
    for case in &definition.cases {
        let filmed = film(&case.read()?, settings);
        match filmed {
            Ok(filmed) => drop(attack.filmed.insert(case.name.clone(), filmed)),
            Err(failure) => drop(attack.absent_cases.insert(case.name.clone(), failure.what)),
        }
    }
    let facts = attack.facts();
    Ok(Opened {
        facts,
        absent,
        ..Opened::new(attack)
    })
}

fn film(case: &Case, settings: Settings) -> Result<Filmed> {
    let codec = match case.codec.as_str() {
        "h264" => Codec::H264,
        "mjpeg" => Codec::Mjpeg,
        other => return Err(refused(format!("`{other}` is no codec"))),
    };
    let camera = Camera {
        codec,
        rate: settings.rate,
        group: settings.group,
        slices: case.slices,
        quantizer: settings.quantizer,
        quality: settings.quality,
    };
    Filmed::new(&case.scene, camera, (settings.width, settings.height), settings.frames)
}

impl Attack {
    fn facts(&self) -> Vec<(String, String)> {
        let mut facts = vec![
            (
                "text".to_owned(),
                match self.tools.text {
                    Some(_) => "read by tesseract".to_owned(),
                    None => "not measured: tesseract is not installed".to_owned(),
                },
            ),
            (
                "MS-SSIM and VMAF".to_owned(),
                match vmaf_program() {
                    Some(_) => "by libvmaf".to_owned(),
                    None => "not measured: no ffmpeg with libvmaf, see SEALCAST_FFMPEG_VMAF".to_owned(),
                },
            ),
            (
                "people".to_owned(),
                match self.tools.people {
                    Some(_) => "found by OpenCV, in public clips".to_owned(),
                    None => "not measured: no Python with OpenCV 4, see SEALCAST_PYTHON_OPENCV".to_owned(),
                },
            ),
            ("energy".to_owned(), "not measured: no meter".to_owned()),
        ];
        let absent = self.absent_cases.iter();
        facts.extend(absent.map(|(case, why)| (format!("{case} is left out"), why.clone())));
        facts
    }
}

impl Engine for Attack {
    fn suits(&self, case: &Entry, _: &Entry) -> bool {
        self.filmed.contains_key(&case.name)
    }

    fn measure(&self, turn: &Turn, _: f64, _: Stop<'_>) -> Result<Sample> {
        let (Some(filmed), Some(&protection)) = (self.filmed.get(&turn.case), self.systems.get(&turn.system)) else {
            return Err(refused(format!("{} in {} cannot be measured", turn.system, turn.case)));
        };
        let folder = self.folder.join(format!("{}--{}", turn.case, turn.system));
        std::fs::create_dir_all(&folder).map_err(|error| {
            let what = format!("{} cannot be made ({error})", folder.display());
            Failure::new(FailureKind::Sink, what, "choose another --out")
        })?;
        let trial = Trial {
            filmed,
            protection,
            tools: &self.tools,
            scored: self.settings.scored,
            // In one round all selections draw with the same seed.
            seed: Random::new(self.seed ^ ((turn.round as u64) << 32)).next_u64(),
            // Pictures are those of the first round.
            folder: (turn.round == 0).then_some(&*folder),
        };
        Ok(figures::sample(&trial.run()?))
    }
}
