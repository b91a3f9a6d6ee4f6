//! Video devices: which there are, what they are, and what they offer.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::{fs, io};

use moq_v4l::capability::{Capabilities, Flags};
use moq_v4l::format::{Colorspace, FieldOrder, Quantization};
use moq_v4l::frameinterval::FrameIntervalEnum;
use moq_v4l::framesize::FrameSizeEnum;
use moq_v4l::video::Capture;
use moq_v4l::video::capture::Parameters;
use moq_v4l::{Device, Format, FourCC, Fraction};
use nix::errno::Errno;

use super::busy::holders;
use super::choose::Choice;
use super::convert::Layout;
use super::format::{FormatOffer, Rates, SizeOffer, Sizes};
use super::streaming::Streaming;
use crate::failure::{Failure, FailureKind, Result};
use crate::media::FrameRate;
use crate::source::coded::sane_rate;
use crate::source::contain;

/// Devices that are listed at most.
const MAX_DEVICES: usize = 256;

/// The video devices of this machine (`/dev/video*`), by number.
pub fn paths() -> Vec<PathBuf> {
    let mut numbered: Vec<(u32, PathBuf)> = fs::read_dir("/dev")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let number = entry.file_name().to_str()?.strip_prefix("video")?.parse().ok()?;
            Some((number, entry.path()))
        })
        .take(MAX_DEVICES)
        .collect();
    numbered.sort();
    numbered.into_iter().map(|(_, path)| path).collect()
}

/// Description of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct About {
    /// The camera's name.
    pub name: String,
    /// The kernel's driver.
    pub driver: String,
    /// Place where the camera is connected.
    pub bus: String,
}

/// An open camera that does not stream.
pub struct Camera {
    device: Device,
    path: PathBuf,
    about: About,
}

impl Camera {
    /// Opens the device.
    ///
    /// # Errors
    /// There is no such device, it may not be opened, or it is no camera.
    pub fn open(path: &Path) -> Result<Self> {
        let device = Device::with_path(path).map_err(|error| told(path, &error))?;
        // The library panics on names that are cut in the middle of a character.
        let named = contain(|| device.query_caps().map_err(|error| told(path, &error)))?;
        check_kind(path, &named)?;
        let about = About {
            name: named.card,
            driver: named.driver,
            bus: named.bus,
        };
        let path = path.to_owned();
        Ok(Self { device, path, about })
    }

    /// Description of the device.
    pub fn about(&self) -> &About {
        &self.about
    }

    /// The formats, sizes and rates that it offers.
    ///
    /// # Errors
    /// It is gone, or its driver tells nonsense.
    pub fn offers(&self) -> Result<Vec<FormatOffer>> {
        let told = |error: io::Error| told(&self.path, &error);
        let formats = contain(|| self.device.enum_formats().map_err(told))?;
        Ok(formats
            .into_iter()
            .map(|format| FormatOffer {
                code: format.fourcc.repr,
                description: format.description,
                sizes: self.sizes(format.fourcc),
            })
            .collect())
    }

    /// The sizes of a format; none if the driver does not tell.
    fn sizes(&self, code: FourCC) -> Vec<SizeOffer> {
        let sizes = self.device.enum_framesizes(code).unwrap_or_default();
        let offer = |size: FrameSizeEnum| {
            let (sizes, (width, height)) = match size {
                FrameSizeEnum::Discrete(one) => {
                    let (width, height) = (one.width, one.height);
                    (Sizes::One(width, height), (width, height))
                }
                FrameSizeEnum::Stepwise(range) => {
                    let most = (range.max_width, range.max_height);
                    let least = (range.min_width.min(most.0), range.min_height.min(most.1));
                    let step = (range.step_width.max(1), range.step_height.max(1));
                    (Sizes::Range { least, most, step }, most)
                }
            };
            let rates = self.rates(code, width, height);
            SizeOffer { sizes, rates }
        };
        sizes.into_iter().map(|size| offer(size.size)).collect()
    }

    /// The rates of a size; none if the driver does not tell.
    fn rates(&self, code: FourCC, width: u32, height: u32) -> Rates {
        let intervals = self.device.enum_frameintervals(code, width, height).unwrap_or_default();
        let mut rates = Vec::new();
        for interval in intervals {
            match interval.interval {
                FrameIntervalEnum::Discrete(interval) => rates.extend(rate_of(interval)),
                // The longest interval is the lowest rate.
                FrameIntervalEnum::Stepwise(range) => {
                    if let (Some(least), Some(most)) = (rate_of(range.max), rate_of(range.min)) {
                        return Rates::Range(least, most);
                    }
                }
            }
        }
        Rates::These(rates)
    }

    /// Makes the camera stream what was chosen. Returns the stream, how raw pictures lie in its buffers, and the rate
    /// that the camera keeps to.
    ///
    /// # Errors
    /// Another program uses the camera, or it delivers something else than it offers.
    pub(super) fn start(self, choice: &Choice) -> Result<(Streaming, Layout, FrameRate)> {
        let told = |error: io::Error| told(&self.path, &error);
        let mut wanted = Format::new(choice.size.0, choice.size.1, FourCC::new(&choice.code));
        wanted.field_order = FieldOrder::Progressive;
        let got = contain(|| self.device.set_format(&wanted).map_err(told))?;
        let expected = (choice.size, choice.code);
        if ((got.width, got.height), got.fourcc.repr) != expected {
            let (offered, named) = (choice.format.name(), self.path.display());
            let what = format!(
                "{named} delivers {} of {}x{} pixels where {offered} of {}x{} was asked for",
                got.fourcc, got.width, got.height, choice.size.0, choice.size.1
            );
            let hint = "ask for what it delivers; `sealcast devices` lists what it offers";
            return Err(Failure::new(FailureKind::Source, what, hint));
        }
        if !matches!(got.field_order, FieldOrder::Progressive | FieldOrder::Any) {
            let what = format!(
                "{} delivers interlaced pictures ({})",
                self.path.display(),
                got.field_order
            );
            let hint = "choose a progressive input or a smaller size of the device";
            return Err(Failure::new(FailureKind::Source, what, hint));
        }
        let interval = Fraction::new(choice.rate.denominator, choice.rate.numerator);
        // Drivers without a choice of rates refuse it.
        let kept = self.device.set_params(&Parameters::new(interval));
        let rate = kept.ok().and_then(|kept| rate_of(kept.interval)).unwrap_or(choice.rate);
        let layout = Layout {
            format: choice.format,
            width: got.width as usize,
            height: got.height as usize,
            stride: got.stride as usize,
            full_range: matches!(
                (got.quantization, got.colorspace),
                (Quantization::FullRange, _) | (Quantization::Default, Colorspace::JPEG)
            ),
        };
        let streaming = Streaming::new(self.device, &self.about.driver).map_err(told)?;
        Ok((streaming, layout, rate))
    }
}

/// Frames per second of an interval in seconds.
fn rate_of(interval: Fraction) -> Option<FrameRate> {
    sane_rate(interval.denominator, interval.numerator)
}

/// Refuses devices that are no cameras.
fn check_kind(path: &Path, device: &Capabilities) -> Result<()> {
    let can = device.capabilities;
    let what = if can.contains(Flags::VIDEO_CAPTURE) && can.contains(Flags::STREAMING) {
        return Ok(());
    } else if can.intersects(Flags::VIDEO_M2M | Flags::VIDEO_M2M_MPLANE) {
        "is a codec, not a camera"
    } else if can.contains(Flags::VIDEO_CAPTURE_MPLANE) {
        "has its pictures in several planes of memory, which sealcast does not take"
    } else if can.contains(Flags::META_CAPTURE) {
        "has no pictures, only data about them"
    } else {
        "delivers no pictures"
    };
    Err(Failure::new(
        FailureKind::Source,
        format!("{} ({}) {what}", path.display(), device.card),
        "`sealcast devices` lists the cameras of this machine",
    ))
}

/// The failure for an error of the system.
pub(super) fn told(path: &Path, error: &io::Error) -> Failure {
    let named = path.display();
    let errno = error.raw_os_error().map(Errno::from_raw);
    let (what, hint) = match errno {
        Some(Errno::ENOENT | Errno::ENXIO) => (
            format!("there is no camera at {named}"),
            "plug it in; `sealcast devices` lists the cameras of this machine".to_owned(),
        ),
        Some(Errno::EACCES | Errno::EPERM) => (
            format!("this user may not open {named}"),
            "join the group that owns it, mostly `sudo usermod -aG video $USER`, and log in again".to_owned(),
        ),
        Some(Errno::EBUSY) => {
            let who = match holders(path).join(", ") {
                who if who.is_empty() => "another program, perhaps of another user,".to_owned(),
                who => who,
            };
            let hint = "end that program: a camera streams to one at a time";
            (format!("{named} is in use: {who} has it open"), hint.to_owned())
        }
        Some(Errno::ENODEV) => (
            format!("{named} was unplugged, or its driver removed it"),
            "plug it in again".to_owned(),
        ),
        Some(Errno::ENOTTY) => (
            format!("{named} is no video device"),
            "`sealcast devices` lists the cameras of this machine".to_owned(),
        ),
        Some(Errno::ENOSPC) => (
            format!("{named} gets too little of the USB's bandwidth"),
            "choose a smaller size or format=mjpeg, or connect it to another USB controller".to_owned(),
        ),
        _ if error.kind() == ErrorKind::TimedOut => (
            format!("{named} sends nothing"),
            "check its cable, and what the kernel says of it: dmesg | tail".to_owned(),
        ),
        _ => (
            format!("{named} fails ({error})"),
            "check its cable, and what the kernel says of it: dmesg | tail".to_owned(),
        ),
    };
    Failure::new(FailureKind::Source, what, hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_says_becomes_advice() {
        let path = Path::new("/dev/video7");
        for (errno, words) in [
            (Errno::ENOENT, "there is no camera at /dev/video7"),
            (Errno::EACCES, "usermod -aG video"),
            (Errno::EBUSY, "in use"),
            (Errno::ENODEV, "unplugged"),
            (Errno::ENOTTY, "no video device"),
            (Errno::ENOSPC, "bandwidth"),
            (Errno::EIO, "dmesg"),
        ] {
            let failure = told(path, &io::Error::from_raw_os_error(errno as i32));
            assert_eq!(failure.kind, FailureKind::Source);
            assert!(failure.to_string().contains(words), "{failure}");
        }
        let silent = told(path, &ErrorKind::TimedOut.into());
        assert!(silent.what.contains("sends nothing"), "{silent}");
    }

    #[test]
    fn what_is_no_camera_is_not_opened() {
        let folder = tempfile::tempdir().expect("a folder");
        let absent = folder.path().join("video0");
        let words = |path: &Path| Camera::open(path).err().expect("no camera").to_string();
        assert!(words(&absent).contains("no camera at"), "{}", words(&absent));
        fs::write(&absent, "no device").expect("a file");
        assert!(words(&absent).contains("is no video device"), "{}", words(&absent));
        let null = words(Path::new("/dev/null"));
        assert!(null.contains("is no video device"), "{null}");
    }
}
