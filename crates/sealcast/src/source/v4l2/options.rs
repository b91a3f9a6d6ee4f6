//! Options of a camera of this machine.

use std::path::PathBuf;

use super::format::PixelFormat;
use crate::failure::{Failure, FailureKind, Result};
use crate::media::FrameRate;
use crate::source::{Encoding, Options, parse_rate};

/// A camera, and what to take from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct V4l2Options {
    /// The device, as in `/dev/video0`.
    pub path: PathBuf,
    /// Width and height in pixels; `None`: the largest up to 1280x720.
    pub size: Option<(u32, u32)>,
    /// Frames per second; `None`: up to 30.
    pub rate: Option<FrameRate>,
    /// `None`: H.264 if the camera has it, else raw pictures, else MJPEG.
    pub format: Option<PixelFormat>,
    /// Encoding of raw pictures.
    pub encoding: Option<Encoding>,
    /// True if the camera is opened again after it was unplugged or fell silent.
    pub reconnect: bool,
}

impl V4l2Options {
    /// Reads the text after `v4l2:`, which has the form
    /// `DEVICE[?size=WxH&fps=N&format=NAME&reconnect=no]`, with the options of [`Encoding`] for raw pictures.
    ///
    /// # Errors
    /// Kind `Usage`.
    pub fn parse(rest: &str) -> Result<Self> {
        let (path, mut options) = Options::split(rest);
        let usage = |what: String, hint: String| Failure::new(FailureKind::Usage, what, hint);
        if path.is_empty() {
            let hint = "write v4l2:/dev/video0; `sealcast devices` lists the cameras of this machine";
            return Err(usage("the URL v4l2: names no camera".into(), hint.into()));
        }
        let parsed = Self {
            path: path.into(),
            size: options.take("size").map(|size| parse_size(&size)).transpose()?,
            rate: options.take("fps").map(|fps| parse_rate(&fps)).transpose()?,
            format: options.take("format").map(|name| parse_format(&name)).transpose()?,
            encoding: Encoding::take(&mut options)?,
            reconnect: options
                .take("reconnect")
                .is_none_or(|value| !matches!(value.as_str(), "no" | "off" | "0" | "false")),
        };
        options.finish("size=WxH, fps=N, format=NAME, reconnect=no, and bitrate, bitrate_max, gop and quantizer")?;
        match parsed.format {
            Some(format) if format.is_coded() && parsed.encoding.is_some() => Err(usage(
                format!("format={} comes encoded from the camera", format.name()),
                format!("leave {} out: they are for raw formats", Encoding::NAMES.join(", ")),
            )),
            _ => Ok(parsed),
        }
    }

    /// The camera in messages.
    pub(super) fn shown(&self) -> String {
        self.path.display().to_string()
    }
}

fn parse_size(text: &str) -> Result<(u32, u32)> {
    let sides = text
        .split_once('x')
        .and_then(|(width, height)| Some((width.parse().ok()?, height.parse().ok()?)));
    sides.filter(|&(width, height)| width > 0 && height > 0).ok_or_else(|| {
        let hint = "write width and height in pixels, as in size=1280x720";
        Failure::new(FailureKind::Usage, format!("\"{text}\" is not a size"), hint)
    })
}

fn parse_format(name: &str) -> Result<PixelFormat> {
    PixelFormat::of_name(name).ok_or_else(|| {
        let hint = format!("the formats are {}", PixelFormat::names());
        Failure::new(FailureKind::Usage, format!("there is no format \"{name}\" here"), hint)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_may_be_left_out() {
        let bare = V4l2Options::parse("/dev/video0").expect("a camera");
        assert_eq!(bare.path, PathBuf::from("/dev/video0"));
        assert_eq!((bare.size, bare.rate, bare.format), (None, None, None));
        assert!(bare.encoding.is_none() && bare.reconnect);
        let all = "/dev/v4l/by-id/usb-x?size=640x480&fps=29.97&format=yuyv&bitrate=2M&gop=0&reconnect=no";
        let all = V4l2Options::parse(all).expect("a camera");
        assert_eq!(all.size, Some((640, 480)));
        assert_eq!(
            all.rate.map(|rate| (rate.numerator, rate.denominator)),
            Some((2997, 100))
        );
        assert_eq!(all.format, Some(PixelFormat::Yuyv));
        assert_eq!(
            all.encoding.map(|encoding| (encoding.bitrate, encoding.gop)),
            Some((2_000_000, Some(0)))
        );
        assert!(!all.reconnect);
    }

    #[test]
    fn what_makes_no_sense_is_refused_in_words() {
        for (rest, word) in [
            ("", "sealcast devices"),
            ("?fps=3", "sealcast devices"),
            ("/dev/video0?size=640", "1280x720"),
            ("/dev/video0?size=0x480", "1280x720"),
            ("/dev/video0?fps=fast", "29.97"),
            ("/dev/video0?format=vp8", "mjpeg, yuyv"),
            ("/dev/video0?volume=3", "volume"),
            ("/dev/video0?format=mjpeg&bitrate=1M", "raw formats"),
        ] {
            let failure = V4l2Options::parse(rest).expect_err(rest);
            assert_eq!(failure.kind, FailureKind::Usage, "{rest}");
            assert!(failure.to_string().contains(word), "{rest}: {failure}");
        }
    }
}
