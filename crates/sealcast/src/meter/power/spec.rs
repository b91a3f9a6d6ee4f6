//! Selection of a meter on the command line.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use linux_embedded_hal::I2cdev;

use super::board::Board;
use super::file::unreadable;
use super::hwmon::Chip;
use super::ina219::{Ina219, Shunt};
use super::rapl::Rapl;
use super::sample::Meter;
use crate::failure::{Failure, FailureKind, Result};

/// Message if nothing measures energy.
const NOT_MEASURABLE: &str = "not measurable here: no energy counter";

/// Default location of the kernel's energy counters.
const POWERCAP: &str = "/sys/class/powercap";
/// Location of the kernel's sensors.
pub(crate) const HWMON: &str = "/sys/class/hwmon";
/// Address of an INA219 with both address pins at ground.
const ADDRESS: u8 = 0x40;
/// Addresses on an I2C bus that are not reserved.
const ADDRESSES: std::ops::RangeInclusive<u8> = 0x08..=0x77;
/// Default bit rate of a serial line, per second.
const BAUD: u32 = 115_200;

/// The requested meter.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum MeterSpec {
    /// A meter that needs no configuration: energy counters of the processor, otherwise the only channel of hwmon.
    #[default]
    Auto,
    /// None.
    None,
    /// The processor's energy counters, in this powercap tree.
    Rapl(PathBuf),
    /// A chip of the hwmon tree, by name.
    Hwmon(Option<String>),
    /// An INA219 on an I2C bus.
    Ina219 {
        /// The bus, such as `/dev/i2c-1`.
        bus: PathBuf,
        /// Its address on the bus.
        address: u8,
        /// The shunt resistor that it is connected to.
        shunt: Shunt,
    },
    /// A board on a serial line.
    Serial {
        /// The line, such as `/dev/ttyUSB0`.
        port: PathBuf,
        /// Bits per second.
        baud: u32,
    },
}

/// An opened meter, or the reason why there is none.
pub struct Opened {
    /// The meter.
    pub meter: Option<Box<dyn Meter>>,
    /// Description of the meter and of what it covers, or the reason why there is none.
    pub words: String,
}

impl From<Box<dyn Meter>> for Opened {
    fn from(meter: Box<dyn Meter>) -> Self {
        let about = meter.about();
        let words = format!("{}: {}; {}", about.name, about.covers, about.resolution);
        Self {
            meter: Some(meter),
            words,
        }
    }
}

impl MeterSpec {
    /// Opens the meter. With [`Auto`](Self::Auto) and [`None`](Self::None) the result may be no meter.
    ///
    /// # Errors
    /// The named meter does not exist, or may not be used; kind `Source`, with the file and a hint.
    pub fn open(&self) -> Result<Opened> {
        let meter: Box<dyn Meter> = match self {
            Self::Auto => return Ok(automatic(Path::new(POWERCAP), Path::new(HWMON))),
            Self::None => {
                return Ok(Opened {
                    meter: None,
                    words: "not measured: no meter was asked for".to_owned(),
                });
            }
            Self::Rapl(tree) => Box::new(Rapl::open(tree)?),
            Self::Hwmon(name) => Box::new(Chip::open(Path::new(HWMON), name.as_deref())?),
            Self::Ina219 { bus, address, shunt } => {
                let device = I2cdev::new(bus).map_err(|error| unreadable(bus, &error.into()))?;
                Box::new(Ina219::open(device, &bus.display().to_string(), *address, *shunt)?)
            }
            Self::Serial { port, baud } => Box::new(Board::open(port, *baud)?),
        };
        Ok(meter.into())
    }
}

/// Opens a meter in these trees, or gives the reason why there is none.
fn automatic(powercap: &Path, hwmon: &Path) -> Opened {
    let rapl = Rapl::open(powercap).map(|rapl| Box::new(rapl) as Box<dyn Meter>);
    let meter = rapl.or_else(|first| match Chip::open(hwmon, None) {
        Ok(chip) => Ok(Box::new(chip) as Box<dyn Meter>),
        Err(second) => Err([first, second]),
    });
    meter.map_or_else(
        |[first, second]| Opened {
            meter: None,
            words: format!("{NOT_MEASURABLE} ({}; {})", first.what, second.what),
        },
        Opened::from,
    )
}

impl FromStr for MeterSpec {
    type Err = Failure;

    fn from_str(text: &str) -> Result<Self> {
        let (kind, rest) = text
            .split_once(':')
            .map_or((text, None), |(kind, rest)| (kind, Some(rest)));
        match (kind, rest) {
            ("auto", None) => Ok(Self::Auto),
            ("none", None) => Ok(Self::None),
            ("rapl", tree) => Ok(Self::Rapl(tree.unwrap_or(POWERCAP).into())),
            ("hwmon", name) => Ok(Self::Hwmon(name.map(str::to_owned))),
            ("ina219", Some(rest)) => ina219(rest).ok_or_else(|| not_a_meter(text))?,
            ("serial", Some(rest)) => serial(rest).ok_or_else(|| not_a_meter(text)),
            _ => Err(not_a_meter(text)),
        }
    }
}

fn not_a_meter(text: &str) -> Failure {
    let what = format!("\"{text}\" names no meter");
    let hint = "say auto, none, rapl, hwmon, hwmon:NAME, ina219:/dev/i2c-1@0x40,shunt=0.1,amps=2 or \
                serial:/dev/ttyUSB0,baud=115200";
    Failure::new(FailureKind::Usage, what, hint)
}

/// Parses `/dev/i2c-1@0x40,shunt=0.1,amps=2`; everything after the bus is optional. `None` if the text has another
/// form; an error if it has this form, but the chip cannot measure such a current.
fn ina219(text: &str) -> Option<Result<MeterSpec>> {
    let mut words = text.split(',');
    let place = words.next().filter(|place| !place.is_empty())?;
    let (bus, address) = match place.rsplit_once('@') {
        Some((bus, address)) => (bus, u8::from_str_radix(address.strip_prefix("0x")?, 16).ok()?),
        None => (place, ADDRESS),
    };
    let mut shunt = Shunt::default();
    for word in words {
        match word.split_once('=')? {
            ("shunt", ohms) => shunt.ohms = ohms.parse().ok()?,
            ("amps", amps) => shunt.amps = amps.parse().ok()?,
            _ => return None,
        }
    }
    let bus = PathBuf::from(bus);
    let spec = MeterSpec::Ina219 { bus, address, shunt };
    ADDRESSES.contains(&address).then(|| shunt.settings().map(|_| spec))
}

/// Parses `/dev/ttyUSB0,baud=115200`.
fn serial(text: &str) -> Option<MeterSpec> {
    let (port, baud) = match text.split_once(',') {
        Some((port, option)) => (port, option.strip_prefix("baud=")?.parse().ok()?),
        None => (text, BAUD),
    };
    let port = PathBuf::from(port);
    (!port.as_os_str().is_empty() && baud > 0).then_some(MeterSpec::Serial { port, baud })
}

impl fmt::Display for MeterSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::None => f.write_str("none"),
            Self::Rapl(tree) if tree == Path::new(POWERCAP) => f.write_str("rapl"),
            Self::Rapl(tree) => write!(f, "rapl:{}", tree.display()),
            Self::Hwmon(None) => f.write_str("hwmon"),
            Self::Hwmon(Some(name)) => write!(f, "hwmon:{name}"),
            Self::Ina219 { bus, address, shunt } => {
                let Shunt { ohms, amps } = shunt;
                write!(f, "ina219:{}@{address:#04x},shunt={ohms},amps={amps}", bus.display())
            }
            Self::Serial { port, baud } => write!(f, "serial:{},baud={baud}", port.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_of_a_meter_reads_back_as_it_was_written() {
        for text in [
            "auto",
            "none",
            "rapl",
            "rapl:/host/powercap",
            "hwmon",
            "hwmon:ina226/power1",
            "ina219:/dev/i2c-1@0x41,shunt=0.01,amps=3.2",
            "serial:/dev/ttyUSB0,baud=9600",
        ] {
            let spec: MeterSpec = text.parse().unwrap();
            assert_eq!(spec.to_string(), text);
        }
        let spec: MeterSpec = "ina219:/dev/i2c-1".parse().unwrap();
        assert_eq!(spec.to_string(), "ina219:/dev/i2c-1@0x40,shunt=0.1,amps=2");
        let spec: MeterSpec = "serial:/dev/ttyACM0".parse().unwrap();
        assert_eq!(spec.to_string(), "serial:/dev/ttyACM0,baud=115200");
    }

    #[test]
    fn what_names_no_meter_is_refused_with_the_ones_there_are() {
        for text in [
            "",
            "wattmeter",
            "auto:x",
            "ina219",
            "ina219:",
            "ina219:/dev/i2c-1@64",
            "ina219:/dev/i2c-1@0x03",
            "ina219:/dev/i2c-1,shunt=x",
            "ina219:/dev/i2c-1,volts=5",
            "serial:",
            "serial:/dev/ttyUSB0,9600",
            "serial:/dev/ttyUSB0,baud=0",
        ] {
            let failure = text.parse::<MeterSpec>().unwrap_err();
            assert_eq!(failure.kind, FailureKind::Usage, "{text}");
            assert!(failure.hint.contains("serial:/dev/ttyUSB0"), "{text}: {failure}");
        }
        let failure = "ina219:/dev/i2c-1,amps=50".parse::<MeterSpec>().unwrap_err();
        assert!(failure.what.contains("50 A"), "{failure}");
    }

    #[test]
    fn where_nothing_measures_energy_that_is_said_and_why() {
        let nothing = automatic(Path::new("/nonexistent/powercap"), Path::new("/nonexistent/hwmon"));
        assert!(nothing.meter.is_none());
        assert!(
            nothing.words.starts_with("not measurable here: no energy counter ("),
            "{}",
            nothing.words
        );
        assert!(nothing.words.contains("/nonexistent/powercap"), "{}", nothing.words);
    }

    #[test]
    fn a_meter_that_is_named_and_not_there_is_an_error_with_its_file() {
        for (text, file) in [
            ("rapl:/nonexistent/powercap", "/nonexistent/powercap"),
            ("ina219:/nonexistent/i2c-1", "/nonexistent/i2c-1"),
            ("serial:/nonexistent/tty", "/nonexistent/tty"),
        ] {
            let failure = text.parse::<MeterSpec>().unwrap().open().err().unwrap();
            assert!(failure.what.contains(file), "{failure}");
            assert_eq!(failure.kind, FailureKind::Source);
        }
        assert!("none".parse::<MeterSpec>().unwrap().open().unwrap().meter.is_none());
    }
}
