//! Two ways to the same camera beside one another: by how much the pictures of one are later than those of the other.
//!
//! ```text
//! way A ─► queue ─► decode ─► examine ─┐
//!            └────► decode ─► examine ─┤ (a control of one stream)
//! way A again ─► … ────────────────────┼─► compare: pair, log, watch for the alarm
//! way B ─► … ──────────────────────────┘
//! ```
//!
//! One program decodes all of them, so one monotonic clock stamps all pictures, and what it takes to receive and decode
//! one is the same on both sides. First A is compared with itself: what differs there is no way's. Then A is compared
//! with B. [`Beside::sink`] takes what comes a way, [`Beside::control`] and [`Beside::compare`] begin a comparison, and
//! [`Beside::finish`] says what came of them.

mod alarm;
mod compare;
mod comparison;
mod differences;
mod options;
mod pairing;
mod picture_hash;
mod stillness;
mod way;
mod words;

use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use self::alarm::Alarm;
use self::compare::{Compare, Message, Results};
pub use self::options::{BesideOptions, Control, PairBy, Way};
pub(super) use self::picture_hash::PictureHash;
use self::way::{Outlets, Stages, WaySink};
pub use self::words::Outcome;
use super::spawn;
use super::stages::{Passing, passing, stopped};
use crate::failure::{Failure, FailureKind, Result};
use crate::run::clock::Clock;
use crate::sink::Sink;

/// Maximum of messages that wait for the last stage.
const MAX_MESSAGES: usize = 256;

/// The running stages of a comparison.
pub struct Beside {
    options: BesideOptions,
    outlets: [Arc<Outlets>; 3],
    stages: Mutex<Vec<Stages>>,
    messages: Passing<Message>,
    comparing: JoinHandle<Result<Results>>,
}

impl Beside {
    /// Start the last stage. `clock` is that of the sessions.
    ///
    /// # Errors
    /// The log cannot be written: kind `Sink`.
    pub fn start(options: BesideOptions, clock: Clock) -> Result<Self> {
        let (messages, taken) = passing(MAX_MESSAGES);
        let alarm = options.alarm.map(Alarm::new);
        let compare = Compare::new(options.pair_by.ways(), clock, options.log_dir.as_deref(), alarm)?;
        let comparing = spawn("compare pictures", move || compare.run(&taken))?;
        Ok(Self {
            options,
            outlets: [(); 3].map(|()| Arc::default()),
            stages: Mutex::default(),
            messages,
            comparing,
        })
    }

    fn outlets(&self, way: Way) -> &Arc<Outlets> {
        &self.outlets[way as usize]
    }

    /// The sink for the frames of a way. They are decoded once a comparison needs them.
    pub fn sink(&self, way: Way) -> Box<dyn Sink> {
        Box::new(WaySink::new(Arc::clone(self.outlets(way))))
    }

    /// Resolves when the first frame of a way has come.
    pub async fn arrived(&self, way: Way) {
        self.outlets(way).arrived().await;
    }

    /// Compare A with itself from here on.
    ///
    /// # Errors
    /// The system gives no threads, or the last stage has ended.
    pub fn control(&self, control: Control) -> Result<()> {
        let through = match control {
            Control::Session => Way::Again,
            Control::Stream => Way::A,
        };
        self.end(Way::Again)?;
        self.decode(Way::A, Way::A)?;
        self.decode(through, Way::Again)?;
        self.begin(Way::Again, Some(control))
    }

    /// Compare A with B from here on.
    ///
    /// # Errors
    /// As [`control`](Self::control).
    pub fn compare(&self) -> Result<()> {
        self.end(Way::Again)?;
        self.decode(Way::A, Way::A)?;
        self.decode(Way::B, Way::B)?;
        self.begin(Way::B, None)
    }

    fn begin(&self, with: Way, control: Option<Control>) -> Result<()> {
        match self.messages.pass(Message::Begin(with, control)) {
            true => Ok(()),
            false => Err(stopped()),
        }
    }

    /// Decode what comes `through` a way as pictures of `way`, if that is not done yet.
    fn decode(&self, through: Way, way: Way) -> Result<()> {
        let mut stages = self.stages.lock().unwrap_or_else(PoisonError::into_inner);
        if stages.iter().any(|stages| stages.way == way) {
            return Ok(());
        }
        let program = self.options.program.clone();
        stages.push(self.outlets(through).decode(way, program, self.messages.clone())?);
        Ok(())
    }

    /// Decode no more pictures of `way`.
    fn end(&self, way: Way) -> Result<()> {
        self.outlets.iter().for_each(|outlets| outlets.end(way));
        let mut stages = self.stages.lock().unwrap_or_else(PoisonError::into_inner);
        let ended: Vec<Stages> = stages.extract_if(.., |stages| stages.way == way).collect();
        drop(stages);
        ended
            .into_iter()
            .try_for_each(|stages| stages.join().map_err(|_| panicked()))
    }

    /// Let the stages finish what waits, and say what was found. Call it when the ways have ended.
    ///
    /// # Errors
    /// The log could not be written: kind `Sink`.
    pub fn finish(self) -> Result<Outcome> {
        let ended = [Way::A, Way::Again, Way::B].into_iter().map(|way| self.end(way));
        let ended: Result<()> = ended.collect();
        // The last stage ends first only after a failure, which it reports.
        self.messages.pass(Message::End);
        let results = self.comparing.join().map_err(|_| panicked())??;
        ended.map(|()| words::outcome(&self.options, &results))
    }
}

fn panicked() -> Failure {
    let what = "a stage of the probe panicked";
    Failure::new(FailureKind::Internal, what, "please report this")
}
