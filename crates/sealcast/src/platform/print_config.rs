//! Contents of `print-config`: versions, what can be negotiated, the machine, and which of its features are in use.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Serialize;

use super::compare::ComparedRun;
use super::kernels::{InUse, in_use};
use super::machine::Machine;
use super::probe::{AesInUse, SuiteSpeed, measure_library_suites};
use super::versions::LIBRARIES;
use crate::keys::entropy::Hardware;

/// Facts that the rest of the program supplies.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// Names of the suites, preferred first.
    pub suites: Vec<String>,
    /// Names of the key establishment mechanisms, preferred first.
    pub mechanisms: Vec<String>,
    /// True if the H.264 codec was built with its assembly routines; `None` if unknown.
    pub codec_assembly: Option<bool>,
    /// Version of GStreamer; `None` if this build has none.
    pub gstreamer: Option<String>,
    /// State of the hardware generator of random numbers.
    pub hardware_entropy: Hardware,
    /// Speeds of suites outside the cryptography library, measured with [`measure`](super::probe::measure).
    pub more_speeds: Vec<SuiteSpeed>,
}

/// The configuration of this build on this machine.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BuildConfig {
    /// Version of sealcast.
    pub version: &'static str,
    /// Libraries that measurements depend on, with their versions.
    pub libraries: BTreeMap<&'static str, &'static str>,
    /// Names of the suites, preferred first.
    pub suites: Vec<String>,
    /// Names of the key establishment mechanisms, preferred first.
    pub mechanisms: Vec<String>,
    /// The machine.
    pub machine: Machine,
    /// The instructions that each part uses, by the rules of the libraries.
    pub instructions_in_use: Vec<InUse>,
    /// AES implementation that the cryptography library uses, inferred from its speed.
    pub aes_in_use: AesInUse,
    /// Sealing speed of each suite on one core.
    pub speeds: Vec<SuiteSpeed>,
    /// True if the H.264 codec was built with its assembly routines; `None` if unknown.
    pub codec_assembly: Option<bool>,
    /// Version of GStreamer; `None` if this build has none.
    pub gstreamer: Option<String>,
    /// State of the hardware generator of random numbers, with which those of the operating system are mixed.
    pub hardware_entropy: Hardware,
    /// Speeds with fewer and fewer instructions, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comparison: Option<Vec<ComparedRun>>,
}

impl BuildConfig {
    /// Inspects the machine and measures the suites; takes about a tenth of a second.
    pub fn collect(facts: Facts) -> Self {
        let mut speeds = measure_library_suites();
        speeds.extend(facts.more_speeds);
        let machine = Machine::detect();
        Self {
            version: env!("CARGO_PKG_VERSION"),
            libraries: LIBRARIES.iter().copied().collect(),
            suites: facts.suites,
            mechanisms: facts.mechanisms,
            instructions_in_use: in_use(machine.architecture, &machine.cpu_features),
            machine,
            aes_in_use: AesInUse::judge(&speeds),
            speeds,
            codec_assembly: facts.codec_assembly,
            gstreamer: facts.gstreamer,
            hardware_entropy: facts.hardware_entropy,
            comparison: None,
        }
    }

    /// As JSON, for programs.
    pub fn to_json(&self) -> String {
        // Serialization cannot fail here: there are no maps with non-string keys and no foreign types.
        serde_json::to_string_pretty(self).unwrap_or_default()
    }

    /// As a table, for people.
    pub fn to_table(&self) -> String {
        let mut table = Table::default();
        table.row("sealcast", self.version);
        for (name, version) in &self.libraries {
            table.row(name, version);
        }
        table.row("suites", &self.suites.join(", "));
        table.row("mechanisms", &self.mechanisms.join(", "));
        let machine = &self.machine;
        table.row(
            "processor",
            &format!(
                "{} ({}, {} cores)",
                machine.cpu_model, machine.architecture, machine.cores
            ),
        );
        table.row("kernel", &format!("{} {}", machine.system, machine.kernel));
        table.row("instructions", &machine.features_line());
        for InUse { part, instructions } in &self.instructions_in_use {
            let used = match instructions.is_empty() {
                true => "none of them".to_owned(),
                false => instructions.join(" "),
            };
            table.row(&format!("  {part}"), &used);
        }
        let aes = match self.aes_in_use {
            AesInUse::Hardware => "hardware (AES-128-GCM is more than 1.5 times as fast as ChaCha20-Poly1305)",
            AesInUse::Software => "software (AES-128-GCM is not 1.5 times as fast as ChaCha20-Poly1305)",
            AesInUse::Unknown => "not known: the speeds could not be measured",
        };
        table.row("AES in use", aes);
        for speed in &self.speeds {
            table.row(&format!("  {}", speed.suite), &gigabytes(speed.gigabytes_per_second));
        }
        let codec = match self.codec_assembly {
            Some(true) => "with assembly",
            Some(false) => "without assembly: about 2.5 times slower; build with nasm installed",
            None => "not known whether with assembly",
        };
        table.row("H.264 codec", codec);
        let gstreamer = self.gstreamer.as_deref();
        table.row(
            "GStreamer",
            gstreamer.unwrap_or("not in this build, which has no feature gst"),
        );
        let entropy = format!("the operating system's generator; {}", self.hardware_entropy.in_words());
        table.row("entropy", &entropy);
        if let Some(runs) = &self.comparison {
            table.comparison(runs);
        }
        table.text
    }
}

fn gigabytes(figure: f64) -> String {
    format!("{figure:.2} GB/s, one core, 16 KiB messages")
}

#[derive(Default)]
struct Table {
    text: String,
}

impl Table {
    fn row(&mut self, name: &str, value: &str) {
        let _ = writeln!(self.text, "{name:<22}{value}");
    }

    /// One line per setting and one column per suite, with the slowdown relative to all instructions.
    fn comparison(&mut self, runs: &[ComparedRun]) {
        let Some(best) = runs.first() else { return };
        self.text.push('\n');
        let _ = write!(self.text, "{:<26}", "GB/s");
        for speed in &best.speeds {
            let _ = write!(self.text, "{:>26}", speed.suite);
        }
        self.text.push('\n');
        for run in runs {
            let _ = write!(self.text, "{:<26}", run.variant);
            for (speed, full) in run.speeds.iter().zip(&best.speeds) {
                let times = full.gigabytes_per_second / speed.gigabytes_per_second;
                let cell = format!("{:.2} (1/{times:.1})", speed.gigabytes_per_second);
                let _ = write!(self.text, "{cell:>26}");
            }
            self.text.push('\n');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> BuildConfig {
        BuildConfig::collect(Facts {
            suites: vec!["aes-128-gcm".to_owned(), "chacha20-poly1305".to_owned()],
            mechanisms: vec!["x25519-mlkem768".to_owned()],
            codec_assembly: Some(false),
            gstreamer: None,
            hardware_entropy: Hardware::Mixed {
                source: Some("tpm-rng-0".to_owned()),
            },
            more_speeds: vec![SuiteSpeed {
                suite: "aegis-128l".to_owned(),
                gigabytes_per_second: 12.0,
            }],
        })
    }

    #[test]
    fn the_table_says_what_is_there_and_what_is_in_use() {
        let mut config = config();
        let speed = |gigabytes_per_second| {
            vec![SuiteSpeed {
                suite: "aes-128-gcm".to_owned(),
                gigabytes_per_second,
            }]
        };
        let run = |variant, aes_in_use, gbps| ComparedRun {
            variant,
            aes_in_use,
            speeds: speed(gbps),
        };
        config.comparison = Some(vec![
            run("all instructions", AesInUse::Hardware, 10.0),
            run("software", AesInUse::Software, 0.25),
        ]);
        let table = config.to_table();
        for part in [
            "aws-lc-rs",
            "x25519-mlkem768",
            "kernel",
            "  ChaCha20-Poly1305   ",
            "AES in use",
            "12.00 GB/s",
            "nasm",
            "/dev/hwrng (tpm-rng-0) works and is mixed in",
            "0.25 (1/40.0)",
            "not in this build, which has no feature gst",
        ] {
            assert!(table.contains(part), "{part} is missing from\n{table}");
        }
        assert!(table.lines().all(|line| line.len() <= 140), "{table}");
    }

    #[test]
    fn the_json_has_the_speeds_a_comparison_reads() {
        let json: serde_json::Value = serde_json::from_str(&config().to_json()).unwrap();
        assert_eq!(json["version"], env!("CARGO_PKG_VERSION"));
        assert_eq!(json["speeds"].as_array().unwrap().len(), 4);
        assert!(json["machine"]["cpu_features"].is_array());
        assert!(json["instructions_in_use"].is_array());
        assert_eq!(json["codec_assembly"], false);
        assert!(json["gstreamer"].is_null());
        assert_eq!(json["hardware_entropy"]["state"], "mixed");
        assert_eq!(json["hardware_entropy"]["source"], "tpm-rng-0");
        assert!(json.get("comparison").is_none());
    }
}
