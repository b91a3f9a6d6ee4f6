//! Description of the machine: processor, its cryptographic instructions, kernel.

use std::fmt::Write as _;
use std::fs;

use serde::Serialize;

/// An instruction set extension that speeds up sealing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct CpuFeature {
    /// Name in lower case, as used by the processor's vendor.
    pub name: &'static str,
    /// True if the processor and the operating system offer it to this process.
    pub detected: bool,
}

/// The properties of the machine that measurements depend on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Machine {
    /// Processor model, or `unknown`.
    pub cpu_model: String,
    /// Architecture, such as `x86_64`.
    pub architecture: &'static str,
    /// Extensions that sealcast could use on this architecture.
    pub cpu_features: Vec<CpuFeature>,
    /// Logical cores available to this process.
    pub cores: usize,
    /// Operating system, such as `linux`.
    pub system: &'static str,
    /// Kernel release.
    pub kernel: String,
}

impl Machine {
    /// Detects the properties of this machine.
    pub fn detect() -> Self {
        Self {
            cpu_model: cpu_model(&fs::read_to_string("/proc/cpuinfo").unwrap_or_default()),
            architecture: std::env::consts::ARCH,
            cpu_features: cpu_features(),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            system: std::env::consts::OS,
            kernel: rustix::system::uname().release().to_string_lossy().into_owned(),
        }
    }

    /// The detected extensions on one line, or `none`.
    pub fn features_line(&self) -> String {
        let mut line = String::new();
        for feature in self.cpu_features.iter().filter(|feature| feature.detected) {
            let separator = if line.is_empty() { "" } else { " " };
            let _ = write!(line, "{separator}{}", feature.name);
        }
        if line.is_empty() { "none".to_owned() } else { line }
    }
}

/// The processor model in `/proc/cpuinfo`. On Arm there is no `model name` line: the board's name or the part number
/// is used instead.
fn cpu_model(cpuinfo: &str) -> String {
    let value = |key: &str| {
        let mut fields = cpuinfo.lines().filter_map(|line| line.split_once(':'));
        fields
            .find(|(name, _)| name.trim() == key)
            .map(|(_, value)| value.trim().to_owned())
    };
    let part = || {
        Some(format!(
            "implementer {} part {}",
            value("CPU implementer")?,
            value("CPU part")?
        ))
    };
    value("model name")
        .or_else(|| value("Model"))
        .or_else(part)
        .unwrap_or_else(|| "unknown".to_owned())
}

#[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
fn cpu_features() -> Vec<CpuFeature> {
    use std::arch::is_x86_feature_detected as detected;
    list(&[
        ("aes-ni", detected!("aes")),
        ("vaes", detected!("vaes")),
        ("pclmulqdq", detected!("pclmulqdq")),
        ("vpclmulqdq", detected!("vpclmulqdq")),
        ("avx2", detected!("avx2")),
        ("avx512f", detected!("avx512f")),
        ("sha", detected!("sha")),
    ])
}

#[cfg(target_arch = "aarch64")]
fn cpu_features() -> Vec<CpuFeature> {
    use std::arch::is_aarch64_feature_detected as detected;
    list(&[
        ("neon", detected!("neon")),
        ("aes", detected!("aes")),
        ("pmull", detected!("pmull")),
        ("sha2", detected!("sha2")),
        // The feature is SHA-512 and SHA-3 together for the compiler; processors with SHA-3 have both.
        ("sha3", detected!("sha3")),
    ])
}

#[cfg(target_arch = "arm")]
fn cpu_features() -> Vec<CpuFeature> {
    arm_features(rustix::param::linux_hwcap())
}

/// Features that the kernel tells each program that it starts (`AT_HWCAP` and `AT_HWCAP2`; `asm/hwcap.h` has the bits):
/// the compiler has no stable way to ask on 32-bit Arm.
#[cfg(any(target_arch = "arm", test))]
fn arm_features((first, second): (usize, usize)) -> Vec<CpuFeature> {
    list(&[
        ("neon", first & 1 << 12 != 0),
        ("aes", second & 1 << 0 != 0),
        ("pmull", second & 1 << 1 != 0),
        ("sha2", second & 1 << 3 != 0),
    ])
}

#[cfg(not(any(
    target_arch = "x86_64",
    target_arch = "x86",
    target_arch = "aarch64",
    target_arch = "arm"
)))]
fn cpu_features() -> Vec<CpuFeature> {
    list(&[])
}

fn list(features: &[(&'static str, bool)]) -> Vec<CpuFeature> {
    features
        .iter()
        .map(|&(name, detected)| CpuFeature { name, detected })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_is_described() {
        let machine = Machine::detect();
        assert!(machine.cores >= 1);
        #[cfg(target_os = "linux")]
        assert!(
            machine.kernel != "unknown" && !machine.cpu_model.is_empty(),
            "{machine:?}"
        );
    }

    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    #[test]
    fn detection_agrees_with_the_kernel() {
        let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap();
        let flags = cpuinfo.lines().find(|line| line.starts_with("flags")).unwrap();
        for feature in Machine::detect().cpu_features {
            let flag = match feature.name {
                "aes-ni" => "aes",
                "sha" => "sha_ni",
                other => other,
            };
            let listed = flags.split_whitespace().any(|seen| seen == flag);
            assert_eq!(feature.detected, listed, "{}", feature.name);
        }
    }

    #[test]
    fn a_32_bit_arm_machine_has_the_features_that_its_kernel_tells() {
        let there = |bits| {
            let found = arm_features(bits);
            assert_eq!(found.len(), 4);
            let there = found.into_iter().filter(|one| one.detected).map(|one| one.name);
            there.collect::<Vec<&str>>()
        };
        // The words of a Cortex-A7, and of a Cortex-A72 in its 32-bit mode.
        assert_eq!(there((0x003f_b0d6, 0)), ["neon"]);
        assert_eq!(there((0x003f_b0d6, 0x1f)), ["neon", "aes", "pmull", "sha2"]);
        assert!(there((!(1 << 12), 0)).is_empty());
    }

    #[test]
    fn a_processor_without_a_model_name_is_named_by_its_board_or_part() {
        assert_eq!(
            cpu_model("processor\t: 0\nmodel name\t: Some CPU @ 2 GHz\n"),
            "Some CPU @ 2 GHz"
        );
        assert_eq!(
            cpu_model("CPU part\t: 0xd08\nModel\t\t: Raspberry Pi 4\n"),
            "Raspberry Pi 4"
        );
        assert_eq!(
            cpu_model("CPU implementer\t: 0x41\nCPU part\t: 0xd0b\n"),
            "implementer 0x41 part 0xd0b"
        );
        assert_eq!(cpu_model(""), "unknown");
    }
}
