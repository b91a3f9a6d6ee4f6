//! The last stage: joins what was seen in pictures with what the event server said, and logs both.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::mpsc::Receiver;
use std::time::Duration;

use sealcast_proto::clock::ClockEstimate;
use sealcast_proto::events::EventReport;

use super::readings::Readings;
use super::spectrum::EVENT_COLOURS;
use super::stages::{Examined, Finding};
use crate::failure::Result;
use crate::meter::logs::LogFile;
use crate::meter::probe_rows::{ProbeEventRow, ProbeFrameRow, ReadBy};
use crate::platform::wall_time::wall_time;
use crate::run::clock::Clock;
use crate::run::events::EventClock;

/// Maximum of events that wait for the server's word, and of the server's reports that are kept for them.
const MAX_WAITING: usize = 1024;

/// An event that was seen in a picture.
struct Sighting {
    by: ReadBy,
    /// The event's number, or only its colour.
    what: What,
    frame: u64,
    /// By the event server's clock, ns since 1970.
    decoded: i128,
    clock_uncertainty: u64,
    examining: Duration,
}

#[derive(Clone, Copy)]
enum What {
    Number(u32),
    Colour(usize),
}

/// Counters of the last stage.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct JoinCounts {
    pub(super) examined: u64,
    pub(super) reports: u64,
    /// Events seen of which the server said nothing.
    pub(super) unexplained: u64,
    /// Sightings or reports that were given up because too many waited.
    pub(super) given_up: u64,
    /// Pictures in which the clock was read.
    pub(super) strips: u64,
}

/// All readings.
#[derive(Debug, Default)]
pub(super) struct Results {
    pub(super) events_by_colour: Readings,
    pub(super) events_by_clock: Readings,
    pub(super) frames_by_clock: Readings,
    pub(super) frames_by_capture: Readings,
    pub(super) counts: JoinCounts,
}

/// The logs of a probe.
pub(super) struct ProbeLogs {
    events: LogFile,
    frames: LogFile,
}

impl ProbeLogs {
    /// Open the logs in `folder`, which is made if it does not exist.
    ///
    /// # Errors
    /// Kind `Sink`: as other logs.
    pub(super) fn create(folder: &Path) -> Result<Self> {
        LogFile::folder(folder)?;
        Ok(Self {
            events: LogFile::open(&folder.join("probe_events.csv"), ProbeEventRow::HEADER)?,
            frames: LogFile::open(&folder.join("probe_frames.csv"), ProbeFrameRow::HEADER)?,
        })
    }
}

/// The last stage's state.
pub(super) struct Join {
    clock: Clock,
    /// The event server's clock, if there is a server.
    server: Option<EventClock>,
    logs: Option<ProbeLogs>,
    reports: VecDeque<EventReport>,
    sightings: VecDeque<Sighting>,
    /// Event of the last strip.
    last_strip: Option<u32>,
    results: Results,
}

impl Join {
    pub(super) fn new(clock: Clock, server: Option<EventClock>, logs: Option<ProbeLogs>) -> Self {
        Self {
            clock,
            server,
            logs,
            reports: VecDeque::new(),
            sightings: VecDeque::new(),
            last_strip: None,
            results: Results::default(),
        }
    }

    /// Take findings until they end.
    ///
    /// # Errors
    /// A log cannot be written: kind `Sink`.
    pub(super) fn run(mut self, findings: &Receiver<Finding>) -> Result<Results> {
        while let Ok(finding) = findings.recv() {
            match finding {
                Finding::Examined(examined) => self.examined(&examined)?,
                Finding::Event(report) => self.reported(report)?,
                Finding::End => break,
            }
        }
        self.settle(true)?;
        if let Some(logs) = &mut self.logs {
            logs.events.flush_all()?;
            logs.frames.flush_all()?;
        }
        Ok(self.results)
    }

    fn examined(&mut self, seen: &Examined) -> Result<()> {
        self.results.counts.examined += 1;
        let server = self.server.as_ref().and_then(EventClock::estimate);
        let (clock, base) = match (server, seen.session_clock) {
            (Some(clock), _) => (Some(clock), "events"),
            (None, Some(clock)) => (Some(clock), "session"),
            // Nobody says what other clock the stamps could be by.
            (None, None) => (None, "same"),
        };
        let now = self.clock.wall(seen.decoded);
        let read = |clock: ClockEstimate| clock.at(now);
        let (offset, error) = clock.map(read).map_or((0, 0), |read| (read.offset, read.uncertainty));
        let decoded = i128::from(now) + i128::from(offset);
        let mut row = ProbeFrameRow::new(seen);
        if let Some(strip) = seen.strip {
            self.results.counts.strips += 1;
            let latency = decoded - i128::from(strip.wall_us) * 1000;
            row.by_clock(strip, decoded, latency, error, base);
            self.results.frames_by_clock.take(ms(latency), ms(error));
            // Of the first event that is seen nobody knows how long it was there.
            let before = self.last_strip.replace(strip.event);
            if self.server.is_some() && before.is_some_and(|before| before != strip.event) {
                self.sighted(ReadBy::Clock, What::Number(strip.event), seen, decoded, error);
            }
        }
        if let Some(capture) = seen.capture {
            let clock = read(capture.clock);
            let latency = i128::from(now) + i128::from(clock.offset) - i128::from(capture.stamped);
            row.by_capture(latency, clock.uncertainty);
            self.results.frames_by_capture.take(ms(latency), ms(clock.uncertainty));
        }
        if let (Some(colour), Some(_)) = (seen.colour, &self.server) {
            self.sighted(ReadBy::Colour, What::Colour(colour.colour), seen, decoded, error);
        }
        if let Some(logs) = &mut self.logs {
            logs.frames.append(&row)?;
        }
        Ok(())
    }

    fn sighted(&mut self, by: ReadBy, what: What, seen: &Examined, decoded: i128, clock_uncertainty: u64) {
        if self.sightings.len() == MAX_WAITING {
            self.sightings.pop_front();
            self.results.counts.given_up += 1;
        }
        self.sightings.push_back(Sighting {
            by,
            what,
            frame: seen.number,
            decoded,
            clock_uncertainty,
            examining: seen.examining,
        });
    }

    fn reported(&mut self, report: EventReport) -> Result<()> {
        self.results.counts.reports += 1;
        if self.reports.len() == MAX_WAITING {
            // Those before have long been joined: an event is seen within a thousand others, or not at all.
            self.reports.pop_front();
        }
        self.reports.push_back(report);
        self.settle(false)
    }

    /// Join the sightings of which the server must have said everything: it has reported an event that was shown later.
    /// At the `end` all of them.
    fn settle(&mut self, end: bool) -> Result<()> {
        let latest = self.reports.back().map_or(0, |report| report.shown);
        while let Some(sighting) = self.sightings.front() {
            let late = sighting.decoded + i128::from(sighting.clock_uncertainty) + LATE;
            if !end && i128::from(latest) <= late {
                return Ok(());
            }
            if let Some(sighting) = self.sightings.pop_front() {
                self.join(&sighting)?;
            }
        }
        Ok(())
    }

    fn join(&mut self, sighting: &Sighting) -> Result<()> {
        let uncertainty = |report: &EventReport| sighting.clock_uncertainty.saturating_add(report.uncertainty.into());
        let is_it = |report: &&EventReport| match sighting.what {
            What::Number(number) => report.event == number,
            // The latest of this colour that can have been shown when it was seen.
            What::Colour(colour) => {
                let shown = i128::from(report.shown) - i128::from(uncertainty(report));
                report.event as usize % EVENT_COLOURS == colour && shown <= sighting.decoded
            }
        };
        let report = self.reports.iter().rev().find(is_it);
        let mut row = ProbeEventRow {
            time: wall_time(),
            by: sighting.by,
            frame: sighting.frame,
            decoded_ns: u64::try_from(sighting.decoded).unwrap_or(0),
            clock_uncertainty_us: sighting.clock_uncertainty as f64 / 1e3,
            examining_us: sighting.examining.as_secs_f64() * 1e6,
            ..ProbeEventRow::default()
        };
        if let What::Number(number) = sighting.what {
            row.event = Some(number);
        }
        match report {
            Some(report) => {
                let latency = sighting.decoded - i128::from(report.shown);
                let uncertainty = uncertainty(report);
                row.event = Some(report.event);
                row.shown_ns = Some(report.shown);
                row.shown_uncertainty_us = Some(f64::from(report.uncertainty) / 1e3);
                row.latency_ms = Some(ms(latency));
                row.uncertainty_ms = Some(ms(uncertainty));
                let readings = match sighting.by {
                    ReadBy::Colour => &mut self.results.events_by_colour,
                    ReadBy::Clock => &mut self.results.events_by_clock,
                };
                readings.take(ms(latency), ms(uncertainty));
            }
            None => self.results.counts.unexplained += 1,
        }
        match &mut self.logs {
            Some(logs) => logs.events.append(&row),
            None => Ok(()),
        }
    }
}

/// A report of an event comes at most this long, in ns, after one of a later event: displays report in order, but each
/// in a connection of its own.
const LATE: i128 = 200_000_000;

/// Nanoseconds as milliseconds.
fn ms(nanos: impl TryInto<i64>) -> f64 {
    nanos.try_into().map_or(f64::NAN, |nanos| nanos as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use sealcast_proto::clock::{ClockFilter, Exchange};

    use super::*;
    use crate::run::probe::spectrum::ColourEvent;
    use crate::run::probe::stages::{CaptureStamp, passing};
    use crate::source::test_card::CardClock;

    const DISPLAYED: u64 = 1_800_000_000_000_000_000;

    fn examined(clock: Clock, number: u64, wall: u64) -> Examined {
        let began = clock.instant(Duration::ZERO).expect("the beginning");
        // The wall clock at an instant is linear.
        let decoded = began + Duration::from_nanos(wall - clock.wall(began));
        Examined {
            number,
            arrived: decoded,
            decoded,
            decode_time: Duration::from_millis(1),
            queued: Duration::ZERO,
            examining: Duration::from_micros(300),
            strip: None,
            colour: None,
            hash: None,
            session_clock: None,
            capture: None,
        }
    }

    /// A clock that is ahead of ours by this many ns, known to within a microsecond at our time `now`.
    fn ahead_by(now: u64, offset: i64) -> ClockEstimate {
        let theirs = now.saturating_add_signed(offset);
        let mut filter = ClockFilter::default();
        filter.sample(Exchange {
            sent: now - 50,
            peer_received: theirs,
            peer_sent: theirs,
            received: now + 50,
        });
        filter.estimate().expect("a sample")
    }

    fn report(event: u32, shown: u64) -> Finding {
        Finding::Event(EventReport {
            event,
            shown,
            uncertainty: 500_000,
        })
    }

    fn results(findings: Vec<Finding>, server: Option<EventClock>, clock: Clock) -> Results {
        let (queue, taken) = passing(findings.len() + 1);
        assert!(
            findings
                .into_iter()
                .chain([Finding::End])
                .all(|finding| queue.pass(finding))
        );
        Join::new(clock, server, None).run(&taken).expect("no log, no failure")
    }

    #[test]
    fn events_are_joined_by_number_and_by_colour_also_when_the_report_comes_later() {
        let clock = Clock::default();
        let base = clock.wall(Instant::now()) / 1000 * 1000;
        let ahead = 5_000_000_000_i64;
        let server = EventClock::fixed(ahead_by(base, ahead));
        let mut findings = Vec::new();
        for event in 1..=20_u32 {
            let shown = base + u64::from(event) * 1_000_000_000;
            let seen = |number, delay: u64| examined(clock, number, shown + delay);
            let mut by_strip = seen(2 * u64::from(event), 30_000_000);
            by_strip.strip = Some(CardClock {
                event,
                wall_us: (shown + ahead as u64) / 1000,
            });
            let mut by_colour = seen(2 * u64::from(event) + 1, 40_000_000);
            by_colour.colour = Some(ColourEvent {
                colour: event as usize % EVENT_COLOURS,
                change: 0.5,
            });
            findings.push(Finding::Examined(Box::new(by_strip)));
            findings.push(Finding::Examined(Box::new(by_colour)));
            findings.push(report(event, shown + ahead as u64));
        }
        let results = results(findings, Some(server), clock);
        let table = crate::run::probe::readings::table(&[
            ("colour", &results.events_by_colour),
            ("clock", &results.events_by_clock),
            ("frames", &results.frames_by_clock),
        ]);
        let figures = |name: &str| {
            let row = table.lines().find(|line| line.starts_with(name)).expect("a row");
            row.split_whitespace().take(6).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(figures("colour"), "colour 20 40.000 40.000 40.000 40.000");
        assert_eq!(figures("clock"), "clock 19 30.000 30.000 30.000 30.000");
        assert_eq!(figures("frames"), "frames 20 30.000 30.000 30.000 30.000");
        assert_eq!((results.counts.unexplained, results.counts.reports), (0, 20));
    }

    #[test]
    fn an_event_of_which_the_server_says_nothing_is_counted_and_gives_no_reading() {
        let clock = Clock::default();
        let base = clock.wall(Instant::now());
        let server = EventClock::fixed(ahead_by(base, 0));
        let mut seen = examined(clock, 1, base + 1_000_000);
        seen.colour = Some(ColourEvent { colour: 1, change: 0.5 });
        seen.strip = Some(CardClock {
            event: 7,
            wall_us: DISPLAYED / 1000,
        });
        let mut before = examined(clock, 0, base);
        before.strip = Some(CardClock {
            event: 6,
            wall_us: DISPLAYED / 1000,
        });
        // Of the same colour, but shown after it was seen.
        let pictures = [before, seen].map(|seen| Finding::Examined(Box::new(seen)));
        let findings = pictures.into_iter().chain([report(13, base + 900_000_000)]).collect();
        let results = results(findings, Some(server), clock);
        assert_eq!(results.counts.unexplained, 2, "by colour and by clock");
    }

    #[test]
    fn stamps_of_the_session_need_no_event_server() {
        let clock = Clock::default();
        let base = clock.wall(Instant::now());
        let estimate = ahead_by(base, -3_000_000);
        let mut seen = examined(clock, 1, base + 10_000_000);
        seen.session_clock = Some(estimate);
        seen.capture = Some(CaptureStamp {
            stamped: base,
            clock: estimate,
        });
        seen.strip = Some(CardClock {
            event: 7,
            wall_us: base.div_ceil(1000) + 8_000,
        });
        let results = results(vec![Finding::Examined(Box::new(seen))], None, clock);
        let table = crate::run::probe::readings::table(&[
            ("capture", &results.frames_by_capture),
            ("clock", &results.frames_by_clock),
        ]);
        assert!(
            table.contains(" 7.000 "),
            "10 ms later by a clock that is 3 ms behind: {table}"
        );
        assert!(
            table.contains("clock: 0 negative readings within their uncertainty and 1 beyond"),
            "{table}"
        );
    }
}
