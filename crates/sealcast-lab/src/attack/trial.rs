//! A trial: one scene, one selection, all attackers, and each attacker's control on noise.

use std::path::Path;
use std::sync::Arc;

use sealcast::codec::jpeg;
use sealcast::failure::{Failure, FailureKind};
use sealcast::media::{Codec, Picture};
use sealcast_proto::unit::{Level, Selection};

use super::attackers::{self, Attacker};
use super::camera::Camera;
use super::clip::Clip;
use super::ffmpeg;
use super::puzzle::{Puzzle, View};
use super::scene::{Scene, SceneKind};
use super::scores::{Faces, Judge, Known, People, Scores, TextReader};
use super::wire::{self, Carried, Protection};

/// Quality of pictures for the page.
const SHOWN_QUALITY: u8 = 85;

type Outcome<T> = sealcast::failure::Result<T>;

/// A scene as a camera filmed it.
pub(crate) struct Filmed {
    pub(crate) clip: Clip,
    has_clock: bool,
    has_faces: bool,
    has_people: bool,
    text: Option<&'static str>,
}

impl Filmed {
    /// Draws and encodes a scene.
    ///
    /// # Errors
    /// A file of the scene is missing, or ffmpeg.
    pub(crate) fn new(kind: &SceneKind, camera: Camera, size: (usize, usize), frames: usize) -> Outcome<Self> {
        let Scene {
            pictures,
            has_clock,
            has_faces,
            has_people,
            text,
        } = kind.draw(size, camera.rate, frames)?;
        Ok(Self {
            clip: Clip::encode(&pictures, camera)?,
            has_clock,
            has_faces,
            has_people,
            text,
        })
    }
}

/// The tools that recognise.
pub(crate) struct Tools {
    pub(crate) faces: Faces,
    pub(crate) people: Option<People>,
    pub(crate) text: Option<TextReader>,
}

impl Tools {
    /// Those that there are.
    ///
    /// # Errors
    /// The program's own model is damaged.
    pub(crate) fn new() -> Outcome<Self> {
        Ok(Self {
            faces: Faces::new()?,
            people: People::find(),
            text: TextReader::find(),
        })
    }
}

/// A trial to be made.
pub(crate) struct Trial<'a> {
    pub(crate) filmed: &'a Filmed,
    pub(crate) protection: Protection,
    pub(crate) tools: &'a Tools,
    /// Number of pictures of the second half that are scored.
    pub(crate) scored: usize,
    pub(crate) seed: u64,
    /// Folder for pictures and videos; none are written without one.
    pub(crate) folder: Option<&'a Path>,
}

/// Result of an attacker.
pub(crate) struct Attacked {
    pub(crate) attacker: &'static dyn Attacker,
    pub(crate) scores: Scores,
    /// Of the same attacker on random bytes.
    pub(crate) control: Scores,
    pub(crate) coverage: Option<f64>,
}

/// Result of a trial.
pub(crate) struct Result {
    pub(crate) carried: Carried,
    pub(crate) attacked: Vec<Attacked>,
    /// Coverage that the arithmetic of chance expects of temporal fusion, where the selection is a rate.
    pub(crate) expected_coverage: Option<f64>,
}

impl Trial<'_> {
    /// Sends the clip, checks that the viewer has it bit for bit, attacks it, and scores the attackers.
    ///
    /// # Errors
    /// The viewer does not have the clip, or a tool fails.
    pub(crate) fn run(&self) -> Outcome<Result> {
        let clip = &self.filmed.clip;
        let carried = wire::carry(clip, self.protection, self.seed)?;
        check(clip, &carried, self.protection.selection)?;
        let puzzle = Puzzle::new(&carried.overheard, clip)?;
        let noise = puzzle.of_noise(self.seed);
        let judge = self.judge();
        let places = self.places();
        let originals = pick(&clip.pictures, &places);
        let half_a_second = clip.info.rate.numerator as usize / 2;
        let earlier: Vec<usize> = places.iter().map(|place| place.saturating_sub(half_a_second)).collect();
        let before = pick(&clip.pictures, &earlier);
        let mut attacked = Vec::new();
        for attacker in attackers::ALL {
            let view = attacker.attack(&puzzle)?;
            let control = attacker.attack(&noise)?;
            attacked.push(Attacked {
                attacker,
                scores: judge.scores(&before, &originals, &pick(&view.pictures, &places))?,
                control: judge.scores(&before, &originals, &pick(&control.pictures, &places))?,
                coverage: view.coverage,
            });
            self.leave(attacker.name(), &view)?;
        }
        self.leave_originals(&carried)?;
        let expected_coverage = match self.protection.selection {
            Selection::Rate(rate) => {
                let share = f64::from(rate.get()) / 1000.0;
                attackers::expected_coverage(clip, &carried.overheard.frames, share)
            }
            _ => None,
        };
        Ok(Result {
            carried,
            attacked,
            expected_coverage,
        })
    }

    fn judge(&self) -> Judge<'_> {
        let text = self.filmed.text.zip(self.tools.text.as_ref());
        Judge {
            has_clock: self.filmed.has_clock,
            faces: self.filmed.has_faces.then_some(&self.tools.faces),
            people: self.tools.people.as_ref().filter(|_| self.filmed.has_people),
            text,
            known: Known::default(),
        }
    }

    /// The pictures that are scored: evenly spaced in the second half, when attackers have watched for a while. The
    /// last one is among them.
    fn places(&self) -> Vec<usize> {
        let count = self.filmed.clip.frames.len();
        let half = count / 2;
        let scored = self.scored.clamp(1, (count - half).max(1));
        (1..=scored)
            .map(|one| half + (count - half) * one / scored - 1)
            .collect()
    }

    /// Writes the last picture of an attacker, and its video.
    fn leave(&self, name: &str, view: &View) -> Outcome<()> {
        let (Some(folder), Some(last)) = (self.folder, view.pictures.last()) else {
            return Ok(());
        };
        write_picture(&folder.join(format!("{name}.jpg")), last)?;
        let rate = self.filmed.clip.info.rate.numerator;
        ffmpeg::write_video(&view.pictures, rate, &folder.join(format!("{name}.mp4")))
    }

    /// Writes the last picture of the original, and what the viewer sees, decoded from what it received.
    fn leave_originals(&self, carried: &Carried) -> Outcome<()> {
        let clip = &self.filmed.clip;
        let (Some(folder), Some(last)) = (self.folder, clip.pictures.last()) else {
            return Ok(());
        };
        write_picture(&folder.join("original.jpg"), last)?;
        let stamped = carried.viewer.iter().enumerate().map(|(at, frame)| (at, &**frame));
        let seen = ffmpeg::decode(&clip.info, stamped, ffmpeg::Care::Strict)?;
        match seen.0.last() {
            Some((_, last)) => write_picture(&folder.join("viewer.jpg"), last),
            None => Ok(()),
        }
    }
}

/// Writes a picture as JPEG.
pub(super) fn write_picture(file: &Path, picture: &Picture) -> Outcome<()> {
    std::fs::write(file, jpeg::encode(picture, SHOWN_QUALITY)?).map_err(|error| {
        let what = format!("{} cannot be written ({error})", file.display());
        Failure::new(FailureKind::Sink, what, "choose another --out")
    })
}

/// The control of every trial: what the viewer has is the clip, and what was overheard are its frames.
fn check(clip: &Clip, carried: &Carried, selection: Selection) -> Outcome<()> {
    let sent = clip.frames.iter().map(|frame| &frame.data);
    let heard = &carried.overheard.frames;
    // Split images are a little longer, or shorter, than they were.
    let is_laid_out_anew =
        clip.info.codec == Codec::Mjpeg && matches!(selection, Selection::Level(Level::IntraBegin | Level::Intra));
    let lengths = heard.iter().map(sealcast::eavesdrop::PartialFrame::length);
    let is_heard = heard.len() == clip.frames.len() && (is_laid_out_anew || lengths.eq(sent.clone().map(Vec::len)));
    let is_exact = carried.viewer.iter().eq(sent) && is_heard;
    match is_exact {
        true => Ok(()),
        false => Err(Failure::new(
            FailureKind::Internal,
            "the viewer does not have the frames that were sent, so nothing is measured",
            "please report this",
        )),
    }
}

fn pick(pictures: &[Arc<Picture>], places: &[usize]) -> Vec<Arc<Picture>> {
    places.iter().map(|&place| Arc::clone(&pictures[place])).collect()
}
