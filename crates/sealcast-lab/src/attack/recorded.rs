//! Attacks on a capture of a real session.

use std::fmt::Write;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sealcast::failure::{Failure, FailureKind, Result};
use sealcast::media::{Codec, Picture, StreamInfo, Track};
use sealcast::meter::statistics::mean;
use sealcast::source::Container;
use sealcast::source::test_card::read_clock;

use super::attackers;
use super::clip::parameter_sets;
use super::ffmpeg;
use super::pcap::overhear;
use super::puzzle::{Model, Puzzle, View};
use super::scores::{Judge, Known, Scores};
use super::trial::write_picture;

/// Most frames of a file that are decoded as the original.
const MOST_FRAMES: usize = 3000;
/// Most pictures that are scored.
const SCORED: usize = 24;

/// The capture that is attacked, and what helps.
#[derive(Clone, Debug)]
pub(crate) struct Recorded {
    /// A capture by tcpdump.
    pub(crate) capture: PathBuf,
    /// The port of the end that listened.
    pub(crate) port: u16,
    /// A recording by a camera of the same model; without it, what is in clear has to do.
    pub(crate) model: Option<PathBuf>,
    /// The file that was published; without it nothing is scored.
    pub(crate) original: Option<PathBuf>,
    /// An existing folder for pictures and videos.
    pub(crate) out: PathBuf,
}

/// Frames of a file.
struct Recording {
    info: StreamInfo,
    /// The first keyframe.
    first: Vec<u8>,
    frames: Vec<Vec<u8>>,
}

fn unreadable(file: &Path, why: &dyn std::fmt::Display) -> Failure {
    let what = format!("{} {why}", file.display());
    Failure::new(FailureKind::Usage, what, "name an MP4, AVI, H.264 or Motion JPEG file")
}

impl Recording {
    fn read(file: &Path) -> Result<Self> {
        let opened = File::open(file).map_err(|error| unreadable(file, &format!("cannot be read: {error}")))?;
        let mut container = Container::open(opened, None).map_err(|error| unreadable(file, &error))?;
        let info = container.info();
        let (mut first, mut frames) = (Vec::new(), Vec::new());
        while frames.len() < MOST_FRAMES
            && let Some(frame) = container.next_frame().map_err(|error| unreadable(file, &error))?
        {
            if frame.track == Track::Sound {
                continue;
            }
            if frame.keyframe && first.is_empty() {
                first = frame.data.to_vec();
            }
            frames.push(frame.data.to_vec());
        }
        Ok(Self { info, first, frames })
    }
}

impl Recorded {
    /// Attacks, writes pictures and videos, and returns a table of what each attacker has. Names each before its work.
    ///
    /// # Errors
    /// The capture or a file cannot be read, nothing is known of the camera's model, its pictures have another size
    /// than the original's, or ffmpeg is missing.
    pub(crate) fn attack(&self, told: &dyn Fn(&str)) -> Result<String> {
        let overheard = overhear(&self.capture, self.port)?;
        let model = match &self.model {
            Some(file) => {
                let Recording { info, first, .. } = Recording::read(file)?;
                Model { info, template: first }
            }
            None => model_in_clear(overheard.info.as_ref(), &overheard.frames)?,
        };
        let known = overheard.known_share();
        let frames = overheard.frames;
        let puzzle = Puzzle { model, frames };
        let original = self.original.as_deref().map(|file| self.pictures(file)).transpose()?;
        same_size(&puzzle.model.info, original.as_deref().unwrap_or_default())?;
        let mut table = format!(
            "{} frames, {:.1} % of their bytes in clear\n\n| attacker | pictures | {}\n",
            puzzle.frames.len(),
            known * 100.0,
            match original {
                Some(_) => "scores, and on noise |\n|---|--:|---|",
                None => "|\n|---|--:|",
            }
        );
        let noise = puzzle.of_noise(1);
        for (at, attacker) in attackers::ALL.into_iter().enumerate() {
            let (count, frames) = (attackers::ALL.len(), puzzle.frames.len());
            told(&format!(
                "attacker {} of {count}, {}: {frames} frames",
                at + 1,
                attacker.name()
            ));
            let view = attacker.attack(&puzzle)?;
            let distinct = view.pictures.windows(2).filter(|pair| pair[0] != pair[1]).count();
            let _ = write!(table, "| {} | {distinct} |", attacker.name());
            if let Some(original) = &original {
                let own = score(&puzzle, &view, original)?;
                let control = score(&puzzle, &attacker.attack(&noise)?, original)?;
                let _ = write!(table, " {} |", scores_in_words(&own, &control));
            }
            table.push('\n');
            self.leave(attacker.name(), &view, puzzle.model.info.rate.numerator)?;
        }
        let path = self.out.join("attack.md");
        fs::write(&path, &table).map_err(|error| unreadable(&path, &error))?;
        Ok(table)
    }

    fn pictures(&self, file: &Path) -> Result<Vec<Option<Arc<Picture>>>> {
        let recording = Recording::read(file)?;
        let stamped = recording.frames.iter().enumerate().map(|(at, frame)| (at, &**frame));
        let decoded = ffmpeg::decode(&recording.info, stamped, ffmpeg::Care::Strict)?;
        Ok(decoded.fit(recording.frames.len()))
    }

    fn leave(&self, name: &str, view: &View, rate: u32) -> Result<()> {
        if let Some(last) = view.pictures.last() {
            write_picture(&self.out.join(format!("{name}.jpg")), last)?;
        }
        ffmpeg::write_video(
            &view.pictures,
            rate.clamp(1, 240),
            &self.out.join(format!("{name}.mp4")),
        )
    }
}

/// Refuses an original whose pictures have another size than those that attackers make: they cannot be compared.
fn same_size(model: &StreamInfo, original: &[Option<Arc<Picture>>]) -> Result<()> {
    let Some(picture) = original.iter().flatten().next() else {
        return Ok(());
    };
    let [ours, theirs] = [
        [usize::from(model.width), usize::from(model.height)],
        [picture.width, picture.height],
    ];
    if ours == theirs {
        return Ok(());
    }
    let what = format!(
        "the pictures of --original have {}x{} pixels and those of the camera's model {}x{}, so that they cannot be \
         compared",
        theirs[0], theirs[1], ours[0], ours[1]
    );
    let hint = "name the file that was published, and a recording by a camera with the same settings";
    Err(Failure::new(FailureKind::Usage, what, hint))
}

/// Model of the camera, by what its stream tells in clear.
fn model_in_clear(info: Option<&StreamInfo>, frames: &[sealcast::eavesdrop::PartialFrame]) -> Result<Model> {
    let first = frames.iter().find(|frame| frame.keyframe && frame.is_whole());
    let template = first.map(|frame| frame.filled(|_, _| {})).unwrap_or_default();
    let info = match info {
        Some(info) => info.clone(),
        None if template.is_empty() => return Err(no_model()),
        None => described(&template)?,
    };
    Ok(Model { info, template })
}

fn no_model() -> Failure {
    let what = "nothing in clear tells the codec and the size of the pictures";
    Failure::new(
        FailureKind::Usage,
        what,
        "name a recording by a camera of the same model: --model FILE",
    )
}

/// The description of a stream by one of its keyframes.
fn described(keyframe: &[u8]) -> Result<StreamInfo> {
    let read = Container::open(std::io::Cursor::new(keyframe.to_vec()), None).map_err(|_| no_model())?;
    let info = read.info();
    Ok(match info.codec {
        Codec::H264 => StreamInfo {
            parameters: parameter_sets(keyframe),
            ..info
        },
        Codec::Mjpeg | Codec::H265 | Codec::Av1 => info,
    })
}

/// Scores the second half, picture by picture of the same number.
fn score(puzzle: &Puzzle, view: &View, original: &[Option<Arc<Picture>>]) -> Result<Scores> {
    let half = puzzle.frames.len() / 2;
    let step = (puzzle.frames.len() - half).div_ceil(SCORED).max(1);
    let pairs = puzzle.frames.iter().zip(&view.pictures).skip(half).step_by(step);
    let half_a_second = (puzzle.model.info.rate.numerator / puzzle.model.info.rate.denominator.max(1) / 2) as usize;
    let (mut before, mut originals, mut shown) = (Vec::new(), Vec::new(), Vec::new());
    for (frame, picture) in pairs {
        let of = |number: usize| original.get(number).cloned().flatten();
        let number = usize::try_from(frame.number).unwrap_or(usize::MAX);
        if let (Some(earlier), Some(now)) = (of(number.saturating_sub(half_a_second)), of(number)) {
            before.push(earlier);
            originals.push(now);
            shown.push(Arc::clone(picture));
        }
    }
    let judge = Judge {
        has_clock: originals.first().is_some_and(|picture| read_clock(picture).is_some()),
        faces: None,
        people: None,
        text: None,
        known: Known::default(),
    };
    judge.scores(&before, &originals, &shown)
}

fn scores_in_words(own: &Scores, control: &Scores) -> String {
    let of = |scores: &Scores, name: &str| {
        scores
            .get(name)
            .filter(|values| !values.is_empty())
            .map(|values| mean(values))
    };
    let word = |name: &&str| {
        let (own, control) = (of(own, name)?, of(control, name)?);
        Some(format!("{name} {own:.3} ({control:.3})"))
    };
    let names = ["psnr", "ssim", "lss", "ess", "detail", "moving", "clock-errors"];
    names.iter().filter_map(word).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use sealcast::media::FrameRate;

    use super::*;
    use crate::attack::picture::grey;

    #[test]
    fn an_original_of_another_size_than_the_model_is_refused_in_words() {
        let model = StreamInfo {
            codec: Codec::H264,
            width: 640,
            height: 480,
            rate: FrameRate {
                numerator: 25,
                denominator: 1,
            },
            parameters: Vec::new(),
        };
        let original = |width, height| vec![None, Some(Arc::new(grey(width, height)))];
        assert!(same_size(&model, &[]).is_ok() && same_size(&model, &original(640, 480)).is_ok());
        let refused = same_size(&model, &original(1280, 720)).expect_err("another size");
        assert!(
            refused.what.contains("1280x720") && refused.what.contains("640x480"),
            "{refused}"
        );
    }
}
