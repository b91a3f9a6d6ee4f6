//! URLs of sources, and their options.

use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use url::Url;

use super::coded::sane_rate;
use super::file::{self, FileOptions};
use super::rtp::options::RtpOptions;
use super::rtp::port::RtpSource;
use super::rtsp::{RtspSource, SharedCamera};
use super::stdin::{self, StdinOptions};
use super::v4l2::{V4l2Options, V4l2Source};
use super::{Encoding, GstOptions, Source, contain, test_card};
use crate::failure::{Failure, FailureKind, Result};
use crate::media::FrameRate;
use crate::rtsp::{PacketTap, RtspOptions};
use crate::suggest;

/// Forms of a source URL, for help and error messages.
pub const SOURCE_URLS: &str = "rtsp://HOST/PATH for a camera of the network, v4l2:/dev/video0 for one of this machine, \
     rtp://127.0.0.1:5600 for RTP that is sent to it, udp://127.0.0.1:5600 for MPEG-TS, file:CLIP.mp4, \
     test: for a test card, gst:PIPELINE, or - for standard input";
/// Ending of a file that describes a stream, instead of holding one.
const DESCRIPTION: &str = "sdp";

/// A parsed source URL.
#[derive(Clone, Debug)]
pub enum SourceUrl {
    /// `test:` and the text after it: the synthetic camera.
    Test(String),
    /// `file:PATH`.
    File(PathBuf, FileOptions),
    /// `rtsp://…` or `rtsps://…`: a camera.
    Rtsp(RtspOptions),
    /// `rtp://ADDRESS:PORT`, `udp://ADDRESS:PORT`, or `file:STREAM.sdp`: packets that come without being asked for.
    Rtp(RtpOptions),
    /// `v4l2:DEVICE`: a camera of this machine.
    V4l2(V4l2Options),
    /// `gst:PIPELINE`: a pipeline of GStreamer.
    Gst(GstOptions),
    /// `-`: standard input.
    Stdin(StdinOptions),
}

impl FromStr for SourceUrl {
    type Err = Failure;

    fn from_str(text: &str) -> Result<Self> {
        if let Some(rest) = text
            .strip_prefix('-')
            .filter(|rest| rest.is_empty() || rest.starts_with('?'))
        {
            return StdinOptions::parse(rest).map(Self::Stdin);
        }
        let Some((scheme, rest)) = text.split_once(':') else {
            return Err(unknown(text));
        };
        match scheme.to_ascii_lowercase().as_str() {
            "test" => test_card::check(rest).map(|()| Self::Test(rest.to_owned())),
            "file" => {
                let (path, mut options) = Options::split(rest);
                let named = file_path(path)?;
                if named.extension().is_some_and(|ending| ending == DESCRIPTION) {
                    return RtpOptions::described(&named, options).map(Self::Rtp);
                }
                let file = FileOptions {
                    looped: options.flag("loop"),
                    rate: options.take("fps").map(|fps| parse_rate(&fps)).transpose()?,
                    paced: !options.flag("unpaced"),
                    encoding: Encoding::take(&mut options)?,
                };
                options.finish("loop, fps=N, unpaced, and bitrate, bitrate_max, gop and quantizer of raw pictures")?;
                Ok(Self::File(named, file))
            }
            "rtp" => RtpOptions::parse(rest.strip_prefix("//").unwrap_or(rest)).map(Self::Rtp),
            "udp" => RtpOptions::transport_stream(rest.strip_prefix("//").unwrap_or(rest)).map(Self::Rtp),
            "v4l2" => Ok(Self::V4l2(V4l2Options::parse(rest)?)),
            "gst" => Ok(Self::Gst(GstOptions::parse(rest)?)),
            _ if ["rtsp", "rtsps"].iter().any(|known| scheme.eq_ignore_ascii_case(known)) => {
                Ok(Self::Rtsp(RtspOptions::parse(text)?))
            }
            _ => Err(unknown(text)),
        }
    }
}

fn unknown(text: &str) -> Failure {
    // Show only the scheme: a URL of any scheme may hold a password.
    let shown = text.split_once("://").map_or(text, |(scheme, _)| scheme);
    Failure::new(
        FailureKind::Usage,
        format!("\"{shown}\" is not a source"),
        suggest::source(text).unwrap_or_else(|| format!("use {SOURCE_URLS}")),
    )
}

/// Opens the source of `url`.
///
/// # Errors
/// Kind `Usage` if the URL names no source, kind `Source` if the source cannot be opened.
pub fn open(url: &str) -> Result<Box<dyn Source>> {
    open_shared(url, true, None)
}

/// Opens the source of `url`: without `sound` for its picture alone, so that a camera is not asked for its sound. The
/// connection to an RTSP camera is shared by this `tap`.
///
/// # Errors
/// As [`open`].
pub(crate) fn open_shared(url: &str, sound: bool, tap: Option<&Arc<PacketTap>>) -> Result<Box<dyn Source>> {
    let mut url = url.parse()?;
    if !sound {
        match &mut url {
            SourceUrl::Rtsp(options) => options.sound = false,
            SourceUrl::Rtp(options) => options.sound = false,
            SourceUrl::Stdin(options) => options.sound = false,
            _ => {}
        }
    }
    contain(|| open_parsed(url, tap.cloned()))
}

fn open_parsed(url: SourceUrl, tap: Option<Arc<PacketTap>>) -> Result<Box<dyn Source>> {
    match url {
        SourceUrl::Test(rest) => test_card::open(&rest),
        SourceUrl::File(path, options) => file::open(&path, options),
        SourceUrl::Rtsp(options) => Ok(Box::new(RtspSource::open(SharedCamera { options, tap })?)),
        SourceUrl::Rtp(options) => Ok(Box::new(RtpSource::open(options)?)),
        SourceUrl::V4l2(options) => Ok(Box::new(V4l2Source::open(options)?)),
        #[cfg(feature = "gst")]
        SourceUrl::Gst(options) => Ok(Box::new(super::gst::GstSource::open(&options)?)),
        #[cfg(not(feature = "gst"))]
        SourceUrl::Gst(_) => Err(crate::gst::absent()),
        SourceUrl::Stdin(options) => stdin::open(&options),
    }
}

/// The path in a `file:` URL: `file:PATH` as typed, `file:///PATH` with percent escapes decoded.
///
/// # Errors
/// Kind `Usage` if there is no path, or it is on another machine.
pub(crate) fn file_path(path: &str) -> Result<PathBuf> {
    let usage = |what: String| Failure::new(FailureKind::Usage, what, "write file:PATH, as in file:clip.mp4");
    if path.is_empty() {
        return Err(usage("the URL file: names no file".into()));
    }
    if !path.starts_with("//") {
        return Ok(path.into());
    }
    let url = Url::parse(&format!("file:{path}")).map_err(|e| usage(format!("file:{path} is no URL ({e})")))?;
    url.to_file_path()
        .map_err(|()| usage(format!("file:{path} does not name a file on this machine")))
}

/// Parses `25`, `29.97` or `30000/1001`.
///
/// # Errors
/// Kind `Usage` if it is not a rate.
pub fn parse_rate(text: &str) -> Result<FrameRate> {
    let rate = match text.split_once('/') {
        Some((numerator, denominator)) => numerator
            .parse()
            .ok()
            .zip(denominator.parse().ok())
            .and_then(|(n, d)| sane_rate(n, d)),
        None => match text.split_once('.') {
            None => text.parse().ok().and_then(|hertz| sane_rate(hertz, 1)),
            Some((whole, digits)) if digits.len() <= 3 => {
                let scale = 10u32.pow(u32::try_from(digits.len()).unwrap_or(0));
                format!("{whole}{digits}")
                    .parse()
                    .ok()
                    .and_then(|scaled| sane_rate(scaled, scale))
            }
            Some(_) => None,
        },
    };
    rate.ok_or_else(|| {
        let hint = "write frames per second as 25, 29.97 or 30000/1001";
        Failure::new(FailureKind::Usage, format!("\"{text}\" is not a frame rate"), hint)
    })
}

/// The options after the `?` of a URL.
#[derive(Debug)]
pub(crate) struct Options(Vec<(String, String)>);

impl Options {
    /// Splits `rest` at its last question mark.
    pub(crate) fn split(rest: &str) -> (&str, Self) {
        let (path, query) = rest.rsplit_once('?').unwrap_or((rest, ""));
        let options = url::form_urlencoded::parse(query.as_bytes()).into_owned();
        (path, Self(options.filter(|(key, _)| !key.is_empty()).collect()))
    }

    /// Removes option `name` and returns its value.
    pub(crate) fn take(&mut self, name: &str) -> Option<String> {
        let at = self.0.iter().position(|(key, _)| key == name)?;
        Some(self.0.swap_remove(at).1)
    }

    /// Removes an option without a value; returns true if it was present.
    pub(crate) fn flag(&mut self, name: &str) -> bool {
        self.take(name)
            .is_some_and(|value| !matches!(value.as_str(), "0" | "no" | "off" | "false"))
    }

    /// Refuses the remaining options as unknown; `known` lists the valid ones.
    pub(crate) fn finish(self, known: &str) -> Result<()> {
        match self.0.first() {
            None => Ok(()),
            Some((key, _)) => {
                let what = format!("there is no option \"{key}\" here");
                Err(Failure::new(
                    FailureKind::Usage,
                    what,
                    format!("the options are {known}"),
                ))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::media::PipeFormat;

    fn rate(numerator: u32, denominator: u32) -> FrameRate {
        FrameRate { numerator, denominator }
    }

    fn parse(text: &str) -> SourceUrl {
        text.parse().unwrap_or_else(|e| panic!("{text}: {e}"))
    }

    #[test]
    fn every_kind_of_source_has_its_url() {
        assert!(matches!(parse("test:640x480@25"), SourceUrl::Test(rest) if rest == "640x480@25"));
        for (text, fps, format) in [
            ("-", None, None),
            ("-?fps=30", Some(rate(30, 1)), None),
            ("-?format=ts", None, Some(PipeFormat::MpegTs)),
            ("-?format", None, Some(PipeFormat::Matroska)),
        ] {
            let SourceUrl::Stdin(options) = parse(text) else {
                panic!("standard input")
            };
            assert_eq!(
                (options.rate, options.format, options.encoding),
                (fps, format, None),
                "{text}"
            );
        }
        for camera in [
            "rtsp://camera/live",
            "RTSP://camera/live",
            "rtsps://[fe80::1%25eth0]/live",
        ] {
            assert!(matches!(parse(camera), SourceUrl::Rtsp(_)), "{camera}");
        }
        for port in ["rtp://127.0.0.1:5600?codec=h265", "udp://127.0.0.1:5600"] {
            assert!(matches!(parse(port), SourceUrl::Rtp(_)), "{port}");
        }
        assert!(matches!(parse("gst:videotestsrc ! x264enc"), SourceUrl::Gst(_)));
        assert!(matches!(parse("v4l2:/dev/video0?fps=15"), SourceUrl::V4l2(_)));
        let SourceUrl::File(path, options) = parse("file:a dir/clip.mp4?loop&fps=29.97") else {
            panic!("a file")
        };
        assert_eq!(path, PathBuf::from("a dir/clip.mp4"));
        assert_eq!(
            options,
            FileOptions {
                looped: true,
                rate: Some(rate(2997, 100)),
                paced: true,
                encoding: None,
            }
        );
        let SourceUrl::File(_, options) = parse("file:scene.y4m?bitrate=2M&gop=0") else {
            panic!("a file")
        };
        let encoding = Encoding {
            bitrate: 2_000_000,
            gop: Some(0),
            ..Encoding::default()
        };
        assert_eq!(options.encoding, Some(encoding));
        assert!(
            matches!(parse("file:///tmp/a%20b.mp4"), SourceUrl::File(path, _) if path == Path::new("/tmp/a b.mp4"))
        );
    }

    #[test]
    fn rates_are_whole_decimal_or_fractions() {
        assert_eq!(parse_rate("25").expect("a rate"), rate(25, 1));
        assert_eq!(parse_rate("12.5").expect("a rate"), rate(25, 2));
        assert_eq!(parse_rate("30000/1001").expect("a rate"), rate(30_000, 1001));
        for wrong in ["", "0", "-1", "x", "1/0", "1.2345", "99999", "1e3", "."] {
            assert_eq!(parse_rate(wrong).expect_err(wrong).kind, FailureKind::Usage);
        }
    }

    #[test]
    fn what_is_no_source_is_a_usage_failure_that_lists_them() {
        for wrong in [
            "clip.mp4",
            "http://camera/",
            "ftp:x",
            "",
            "file:",
            "file:x?volume=3",
            "file:x?bitrate=fast",
            "file:x?quantizer=5",
            "file://elsewhere/x",
            "-?loop",
            "-?format=avi",
            "rtp://0.0.0.0:5600",
            "udp://0.0.0.0:5600",
            "v4l2:",
            "v4l2:/dev/video0?size=big",
            "gst:",
        ] {
            let failure = wrong.parse::<SourceUrl>().expect_err(wrong);
            assert_eq!(failure.kind, FailureKind::Usage, "{wrong}: {failure}");
        }
        let failure = "clip.mp4".parse::<SourceUrl>().expect_err("no scheme");
        assert_eq!(failure.hint, "did you mean file:clip.mp4?");
        let failure = "ftp:x".parse::<SourceUrl>().expect_err("another scheme");
        assert!(
            ["test:", "file:", "v4l2:", "rtsp://", "rtp://", "gst:", "-"]
                .iter()
                .all(|url| failure.hint.contains(url)),
            "{failure}"
        );
    }
}
