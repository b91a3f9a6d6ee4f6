//! Which of a camera's formats, sizes and rates to take.

use super::format::{FormatOffer, PixelFormat, Rates, SizeOffer, hertz, shown};
use super::options::V4l2Options;
use crate::failure::{Failure, FailureKind, Result};
use crate::media::FrameRate;
use crate::source::coded::ASSUMED_RATE;

/// Size that is not exceeded unless the user asks for a larger one.
const USUAL_SIZE: (u32, u32) = (1280, 720);

/// Rate that is not exceeded unless the user asks for a higher one.
const USUAL_RATE: FrameRate = FrameRate {
    numerator: 30,
    denominator: 1,
};

/// Frames per second from which a format is preferred to a larger one that comes more slowly.
const FLUENT: f64 = 24.0;

/// Rates that differ by less are the same: 29.97 stands for 30.
const SAME_RATE: f64 = 0.01;

/// Format to ask the camera for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Choice {
    pub(super) code: [u8; 4],
    pub(super) format: PixelFormat,
    pub(super) size: (u32, u32),
    pub(super) rate: FrameRate,
}

impl Choice {
    /// Merit of it where the user leaves the choice to us: fluent, no larger than usual, cheap to send, large.
    fn merit(&self) -> (bool, bool, u8, i64) {
        let area = i64::from(self.size.0) * i64::from(self.size.1);
        let usual = self.size.0 <= USUAL_SIZE.0 && self.size.1 <= USUAL_SIZE.1;
        let cheap = match self.format {
            PixelFormat::H264 => 2,
            // Ten times the bits of H.264 at the same quality.
            PixelFormat::Mjpeg => 0,
            _ => 1,
        };
        (
            hertz(self.rate) >= FLUENT,
            usual,
            cheap,
            if usual { area } else { -area },
        )
    }
}

/// Chooses among what the camera offers.
///
/// # Errors
/// Kind `Source`: it does not offer what is wanted; the words say what it does.
pub(super) fn choose(offers: &[FormatOffer], wanted: &V4l2Options) -> Result<Choice> {
    let named = wanted.shown();
    let formats: Vec<_> = offers
        .iter()
        .filter_map(|offer| Some((offer, offer.format()?)))
        .filter(|(_, format)| wanted.format.is_none_or(|wanted| wanted == *format))
        // Options of the encoder are for raw pictures.
        .filter(|(_, format)| wanted.encoding.is_none() || !format.is_coded())
        .collect();
    if formats.is_empty() {
        return Err(no_format(offers, wanted));
    }
    let sizes: Vec<_> = formats
        .iter()
        .flat_map(|(offer, format)| {
            let sized = sizes_of(offer, wanted.size);
            sized.into_iter().map(move |(size, rates)| (offer.code, *format, size, rates))
        })
        // Chroma has one sample for two by two pixels of what is encoded here.
        .filter(|(_, format, size, _)| format.is_coded() || size.0 % 2 == 0 && size.1 % 2 == 0)
        .collect();
    let of_size: Vec<_> = sizes
        .iter()
        .filter(|(_, _, size, _)| wanted.size.is_none_or(|wanted| wanted == *size))
        .collect();
    if of_size.is_empty() {
        let offered = sizes.iter().map(|(_, format, size, _)| (*format, *size));
        return Err(no_size(&named, wanted.size.unwrap_or(USUAL_SIZE), offered));
    }
    let rates = of_size.iter().map(|(_, _, _, rates)| *rates);
    let best = of_size
        .iter()
        .filter_map(|(code, format, size, rates)| {
            let rate = rate_of(rates, wanted.rate)?;
            Some(Choice { code: *code, format: *format, size: *size, rate })
        })
        // The first of equals, in the camera's own order.
        .reduce(|best, next| if next.merit() > best.merit() { next } else { best });
    best.ok_or_else(|| no_rate(&named, wanted.rate.unwrap_or(USUAL_RATE), rates))
}

/// The sizes of a format, those of ranges as near as possible to what is wanted, and their rates. A driver that tells
/// no sizes is taken at the user's word.
fn sizes_of(offer: &FormatOffer, wanted: Option<(u32, u32)>) -> Vec<((u32, u32), &Rates)> {
    const UNKNOWN: &Rates = &Rates::These(Vec::new());
    let wanted = wanted.unwrap_or(USUAL_SIZE);
    if offer.sizes.is_empty() {
        return vec![(wanted, UNKNOWN)];
    }
    let sized = |size: &SizeOffer| size.sizes.nearest(wanted);
    offer.sizes.iter().map(|size| (sized(size), &size.rates)).collect()
}

/// The rate to ask for; `None` if the wanted one is not offered.
fn rate_of(rates: &Rates, wanted: Option<FrameRate>) -> Option<FrameRate> {
    let same = |a: FrameRate, b: FrameRate| (hertz(a) - hertz(b)).abs() <= SAME_RATE * hertz(b);
    match (rates, wanted) {
        (Rates::These(rates), _) if rates.is_empty() => Some(wanted.unwrap_or(ASSUMED_RATE)),
        (Rates::These(rates), Some(wanted)) => rates.iter().copied().find(|rate| same(*rate, wanted)),
        (Rates::These(rates), None) => {
            let ordered = |a: &FrameRate, b: &FrameRate| hertz(*a).total_cmp(&hertz(*b));
            let usual = rates
                .iter()
                .copied()
                .filter(|rate| hertz(*rate) <= hertz(USUAL_RATE) * (1.0 + SAME_RATE));
            usual.max_by(ordered).or_else(|| rates.iter().copied().min_by(ordered))
        }
        (Rates::Range(least, most), Some(wanted)) => {
            let within = (hertz(*least)..=hertz(*most)).contains(&hertz(wanted));
            (within || same(*least, wanted) || same(*most, wanted)).then_some(wanted)
        }
        (Rates::Range(least, most), None) => Some(match hertz(USUAL_RATE) {
            usual if usual < hertz(*least) => *least,
            usual if usual > hertz(*most) => *most,
            _ => USUAL_RATE,
        }),
    }
}

fn no_format(offers: &[FormatOffer], wanted: &V4l2Options) -> Failure {
    let named = wanted.shown();
    if offers.is_empty() {
        let what = format!("{named} offers no format at all");
        let hint = "if its pictures come from another program (v4l2loopback), start that program first";
        return Failure::new(FailureKind::Source, what, hint);
    }
    let what = match wanted.format {
        Some(format) => format!("{named} does not offer the format {}", format.name()),
        None if wanted.encoding.is_some() => {
            format!("{named} offers no raw format, which bitrate, bitrate_max, gop and quantizer are for")
        }
        None => format!("{named} offers no format that sealcast takes"),
    };
    let mut names: Vec<_> = offers.iter().map(FormatOffer::name).collect();
    names.dedup();
    let hint = format!(
        "it offers {}; sealcast takes {}",
        names.join(", "),
        PixelFormat::names()
    );
    Failure::new(FailureKind::Source, what, hint)
}

fn no_size(named: &str, wanted: (u32, u32), offered: impl Iterator<Item = (PixelFormat, (u32, u32))>) -> Failure {
    let far = |size: (u32, u32)| u64::from(size.0.abs_diff(wanted.0)) + u64::from(size.1.abs_diff(wanted.1));
    let what = format!("{named} does not offer pictures of {}x{}", wanted.0, wanted.1);
    let hint = match offered.min_by_key(|(_, size)| far(*size)) {
        Some((format, (width, height))) => {
            let format = format.name();
            format!("the nearest is size={width}x{height} as {format}; `sealcast devices` lists all sizes")
        }
        None => "its sizes are odd, and raw pictures must have even sides; try format=mjpeg".to_owned(),
    };
    Failure::new(FailureKind::Source, what, hint)
}

fn no_rate<'a>(named: &str, wanted: FrameRate, offered: impl Iterator<Item = &'a Rates>) -> Failure {
    let mut rates: Vec<_> = offered.map(Rates::to_string).collect();
    rates.dedup();
    let what = format!(
        "{named} does not offer {} frames per second at this size",
        shown(wanted)
    );
    Failure::new(
        FailureKind::Source,
        what,
        format!("it offers fps={}", rates.join(" or ")),
    )
}

#[cfg(test)]
mod tests {
    use super::super::format::Sizes;
    use super::*;

    fn rates(all: &[u32]) -> Rates {
        let rate = |hertz: &u32| FrameRate {
            numerator: *hertz,
            denominator: 1,
        };
        Rates::These(all.iter().map(rate).collect())
    }

    fn offer(code: &[u8; 4], sizes: &[(u32, u32, &[u32])]) -> FormatOffer {
        let size = |(width, height, hertz): &(u32, u32, &[u32])| SizeOffer {
            sizes: Sizes::One(*width, *height),
            rates: rates(hertz),
        };
        FormatOffer {
            code: *code,
            description: String::new(),
            sizes: sizes.iter().map(size).collect(),
        }
    }

    /// Offer of a usual webcam.
    fn webcam() -> Vec<FormatOffer> {
        vec![
            offer(
                b"MJPG",
                &[(1920, 1080, &[30, 15]), (1280, 720, &[60, 30]), (640, 480, &[30])],
            ),
            offer(
                b"YUYV",
                &[(1280, 720, &[10, 5]), (640, 480, &[30, 15]), (320, 240, &[30])],
            ),
            offer(b"BA81", &[(640, 480, &[30])]),
        ]
    }

    fn chosen(offers: &[FormatOffer], options: &str) -> Result<(PixelFormat, (u32, u32), u32)> {
        let wanted = V4l2Options::parse(&format!("/dev/video0{options}"))?;
        let choice = choose(offers, &wanted)?;
        Ok((
            choice.format,
            choice.size,
            choice.rate.numerator / choice.rate.denominator,
        ))
    }

    #[test]
    fn without_options_it_is_fluent_and_cheap_to_send() {
        let got = chosen(&webcam(), "").expect("a choice");
        assert_eq!(got, (PixelFormat::Yuyv, (640, 480), 30));
        let mut with_h264 = webcam();
        with_h264.push(offer(b"H264", &[(1280, 720, &[30]), (1920, 1080, &[30])]));
        let got = chosen(&with_h264, "").expect("a choice");
        assert_eq!(got, (PixelFormat::H264, (1280, 720), 30));
        let only_slow = [offer(b"YUYV", &[(1920, 1080, &[5]), (2592, 1944, &[2])])];
        assert_eq!(
            chosen(&only_slow, "").expect("a choice"),
            (PixelFormat::Yuyv, (1920, 1080), 5)
        );
    }

    #[test]
    fn what_the_user_asks_for_is_taken() {
        let got = |options: &str| chosen(&webcam(), options).unwrap_or_else(|e| panic!("{options}: {e}"));
        assert_eq!(got("?format=mjpeg"), (PixelFormat::Mjpeg, (1280, 720), 30));
        assert_eq!(got("?size=1920x1080"), (PixelFormat::Mjpeg, (1920, 1080), 30));
        assert_eq!(got("?size=1280x720&fps=60"), (PixelFormat::Mjpeg, (1280, 720), 60));
        assert_eq!(got("?size=640x480&fps=15"), (PixelFormat::Yuyv, (640, 480), 15));
        assert_eq!(got("?size=1280x720&bitrate=3M"), (PixelFormat::Yuyv, (1280, 720), 10));
        assert_eq!(got("?format=yuyv&fps=29.97"), (PixelFormat::Yuyv, (640, 480), 30));
    }

    #[test]
    fn what_is_not_offered_is_refused_with_what_is() {
        let odd = [offer(b"YUYV", &[(641, 480, &[30])])];
        let raw_bayer = [offer(b"BA81", &[(640, 480, &[30])])];
        let mjpeg = [offer(b"MJPG", &[(640, 480, &[30])])];
        let cases: [(&[FormatOffer], &str, &str); 8] = [
            (&webcam(), "?format=h264", "it offers mjpeg, yuyv, BA81"),
            (&webcam(), "?size=1900x1000", "the nearest is size=1920x1080 as mjpeg"),
            (
                &webcam(),
                "?format=yuyv&size=800x600",
                "the nearest is size=640x480 as yuyv",
            ),
            (&webcam(), "?size=640x480&fps=50", "it offers fps=30 or 30, 15"),
            (&raw_bayer, "", "it offers BA81"),
            (&mjpeg, "?gop=20", "no raw format"),
            (
                &[],
                "?format=h264",
                "no format at all; if its pictures come from another program",
            ),
            (&odd, "", "even sides"),
        ];
        for (offers, options, words) in cases {
            let failure = chosen(offers, options).expect_err(options);
            assert_eq!(failure.kind, FailureKind::Source, "{options}");
            assert!(failure.to_string().contains(words), "{options}: {failure}");
        }
    }

    #[test]
    fn ranges_are_kept_to_their_steps() {
        let range = FormatOffer {
            code: *b"YU12",
            description: String::new(),
            sizes: vec![SizeOffer {
                sizes: Sizes::Range {
                    least: (32, 32),
                    most: (1920, 1080),
                    step: (16, 8),
                },
                rates: Rates::Range(
                    FrameRate {
                        numerator: 1,
                        denominator: 1,
                    },
                    FrameRate {
                        numerator: 90,
                        denominator: 1,
                    },
                ),
            }],
        };
        let range = [range];
        assert_eq!(
            chosen(&range, "").expect("a choice"),
            (PixelFormat::I420, (1280, 720), 30)
        );
        assert_eq!(
            chosen(&range, "?fps=90").expect("a choice"),
            (PixelFormat::I420, (1280, 720), 90)
        );
        let off_step = chosen(&range, "?size=650x480").expect_err("no such width").to_string();
        assert!(off_step.contains("size=640x480"), "{off_step}");
        let too_fast = chosen(&range, "?fps=120").expect_err("too fast").to_string();
        assert!(too_fast.contains("fps=1-90"), "{too_fast}");
        let silent = [offer(b"MJPG", &[])];
        assert_eq!(
            chosen(&silent, "?size=800x600&fps=12").expect("a choice"),
            (PixelFormat::Mjpeg, (800, 600), 12)
        );
    }
}
