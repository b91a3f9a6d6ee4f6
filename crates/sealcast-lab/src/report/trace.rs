//! Frames as a trace in Chrome's format, which Perfetto opens: a nestable asynchronous event for each frame and, in it,
//! one for each stage.

use std::fmt;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::ops::RangeInclusive;
use std::path::Path;
use std::str::FromStr;

use jiff::Timestamp;
use sealcast::failure::{Failure, FailureKind, Result};
use serde_json::{Value, json};

use super::end::End;
use super::latency::{FRAMES, KINDS};
use super::log::Log;
use super::table::count;
use crate::harness::record::unwritable;

/// The numbers of the frames that are drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frames(RangeInclusive<u64>);

impl Default for Frames {
    fn default() -> Self {
        Self(0..=u64::MAX)
    }
}

impl FromStr for Frames {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let ends = text
            .split_once("..")
            .and_then(|(first, last)| Some((first.parse().ok()?, last.parse().ok()?)));
        match ends {
            Some((first, last)) if first <= last => Ok(Self(first..=last)),
            _ => Err(format!("\"{text}\" is not FIRST..LAST, such as 100..250")),
        }
    }
}

impl fmt::Display for Frames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", self.0.start(), self.0.end())
    }
}

/// Writes a trace for each end that has frames.
pub(super) fn write(ends: &[End], origin: Timestamp, folder: &Path, frames: Frames) -> Result<Vec<String>> {
    let mut said = Vec::new();
    for end in ends.iter().filter(|end| end.latencies[FRAMES].count() > 0) {
        let name = match said.len() {
            0 => "trace.json".to_owned(),
            more => format!("trace-{}.json", more + 1),
        };
        let path = folder.join(name);
        let failed = |error: &dyn fmt::Display| unwritable(&path, error);
        let file = File::create(&path).map_err(|error| failed(&error))?;
        let mut trace = Trace::begin(BufWriter::new(file), end, origin).map_err(|error| failed(&error))?;
        let wanted = KINDS[FRAMES].file;
        for log in Log::files(&end.folder, wanted) {
            let mut log = Log::open(&log, KINDS[FRAMES].columns)?;
            let columns = Columns::of(&log);
            while log.next()? {
                let frame = columns.read(&log)?;
                if frames.0.contains(&frame.number) {
                    trace.frame(&frame).map_err(|error| failed(&error))?;
                }
            }
        }
        let Counts {
            drawn,
            uncompared,
            negative,
        } = trace.end().map_err(|error| failed(&error))?;
        let mut words = format!("{}: {} frames of the {}", path.display(), count(drawn), end.name);
        if uncompared > 0 {
            words += &format!("; {} without, before the clocks were compared", count(uncompared));
        }
        if negative > 0 {
            words += &format!("; {} have a network time below 0, drawn as 0", count(negative));
        }
        said.push(words);
    }
    if said.is_empty() {
        return Err(Failure::new(
            FailureKind::Source,
            "there is no frame to trace",
            "name the log folder of a viewer, which has frames_latency.csv",
        ));
    }
    Ok(said)
}

/// Places of the columns that a trace needs.
struct Columns {
    numbers: [usize; 3],
    words: [usize; 2],
    offset: usize,
    uncertainty: usize,
    total: usize,
    stages: Vec<usize>,
}

/// A frame. Times are in nanoseconds.
#[derive(Clone, Debug, Default)]
struct Frame {
    number: u64,
    bytes: u64,
    keyframe: bool,
    stamp: String,
    stamped: u64,
    offset: Option<i64>,
    uncertainty_us: Option<f64>,
    total_us: Option<f64>,
    /// `None` for a stage that was not measured.
    stages: Vec<Option<i64>>,
}

impl Columns {
    fn of(log: &Log) -> Self {
        let stage = |name: &&str| log.column(&format!("{name}_us"));
        Self {
            numbers: ["frame", "bytes", "stamped_ns"].map(|name| log.column(name)),
            words: ["keyframe", "stamp"].map(|name| log.column(name)),
            offset: log.column("clock_offset_us"),
            uncertainty: log.column("clock_uncertainty_us"),
            total: log.column("total_us"),
            stages: KINDS[FRAMES].stages.iter().map(stage).collect(),
        }
    }

    fn read(&self, log: &Log) -> Result<Frame> {
        let [number, bytes, stamped] = self.numbers.map(|column| log.whole(column));
        let [keyframe, stamp] = self.words.map(|column| log.text(column));
        let nanos = |column: &usize| Ok(log.number(*column)?.map(|micros| (micros * 1e3).round() as i64));
        Ok(Frame {
            number: number?,
            bytes: bytes?,
            keyframe: keyframe == "true",
            stamp: stamp.to_owned(),
            stamped: stamped?,
            offset: nanos(&self.offset)?,
            uncertainty_us: log.number(self.uncertainty)?,
            total_us: log.number(self.total)?,
            stages: self.stages.iter().map(nanos).collect::<Result<_>>()?,
        })
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    drawn: u64,
    /// Frames from before the first exchange of times: where they lie on the viewer's clock is not known.
    uncompared: u64,
    /// Frames whose network stage is below 0, within the clocks' uncertainty.
    negative: u64,
}

/// A trace that is being written, event by event.
struct Trace<W: Write> {
    out: W,
    /// The viewer's clock at time 0 of the trace, in nanoseconds since 1970.
    origin: i128,
    counts: Counts,
}

impl<W: Write> Trace<W> {
    fn begin(mut out: W, end: &End, origin: Timestamp) -> io::Result<Self> {
        let about = json!({
            "clock": "the viewer's",
            "time_0": format!("{origin:.6}"),
            "logs": end.folder.display().to_string(),
        });
        write!(
            out,
            "{{\"displayTimeUnit\":\"ms\",\"otherData\":{about},\"traceEvents\":["
        )?;
        let names = [
            ("process_name", format!("{} {}", end.name, end.folder.display())),
            (
                "thread_name",
                "frames, from the stamp of the source to the sink".to_owned(),
            ),
        ];
        for (at, (kind, name)) in names.into_iter().enumerate() {
            let event = json!({ "ph": "M", "pid": 1, "tid": 1, "ts": 0, "name": kind, "args": { "name": name } });
            write!(out, "{}\n{event}", if at == 0 { "" } else { "," })?;
        }
        Ok(Self {
            out,
            origin: origin.as_nanosecond(),
            counts: Counts::default(),
        })
    }

    /// Writes a frame. Its stages follow one another from the stamp on, each as long as the log says, so that they nest
    /// in the frame whatever the clocks' uncertainty. What is below 0 is drawn as 0, and moves the rest of its frame by
    /// as much.
    fn frame(&mut self, frame: &Frame) -> io::Result<()> {
        let Some(offset) = frame.offset else {
            self.counts.uncompared += 1;
            return Ok(());
        };
        let stages = || KINDS[FRAMES].stages.iter().zip(&frame.stages);
        let network = stages().find(|(name, _)| **name == "network");
        let network = network.and_then(|(_, nanos)| *nanos);
        self.counts.drawn += 1;
        self.counts.negative += u64::from(network.is_some_and(|nanos| nanos < 0));
        let args = json!({
            "frame": frame.number,
            "bytes": frame.bytes,
            "keyframe": frame.keyframe,
            "stamp": frame.stamp,
            "total_us": frame.total_us,
            "network_us": network.map(|nanos| nanos as f64 / 1e3),
            "clock_uncertainty_us": frame.uncertainty_us,
        });
        let mut now = i128::from(frame.stamped) - i128::from(offset) - self.origin;
        self.event("b", "frame", frame.number, now, Some(args))?;
        for (name, nanos) in stages() {
            let Some(nanos) = nanos else { continue };
            self.event("b", name, frame.number, now, None)?;
            now += i128::from((*nanos).max(0));
            self.event("e", name, frame.number, now, None)?;
        }
        self.event("e", "frame", frame.number, now, None)
    }

    fn event(&mut self, ph: &str, name: &str, id: u64, nanos: i128, args: Option<Value>) -> io::Result<()> {
        // In microseconds. As digits, because a fraction in binary does not hold each nanosecond.
        let sign = if nanos < 0 { "-" } else { "" };
        let (micros, rest) = (nanos.unsigned_abs() / 1000, nanos.unsigned_abs() % 1000);
        write!(
            self.out,
            ",\n{{\"ph\":\"{ph}\",\"cat\":\"frame\",\"id\":{id},\"pid\":1,\"tid\":1,\
             \"ts\":{sign}{micros}.{rest:03},\"name\":\"{name}\""
        )?;
        if let Some(args) = args {
            write!(self.out, ",\"args\":{args}")?;
        }
        write!(self.out, "}}")
    }

    fn end(mut self) -> io::Result<Counts> {
        self.out.write_all(b"\n]}\n")?;
        self.out.flush()?;
        Ok(self.counts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Events of a trace of these frames: phase, name and time in nanoseconds.
    fn events(frames: &[Frame]) -> (Vec<(String, String, i64)>, Counts) {
        let mut written = Vec::new();
        let mut trace = Trace {
            out: &mut written,
            origin: 0,
            counts: Counts::default(),
        };
        frames.iter().for_each(|frame| trace.frame(frame).expect("memory"));
        let counts = trace.counts;
        let text = String::from_utf8(written).expect("text");
        let all: Vec<Value> = serde_json::from_str(&format!("[{}]", text.trim_start_matches(','))).expect("JSON");
        let word = |event: &Value, name: &str| event[name].as_str().expect("a word").to_owned();
        let nanos = |event: &Value| (event["ts"].as_f64().expect("a number") * 1e3).round() as i64;
        let events = all
            .iter()
            .map(|event| (word(event, "ph"), word(event, "name"), nanos(event)));
        (events.collect(), counts)
    }

    fn frame(network: Option<i64>, offset: Option<i64>) -> Frame {
        let mut stages = vec![Some(10); KINDS[FRAMES].stages.len()];
        (stages[3], stages[5], stages[9]) = (None, network, None);
        Frame {
            number: 7,
            stamped: 5000,
            offset,
            stages,
            ..Frame::default()
        }
    }

    #[test]
    fn a_frame_begins_at_its_stamp_by_the_viewers_clock_and_its_stages_fill_it() {
        let (events, counts) = events(&[frame(Some(1234), Some(2000))]);
        let expected = Counts {
            drawn: 1,
            ..Counts::default()
        };
        assert_eq!(counts, expected);
        assert_eq!(events[0], ("b".to_owned(), "frame".to_owned(), 3000));
        // Two of the eleven stages were not measured.
        assert_eq!(events.len(), 2 + 2 * 9);
        assert_eq!(events.last().map(|event| event.2), Some(3000 + 8 * 10 + 1234));
        for pair in events[1..events.len() - 1].chunks(2) {
            assert_eq!(
                (pair[0].0.as_str(), pair[1].0.as_str(), &pair[0].1),
                ("b", "e", &pair[1].1)
            );
        }
        let follow = events.windows(2).all(|pair| pair[0].2 <= pair[1].2);
        assert!(follow, "{events:?}");
    }

    #[test]
    fn a_network_time_below_0_is_drawn_as_0_and_a_frame_of_unknown_time_not_at_all() {
        let (events, counts) = events(&[frame(Some(-3), Some(0)), frame(None, None)]);
        let expected = Counts {
            drawn: 1,
            uncompared: 1,
            negative: 1,
        };
        assert_eq!(counts, expected);
        let network: Vec<i64> = events
            .iter()
            .filter(|event| event.1 == "network")
            .map(|event| event.2)
            .collect();
        assert_eq!(network, [5040, 5040]);
    }

    #[test]
    fn frames_are_given_by_first_and_last() {
        assert_eq!("3..5".parse(), Ok(Frames(3..=5)));
        assert_eq!(
            "3..3".parse::<Frames>().map(|frames| frames.to_string()),
            Ok("3..3".to_owned())
        );
        assert!(
            ["5..3", "3", "..", "a..b"]
                .iter()
                .all(|text| text.parse::<Frames>().is_err())
        );
    }
}
