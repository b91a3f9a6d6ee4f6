//! `sealcast devices`.

use std::fmt::Write as _;
use std::path::Path;

use sealcast_proto::words::plain;
use serde::Serialize;

use super::json_arg::JsonArg;
use crate::failure::Result;
use crate::media::{FrameRate, StampKind};
use crate::output;
use crate::source::v4l2::{Camera, FormatOffer, Rates, Sizes, paths};

/// Drivers whose stamps are known without a frame: that of USB cameras says so in its source (`uvc_queue.c`).
const STAMPS: [(&str, StampKind); 1] = [("uvcvideo", StampKind::ExposureStart)];

/// A video device, as it is printed.
#[derive(Debug, Serialize)]
struct Device {
    device: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    driver: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bus: Option<String>,
    /// Meaning of the camera's stamps, where that is known without a frame.
    #[serde(skip_serializing_if = "Option::is_none")]
    stamp: Option<&'static str>,
    formats: Vec<Format>,
    /// Reason why it is not a source.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
}

#[derive(Debug, Serialize)]
struct Format {
    /// The name in `format=`, or the code of a format that is not taken.
    format: String,
    description: String,
    /// True if sealcast takes it.
    taken: bool,
    sizes: Vec<Size>,
}

/// One size, or the smallest and largest of a range. Rates are in frames per second.
#[derive(Debug, Serialize)]
struct Size {
    /// Width and height in pixels.
    least: (u32, u32),
    most: (u32, u32),
    /// All rates, or the lowest and the highest of a range.
    rates: Vec<f64>,
    #[serde(skip)]
    shown: String,
}

impl From<&FormatOffer> for Format {
    fn from(offer: &FormatOffer) -> Self {
        let hertz = |rate: &FrameRate| f64::from(rate.numerator) / f64::from(rate.denominator.max(1));
        let sizes = offer.sizes.iter().map(|size| {
            let (least, most) = match size.sizes {
                Sizes::One(width, height) => ((width, height), (width, height)),
                Sizes::Range { least, most, .. } => (least, most),
            };
            let rates = match &size.rates {
                Rates::These(rates) => rates.iter().map(hertz).collect(),
                Rates::Range(least, most) => vec![hertz(least), hertz(most)],
            };
            let shown = match rates.is_empty() {
                true => size.sizes.to_string(),
                false => format!("{} at {}", size.sizes, size.rates),
            };
            Size {
                least,
                most,
                rates,
                shown,
            }
        });
        Self {
            format: offer.name(),
            description: offer.description.clone(),
            taken: offer.format().is_some(),
            sizes: sizes.collect(),
        }
    }
}

impl Device {
    fn look_at(path: &Path) -> Self {
        let mut device = Self {
            device: path.display().to_string(),
            name: None,
            driver: None,
            bus: None,
            stamp: None,
            formats: Vec::new(),
            problem: None,
        };
        let offers = Camera::open(path).and_then(|camera| {
            let about = camera.about().clone();
            let known = STAMPS.iter().find(|(driver, _)| *driver == about.driver);
            device.stamp = known.map(|(_, stamp)| stamp.name());
            (device.name, device.driver, device.bus) = (Some(about.name), Some(about.driver), Some(about.bus));
            camera.offers()
        });
        match offers {
            Ok(offers) => device.formats = offers.iter().map(Format::from).collect(),
            Err(failure) => device.problem = Some(failure.to_string()),
        }
        device
    }

    /// As some lines, for people.
    fn describe(&self) -> String {
        let mut text = self.device.clone();
        for (word, value) in [("", &self.name), ("driver ", &self.driver), ("at ", &self.bus)] {
            if let Some(value) = value {
                let _ = write!(text, "  {word}{}", plain(value));
            }
        }
        text.push('\n');
        if let Some(problem) = &self.problem {
            let _ = writeln!(text, "  {}", plain(problem));
        }
        if self.formats.is_empty() && self.problem.is_none() {
            text.push_str("  no format at all: its pictures may come from another program, which does not run\n");
        }
        for format in &self.formats {
            let name = plain(&format.format);
            let sizes: Vec<_> = format.sizes.iter().map(|size| size.shown.as_str()).collect();
            let _ = match format.taken {
                true => writeln!(text, "  {name:<6} {}", sizes.join("; ")),
                false => writeln!(text, "  {name:<6} (not taken: {})", plain(&format.description)),
            };
        }
        if let Some(stamp) = self.stamp {
            let _ = writeln!(text, "  stamps {stamp}");
        }
        text
    }
}

fn table(devices: &[Device]) -> String {
    if devices.is_empty() {
        return "there is no video device (/dev/video*) on this machine: plug in a camera, or load its driver\n".into();
    }
    let described: Vec<_> = devices.iter().map(Device::describe).collect();
    described.join("\n")
}

/// Prints what the video devices of this machine are and can.
pub(super) fn run(args: &JsonArg) -> Result<()> {
    let devices: Vec<_> = paths().iter().map(|path| Device::look_at(path)).collect();
    output::print(&match args.json {
        true => serde_json::to_string_pretty(&devices).unwrap_or_default() + "\n",
        false => table(&devices),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::v4l2::SizeOffer;

    fn offers() -> [FormatOffer; 2] {
        let fps = |numerator, denominator| FrameRate { numerator, denominator };
        let size = |sizes, rates| SizeOffer { sizes, rates };
        let range = Sizes::Range {
            least: (32, 32),
            most: (1920, 1080),
            step: (2, 2),
        };
        [
            FormatOffer {
                code: *b"YUYV",
                description: "YUYV 4:2:2".into(),
                sizes: vec![
                    size(Sizes::One(640, 480), Rates::These(vec![fps(30, 1), fps(15, 2)])),
                    size(range, Rates::Range(fps(1, 1), fps(90, 1))),
                ],
            },
            FormatOffer {
                code: *b"BA81",
                description: "Bayer\x1b[31m".into(),
                sizes: Vec::new(),
            },
        ]
    }

    #[test]
    fn devices_are_told_in_words_and_in_json() {
        let camera = Device {
            device: "/dev/video0".into(),
            name: Some("A camera".into()),
            driver: Some("uvcvideo".into()),
            bus: Some("usb-1".into()),
            stamp: Some("exposure_start"),
            formats: offers().iter().map(Format::from).collect(),
            problem: None,
        };
        let absent = Device::look_at(Path::new("/dev/video-that-is-not-there"));
        let text = table(&[camera, absent]);
        let expected = "/dev/video0  A camera  driver uvcvideo  at usb-1\n  yuyv   640x480 at 30, 7.5; \
                        32x32-1920x1080 at 1-90\n  BA81   (not taken: Bayer\u{fffd}[31m)\n  stamps exposure_start\n\n\
                        /dev/video-that-is-not-there\n  there is no camera at";
        assert!(text.starts_with(expected), "{text}");
        let json = serde_json::to_value(Format::from(&offers()[0])).expect("JSON");
        assert_eq!(json["sizes"][0]["rates"], serde_json::json!([30.0, 7.5]));
        assert_eq!(json["sizes"][1]["most"], serde_json::json!([1920, 1080]));
        assert_eq!(json["taken"], true);
        assert!(table(&[]).contains("no video device"));
    }
}
