//! Sensors in the kernel's hwmon tree: power, energy, temperature.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::file::{NumberFile, folders, line, unreadable};
use super::sample::{About, Channel, Meter, Quantity, Sample};
use crate::failure::{Failure, FailureKind, Result};

/// Zones of the kernel's thermal tree, for machines whose hwmon tree has no temperature.
const ZONE: &str = "thermal_zone";

/// Files of one quantity: `power1_input`, or `power1_average` if there is no `_input`.
struct Kind {
    prefix: &'static str,
    suffixes: &'static [&'static str],
    quantity: Quantity,
    /// Number of the file's units per unit of the quantity.
    scale: f64,
}

const POWER: Kind = Kind {
    prefix: "power",
    suffixes: &["_input", "_average"],
    quantity: Quantity::Watts,
    scale: 1e6,
};
const ENERGY: Kind = Kind {
    prefix: "energy",
    suffixes: &["_input"],
    quantity: Quantity::Joules,
    scale: 1e6,
};
const TEMPERATURE: Kind = Kind {
    prefix: "temp",
    suffixes: &["_input"],
    quantity: Quantity::Celsius,
    scale: 1e3,
};

/// One file to read.
#[derive(Debug)]
struct Sensor {
    path: PathBuf,
    file: NumberFile,
    scale: f64,
}

impl Sensor {
    fn open(path: PathBuf, scale: f64) -> std::io::Result<Self> {
        let file = NumberFile::open(path.clone())?;
        Ok(Self { path, file, scale })
    }

    fn value(&self) -> std::io::Result<f64> {
        Ok(self.file.signed()? as f64 / self.scale)
    }
}

/// An existing sensor: `power1`, its label, and its path.
type Found = (String, String, PathBuf);

/// Finds the files of one kind in a chip's folder, ordered by number.
fn found(folder: &Path, kind: &Kind) -> Vec<Found> {
    let numbered = folders(folder).into_iter().filter_map(|path| {
        let name = path.file_name()?.to_str()?.strip_prefix(kind.prefix)?;
        let digits = name.find(|c: char| !c.is_ascii_digit())?;
        let (number, suffix) = name.split_at(digits);
        let place = kind.suffixes.iter().position(|known| *known == suffix)?;
        Some((number.parse::<u32>().ok()?, place, path))
    });
    let mut numbered: Vec<_> = numbered.collect();
    numbered.sort();
    numbered.dedup_by_key(|(number, ..)| *number);
    let named = numbered.into_iter().map(|(number, _, path)| {
        let short = format!("{}{number}", kind.prefix);
        let label = line(&folder.join(format!("{short}_label"))).unwrap_or_else(|| short.clone());
        (short, label, path)
    });
    named.collect()
}

/// A chip that measures power or energy: a power supply, a monitor of a rail, or a processor without a powercap tree.
#[derive(Debug)]
pub struct Chip {
    about: About,
    sensors: Vec<Sensor>,
}

impl Chip {
    /// Opens a chip in an hwmon tree, usually `/sys/class/hwmon`. `name` is the content of the chip's file `name`, or
    /// `chip/channel`, such as `ina226/power1`; it may be omitted if there is only one.
    ///
    /// # Errors
    /// Nothing there measures power or energy, or not under this name, or it may not be read; or there are several,
    /// which the message lists.
    pub fn open(tree: &Path, name: Option<&str>) -> Result<Self> {
        let (wanted, channel) = match name.map(|name| name.split_once('/').unwrap_or((name, ""))) {
            Some((chip, channel)) => (Some(chip), Some(channel).filter(|channel| !channel.is_empty())),
            None => (None, None),
        };
        let mut all: Vec<(String, &Kind, Found)> = Vec::new();
        for folder in folders(tree) {
            let Some(chip) = line(&folder.join("name")) else {
                continue;
            };
            for kind in [&ENERGY, &POWER] {
                all.extend(found(&folder, kind).into_iter().map(|one| (chip.clone(), kind, one)));
            }
        }
        let there: Vec<String> = all
            .iter()
            .map(|(chip, _, (short, ..))| format!("{chip}/{short}"))
            .collect();
        all.retain(|(chip, _, (short, label, _))| {
            wanted.is_none_or(|wanted| wanted == chip)
                && channel.is_none_or(|channel| channel == short || channel == label)
        });
        let failed = |what: String, hint: String| Err(Failure::new(FailureKind::Source, what, hint));
        let place = tree.display();
        match &all[..] {
            [(chip, kind, (short, label, path))] => Self::of(chip, kind, short, label, path),
            [] if there.is_empty() => failed(
                format!("nothing in {place} tells power or energy"),
                "load the chip's driver, or name another meter with --meter".to_owned(),
            ),
            [] => failed(
                format!("{place} has no `{}`", name.unwrap_or_default()),
                format!("there are {}", there.join(", ")),
            ),
            several => failed(
                format!(
                    "{place} has {} channels of power or energy to choose from",
                    several.len()
                ),
                format!(
                    "name one, such as --meter hwmon:{}; there are {}",
                    there[0],
                    there.join(", ")
                ),
            ),
        }
    }

    fn of(chip: &str, kind: &Kind, short: &str, label: &str, path: &Path) -> Result<Self> {
        let sensor = Sensor::open(path.to_owned(), kind.scale).map_err(|error| unreadable(path, &error))?;
        sensor.value().map_err(|error| unreadable(path, &error))?;
        let about = About {
            name: format!("hwmon:{chip}/{short}"),
            covers: format!("what {chip} measures as {label}"),
            resolution: "1 µW or µJ as the file states it; how often it changes is the chip's",
            period: Duration::from_millis(50),
            // Many chips change no more often.
            step: Duration::from_millis(100),
            channels: vec![Channel {
                name: format!("{chip} {label}"),
                quantity: kind.quantity,
                counted: true,
            }],
        };
        let sensors = vec![sensor];
        Ok(Self { about, sensors })
    }
}

impl Meter for Chip {
    fn about(&self) -> &About {
        &self.about
    }

    fn read(&mut self, now: Duration, samples: &mut Vec<Sample>) -> Result<()> {
        for (channel, sensor) in self.sensors.iter().enumerate() {
            let value = sensor.value().map_err(|error| unreadable(&sensor.path, &error))?;
            let at = now;
            samples.push(Sample { channel, at, value });
        }
        Ok(())
    }
}

/// All temperatures that the kernel provides.
#[derive(Debug)]
pub struct Thermometers {
    about: About,
    sensors: Vec<Sensor>,
}

impl Thermometers {
    /// Finds the temperatures in an hwmon tree or, if that has none, the zones of a thermal tree. Usually
    /// `/sys/class/hwmon` and `/sys/class/thermal`.
    pub fn find(hwmon: &Path, thermal: &Path) -> Self {
        let mut there: Vec<(String, PathBuf)> = Vec::new();
        for folder in folders(hwmon) {
            let chip = line(&folder.join("name")).unwrap_or_default();
            let sensors = found(&folder, &TEMPERATURE).into_iter();
            there.extend(sensors.map(|(_, label, path)| (format!("{chip} {label}").trim().to_owned(), path)));
        }
        if there.is_empty() {
            let zones = folders(thermal).into_iter().filter_map(|folder| {
                folder.file_name()?.to_str()?.strip_prefix(ZONE)?;
                Some((line(&folder.join("type"))?, folder.join("temp")))
            });
            there.extend(zones);
        }
        let (mut channels, mut sensors) = (Vec::new(), Vec::new());
        for (name, path) in there {
            // A sensor without a value now may have one later, but one that may not be read will stay so.
            let Ok(sensor) = Sensor::open(path, TEMPERATURE.scale) else {
                continue;
            };
            channels.push(Channel {
                name,
                quantity: TEMPERATURE.quantity,
                counted: false,
            });
            sensors.push(sensor);
        }
        let about = About {
            name: "thermometers".to_owned(),
            covers: "what the kernel has a driver for".to_owned(),
            resolution: "1 to 1000 m°C, the sensor's",
            period: Duration::from_secs(1),
            step: Duration::from_secs(1),
            channels,
        };
        Self { about, sensors }
    }
}

impl Meter for Thermometers {
    fn about(&self) -> &About {
        &self.about
    }

    /// Sensors without a current value are left out.
    fn read(&mut self, now: Duration, samples: &mut Vec<Sample>) -> Result<()> {
        let told = self.sensors.iter().enumerate().filter_map(|(channel, sensor)| {
            let value = sensor.value().ok()?;
            Some(Sample {
                channel,
                at: now,
                value,
            })
        });
        samples.extend(told);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::energy::Tally;
    use super::*;

    fn chip(tree: &Path, folder: &str, files: &[(&str, &str)]) {
        let folder = tree.join(folder);
        fs::create_dir(&folder).unwrap();
        for (name, text) in files {
            fs::write(folder.join(name), format!("{text}\n")).unwrap();
        }
    }

    fn values(meter: &mut dyn Meter) -> Vec<f64> {
        let mut samples = Vec::new();
        meter.read(Duration::ZERO, &mut samples).unwrap();
        samples.iter().map(|sample| sample.value).collect()
    }

    #[test]
    fn the_only_channel_of_power_needs_no_name_and_is_in_watts() {
        let tree = tempfile::tempdir().unwrap();
        chip(tree.path(), "hwmon0", &[("name", "coretemp"), ("temp1_input", "41000")]);
        let files = [
            ("name", "ina226"),
            ("power1_input", "2350000"),
            ("power1_average", "1"),
            ("power1_label", "VIN"),
        ];
        chip(tree.path(), "hwmon1", &files);
        let mut meter = Chip::open(tree.path(), None).unwrap();
        assert_eq!(values(&mut meter), [2.35]);
        assert_eq!(
            (&*meter.about().name, &*meter.about().channels[0].name),
            ("hwmon:ina226/power1", "ina226 VIN")
        );
        fs::write(tree.path().join("hwmon1/power1_input"), "3000000\n").unwrap();
        assert_eq!(values(&mut meter), [3.0]);
    }

    #[test]
    fn several_channels_are_listed_and_one_is_chosen_by_number_or_label() {
        let tree = tempfile::tempdir().unwrap();
        let files = [
            ("name", "amd_energy"),
            ("energy1_input", "5000000"),
            ("energy1_label", "Ecore000"),
            ("energy10_input", "9000000"),
            ("energy10_label", "Esocket0"),
        ];
        chip(tree.path(), "hwmon3", &files);
        let failure = Chip::open(tree.path(), None).unwrap_err();
        assert!(
            failure.hint.contains("amd_energy/energy1, amd_energy/energy10"),
            "{failure}"
        );
        for name in ["amd_energy/energy10", "amd_energy/Esocket0"] {
            assert_eq!(values(&mut Chip::open(tree.path(), Some(name)).unwrap()), [9.0]);
        }
        let failure = Chip::open(tree.path(), Some("ina219")).unwrap_err();
        assert!(
            failure.what.contains("no `ina219`") && failure.hint.contains("amd_energy/energy1"),
            "{failure}"
        );
        assert!(Chip::open(Path::new("/nonexistent"), None).is_err());
    }

    #[test]
    fn temperatures_come_from_chips_and_where_there_are_none_from_zones() {
        let hwmon = tempfile::tempdir().unwrap();
        let thermal = tempfile::tempdir().unwrap();
        chip(
            thermal.path(),
            "thermal_zone0",
            &[("type", "cpu-thermal"), ("temp", "48312")],
        );
        chip(thermal.path(), "cooling_device0", &[("type", "fan"), ("temp", "1")]);
        let celsius = || {
            let mut meter = Thermometers::find(hwmon.path(), thermal.path());
            let (mut samples, mut tally) = (Vec::new(), Tally::new(&meter.about().channels));
            meter.read(Duration::ZERO, &mut samples).unwrap();
            samples.iter().for_each(|sample| tally.add(sample));
            tally.celsius().into_iter().collect::<Vec<_>>()
        };
        assert_eq!(celsius(), [("cpu-thermal".to_owned(), 48.312)]);
        let files = [
            ("name", "nvme"),
            ("temp1_input", "-5000"),
            ("temp1_label", "Composite"),
            ("temp2_input", "none"),
        ];
        chip(hwmon.path(), "hwmon0", &files);
        assert_eq!(celsius(), [("nvme Composite".to_owned(), -5.0)]);
    }
}
