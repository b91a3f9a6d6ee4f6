//! Events that displays ask for and report to.

use std::sync::{Mutex, PoisonError};

use sealcast_proto::events::EventReport;
use tokio::sync::mpsc;

use super::{Schedule, Shown};
use crate::run::clock::Clock;

/// Maximum of replaced displays that are remembered. An older one that goes on reporting would be the display again.
const MAX_REPLACED: usize = 64;

/// The events, and which display shows them.
pub struct EventBoard {
    clock: Clock,
    state: Mutex<BoardState>,
    reports: mpsc::Sender<EventReport>,
}

struct BoardState {
    schedule: Schedule,
    /// The display whose reports count: the one that began to report last.
    display: Option<u32>,
    /// Displays whose reports counted before; theirs are refused.
    replaced: Vec<u32>,
}

/// A display's report: times in µs since 1970 by this machine's wall clock.
#[derive(Clone, Copy, Debug)]
pub struct DisplayReport {
    /// Number that the display chose for itself.
    pub display: u32,
    /// The event.
    pub event: u32,
    /// When it was shown.
    pub shown: u64,
    /// Bound of that stamp's error, µs.
    pub uncertainty: u32,
}

/// Outcome of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reported {
    /// Probes are told.
    Taken,
    /// Another display shows the events now, or this one was reported before.
    Superseded,
    /// There is no such event, or not at such a time.
    Wrong,
    /// Too many reports wait to be told.
    Busy,
}

impl EventBoard {
    /// A board for the events of `schedule`. What was shown goes to `reports`.
    pub fn new(clock: Clock, schedule: Schedule, reports: mpsc::Sender<EventReport>) -> Self {
        let state = BoardState {
            schedule,
            display: None,
            replaced: Vec::new(),
        };
        Self {
            clock,
            state: Mutex::new(state),
            reports,
        }
    }

    /// The wall clock by which events are due and reported, in µs since 1970.
    pub fn wall_us(&self) -> u64 {
        self.clock.now().wall / 1000
    }

    fn state<R>(&self, change: impl FnOnce(&mut BoardState) -> R) -> R {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Numbers and times of the present event and those to come.
    pub fn upcoming(&self, now: u64) -> Vec<(u32, u64)> {
        self.state(|state| state.schedule.upcoming(now))
    }

    /// Take a display's report.
    pub fn report(&self, report: DisplayReport) -> Reported {
        let now = self.wall_us();
        let shown = self.state(|state| {
            if state.display != Some(report.display) {
                if state.replaced.contains(&report.display) {
                    return Shown::Again;
                }
                state.replaced.extend(state.display.replace(report.display));
                let excess = state.replaced.len().saturating_sub(MAX_REPLACED);
                state.replaced.drain(..excess);
            }
            state.schedule.take_shown(report.event, report.shown, now)
        });
        match shown {
            Shown::First => {}
            Shown::Again => return Reported::Superseded,
            Shown::Never => return Reported::Wrong,
        }
        let report = EventReport {
            event: report.event,
            shown: report.shown.saturating_mul(1000),
            uncertainty: report.uncertainty.saturating_mul(1000),
        };
        tracing::debug!(event = report.event, uncertainty = report.uncertainty, "shown");
        match self.reports.try_send(report) {
            Ok(()) => Reported::Taken,
            Err(_) => Reported::Busy,
        }
    }
}
