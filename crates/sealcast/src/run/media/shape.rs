//! Visibility of a stream in the sizes and times of its records: everything, rounded lengths, or nothing.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use sealcast_proto::session::{RATES, ShapePlan};
use sealcast_proto::sign::{MAX_FRAME_PROOF, SignMode};
use sealcast_proto::sim::Rate;
use sealcast_proto::unit::{MAX_FRAME, PREAMBLE_LEN, Pad};
use sealcast_proto::wire::{HEADER_LEN, LENGTH_PREFIX, TAG_LEN};

use crate::failure::{Failure, FailureKind, Result};
use crate::media::{Frame, FrameRate, StreamInfo};
use crate::source::Source;

/// Forms of a shape, for help and error messages.
const FORMS: &str = "off, pad:BYTES with 16 to 1048576 bytes, pad:padme, or constant:RATE with 64kbit to 200mbit, \
                     as in constant:2mbit";
/// Of what the cells carry, the share that an encoder of ours aims at, in percent. The rest is for keyframes, control
/// messages and repair.
const ENCODER_PERCENT: u64 = 75;
/// An encoder of ours skips pictures while more than this many frame times' worth of bytes waits.
const MOST_FRAME_TIMES: u64 = 2;
/// The media time over which a source that cannot follow is compared with what the cells carry.
const EVIDENCE: Duration = Duration::from_secs(4);
/// Bytes of a frame's record that are not the frame.
const RECORD_BYTES: u64 = (LENGTH_PREFIX + HEADER_LEN + PREAMBLE_LEN + TAG_LEN) as u64;
/// Bytes of the record with the proof of a frame, where a group's frames are signed.
const PROOF_BYTES: u64 = (LENGTH_PREFIX + HEADER_LEN + MAX_FRAME_PROOF + TAG_LEN) as u64;

/// The shape of a publisher's traffic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shape {
    /// Records as the camera makes them.
    #[default]
    Off,
    /// Lengths of frames are rounded up. This hides exact sizes, and not activity.
    Pad(Pad),
    /// This many bit/s, in records of one size at fixed times.
    Constant(u64),
}

impl FromStr for Shape {
    type Err = Failure;

    fn from_str(text: &str) -> Result<Self> {
        if text == "off" {
            return Ok(Self::Off);
        }
        let pad = match text.strip_prefix("pad:") {
            Some("padme") => Some(Pad::Padme),
            Some(bytes) => bytes.parse().ok().and_then(Pad::multiple),
            None => None,
        };
        let rate = text.strip_prefix("constant:").and_then(Rate::parse);
        let rate = rate.map(|Rate(rate)| rate).filter(|rate| RATES.contains(rate));
        pad.map(Self::Pad).or(rate.map(Self::Constant)).ok_or_else(|| {
            let what = format!("\"{text}\" is no shape of traffic");
            Failure::new(FailureKind::Usage, what, format!("use {FORMS}"))
        })
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => f.write_str("off"),
            Self::Pad(Pad::Padme) => f.write_str("pad:padme"),
            Self::Pad(Pad::Multiple(bytes)) => write!(f, "pad:{bytes}"),
            Self::Constant(rate) => write!(f, "constant:{}", Rate(*rate)),
        }
    }
}

fn frames_a_second(rate: FrameRate) -> u64 {
    u64::from((rate.numerator / rate.denominator.max(1)).max(1))
}

/// Proof that leaves beside a frame's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameProof {
    /// Nothing: it is sealed for one viewer, or for a group that is not signed.
    None,
    /// A signature: it is sealed for a group.
    Signed,
}

impl FrameProof {
    /// That of a group of which this is signed.
    pub fn of_group(sign: SignMode) -> Self {
        match sign {
            SignMode::Off => Self::None,
            _ => Self::Signed,
        }
    }

    /// Bytes around a frame's data.
    fn bytes(self) -> u64 {
        match self {
            Self::None => RECORD_BYTES,
            Self::Signed => RECORD_BYTES + PROOF_BYTES,
        }
    }
}

/// Bit/s that an encoder may make of a stream whose cells carry `plan`.
fn encoder_rate(plan: &ShapePlan, rate: FrameRate, proof: FrameProof) -> u64 {
    let share = plan.carries() * 8 * ENCODER_PERCENT / 100;
    share.saturating_sub(frames_a_second(rate) * proof.bytes() * 8)
}

/// The lowest rate in whole steps of 10 kbit/s for which `fits`.
fn least_rate(fits: impl Fn(&ShapePlan) -> bool) -> Option<u64> {
    let mut rates = (0..).map(|step: u64| {
        // Steps of 10 kbit/s, and from 1 Mbit/s on of a hundredth.
        let mut rate = *RATES.start();
        for _ in 0..step {
            rate += (rate / 100).max(10_000);
        }
        rate.div_ceil(10_000) * 10_000
    });
    let rates = rates.by_ref().take_while(|rate| RATES.contains(rate));
    rates
        .into_iter()
        .find(|rate| ShapePlan::constant(*rate).is_some_and(|plan| fits(&plan)))
}

fn too_small(asked: u64, makes: &str, needed: Option<u64>) -> Failure {
    let what = format!(
        "a constant rate of {} is too small for this stream: {makes}",
        Rate(asked)
    );
    let hint = match needed {
        Some(rate) => format!("use --shape constant:{} or more, or a smaller picture", Rate(rate)),
        None => "use a smaller picture".to_owned(),
    };
    Failure::new(FailureKind::Config, what, hint)
}

impl Shape {
    /// The cells of both ends, if the traffic is constant.
    pub fn cells(self) -> Option<ShapePlan> {
        match self {
            Self::Off | Self::Pad(_) => None,
            Self::Constant(rate) => ShapePlan::constant(rate),
        }
    }

    /// True if nothing is changed.
    pub fn is_off(self) -> bool {
        self == Self::Off
    }

    /// Number of zeros after a frame of `length` bytes. A frame that would be too long with all of them gets fewer.
    pub(crate) fn padding(self, length: usize) -> u32 {
        let Self::Pad(pad) = self else { return 0 };
        let padded = pad.padded(PREAMBLE_LEN + length) - PREAMBLE_LEN;
        u32::try_from(padded.min(MAX_FRAME).saturating_sub(length)).unwrap_or(0)
    }

    /// Let a source of ours encode for this shape.
    ///
    /// # Errors
    /// Kind `Config` if it cannot make so few bytes; the failure says which rate it needs.
    pub fn prepare(self, source: &mut dyn Source, proof: FrameProof) -> Result<()> {
        let (Self::Constant(rate), Some(plan)) = (self, self.cells()) else {
            return Ok(());
        };
        let frames = source.info().rate;
        let aim = encoder_rate(&plan, frames, proof);
        let Some(floor) = source.aim_at(aim)? else {
            return Ok(());
        };
        if floor > aim {
            // A tenth more, since other pictures may take more than those that were measured.
            let needed = least_rate(|plan| encoder_rate(plan, frames, proof) >= floor + floor / 10);
            let makes = format!(
                "at its lowest quality the encoder makes {} kbit/s",
                floor.div_ceil(1000)
            );
            return Err(too_small(rate, &makes, needed));
        }
        Ok(())
    }

    /// The bytes that may wait for a viewer before pictures are skipped; `None` where none are.
    pub(crate) fn most_waiting(self, info: &StreamInfo) -> Option<usize> {
        let bytes = self.cells()?.carries() * MOST_FRAME_TIMES / frames_a_second(info.rate);
        Some(usize::try_from(bytes).unwrap_or(usize::MAX))
    }

    /// Watches whether the cells carry a source that makes what it makes.
    pub(crate) fn capacity(self, proof: FrameProof) -> Capacity {
        Capacity {
            shape: self,
            around: proof.bytes(),
            since: None,
            bytes: 0,
        }
    }
}

/// Compares what a source makes with what the cells carry, in pieces of [`EVIDENCE`].
pub(crate) struct Capacity {
    shape: Shape,
    /// Bytes that leave around each frame's data.
    around: u64,
    since: Option<Duration>,
    bytes: u64,
}

impl Capacity {
    /// A frame was made.
    ///
    /// # Errors
    /// Kind `Config` if the source makes more than the cells carry; the failure says which rate it needs.
    pub(crate) fn made(&mut self, frame: &Frame) -> Result<()> {
        let (Shape::Constant(rate), Some(plan)) = (self.shape, self.shape.cells()) else {
            return Ok(());
        };
        let since = *self.since.get_or_insert(frame.media_time);
        let span = frame.media_time.saturating_sub(since);
        if span < EVIDENCE {
            self.bytes += frame.data.len() as u64 + self.around;
            return Ok(());
        }
        let a_second = u128::from(self.bytes) * 1_000_000_000 / span.as_nanos().max(1);
        let a_second = u64::try_from(a_second).unwrap_or(u64::MAX);
        self.since = Some(frame.media_time);
        self.bytes = frame.data.len() as u64 + self.around;
        if a_second <= plan.carries() {
            return Ok(());
        }
        // A tenth more, since other seconds may have more bytes than these.
        let needed = least_rate(|plan| plan.carries() >= a_second + a_second / 10);
        let makes = format!("it has {} kbit/s", (a_second * 8).div_ceil(1000));
        Err(too_small(rate, &makes, needed))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use bytes::Bytes;

    use super::*;
    use crate::media::{StampKind, Track};

    const RATE: FrameRate = FrameRate {
        numerator: 25,
        denominator: 1,
    };

    #[test]
    fn shapes_are_written_as_they_are_read() {
        for text in [
            "off",
            "pad:16",
            "pad:1048576",
            "pad:padme",
            "constant:2mbit",
            "constant:64kbit",
            "constant:1500kbit",
        ] {
            let shape: Shape = text.parse().expect(text);
            assert_eq!(shape.to_string(), text);
        }
        for text in [
            "",
            "on",
            "pad",
            "pad:",
            "pad:15",
            "pad:1048577",
            "pad:4k",
            "constant",
            "constant:",
            "constant:2",
            "constant:63kbit",
            "constant:1gbit",
        ] {
            let failure = text.parse::<Shape>().expect_err(text);
            assert!(failure.hint.contains("constant:2mbit"), "{failure}");
        }
    }

    #[test]
    fn the_rate_that_is_asked_for_instead_fits_and_hardly_less_does() {
        for floor in [60_000, 900_000, 30_000_000] {
            let carried = |plan: &ShapePlan| encoder_rate(plan, RATE, FrameProof::Signed);
            let needed = least_rate(|plan| carried(plan) >= floor).expect("within the bounds");
            let aim = |rate: u64| carried(&ShapePlan::constant(rate).expect("within the bounds"));
            assert!(
                aim(needed) >= floor && aim(needed - needed / 25 - 10_000) < floor,
                "{floor}: {needed}"
            );
        }
        assert_eq!(least_rate(|_| false), None);
    }

    #[test]
    fn a_source_that_makes_more_than_the_cells_carry_is_found_out_after_some_seconds() {
        let frame = |number: u32, bytes: usize| Frame {
            track: Track::Picture,
            number: number.into(),
            keyframe: number == 0,
            media_time: Duration::from_millis(40) * number,
            began: Instant::now(),
            stamp: StampKind::Arrival,
            captured: Instant::now(),
            encoded: Instant::now(),
            data: Bytes::from(vec![0; bytes]),
        };
        // 1 Mbit/s carries less than 5000 bytes at each of 25 frames a second, and more than 4500.
        for (bytes, fits) in [(4_400, true), (5_000, false)] {
            let mut capacity = Shape::Constant(1_000_000).capacity(FrameProof::None);
            let failed =
                (0..500).find_map(|number| capacity.made(&frame(number, bytes)).err().map(|why| (number, why)));
            assert_eq!(failed.is_none(), fits, "{bytes}");
            if let Some((number, failure)) = failed {
                assert!(
                    number <= 101 && failure.hint.contains("constant:1"),
                    "{number}: {failure}"
                );
                assert_eq!(failure.kind, FailureKind::Config);
            }
        }
    }
}
