//! Dose and response: each frame is sealed and opened 0 to 64 times, as the suite `dose` says for each half second. The
//! slope of a figure against the dose is the cost of doing so once more; the step from 0 to 1 is the cost of the first
//! time, with cold caches.

use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use aws_lc_rs::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use sealcast::failure::{Failure, FailureKind, Result};
use sealcast::keys::dose_key::{DOSE_PERIOD_NS, DOSES, dose};
use sealcast::meter::statistics::{mean, median};
use sealcast_proto::wire::{HEADER_LEN, TAG_LEN};

use super::ends::{Mark, Seen};
use super::frames::Frame;
use super::{figures, power};
use crate::harness::Sample;

/// Series with a slope for each block of eight doses, in µs for a frame and dose.
pub(super) const SEAL: &str = "seal_slope_of";
pub(super) const OPEN: &str = "open_slope_of";
pub(super) const VIDEO: &str = "video_slope_of";
pub(super) const PUBLISHER: &str = "publisher_slope_of";
pub(super) const VIEWER: &str = "viewer_slope_of";
/// The same in µJ.
pub(super) const ENERGY: &str = "energy_slope_of";
/// Time that a dose of 1 takes more than one of 0, in µs for a frame.
pub(super) const FIRST_SEAL: &str = "seal_first_of";
pub(super) const FIRST_OPEN: &str = "open_first_of";
/// Figures with a dose of 0, in µs for a frame.
pub(super) const VIDEO_REST: &str = "video_rest_of";
pub(super) const CPU_REST: &str = "cpu_rest_of";
/// The seal stage with each dose but 0, in µs.
pub(super) const RESPONSE: &str = "seal_us_by_dose";
/// The bare primitive is measured in bursts of frames with pauses between them, so that what else the machine does for
/// a moment does not decide the figure.
const BURSTS: usize = 200;
const FRAMES_A_BURST: usize = 10;
const BETWEEN_BURSTS: Duration = Duration::from_millis(5);

/// A value with its dose.
type Point = (f64, f64);
/// Points of a block.
type Points<'a> = &'a dyn Fn(&Block<'_>) -> Vec<Point>;

/// Runs a stream under the suite `dose` and evaluates it.
pub(super) fn measure(folder: &Path, run: impl Fn() -> Result<Seen>) -> Result<Sample> {
    let seen = run()?;
    let whole = figures::sample(&seen).filter(|_| seen.marks.len() > DOSES.len());
    let whole = whole.ok_or_else(|| {
        let what = "no frame was received in the time that is measured";
        Failure::new(FailureKind::Network, what, "see the files of the run")
    })?;
    let blocks: Vec<Block<'_>> = seen
        .marks
        .windows(DOSES.len() + 1)
        .step_by(DOSES.len())
        .map(|marks| Block::new(&seen, marks))
        .collect();
    let by_block = |of: Points<'_>, figure: fn(&[Point]) -> Option<f64>| -> Vec<f64> {
        blocks.iter().filter_map(|block| figure(&of(block))).collect()
    };
    let slopes = |of: Points<'_>| by_block(of, slope);
    let sealing = |block: &Block<'_>| block.frames(|frame| frame.stage_us("seal"));
    let opening = |block: &Block<'_>| block.frames(|frame| frame.stage_us("open"));
    let (seal, open) = (slopes(&sealing), slopes(&opening));
    let video = |block: &Block<'_>| block.frames(|frame| frame.total_ms.map(|ms| ms * 1e3));
    let bare = Bare::measure(&seen);
    let watts = power::rows(&folder.join("publisher-logs"))?;
    let energy = slopes(&|block| block.watts(&watts));
    let kept = ["frames", "fps", "lost", "seconds"];
    let sample = kept.iter().fold(Sample::default(), |sample, name| {
        sample.with_some(name, whole.value(name))
    });
    let sample = sample
        .with("bare_seal_us", bare.seal_us)
        .with("bare_open_us", bare.open_us)
        .with("seal_times_bare", mean(&seal) / bare.seal_us)
        .with("open_times_bare", mean(&open) / bare.open_us)
        .with_series(FIRST_SEAL, by_block(&sealing, first))
        .with_series(FIRST_OPEN, by_block(&opening, first))
        .with_series(SEAL, seal)
        .with_series(OPEN, open)
        .with_series(VIDEO, slopes(&video))
        .with_series(VIDEO_REST, by_block(&video, rest))
        .with_series(PUBLISHER, slopes(&|block| block.cpu(|mark| mark.publisher)))
        .with_series(VIEWER, slopes(&|block| block.cpu(|mark| mark.viewer)))
        .with_series(
            CPU_REST,
            by_block(&|block| block.cpu(|mark| mark.publisher + mark.viewer), rest),
        );
    let sample = match energy.is_empty() {
        true => sample.lacking("energy by dose: no power was logged".to_owned()),
        false => sample.with_series(ENERGY, energy),
    };
    let response = response(&blocks);
    Ok(match response.iter().all(|value| value.is_finite()) {
        true => sample.with_series(RESPONSE, response),
        false => sample,
    })
}

/// Eight periods, each with another dose.
struct Block<'a> {
    marks: &'a [Mark],
    /// The frames of each period.
    frames: Vec<Vec<&'a Frame>>,
}

impl<'a> Block<'a> {
    fn new(seen: &'a Seen, marks: &'a [Mark]) -> Self {
        let of = |pair: &[Mark]| {
            // Marks are made a little late, and the dose follows the clock.
            let period = pair[0].at_ns / DOSE_PERIOD_NS as i64;
            let is_own = |frame: &&Frame| frame.sealed_ns.is_some_and(|at| at / DOSE_PERIOD_NS as i64 == period);
            seen.frames.iter().filter(is_own).collect()
        };
        Self {
            marks,
            frames: marks.windows(2).map(of).collect(),
        }
    }

    /// The dose of each period.
    fn doses(&self) -> impl Iterator<Item = f64> {
        self.marks
            .iter()
            .map(|mark| f64::from(dose(u64::try_from(mark.at_ns).unwrap_or_default())))
    }

    /// The median of a figure of frames for each dose.
    fn frames(&self, of: impl Fn(&Frame) -> Option<f64>) -> Vec<Point> {
        let middle = |frames: &Vec<&Frame>| {
            let mut values: Vec<f64> = frames.iter().filter_map(|frame| of(frame)).collect();
            median(&mut values)
        };
        self.doses().zip(self.frames.iter().map(middle)).collect()
    }

    /// Processor time of a frame for each dose, in µs.
    fn cpu(&self, of: impl Fn(&Mark) -> Duration) -> Vec<Point> {
        let each = |(pair, frames): (&[Mark], &Vec<&Frame>)| {
            of(&pair[1]).saturating_sub(of(&pair[0])).as_secs_f64() * 1e6 / frames.len() as f64
        };
        self.doses()
            .zip(self.marks.windows(2).zip(&self.frames).map(each))
            .collect()
    }

    /// Energy of a frame for each dose, in µJ, from the power that was logged.
    fn watts(&self, logged: &[(i64, f64)]) -> Vec<Point> {
        let each = |(pair, frames): (&[Mark], &Vec<&Frame>)| {
            let own = logged
                .iter()
                .filter(|(at, _)| (pair[0].at_ns..pair[1].at_ns).contains(at));
            let watts: Vec<f64> = own.map(|(_, watts)| *watts).collect();
            mean(&watts) * (pair[1].at_ns - pair[0].at_ns) as f64 * 1e-3 / frames.len() as f64
        };
        self.doses()
            .zip(self.marks.windows(2).zip(&self.frames).map(each))
            .collect()
    }
}

/// Cost of one more dose: the slope of the line of least squares over all doses but 0, since the first costs more.
/// `None` where a dose has no value.
fn slope(points: &[Point]) -> Option<f64> {
    let warm = || points.iter().filter(|(dose, _)| *dose > 0.0);
    let doses: Vec<f64> = warm().map(|(dose, _)| *dose).collect();
    let values: Vec<f64> = warm().map(|(_, value)| *value).collect();
    let (x, y) = (mean(&doses), mean(&values));
    let products = warm().map(|(dose, value)| (dose - x) * (value - y));
    let squares = doses.iter().map(|dose| (dose - x).powi(2));
    let slope = products.sum::<f64>() / squares.sum::<f64>();
    slope.is_finite().then_some(slope)
}

/// The value with this dose; `None` if there is none.
fn at(points: &[Point], dose: f64) -> Option<f64> {
    let point = points.iter().find(|(other, _)| *other == dose);
    point.map(|(_, value)| *value).filter(|value| value.is_finite())
}

/// Cost of the first dose.
fn first(points: &[Point]) -> Option<f64> {
    Some(at(points, 1.0)? - at(points, 0.0)?)
}

/// Cost of everything else.
fn rest(points: &[Point]) -> Option<f64> {
    at(points, 0.0)
}

/// The median of the seal stage over blocks for each dose but 0, in ascending order.
fn response(blocks: &[Block<'_>]) -> Vec<f64> {
    let points: Vec<Point> = blocks
        .iter()
        .flat_map(|block| block.frames(|frame| frame.stage_us("seal")))
        .collect();
    let of = |wanted: u32| {
        let own = points.iter().filter(|(dose, _)| *dose == f64::from(wanted));
        let mut values: Vec<f64> = own.map(|(_, value)| *value).collect();
        median(&mut values)
    };
    DOSES[1..].iter().map(|&wanted| of(wanted)).collect()
}

/// Times that sealing and opening a frame of the median size take alone, as records of the size that the run had.
struct Bare {
    seal_us: f64,
    open_us: f64,
}

impl Bare {
    fn measure(seen: &Seen) -> Self {
        let mut bytes: Vec<f64> = seen.frames.iter().map(|frame| frame.bytes).collect();
        let all: f64 = bytes.iter().sum();
        let frame = median(&mut bytes);
        let packets = seen.viewer["totals"]["media_packets"]["source"].as_f64().unwrap_or(0.0);
        // On a byte stream a frame is one record.
        let record = if packets > 0.0 { all / packets } else { frame };
        let records = (frame / record).ceil().max(1.0) as usize;
        let length = (frame / records as f64) as usize;
        let key = UnboundKey::new(&AES_128_GCM, &[7; 16]).expect("AES-128 has keys of 16 bytes");
        let primitive = Primitive(LessSafeKey::new(key));
        let (mut seal, mut open) = (Vec::new(), Vec::new());
        for _ in 0..BURSTS {
            std::thread::sleep(BETWEEN_BURSTS);
            for _ in 0..FRAMES_A_BURST {
                let (sealing, opening) = primitive.frame(records, length);
                seal.push(sealing.as_secs_f64() * 1e6);
                open.push(opening.as_secs_f64() * 1e6);
            }
        }
        Self {
            seal_us: median(&mut seal),
            open_us: median(&mut open),
        }
    }
}

/// The primitive under the suite.
struct Primitive(LessSafeKey);

impl Primitive {
    /// The times of sealing and of opening a frame of this many records of this length.
    fn frame(&self, records: usize, length: usize) -> (Duration, Duration) {
        let mut payload = vec![0xA5; length];
        let mut opened = vec![0; length];
        let header = || Aad::from([0x5A; HEADER_LEN]);
        let nonce = || Nonce::assume_unique_for_key([1; 12]);
        let mut tag = [0; TAG_LEN];
        let began = Instant::now();
        for _ in 0..records {
            let sealed = self
                .0
                .seal_in_place_separate_tag(nonce(), header(), black_box(&mut payload));
            tag.copy_from_slice(sealed.expect("it is short").as_ref());
        }
        let sealing = began.elapsed();
        let began = Instant::now();
        for _ in 0..records {
            let out = black_box(&mut opened);
            let genuine = self.0.open_separate_gather(nonce(), header(), &payload, &tag, out);
            genuine.expect("it was just sealed");
        }
        (sealing, began.elapsed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_dose_is_told_from_the_slope_of_the_others_and_a_missing_one_ends_both() {
        let value = |dose: f64| if dose > 0.0 { 3.0 * dose + 17.0 } else { 7.0 };
        let mut points: Vec<Point> = DOSES.iter().map(|&dose| (dose.into(), value(dose.into()))).collect();
        assert!(slope(&points).is_some_and(|slope| (slope - 3.0).abs() < 1e-9));
        assert_eq!((first(&points), rest(&points)), (Some(13.0), Some(7.0)));
        points[1].1 = f64::NAN;
        assert_eq!((slope(&points), first(&points)), (None, None));
    }

    /// A stream of 15 frames in each period. Sealing takes 5 µs and 2 more for each dose, opening 9 and 3, and
    /// processor time grows by both.
    fn seen() -> Seen {
        let period = DOSE_PERIOD_NS as i64;
        let at = |dose: u32, fixed: f64, each: f64| Some(fixed + each * f64::from(dose));
        let frame = |number: i64| {
            let sealed_ns = number * period / 15 + 1;
            let dose = dose(sealed_ns as u64);
            let mut stages = [Some(0.0); 11];
            stages[3] = at(dose, 5.0, 2.0);
            stages[7] = at(dose, 9.0, 3.0);
            Frame {
                number: number as u64,
                keyframe: false,
                bytes: 12_000.0,
                sealed_ns: Some(sealed_ns),
                received_ns: sealed_ns + 10,
                network_ms: None,
                delay_ms: None,
                total_ms: at(dose, 8.0, 0.005),
                stages,
            }
        };
        let mut publisher = Duration::ZERO;
        let mut marks = Vec::new();
        for number in 0..=16_i64 {
            let at_ns = number * period;
            marks.push(Mark {
                at_ns,
                publisher,
                viewer: publisher / 2,
            });
            let each = 1000 + 2 * u64::from(dose(at_ns as u64));
            publisher += Duration::from_micros(15 * each);
        }
        Seen {
            frames: (0..16 * 15).map(frame).collect(),
            marks,
            publisher: serde_json::json!({}),
            viewer: serde_json::json!({"totals": {"media_packets": {"source": 16 * 15 * 10}}}),
        }
    }

    #[test]
    fn the_cost_of_one_seal_is_the_slope_and_the_rest_is_the_intercept() {
        let folder = tempfile::tempdir().expect("a folder");
        let sample = measure(folder.path(), || Ok(seen())).expect("a run");
        let near = |name: &str, wanted: f64| {
            let slopes = &sample.series[name];
            assert_eq!(slopes.len(), 2, "{name}");
            assert!(
                slopes.iter().all(|slope| (slope - wanted).abs() < 1e-6),
                "{name}: {slopes:?}"
            );
        };
        near(SEAL, 2.0);
        near(FIRST_SEAL, 2.0);
        near(OPEN, 3.0);
        near(FIRST_OPEN, 3.0);
        near(VIDEO, 5.0);
        near(VIDEO_REST, 8000.0);
        near(PUBLISHER, 2.0);
        near(VIEWER, 1.0);
        near(CPU_REST, 1500.0);
        assert_eq!(sample.series[RESPONSE], [7.0, 9.0, 13.0, 21.0, 37.0, 69.0, 133.0]);
        assert!(sample.value("bare_seal_us").expect("measured") > 0.0);
        assert!(
            sample.lacks.iter().any(|why| why.contains("no power was logged")),
            "{:?}",
            sample.lacks
        );
    }

    #[test]
    fn energy_by_dose_is_the_power_that_was_logged() {
        let seen = seen();
        let block = Block::new(&seen, &seen.marks[..9]);
        let logged = block.marks.windows(2).map(|pair| {
            let dose = f64::from(dose(pair[0].at_ns as u64));
            // 30 frames a second: 30 µW are 1 µJ a frame.
            (pair[0].at_ns + 100_000_000, 2.0 + 30e-6 * dose)
        });
        let slope_of = |logged: &[(i64, f64)]| slope(&block.watts(logged));
        let found = slope_of(&logged.collect::<Vec<_>>()).expect("a line");
        assert!((found - 1.0).abs() < 1e-6, "{found}");
        assert_eq!(slope_of(&[]), None);
    }
}
