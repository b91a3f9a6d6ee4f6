//! The energy counters of the kernel, where there are any.

use std::fs;
use std::path::{Path, PathBuf};

/// One energy counter of the kernel's powercap tree (RAPL), which wraps around at a range it states.
#[derive(Debug)]
pub(super) struct EnergyDomain {
    name: String,
    counter: PathBuf,
    range_uj: u64,
    last_uj: u64,
    total_uj: u64,
}

impl EnergyDomain {
    /// Domains whose counter this process may read and that counts at all. Often there are none: virtual machines have
    /// no counters, and the kernel lets only root read them.
    pub(super) fn find(tree: &Path) -> Vec<Self> {
        let Ok(entries) = fs::read_dir(tree) else {
            return Vec::new();
        };
        let mut domains: Vec<_> = entries
            .flatten()
            .filter_map(|entry| Self::open(&entry.path()))
            .collect();
        domains.sort_by(|a, b| a.name.cmp(&b.name));
        domains
    }

    fn open(directory: &Path) -> Option<Self> {
        let text = |file: &str| {
            fs::read_to_string(directory.join(file))
                .ok()
                .map(|text| text.trim().to_owned())
        };
        let zone = directory.file_name()?.to_string_lossy().into_owned();
        let last_uj = text("energy_uj")?.parse().ok().filter(|uj| *uj > 0)?;
        Some(Self {
            name: format!("{} ({zone})", text("name")?),
            counter: directory.join("energy_uj"),
            range_uj: text("max_energy_range_uj")
                .and_then(|range| range.parse().ok())
                .unwrap_or(u64::MAX),
            last_uj,
            total_uj: 0,
        })
    }

    /// The domain and its joules since [`find`](Self::find), or `None` if it cannot be read any more.
    pub(super) fn read(&mut self) -> Option<(String, f64)> {
        let now_uj: u64 = fs::read_to_string(&self.counter).ok()?.trim().parse().ok()?;
        let used = match now_uj.checked_sub(self.last_uj) {
            Some(used) => used,
            None => (self.range_uj - self.last_uj.min(self.range_uj)).saturating_add(now_uj),
        };
        self.last_uj = now_uj;
        self.total_uj = self.total_uj.saturating_add(used);
        Some((self.name.clone(), self.total_uj as f64 / 1e6))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_energy_counter_that_wraps_goes_on_counting() {
        let directory = tempfile::tempdir().unwrap();
        let zone = directory.path().join("intel-rapl:0");
        fs::create_dir(&zone).unwrap();
        fs::write(zone.join("name"), "package-0\n").unwrap();
        fs::write(zone.join("max_energy_range_uj"), "10000000\n").unwrap();
        fs::write(zone.join("energy_uj"), "9000000\n").unwrap();
        let mut domains = EnergyDomain::find(directory.path());
        fs::write(zone.join("energy_uj"), "500000\n").unwrap();
        assert_eq!(domains[0].read(), Some(("package-0 (intel-rapl:0)".to_owned(), 1.5)));
        fs::write(zone.join("energy_uj"), "0\n").unwrap();
        assert!(
            EnergyDomain::find(directory.path()).is_empty(),
            "a counter that reads 0 does not count"
        );
    }
}
