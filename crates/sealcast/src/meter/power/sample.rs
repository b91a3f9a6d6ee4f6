//! What every meter can do.

use std::time::Duration;

use crate::failure::Result;

/// What the numbers of a channel are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// Energy since some beginning, in joules: it never falls, and its differences count.
    Joules,
    /// Power at a moment, in watts.
    Watts,
    /// Temperature, in °C.
    Celsius,
}

/// One of the things that a meter reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Channel {
    /// Its name in metrics, logs and reports.
    pub name: String,
    /// What its numbers are.
    pub quantity: Quantity,
    /// Whether it is a part of the meter's sum. What another channel contains already is not.
    pub counted: bool,
}

/// What a meter is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct About {
    /// Its name, as on the command line.
    pub name: String,
    /// What it measures, and what it does not see.
    pub covers: String,
    /// How finely it measures, in words.
    pub resolution: &'static str,
    /// How often it is worth reading.
    pub period: Duration,
    /// What it reads.
    pub channels: Vec<Channel>,
}

/// One number of one channel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Place in [`About::channels`].
    pub channel: usize,
    /// When it held: on the clock that was passed in, or on the meter's own where it has one. Differences count.
    pub at: Duration,
    /// In the unit of the channel's [`Quantity`].
    pub value: f64,
}

/// A meter of energy, power or temperature.
pub trait Meter: Send {
    /// What it is.
    fn about(&self) -> &About;

    /// Something begins that a meter with a log of its own should name.
    ///
    /// # Errors
    /// The meter cannot be told.
    fn begin(&mut self, _what: &str) -> Result<()> {
        Ok(())
    }

    /// It has ended.
    ///
    /// # Errors
    /// The meter cannot be told.
    fn end(&mut self) -> Result<()> {
        Ok(())
    }

    /// Appends what can be read at `now`: one number of each channel, or all that came since the call before. Does not
    /// wait for more.
    ///
    /// # Errors
    /// The meter is gone, silent, or says what cannot be; in words, with what to do.
    fn read(&mut self, now: Duration, samples: &mut Vec<Sample>) -> Result<()>;
}
