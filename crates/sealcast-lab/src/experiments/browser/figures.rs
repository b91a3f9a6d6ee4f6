//! The figures of a turn.

use std::path::Path;

use sealcast::failure::{Failure, FailureKind, Result};
use sealcast::meter::statistics::{median, quantile};

use super::columns::{CURVE, GROWTHS, HEAPS, latency_axis};
use super::lines::{Counts, Frame, Heap, Line, Paint, Processor};
use crate::harness::Sample;

/// Points of the curve.
const STEPS: usize = 201;
/// The stages of a frame, in their order, and the names of their medians.
const STAGES: [(&str, &str); 10] = [
    ("capture", "capture_ms"),
    ("encode", "encode_ms"),
    ("queue", "queue_ms"),
    ("seal", "seal_ms"),
    ("send", "send_ms"),
    ("network", "network_ms"),
    ("open", "open_ms"),
    ("wait", "wait_ms"),
    ("decode", "decode_ms"),
    ("draw", "draw_ms"),
];

/// Everything that a script said of one page.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    paint: Option<Paint>,
    frames: Vec<Frame>,
    processor: Option<Processor>,
    counts: Option<Counts>,
    heaps: Vec<Heap>,
}

impl Seen {
    /// Takes a line; true if it was the last one.
    ///
    /// # Errors
    /// The script says that the page cannot be measured.
    pub(super) fn take(&mut self, line: Line) -> Result<bool> {
        match line {
            Line::Paint(paint) => self.paint = Some(paint),
            Line::Frame(frame) => self.frames.push(frame),
            Line::Processor(processor) => self.processor = Some(processor),
            Line::Counts(counts) => self.counts = Some(counts),
            Line::Heap(heap) => self.heaps.push(heap),
            Line::Error { words } => {
                let hint = "see what the programs printed, in the files of the run";
                return Err(Failure::new(FailureKind::Network, words, hint));
            }
            Line::End {} => return Ok(true),
        }
        Ok(false)
    }

    /// The values of the turn.
    ///
    /// # Errors
    /// Nothing was measured.
    pub(super) fn sample(&self) -> Result<Sample> {
        if self.frames.is_empty() && self.heaps.is_empty() {
            let hint = "see what the programs printed, in the files of the run";
            return Err(Failure::new(
                FailureKind::Network,
                "no frame was drawn in the time that counts",
                hint,
            ));
        }
        let lost = self.counts.as_ref().map(|counts| counts.lost);
        let sample = Sample::default()
            .with_some("lost", lost.or(self.heaps.last().map(|heap| heap.lost)))
            .with_some("first_paint_ms", self.paint.and_then(|paint| paint.first))
            .with_some("picture_ms", self.paint.map(|paint| paint.picture))
            .with_some("dropped", self.counts.as_ref().map(|counts| counts.dropped))
            .with_some(
                "refused",
                self.counts.as_ref().map(|counts| counts.refused.values().sum()),
            );
        let sample = self.with_latencies(sample);
        let sample = self.with_processor(sample);
        Ok(self.with_heaps(sample))
    }

    fn with_latencies(&self, mut sample: Sample) -> Sample {
        if self.frames.is_empty() {
            return sample;
        }
        let of = |value: &dyn Fn(&Frame) -> Option<f64>| -> Vec<f64> {
            let mut values: Vec<f64> = self.frames.iter().filter_map(value).collect();
            values.sort_by(f64::total_cmp);
            values
        };
        for (stage, name) in STAGES {
            let mut values = of(&|frame| frame.stages.get(stage).copied());
            sample = sample.with(name, median(&mut values));
        }
        let totals = of(&|frame| frame.total);
        let ours = of(&ours);
        let uncertainties = of(&|frame| frame.uncertainty);
        let longer = |ms: f64| 1.0 - totals.partition_point(|&total| total <= ms) as f64 / totals.len() as f64;
        if !totals.is_empty() {
            sample = sample.with_series(CURVE, latency_axis().steps(STEPS).map(longer).collect());
        }
        sample
            .with("frames", totals.len() as f64)
            .with("total_p50_ms", quantile(&totals, 0.5))
            .with("total_p99_ms", quantile(&totals, 0.99))
            .with_some("uncertainty_ms", uncertainties.last().copied())
            .with("ours_p50_ms", quantile(&ours, 0.5))
            .with("ours_p99_ms", quantile(&ours, 0.99))
    }

    fn with_processor(&self, sample: Sample) -> Sample {
        let Some(processor) = self.processor else {
            return sample;
        };
        let percent = |seconds: f64| seconds / processor.seconds * 100.0;
        let sample = sample
            .with("fps", self.frames.len() as f64 / processor.seconds)
            .with("worker_percent", percent(processor.worker))
            .with("renderer_percent", percent(processor.renderer))
            .with("browser_percent", percent(processor.browser));
        let ends = self.frames.first().zip(self.frames.last());
        let Some((first, last)) = ends.map(|(first, last)| (first.opening, last.opening)) else {
            return sample;
        };
        let (time, messages) = (last.at - first.at, last.messages - first.messages);
        let worked = last.milliseconds - first.milliseconds;
        sample
            .with("records_per_s", messages / time * 1e3)
            .with("opening_percent", worked / time * 100.0)
            .with("opening_us", worked / messages * 1e3)
    }

    fn with_heaps(&self, sample: Sample) -> Sample {
        let (Some(first), Some(last)) = (self.heaps.first(), self.heaps.last()) else {
            return sample;
        };
        let sizes = self.heaps.iter().map(|heap| used(heap) * 1e-6).collect();
        sample
            .with("heap_first_mb", used(first) * 1e-6)
            .with("heap_last_mb", used(last) * 1e-6)
            .with("heap_times", used(last) / used(first))
            .with_some("objects_first_mb", first.objects.map(|bytes| bytes * 1e-6))
            .with_some("objects_last_mb", last.objects.map(|bytes| bytes * 1e-6))
            .with_some(
                "objects_times",
                last.objects.zip(first.objects).map(|(last, first)| last / first),
            )
            .with("heap_more_kb", (used(last) - used(first)) * 1e-3)
            .with("page_heap_mb", last.page * 1e-6)
            .with("worker_heap_mb", last.worker * 1e-6)
            .with("outside_mb", last.outside * 1e-6)
            .with("heaps", self.heaps.len() as f64)
            .with_series(HEAPS, sizes)
            .with_series(GROWTHS, growths(&self.heaps))
    }

    /// Writes `frames.csv` and `heaps.csv`, with a row for each frame and each look at the heaps.
    ///
    /// # Errors
    /// A file cannot be written.
    pub(super) fn write(&self, folder: &Path) -> Result<()> {
        if !self.frames.is_empty() {
            let head = STAGES.map(|(_, name)| name).into_iter();
            let head = ["frame"].into_iter().chain(head).chain(["total_ms", "uncertainty_ms"]);
            let rows = self.frames.iter().map(|frame| {
                let stages = STAGES.iter().map(|(stage, _)| frame.stages.get(*stage).copied());
                let values = stages.chain([frame.total, frame.uncertainty]);
                let written = values.map(|value| value.map_or_else(String::new, |value| value.to_string()));
                [frame.frame.to_string()].into_iter().chain(written).collect()
            });
            write(&folder.join("frames.csv"), head.map(str::to_owned).collect(), rows)?;
        }
        if !self.heaps.is_empty() {
            let head = ["seconds", "page", "worker", "outside", "objects"]
                .map(str::to_owned)
                .to_vec();
            let rows = self.heaps.iter().map(|heap| {
                let sizes = [heap.seconds, heap.page, heap.worker, heap.outside].map(|value| value.to_string());
                let objects = heap.objects.map_or_else(String::new, |value| value.to_string());
                sizes.into_iter().chain([objects]).collect()
            });
            write(&folder.join("heaps.csv"), head, rows)?;
        }
        Ok(())
    }
}

/// Time of a frame that is neither the camera's, the codec's nor the screen's: sealing, sending, the network, opening,
/// and waiting for the decoder. The network contains the first two where they are not known.
fn ours(frame: &Frame) -> Option<f64> {
    let stage = |name: &str| frame.stages.get(name).copied();
    let known = stage("network")? + stage("open")? + stage("wait")?;
    Some(known + stage("seal").unwrap_or(0.0) + stage("send").unwrap_or(0.0))
}

fn used(heap: &Heap) -> f64 {
    heap.page + heap.worker
}

/// Growth in kB a minute: of each size in the first half to the one half of all later, so that no size is in two pairs.
fn growths(heaps: &[Heap]) -> Vec<f64> {
    let later = heaps.len().div_ceil(2);
    let pairs = heaps.iter().zip(heaps.iter().skip(later));
    pairs
        .map(|(a, b)| (used(b) - used(a)) * 1e-3 / (b.seconds - a.seconds) * 60.0)
        .collect()
}

fn write(file: &Path, head: Vec<String>, rows: impl Iterator<Item = Vec<String>>) -> Result<()> {
    let written = csv::Writer::from_path(file).and_then(|mut table| {
        table.write_record(head)?;
        for row in rows {
            table.write_record(row)?;
        }
        table.flush().map_err(csv::Error::from)
    });
    written.map_err(|error| {
        let what = format!("{} cannot be written ({error})", file.display());
        Failure::new(FailureKind::Sink, what, "choose another --out")
    })
}

#[cfg(test)]
mod tests {
    use super::super::lines::read;
    use super::*;

    fn seen(lines: &[&str]) -> Seen {
        let mut seen = Seen::default();
        for line in lines {
            assert!(!seen.take(read(line).expect("a line")).expect("no error"));
        }
        seen
    }

    #[test]
    fn frames_give_latencies_and_the_work_between_the_first_and_the_last() {
        let row = |number: u32, stages: &str, latency: &str, opening: [u32; 3]| {
            let [at, messages, milliseconds] = opening;
            let opening = format!(r#"{{"at":{at},"messages":{messages},"milliseconds":{milliseconds}}}"#);
            let stages = format!(r#""stages":{{{stages}}}{latency}"#);
            format!(r#"{{"type":"frame","frame":{number},{stages},"opening":{opening}}}"#)
        };
        let all = r#""seal":0.5,"send":0.5,"network":1,"open":2,"wait":1"#;
        let some = r#""network":3,"open":2,"wait":1"#;
        let seen = seen(&[
            r#"{"type":"paint","first":100,"picture":900}"#,
            &row(1, all, r#","total":20,"uncertainty":0.25"#, [1000, 100, 50]),
            &row(2, some, r#","total":30,"uncertainty":0.5"#, [1500, 600, 150]),
            &row(3, r#""open":2"#, "", [2000, 1100, 300]),
            r#"{"type":"processor","seconds":2,"renderer":1,"worker":0.5,"browser":1.5}"#,
            r#"{"type":"counts","dropped":2,"refused":{},"lost":1}"#,
        ]);
        let sample = seen.sample().expect("frames");
        let expected = [
            ("first_paint_ms", 100.0),
            ("picture_ms", 900.0),
            ("frames", 2.0),
            ("total_p50_ms", 20.0),
            ("total_p99_ms", 30.0),
            ("uncertainty_ms", 0.5),
            ("ours_p50_ms", 5.0),
            ("ours_p99_ms", 6.0),
            ("open_ms", 2.0),
            ("network_ms", 2.0),
            ("fps", 1.5),
            ("worker_percent", 25.0),
            ("renderer_percent", 50.0),
            ("records_per_s", 1000.0),
            ("opening_percent", 25.0),
            ("opening_us", 250.0),
            ("dropped", 2.0),
            ("lost", 1.0),
        ];
        for (name, value) in expected {
            assert_eq!(sample.value(name), Some(value), "{name}");
        }
        assert_eq!(sample.value("encode_ms"), None, "no frame has this stage");
        assert!(sample.series[CURVE].windows(2).all(|pair| pair[0] >= pair[1]));
        let folder = tempfile::tempdir().expect("a folder");
        seen.write(folder.path()).expect("files");
        let text = std::fs::read_to_string(folder.path().join("frames.csv")).expect("a file");
        assert_eq!(text.lines().count(), 4, "{text}");
        assert_eq!(text.lines().nth(3), Some("3,,,,,,,2,,,,,"), "{text}");
        assert!(!folder.path().join("heaps.csv").exists());
    }

    #[test]
    fn growth_is_that_of_pairs_half_a_run_apart() {
        let line = |seconds: u32, page: u32| {
            let objects = match seconds {
                60 => r#","objects":500000"#,
                180 => r#","objects":510000"#,
                _ => "",
            };
            let sizes = format!(r#""page":{page},"worker":1000000,"outside":5,"lost":0"#);
            format!(r#"{{"type":"heap","seconds":{seconds},{sizes}{objects}}}"#)
        };
        let lines = [
            (60, 1_000_000),
            (90, 1_000_000),
            (120, 1_060_000),
            (150, 1_000_000),
            (180, 1_200_000),
        ];
        let lines = lines.map(|(seconds, page)| line(seconds, page));
        let seen = seen(&lines.each_ref().map(String::as_str));
        let sample = seen.sample().expect("heaps");
        assert_eq!(
            sample.series[GROWTHS],
            [0.0, 200.0 / 1.5],
            "the middle one is in no pair"
        );
        assert_eq!(
            (sample.value("heap_times"), sample.value("heap_more_kb")),
            (Some(1.1), Some(200.0))
        );
        assert_eq!(sample.value("objects_times"), Some(1.02));
        assert_eq!(sample.series[HEAPS].len(), 5);
        assert_eq!(sample.value("total_p50_ms"), None);
    }

    #[test]
    fn what_the_script_cannot_measure_is_a_failure_with_its_words() {
        let mut seen = Seen::default();
        let line = read(r#"{"type":"error","words":"the page crashed"}"#).expect("a line");
        let said = seen.take(line).expect_err("an error").to_string();
        assert!(said.contains("the page crashed"), "{said}");
        assert!(seen.take(Line::End {}).expect("the end"));
        assert!(seen.sample().is_err(), "nothing was drawn");
    }
}
