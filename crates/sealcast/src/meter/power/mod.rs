//! Meters of energy, power and temperature behind one trait, and computations on their samples. `docs/meters.md`
//! describes how to set up each meter.

mod board;
#[cfg(test)]
mod board_tests;
mod energy;
mod file;
mod hwmon;
mod ina219;
mod measure;
mod rapl;
mod sample;
mod spec;

pub use board::Board;
pub use energy::{LONGEST_GAP, Tally, Trapezoid};
pub(crate) use file::NumberFile;
pub use hwmon::{Chip, Thermometers};
pub use ina219::{Ina219, Shunt};
pub use measure::{Drawn, measure};
pub use rapl::Rapl;
pub use sample::{About, Channel, Meter, Quantity, Sample};
pub(crate) use spec::HWMON;
pub use spec::{MeterSpec, Opened};
