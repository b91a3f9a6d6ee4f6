//! The last stage: compares the pictures of two ways, logs each pair, tells how it goes, and watches for the alarm.

use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use jiff::Timestamp;

use super::alarm::{Alarm, Change};
use super::comparison::{Comparison, Finding};
use super::options::{Control, Way};
use super::pairing::{By, Pair, Side, Sight, Taken};
use super::stillness::StillChange;
use crate::failure::Result;
use crate::meter::logs::LogFile;
use crate::meter::probe_rows::ProbeBesideRow;
use crate::platform::wall_time::wall_time;
use crate::run::clock::Clock;
use crate::run::probe::readings::Readings;
use crate::run::probe::stages::Examined;

/// Interval at which it is told how the comparison goes.
const TELLING: Duration = Duration::from_secs(5);

/// A message for the last stage.
pub(super) enum Message {
    Picture(Way, Box<Examined>),
    /// From here on A is compared with this way; for the control, in this manner.
    Begin(Way, Option<Control>),
    End,
}

/// Results of the last stage.
#[derive(Default)]
pub(super) struct Results {
    /// A beside itself, and how.
    pub(super) control: Option<(Control, Finding)>,
    /// A beside B.
    pub(super) beside: Option<Finding>,
    /// Latencies of both ways by the clock of the picture, in ms, where it is known how far that is from ours.
    pub(super) latencies: [Readings; 2],
    pub(super) alarm: Option<Alarm>,
}

/// A comparison that goes on.
struct Current {
    with: Way,
    control: Option<Control>,
    comparison: Comparison,
}

/// The last stage's state.
pub(super) struct Compare {
    ways: Vec<By>,
    clock: Clock,
    origin: Instant,
    log: Option<LogFile>,
    current: Option<Current>,
    told: Instant,
    results: Results,
}

impl Compare {
    /// Pair in one of these ways.
    ///
    /// # Errors
    /// The log cannot be written: kind `Sink`.
    pub(super) fn new(ways: Vec<By>, clock: Clock, log_dir: Option<&Path>, alarm: Option<Alarm>) -> Result<Self> {
        let open = |folder: &Path| {
            LogFile::folder(folder)?;
            LogFile::open(&folder.join("probe_beside.csv"), ProbeBesideRow::HEADER)
        };
        Ok(Self {
            ways,
            clock,
            origin: Instant::now(),
            log: log_dir.map(open).transpose()?,
            current: None,
            told: Instant::now(),
            results: Results {
                alarm,
                ..Results::default()
            },
        })
    }

    /// Take messages until the end.
    ///
    /// # Errors
    /// The log cannot be written: kind `Sink`.
    pub(super) fn run(mut self, messages: &Receiver<Message>) -> Result<Results> {
        loop {
            match messages.recv_timeout(TELLING) {
                Ok(Message::Picture(way, examined)) => self.picture(way, &examined)?,
                Ok(Message::Begin(way, control)) => {
                    self.end()?;
                    self.told = Instant::now();
                    self.current = Some(Current {
                        with: way,
                        control,
                        comparison: Comparison::new(&self.ways),
                    });
                }
                Err(RecvTimeoutError::Timeout) => {}
                Ok(Message::End) | Err(RecvTimeoutError::Disconnected) => break,
            }
            self.tell();
        }
        self.end()?;
        if let Some(log) = &mut self.log {
            log.flush_all()?;
        }
        Ok(self.results)
    }

    fn picture(&mut self, way: Way, seen: &Examined) -> Result<()> {
        let Some(current) = &mut self.current else {
            return Ok(());
        };
        let side = match way {
            Way::A => Side::A,
            _ if way == current.with => Side::B,
            _ => return Ok(()),
        };
        let since = |instant: Instant| instant.saturating_duration_since(self.origin);
        if let Some(alarm) = self.results.alarm.as_mut().filter(|_| current.control.is_none()) {
            for change in alarm.still.take(side, since(seen.decoded)) {
                tell_still(change, |at| self.clock.wall(self.origin + at));
            }
        }
        current.comparison.take(&Sight {
            side,
            taken: Taken {
                number: seen.number,
                arrived: since(seen.arrived),
                decoded: since(seen.decoded),
            },
            strip: seen.strip,
            colour: seen.colour.map(|event| event.colour),
            hash: seen.hash.clone(),
        });
        if let (Some(strip), Some(clock), Way::B) = (seen.strip, seen.session_clock, current.with) {
            let now = self.clock.wall(seen.decoded);
            let read = clock.at(now);
            let latency = i128::from(now) + i128::from(read.offset) - i128::from(strip.wall_us) * 1000;
            self.results.latencies[side as usize].take(latency as f64 / 1e6, read.uncertainty as f64 / 1e6);
        }
        self.pairs()
    }

    /// Log the pairs that there are.
    fn pairs(&mut self) -> Result<()> {
        let Some(current) = &mut self.current else {
            return Ok(());
        };
        let is_control = current.control.is_some();
        while let Some(pair) = current.comparison.poll() {
            if let Some(log) = &mut self.log {
                log.append(&row(&pair, is_control, |at| self.clock.wall(self.origin + at)))?;
            }
            let alarm = self.results.alarm.as_mut().filter(|_| !is_control);
            let change = alarm.and_then(|alarm| alarm.take(pair.b.decoded, pair.difference_ms()));
            if let Some(change) = change {
                tell_alarm(change);
            }
        }
        Ok(())
    }

    /// End the comparison that goes on.
    fn end(&mut self) -> Result<()> {
        if let Some(current) = &mut self.current {
            current.comparison.finish();
        }
        self.pairs()?;
        if let Some(current) = self.current.take() {
            let finding = current.comparison.judge();
            match current.control {
                Some(control) => self.results.control = Some((control, finding)),
                None => self.results.beside = Some(finding),
            }
        }
        Ok(())
    }

    fn tell(&mut self) {
        let Some(current) = self.current.as_ref().filter(|_| self.told.elapsed() >= TELLING) else {
            return;
        };
        self.told = Instant::now();
        let with = match current.control {
            Some(_) => "A beside itself",
            None => "B beside A",
        };
        match current.comparison.so_far() {
            Some((by, pairs, median)) => tracing::info!(
                pairs,
                difference_ms = format!("{median:.3}"),
                "{with}: paired {} so far",
                by.words()
            ),
            None => tracing::info!("{with}: no pairs yet"),
        }
    }
}

fn tell_alarm(change: Change) {
    match change {
        Change::Raised(ms) => tracing::warn!(
            difference_ms = format!("{ms:.1}"),
            "alarm: B is later than A by more than it may be, in the median of ten seconds"
        ),
        Change::Over(ms, lasted) => tracing::warn!(
            difference_ms = format!("{ms:.1}"),
            seconds = lasted.as_secs(),
            "the alarm is over"
        ),
    }
}

fn tell_still(change: StillChange, wall: impl Fn(Duration) -> u64) {
    match change {
        StillChange::Raised(side, since, lasts) => tracing::warn!(
            way = side.name(),
            since = format!(
                "{:.0}",
                Timestamp::from_nanosecond(wall(since).into()).unwrap_or(Timestamp::MAX)
            ),
            seconds = lasts.as_secs(),
            "alarm: way {} stands still, and way {} goes on",
            side.name(),
            side.other().name()
        ),
        StillChange::Over(side, lasted) => tracing::warn!(
            way = side.name(),
            seconds = lasted.as_secs(),
            "way {} gives pictures again",
            side.name()
        ),
    }
}

fn row(pair: &Pair, is_control: bool, wall: impl Fn(Duration) -> u64) -> ProbeBesideRow {
    ProbeBesideRow {
        time: wall_time(),
        compared: if is_control { "control" } else { "beside" },
        by: pair.by.name(),
        frame_a: pair.a.number,
        frame_b: pair.b.number,
        decoded_a_ns: wall(pair.a.decoded),
        decoded_b_ns: wall(pair.b.decoded),
        difference_ms: pair.difference_ms(),
        arrival_difference_ms: pair.arrival_ms(),
        same: pair.same,
    }
}
