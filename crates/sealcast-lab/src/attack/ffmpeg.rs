//! Encoding and decoding with ffmpeg, and its measures of quality.

use std::ffi::OsStr;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use sealcast::failure::{Failure, FailureKind, Result};
use sealcast::media::{Codec, Picture, StreamInfo};

use super::camera::Camera;

/// Environment variable that names an ffmpeg with libvmaf.
pub(crate) const VMAF_PROGRAM: &str = "SEALCAST_FFMPEG_VMAF";

/// A decoder's treatment of what is damaged or missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Care {
    /// Nothing is concealed, and pictures before the first keyframe are not shown.
    Strict,
    /// Everything is shown, and what is missing is guessed from its surroundings.
    Conceal,
}

impl Care {
    fn options(self) -> &'static [&'static str] {
        match self {
            Self::Strict => &["-ec", "0"],
            Self::Conceal => &[
                "-ec",
                "guess_mvs+deblock+favor_inter",
                "-err_detect",
                "ignore_err",
                "-flags",
                "output_corrupt",
                "-flags2",
                "showall",
            ],
        }
    }
}

/// Decoded pictures, each with the number of the frame that it was decoded from.
#[derive(Debug, Default)]
pub(crate) struct Decoded(pub(crate) Vec<(usize, Arc<Picture>)>);

impl Decoded {
    /// A picture or none for each of `count` frames.
    pub(crate) fn fit(&self, count: usize) -> Vec<Option<Arc<Picture>>> {
        let mut fitted = vec![None; count];
        for (at, picture) in &self.0 {
            if let Some(place) = fitted.get_mut(*at) {
                *place = Some(Arc::clone(picture));
            }
        }
        fitted
    }
}

fn failed(what: &str, why: &str) -> Failure {
    let what = format!("ffmpeg could not {what} ({})", why.trim());
    Failure::new(FailureKind::Usage, what, "see whether ffmpeg with libx264 is installed")
}

/// Runs ffmpeg with these bytes on its input. Returns its output and its messages; a decoder that gives up on damaged
/// bytes is no failure.
fn run(program: &OsStr, arguments: &[&str], input: &[u8], what: &str) -> Result<(Vec<u8>, String, bool)> {
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| failed(what, &error.to_string()))?;
    let stdin = child.stdin.take();
    let ended = std::thread::scope(|scope| {
        scope.spawn(move || {
            // ffmpeg may end before it has read everything.
            stdin.map(|mut stdin| stdin.write_all(input))
        });
        child.wait_with_output()
    });
    let ended = ended.map_err(|error| failed(what, &error.to_string()))?;
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    Ok((ended.stdout, said, ended.status.success()))
}

/// Runs ffmpeg, and fails with its last words if it fails.
pub(crate) fn run_well(arguments: &[&str], input: &[u8], what: &str) -> Result<Vec<u8>> {
    let (out, said, is_good) = run(OsStr::new("ffmpeg"), arguments, input, what)?;
    match is_good {
        true => Ok(out),
        false => Err(failed(what, said.lines().last().unwrap_or_default())),
    }
}

/// Raw pictures, one after the other.
pub(crate) fn raw(pictures: &[impl AsRef<Picture>]) -> Vec<u8> {
    let planes = pictures.iter().flat_map(|picture| {
        let picture = picture.as_ref();
        [&picture.y, &picture.u, &picture.v]
    });
    planes.flatten().copied().collect()
}

/// A picture lent, so that [`raw`] takes pictures and shared ones.
pub(crate) struct Lent<'a>(pub(crate) &'a Picture);

impl AsRef<Picture> for Lent<'_> {
    fn as_ref(&self) -> &Picture {
        self.0
    }
}

/// Cuts raw I420 into pictures.
pub(crate) fn cut(raw: &[u8], width: usize, height: usize) -> Vec<Picture> {
    let luma = width * height;
    let one = |bytes: &[u8]| Picture {
        width,
        height,
        y: bytes[..luma].to_vec(),
        u: bytes[luma..luma + luma / 4].to_vec(),
        v: bytes[luma + luma / 4..].to_vec(),
    };
    raw.chunks_exact(luma + luma / 2).map(one).collect()
}

/// Pictures of ffmpeg's own sources, scaled to this size: what stands before `-f rawvideo` on its command line.
pub(crate) fn draw(
    input: &[&str],
    filter: &str,
    (width, height): (usize, usize),
    frames: usize,
) -> Result<Vec<Picture>> {
    let frames = frames.to_string();
    let mut arguments = vec!["-hide_banner", "-nostdin", "-loglevel", "error"];
    arguments.extend(input);
    arguments.extend([
        "-vf",
        filter,
        "-frames:v",
        &frames,
        "-pix_fmt",
        "yuv420p",
        "-f",
        "rawvideo",
        "-",
    ]);
    let bytes = run_well(&arguments, &[], "draw a scene")?;
    Ok(cut(&bytes, width, height))
}

/// Encodes pictures as Baseline H.264 in Annex B, with parameter sets before each keyframe.
pub(crate) fn encode_h264(pictures: &[Picture], camera: Camera) -> Result<Vec<u8>> {
    let (width, height) = (pictures[0].width, pictures[0].height);
    let lent: Vec<Lent<'_>> = pictures.iter().map(Lent).collect();
    let size = format!("{width}x{height}");
    let rate = camera.rate.to_string();
    let parameters = format!(
        "keyint={0}:min-keyint={0}:scenecut=0:bframes=0:cabac=0:ref=1:8x8dct=0:weightp=0:slices={1}:threads=1:\
         sliced-threads=0",
        camera.group, camera.slices
    );
    let quantizer = camera.quantizer.to_string();
    let arguments = [
        "-hide_banner",
        "-loglevel",
        "error",
        "-f",
        "rawvideo",
        "-pix_fmt",
        "yuv420p",
        "-s",
        &size,
        "-r",
        &rate,
        "-i",
        "-",
        "-c:v",
        "libx264",
        "-preset",
        "veryfast",
        "-tune",
        "zerolatency",
        "-profile:v",
        "baseline",
        "-crf",
        &quantizer,
        "-x264-params",
        &parameters,
        "-f",
        "h264",
        "-",
    ];
    run_well(&arguments, &raw(&lent), "encode a scene")
}

/// Decodes frames, each with its number. What cannot be decoded is missing in the result.
///
/// # Errors
/// ffmpeg cannot be started.
pub(crate) fn decode<'a>(
    info: &StreamInfo,
    frames: impl Iterator<Item = (usize, &'a [u8])>,
    care: Care,
) -> Result<Decoded> {
    let mut ivf = Ivf::new(info);
    frames.for_each(|(number, frame)| ivf.push(number, frame));
    if ivf.is_empty() {
        return Ok(Decoded::default());
    }
    let (width, height) = (usize::from(info.width), usize::from(info.height));
    let demuxed = match info.codec {
        Codec::H264 => "h264",
        Codec::Mjpeg => "mjpeg",
        Codec::H265 => "hevc",
        Codec::Av1 => "av1",
    };
    let scale = format!("showinfo,scale={width}:{height}");
    let mut arguments = vec![
        "-hide_banner",
        "-nostats",
        "-loglevel",
        "info",
        "-threads",
        "1",
        "-copyts",
    ];
    arguments.extend(care.options());
    arguments.extend([
        "-c:v",
        demuxed,
        "-f",
        "ivf",
        "-i",
        "-",
        "-vf",
        &scale,
        "-fps_mode",
        "passthrough",
    ]);
    arguments.extend(["-pix_fmt", "yuv420p", "-f", "rawvideo", "-"]);
    let (out, said, _) = run(OsStr::new("ffmpeg"), &arguments, &ivf.bytes, "decode frames")?;
    let numbers = said.lines().filter_map(shown_number);
    let pictures = cut(&out, width, height).into_iter().map(Arc::new);
    Ok(Decoded(numbers.zip(pictures).collect()))
}

/// The time stamp of a picture in a line of ffmpeg's filter `showinfo`, which is the frame's number here.
fn shown_number(line: &str) -> Option<usize> {
    let (_, rest) = line.split_once("Parsed_showinfo")?.1.split_once(" pts:")?;
    rest.split_whitespace().next()?.parse().ok()
}

/// Frames with time stamps, in the container IVF: 32 bytes, then 12 before each frame.
struct Ivf {
    bytes: Vec<u8>,
}

impl Ivf {
    const HEADER: usize = 32;

    fn new(info: &StreamInfo) -> Self {
        let code = match info.codec {
            Codec::H264 => b"H264",
            Codec::Mjpeg => b"MJPG",
            Codec::H265 => b"HEVC",
            Codec::Av1 => b"AV01",
        };
        let mut bytes = b"DKIF\0\0\x20\0".to_vec();
        bytes.extend_from_slice(code);
        bytes.extend_from_slice(&info.width.to_le_bytes());
        bytes.extend_from_slice(&info.height.to_le_bytes());
        for word in [info.rate.numerator, info.rate.denominator, 0, 0] {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
        Self { bytes }
    }

    fn push(&mut self, number: usize, frame: &[u8]) {
        let Ok(length) = u32::try_from(frame.len()) else { return };
        if length > 0 {
            self.bytes.extend_from_slice(&length.to_le_bytes());
            self.bytes.extend_from_slice(&(number as u64).to_le_bytes());
            self.bytes.extend_from_slice(frame);
        }
    }

    fn is_empty(&self) -> bool {
        self.bytes.len() == Self::HEADER
    }
}

/// Writes pictures as a video file that players open.
pub(crate) fn write_video(pictures: &[Arc<Picture>], rate: u32, file: &Path) -> Result<()> {
    let Some(first) = pictures.first() else { return Ok(()) };
    let lent: Vec<Lent<'_>> = pictures.iter().map(|picture| Lent(picture)).collect();
    let (size, rate) = (format!("{}x{}", first.width, first.height), rate.to_string());
    let name = file.display().to_string();
    let arguments = [
        "-hide_banner",
        "-loglevel",
        "error",
        "-y",
        "-f",
        "rawvideo",
        "-pix_fmt",
        "yuv420p",
        "-s",
        &size,
        "-r",
        &rate,
        "-i",
        "-",
        "-c:v",
        "libx264",
        "-preset",
        "ultrafast",
        "-crf",
        "20",
        "-movflags",
        "+faststart",
        &name,
    ];
    run_well(&arguments, &raw(&lent), "write a video").map(drop)
}

#[cfg(test)]
mod tests {
    use sealcast::media::FrameRate;

    use super::*;
    use crate::attack::jpeg;
    use crate::attack::picture::grey;

    #[test]
    fn decoded_pictures_keep_the_numbers_of_their_frames_though_the_first_are_missing() {
        let image = jpeg::encode(&grey(64, 48), 80).expect("it encodes");
        let info = StreamInfo {
            codec: Codec::Mjpeg,
            width: 64,
            height: 48,
            rate: FrameRate {
                numerator: 25,
                denominator: 1,
            },
            parameters: Vec::new(),
        };
        let frames = [2, 3, 7].map(|number| (number, &*image));
        let decoded = decode(&info, frames.into_iter(), Care::Conceal).expect("ffmpeg");
        let there: Vec<bool> = decoded.fit(9).iter().map(Option::is_some).collect();
        assert_eq!(there, [false, false, true, true, false, false, false, true, false]);
    }
}
