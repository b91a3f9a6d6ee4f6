//! Meters of energy, power and temperature behind one seam, and what is made of their samples. Set-up of each meter:
//! `docs/meters.md`.

mod board;
#[cfg(test)]
mod board_tests;
mod file;
mod hwmon;
mod ina219;
mod measure;
mod rapl;
mod seam;
mod spec;
mod tally;

pub use board::Board;
pub(crate) use file::NumberFile;
pub use hwmon::{Chip, Thermometers};
pub use ina219::{Ina219, Shunt};
pub use measure::{Drawn, measure};
pub use rapl::Rapl;
pub use seam::{About, Channel, Meter, Quantity, Sample};
pub(crate) use spec::HWMON;
pub use spec::{MeterSpec, Opened};
pub use tally::{LONGEST_GAP, Tally, Trapezoid};
