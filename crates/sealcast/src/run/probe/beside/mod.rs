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
mod pairing;
mod picture_hash;
mod stillness;
mod way;
mod words;

use std::path::PathBuf;
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use self::alarm::Alarm;
use self::compare::{Compare, Message, Results};
use self::pairing::By;
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

/// A way to the camera.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// The way with which the others are compared.
    A,
    /// The same once more, in a session of its own, for the control.
    Again,
    /// The other way.
    B,
}

impl Way {
    /// Its name in messages, logs and metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::A => "A",
            Self::Again => "A again",
            Self::B => "B",
        }
    }
}

/// How A is compared with itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// Two sessions to the same camera.
    Session,
    /// One stream, decoded twice.
    Stream,
}

/// How pictures are paired.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PairBy {
    /// In the first of these ways that works.
    #[default]
    Auto,
    /// By the time in the strip of `sealcast clock` or a test card.
    Clock,
    /// By the events of `sealcast clock`: their numbers, or their colours.
    Event,
    /// By what they look like.
    Content,
}

impl FromStr for PairBy {
    type Err = Failure;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "auto" => Ok(Self::Auto),
            "clock" => Ok(Self::Clock),
            "event" => Ok(Self::Event),
            "content" => Ok(Self::Content),
            _ => {
                let what = format!("pictures cannot be paired by \"{text}\"");
                Err(Failure::new(
                    FailureKind::Usage,
                    what,
                    "use auto, clock, event or content",
                ))
            }
        }
    }
}

impl PairBy {
    fn ways(self) -> Vec<By> {
        match self {
            Self::Auto => By::ALL.to_vec(),
            Self::Clock => vec![By::Clock],
            Self::Event => vec![By::Event, By::Colour],
            Self::Content => vec![By::Content],
        }
    }
}

/// The settings of a comparison.
pub struct BesideOptions {
    /// A and B as messages name them, without secrets.
    pub names: [String; 2],
    /// How pictures are paired.
    pub pair_by: PairBy,
    /// Tell when B is later than A by more than this, or one of them stands still for longer.
    pub alarm: Option<Duration>,
    /// Folder for the log.
    pub log_dir: Option<PathBuf>,
    /// Program file of the decoders, if not this program: for tests, which are other programs.
    pub program: Option<PathBuf>,
}

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
