//! Formats of pictures, and what a camera offers of them.

use std::fmt;

use crate::media::FrameRate;

/// A format that this program takes from a camera.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PixelFormat {
    /// H.264 in Annex B, one access unit in each buffer. Passes through.
    H264,
    /// A JPEG image in each buffer. Passes through.
    Mjpeg,
    /// 4:2:2, packed as Y U Y V.
    Yuyv,
    /// 4:2:2, packed as U Y V Y.
    Uyvy,
    /// 4:2:2, packed as Y V Y U.
    Yvyu,
    /// 4:2:0, luma and a plane of pairs U V.
    Nv12,
    /// 4:2:0, luma and a plane of pairs V U.
    Nv21,
    /// 4:2:0 in three planes Y, U, V.
    I420,
    /// 4:2:0 in three planes Y, V, U.
    Yv12,
    /// Luma alone.
    Grey,
}

impl PixelFormat {
    /// The format, its name in options, and its codes (linux/videodev2.h).
    const ALL: [(Self, &'static str, &'static [[u8; 4]]); 10] = [
        (Self::H264, "h264", &[*b"H264"]),
        (Self::Mjpeg, "mjpeg", &[*b"MJPG", *b"JPEG"]),
        (Self::Yuyv, "yuyv", &[*b"YUYV"]),
        (Self::Uyvy, "uyvy", &[*b"UYVY"]),
        (Self::Yvyu, "yvyu", &[*b"YVYU"]),
        (Self::Nv12, "nv12", &[*b"NV12"]),
        (Self::Nv21, "nv21", &[*b"NV21"]),
        (Self::I420, "i420", &[*b"YU12"]),
        (Self::Yv12, "yv12", &[*b"YV12"]),
        (Self::Grey, "grey", &[*b"GREY"]),
    ];

    /// The names of all formats, for messages.
    pub(super) fn names() -> String {
        Self::ALL.map(|(_, name, _)| name).join(", ")
    }

    /// Its name in options.
    pub fn name(self) -> &'static str {
        let known = Self::ALL.iter().find(|(format, ..)| *format == self);
        known.map_or("", |(_, name, _)| name)
    }

    /// The format of this name.
    pub(super) fn of_name(name: &str) -> Option<Self> {
        let known = Self::ALL.iter().find(|(_, known, _)| *known == name)?;
        Some(known.0)
    }

    /// The format of this code, if it is one that this program takes.
    pub fn of_code(code: [u8; 4]) -> Option<Self> {
        let known = Self::ALL.iter().find(|(_, _, codes)| codes.contains(&code))?;
        Some(known.0)
    }

    /// True if frames are encoded already and pass through.
    pub fn is_coded(self) -> bool {
        matches!(self, Self::H264 | Self::Mjpeg)
    }
}

/// A format that a camera offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormatOffer {
    /// Four characters.
    pub code: [u8; 4],
    /// Description by the driver.
    pub description: String,
    /// The sizes that it comes in; none if the driver does not tell.
    pub sizes: Vec<SizeOffer>,
}

impl FormatOffer {
    /// The format, if it is one that this program takes.
    pub fn format(&self) -> Option<PixelFormat> {
        PixelFormat::of_code(self.code)
    }

    /// Its name in options, or its code.
    pub fn name(&self) -> String {
        match self.format() {
            Some(format) => format.name().to_owned(),
            None => String::from_utf8_lossy(&self.code).trim().to_owned(),
        }
    }
}

/// Sizes of a format, and the rates at which they come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SizeOffer {
    /// Which sizes.
    pub sizes: Sizes,
    /// Frames per second; for a range of sizes, those of the largest.
    pub rates: Rates,
}

/// One size, or all in a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sizes {
    /// Width and height in pixels.
    One(u32, u32),
    /// All sizes in steps.
    Range {
        /// The smallest width and height.
        least: (u32, u32),
        /// The largest width and height.
        most: (u32, u32),
        /// From one width to the next, and from one height to the next; at least 1.
        step: (u32, u32),
    },
}

impl Sizes {
    /// The size among these that is nearest to `wanted`.
    pub(super) fn nearest(self, wanted: (u32, u32)) -> (u32, u32) {
        let near = |wanted: u32, least: u32, most: u32, step: u32| {
            let within = wanted.clamp(least, most.max(least));
            within - (within - least) % step.max(1)
        };
        match self {
            Self::One(width, height) => (width, height),
            Self::Range { least, most, step } => (
                near(wanted.0, least.0, most.0, step.0),
                near(wanted.1, least.1, most.1, step.1),
            ),
        }
    }
}

impl fmt::Display for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::One(width, height) => write!(f, "{width}x{height}"),
            Self::Range { least, most, .. } => write!(f, "{}x{}-{}x{}", least.0, least.1, most.0, most.1),
        }
    }
}

/// The rates of a size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rates {
    /// These alone; none if the driver does not tell.
    These(Vec<FrameRate>),
    /// All between the lowest and the highest.
    Range(FrameRate, FrameRate),
}

/// Frames per second.
pub(super) fn hertz(rate: FrameRate) -> f64 {
    f64::from(rate.numerator) / f64::from(rate.denominator.max(1))
}

/// A rate for people: `30`, or `29.97`.
pub(super) fn shown(rate: FrameRate) -> String {
    let text = format!("{:.2}", hertz(rate));
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

impl fmt::Display for Rates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::These(rates) => {
                let rates: Vec<_> = rates.iter().map(|rate| shown(*rate)).collect();
                f.write_str(&rates.join(", "))
            }
            Self::Range(least, most) => write!(f, "{}-{}", shown(*least), shown(*most)),
        }
    }
}
