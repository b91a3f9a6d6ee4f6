//! The scenes before the camera.

use std::path::PathBuf;
use std::time::Duration;

use sealcast::failure::{Failure, FailureKind, Result};
use sealcast::media::Picture;
use sealcast::source::test_card::{CardClock, CardPainter};
use serde::Deserialize;

use super::ffmpeg;

/// Kind of scene before the camera.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum SceneKind {
    /// The test card with its clock.
    Card,
    /// ffmpeg's moving test picture `testsrc2`.
    Motion,
    /// A page of text, with a camera's noise.
    Text,
    /// A portrait that is panned slowly, with a camera's noise.
    Face,
    /// A public clip, by the name of its file.
    Clip(String),
}

/// Pictures of a scene, and what can be recognised in them.
pub(crate) struct Scene {
    pub(crate) pictures: Vec<Picture>,
    pub(crate) has_clock: bool,
    pub(crate) has_faces: bool,
    pub(crate) has_people: bool,
    pub(crate) text: Option<&'static str>,
}

/// The page of text.
const TEXT: &str = "Patient record 4711\nName: Jane Example\nBorn: 12 May 1967\nWard 3, room 12\n\
                    Blood pressure 128 over 82\nAllergic to penicillin\nNext visit: 9 March";
/// The font of the page, of the package fonts-dejavu-core.
const FONT: &str = "/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf";
/// The noise of a camera's sensor, as an ffmpeg filter.
const NOISE: &str = "noise=c0s=4:c0f=t:all_seed=1";
/// The first instant on the card's clock, in µs since 1970.
const FIRST_US: u64 = 1_795_000_000_000_000;
/// Folder of the public clips, beside the repository, unless this variable names another.
const CLIPS: (&str, &str) = ("SEALCAST_CLIPS", "../shared/clips");

fn absent(what: String, hint: &str) -> Failure {
    Failure::new(FailureKind::Usage, what, hint)
}

impl SceneKind {
    /// Draws the scene.
    ///
    /// # Errors
    /// A file of it is not there, or ffmpeg does not draw it.
    pub(crate) fn draw(&self, (width, height): (usize, usize), rate: u32, frames: usize) -> Result<Scene> {
        let size = (width, height);
        let scale = format!("scale={width}:{height}:flags=area,fps={rate}");
        let drawn = |pictures| Scene {
            pictures,
            has_clock: false,
            has_faces: false,
            has_people: false,
            text: None,
        };
        Ok(match self {
            Self::Card => Scene {
                has_clock: true,
                ..drawn(cards(size, rate, frames)?)
            },
            Self::Motion => {
                let source = format!("testsrc2=size={width}x{height}:rate={rate}");
                drawn(ffmpeg::draw(&["-f", "lavfi", "-i", &source], "null", size, frames)?)
            }
            Self::Text => Scene {
                text: Some(TEXT),
                ..drawn(page(size, rate, frames)?)
            },
            Self::Face => Scene {
                has_faces: true,
                ..drawn(portrait(size, rate, frames)?)
            },
            Self::Clip(name) => {
                let file = clip(name)?.display().to_string();
                Scene {
                    has_people: true,
                    ..drawn(ffmpeg::draw(&["-i", &file], &scale, size, frames)?)
                }
            }
        })
    }
}

/// The test card, whose clock goes on with each picture.
fn cards((width, height): (usize, usize), rate: u32, frames: usize) -> Result<Vec<Picture>> {
    let mut painter = CardPainter::new(width, height).ok_or_else(|| {
        let what = format!("the clock of the test card does not fit into {width}x{height} pixels");
        absent(what, "choose a larger picture")
    })?;
    let period = Duration::from_secs(1) / rate.max(1);
    let card = |number: usize| {
        let elapsed = period * number as u32;
        let clock = CardClock {
            event: number as u32,
            wall_us: FIRST_US + elapsed.as_micros() as u64,
        };
        painter.paint(clock, elapsed).clone()
    };
    Ok((0..frames).map(card).collect())
}

fn page((width, height): (usize, usize), rate: u32, frames: usize) -> Result<Vec<Picture>> {
    let folder = tempfile::tempdir().map_err(|error| absent(error.to_string(), "set TMPDIR"))?;
    let file = folder.path().join("page.txt");
    std::fs::write(&file, TEXT).map_err(|error| absent(error.to_string(), "set TMPDIR"))?;
    let letters = height / 15;
    let filter = format!(
        "drawtext=fontfile={FONT}:textfile={}:fontsize={letters}:fontcolor=black:x={letters}:y={letters}:\
         line_spacing={},{NOISE}",
        file.display(),
        letters * 3 / 4
    );
    let source = format!("color=white:size={width}x{height}:rate={rate}");
    ffmpeg::draw(&["-f", "lavfi", "-i", &source], &filter, (width, height), frames)
}

fn portrait((width, height): (usize, usize), rate: u32, frames: usize) -> Result<Vec<Picture>> {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/data/face.jpg");
    if !std::path::Path::new(file).is_file() {
        let what = format!("there is no portrait at {file}");
        return Err(absent(what, "the case is left out without it"));
    }
    // A pixel each fourth picture, within a margin of a tenth.
    let wide = (width * 11 / 10) & !1;
    let filter =
        format!("scale={wide}:-2,fps={rate},crop={width}:{height}:x='min(n/4,iw-ow)':y='min((ih-oh)/4,ih-oh)',{NOISE}");
    let repeated = rate.to_string();
    ffmpeg::draw(
        &["-loop", "1", "-framerate", &repeated, "-i", file],
        &filter,
        (width, height),
        frames,
    )
}

fn clip(name: &str) -> Result<PathBuf> {
    let folder = std::env::var_os(CLIPS.0).map_or_else(|| PathBuf::from(CLIPS.1), PathBuf::from);
    let file = folder.join(name);
    match file.is_file() {
        true => Ok(file),
        false => Err(absent(
            format!("the public clip {name} is not in {}", folder.display()),
            "name its folder in SEALCAST_CLIPS; the case is left out without it",
        )),
    }
}
