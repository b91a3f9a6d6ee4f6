//! The interface that all meters implement.

use std::time::Duration;

use crate::failure::Result;

/// Quantity of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// Energy in joules since an arbitrary start: it never falls, and only differences are meaningful.
    Joules,
    /// Momentary power, in watts.
    Watts,
    /// Temperature, in °C.
    Celsius,
}

/// One value that a meter reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Channel {
    /// Name in metrics, logs and reports.
    pub name: String,
    /// Quantity of its values.
    pub quantity: Quantity,
    /// True if it is part of the meter's sum; false if another channel already contains it.
    pub counted: bool,
}

/// Description of a meter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct About {
    /// Name, as on the command line.
    pub name: String,
    /// The consumers that it measures, and those that it does not see.
    pub covers: String,
    /// Resolution of its values, as text.
    pub resolution: &'static str,
    /// Useful sampling period.
    pub period: Duration,
    /// Time between two changes of its values: it cannot tell when within this time energy was used.
    pub step: Duration,
    /// The channels that it reads.
    pub channels: Vec<Channel>,
}

/// One value of one channel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Index into [`About::channels`].
    pub channel: usize,
    /// Time of the value, on the clock passed in or, if it has one, on the meter's own. Only differences are
    /// meaningful.
    pub at: Duration,
    /// In the unit of the channel's [`Quantity`].
    pub value: f64,
}

/// A meter of energy, power or temperature.
pub trait Meter: Send {
    /// Description of the meter.
    fn about(&self) -> &About;

    /// Announces the beginning of something that a meter with its own log should name.
    ///
    /// # Errors
    /// The meter cannot be notified.
    fn begin(&mut self, _what: &str) -> Result<()> {
        Ok(())
    }

    /// Announces the end of it.
    ///
    /// # Errors
    /// The meter cannot be notified.
    fn end(&mut self) -> Result<()> {
        Ok(())
    }

    /// Appends the values available at `now`: one per channel, or all that arrived since the previous call. Does not
    /// wait for more.
    ///
    /// # Errors
    /// The meter is gone, silent, or returns impossible values; the message says so, with a hint.
    fn read(&mut self, now: Duration, samples: &mut Vec<Sample>) -> Result<()>;
}
