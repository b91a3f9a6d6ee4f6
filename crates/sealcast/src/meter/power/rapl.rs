//! The processor's energy counters in the kernel's powercap tree (RAPL).

use std::path::Path;
use std::time::Duration;

use super::file::{NumberFile, folders, line, unreadable};
use super::sample::{About, Channel, Meter, Quantity, Sample};
use crate::failure::{Failure, FailureKind, Result};

/// The processor's energy counters: those of packages, and of the memory if there is one.
#[derive(Debug)]
pub struct Rapl {
    about: About,
    domains: Vec<Domain>,
}

/// One counter, which wraps around at the maximum that it states.
#[derive(Debug)]
struct Domain {
    counter: NumberFile,
    range_uj: u64,
    last_uj: u64,
    total_uj: u64,
}

impl Rapl {
    /// Opens the counters in a powercap tree, usually `/sys/class/powercap`.
    ///
    /// # Errors
    /// There are none, as on virtual machines; or they may not be read, as without root; or none of them counts up.
    pub fn open(tree: &Path) -> Result<Self> {
        let mut domains = Vec::new();
        let mut channels = Vec::new();
        for folder in folders(tree) {
            let (Some(name), Some(zone)) = (line(&folder.join("name")), folder.file_name()) else {
                continue;
            };
            let zone = zone.to_string_lossy();
            let path = folder.join("energy_uj");
            let counter = match NumberFile::open(path.clone()) {
                Ok(counter) => counter,
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
                Err(error) => return Err(unreadable(&path, &error)),
            };
            let last_uj = counter.number()?;
            // Some virtual machines have the files, but no counters behind them.
            if last_uj == 0 {
                continue;
            }
            let range = line(&folder.join("max_energy_range_uj")).and_then(|range| range.parse().ok());
            domains.push(Domain {
                counter,
                range_uj: range.unwrap_or(u64::MAX),
                last_uj,
                total_uj: 0,
            });
            channels.push(Channel {
                counted: counts(&zone, &name),
                name: format!("{name} ({zone})"),
                quantity: Quantity::Joules,
            });
        }
        if !channels.iter().any(|channel| channel.counted) {
            let what = format!("there is no energy counter in {}", tree.display());
            let hint =
                "virtual machines have none; on hardware, load intel_rapl_msr, or name another meter with --meter";
            return Err(Failure::new(FailureKind::Source, what, hint));
        }
        let about = About {
            name: "rapl".to_owned(),
            covers: "processor packages, and memory where it has a counter; not the rest of the machine".to_owned(),
            resolution: "updated about every millisecond",
            period: Duration::from_millis(100),
            step: Duration::from_millis(1),
            channels,
        };
        Ok(Self { about, domains })
    }
}

/// True if a zone is part of the sum: packages and their memory. Cores and graphics are part of a package, `psys`
/// contains everything, and the second interface to the same counters (`intel-rapl-mmio`) would count them twice.
fn counts(zone: &str, name: &str) -> bool {
    zone.starts_with("intel-rapl:") && (name.starts_with("package") || name == "dram")
}

impl Meter for Rapl {
    fn about(&self) -> &About {
        &self.about
    }

    fn read(&mut self, now: Duration, samples: &mut Vec<Sample>) -> Result<()> {
        for (channel, domain) in self.domains.iter_mut().enumerate() {
            samples.push(Sample {
                channel,
                at: now,
                value: domain.joules()?,
            });
        }
        Ok(())
    }
}

impl Domain {
    /// Joules since the counter was opened.
    fn joules(&mut self) -> Result<f64> {
        let now_uj = self.counter.number()?;
        let used = match now_uj.checked_sub(self.last_uj) {
            Some(used) => used,
            None => self.range_uj.saturating_sub(self.last_uj).saturating_add(now_uj),
        };
        self.last_uj = now_uj;
        self.total_uj = self.total_uj.saturating_add(used);
        Ok(self.total_uj as f64 / 1e6)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn zone(tree: &Path, zone: &str, name: &str, uj: &str) {
        let folder = tree.join(zone);
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("name"), format!("{name}\n")).unwrap();
        fs::write(folder.join("max_energy_range_uj"), "10000000\n").unwrap();
        fs::write(folder.join("energy_uj"), uj).unwrap();
    }

    #[test]
    fn an_energy_counter_that_wraps_goes_on_counting() {
        let tree = tempfile::tempdir().unwrap();
        zone(tree.path(), "intel-rapl:0", "package-0", "9000000\n");
        let mut rapl = Rapl::open(tree.path()).unwrap();
        fs::write(tree.path().join("intel-rapl:0/energy_uj"), "500000\n").unwrap();
        let mut samples = Vec::new();
        rapl.read(Duration::from_secs(1), &mut samples).unwrap();
        assert_eq!((samples.len(), samples[0].value), (1, 1.5));
        assert_eq!(rapl.about().channels[0].name, "package-0 (intel-rapl:0)");
    }

    #[test]
    fn packages_and_memory_count_and_what_is_in_them_or_contains_them_does_not() {
        let tree = tempfile::tempdir().unwrap();
        let zones = [
            ("intel-rapl:0", "package-0", true),
            ("intel-rapl:0:0", "core", false),
            ("intel-rapl:0:1", "dram", true),
            ("intel-rapl:1", "psys", false),
            ("intel-rapl-mmio:0", "package-0", false),
        ];
        zones
            .iter()
            .for_each(|(folder, name, _)| zone(tree.path(), folder, name, "1"));
        fs::create_dir(tree.path().join("intel-rapl")).unwrap();
        let rapl = Rapl::open(tree.path()).unwrap();
        for (folder, name, counted) in zones {
            let name = format!("{name} ({folder})");
            let mut channels = rapl.about().channels.iter();
            let channel = channels.find(|channel| channel.name == name).unwrap();
            assert_eq!(channel.counted, counted, "{name}");
        }
    }

    #[test]
    fn a_tree_without_counters_that_count_is_named() {
        let tree = tempfile::tempdir().unwrap();
        zone(tree.path(), "intel-rapl:0", "package-0", "0\n");
        let failure = Rapl::open(tree.path()).unwrap_err();
        assert!(failure.what.contains(&tree.path().display().to_string()), "{failure}");
        assert!(Rapl::open(Path::new("/nonexistent")).is_err());
    }

    #[test]
    fn a_counter_that_holds_no_number_any_more_is_named() {
        let tree = tempfile::tempdir().unwrap();
        zone(tree.path(), "intel-rapl:0", "package-0", "7\n");
        let mut rapl = Rapl::open(tree.path()).unwrap();
        fs::write(tree.path().join("intel-rapl:0/energy_uj"), "ENODATA\n").unwrap();
        let failure = rapl.read(Duration::ZERO, &mut Vec::new()).unwrap_err();
        assert!(failure.what.contains("intel-rapl:0/energy_uj"), "{failure}");
    }
}
