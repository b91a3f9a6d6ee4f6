//! The suite as on other machines: processors with fewer instructions, another user than root, another time zone and
//! locale, no IPv6. What such a machine lacks is skipped in words, and nothing fails for it.
//!
//! Of each kind those test programs run that it can affect; the others have run in the step `tests`.

use std::fs;
use std::os::unix::fs::chown;
use std::path::PathBuf;

use crate::packages;
use crate::shell::{command, exists, output, run, target_dir};
use crate::summary::Outcome;
use crate::test_programs::{self, Chosen, Crowd, LeftOut, Manner};

/// Another machine as which this one can act.
pub(crate) struct Machine {
    pub(crate) name: &'static str,
    /// Makes the words before each test program; fails with what this machine lacks for it.
    prefix: fn() -> Result<Vec<String>, String>,
    chosen: &'static [Chosen],
    left_out: &'static [LeftOut],
    crowd: Crowd,
}

const USUAL: Crowd = Manner::USUAL.crowd;
/// The emulator takes many times as long, and tests of sessions wait as long as anywhere.
const EMULATED: Crowd = Crowd { programs: 2, tests: 1 };

const fn all_of(program: &'static str) -> Chosen {
    Chosen { program, tests: &[] }
}

/// Tests that seal, open and agree on keys with the cryptography library, in one process and between several.
const SEALS: &[Chosen] = &[
    all_of("sealcast_proto"),
    all_of("sessions"),
    all_of("vectors"),
    all_of("sealcast"),
    all_of("udp"),
    Chosen {
        program: "program",
        tests: &["suites::", "quic::", "web::", "doctor::", "study_suites::"],
    },
];

/// Tests that choose code by the processor that they find. Processes that a test starts would run on this machine's
/// own.
const CHOOSES_CODE: &[Chosen] = &[
    all_of("sealcast_cipher"),
    all_of("ciphers"),
    all_of("vectors"),
    all_of("h264"),
    Chosen {
        program: "sealcast_proto",
        tests: &["keys::", "repair::", "seal::", "sign::", "unit::"],
    },
    Chosen {
        program: "sealcast_lab",
        tests: &["verify::", "ciphers::"],
    },
    Chosen {
        program: "sealcast",
        tests: &["platform::", "codec::"],
    },
];

/// Tests that open files and sockets, ask the system, or start programs.
const ASKS_THE_SYSTEM: &[Chosen] = &[
    all_of("attack"),
    all_of("gateway"),
    all_of("lab"),
    all_of("matrix"),
    all_of("media"),
    all_of("network"),
    all_of("program"),
    all_of("sealcast"),
    all_of("sealcast_lab"),
    all_of("udp"),
    all_of("udp_flood"),
];

const NOT_EMULATED: &[LeftOut] = &[LeftOut {
    program: "sealcast",
    tests: &["platform::machine::tests::detection_agrees_with_the_kernel"],
    why: "the kernel tells of this machine's processor, not of the emulated one",
}];

pub(crate) const MACHINES: [Machine; 9] = [
    // The masks of `sealcast::platform::compare`, and more of the same words: of the second pair AVX2 is bit 5; AVX-512
    // F, DQ, IFMA, BW and VL are bits 16, 17, 21, 30 and 31; VAES and VPCLMULQDQ, which need AVX, bits 41 and 42.
    Machine::without("no-avx512", || hidden("~0x0:~0xc0230000")),
    Machine::without("no-avx2", || hidden("~0x0:~0x600c0230020")),
    Machine::without("no-aes", || hidden("~0x200000200000000:~0x60000000000")),
    Machine::emulated("haswell", || emulated("Haswell")),
    Machine::emulated("sandybridge", || emulated("SandyBridge")),
    Machine::emulated("nehalem", || emulated("Nehalem")),
    Machine::of_system("nobody", as_nobody),
    Machine::of_system("kathmandu", in_kathmandu),
    Machine::of_system("no-ipv6", without_ipv6),
];

/// True if all of these are names of machines.
pub(crate) fn are_known(names: &[&str]) -> bool {
    let is_known = |name: &&str| MACHINES.iter().any(|machine| machine.name == *name);
    names.iter().all(is_known)
}

impl Machine {
    /// Hides instructions from the cryptography library, in all processes.
    const fn without(name: &'static str, prefix: fn() -> Result<Vec<String>, String>) -> Self {
        Self {
            name,
            prefix,
            chosen: SEALS,
            left_out: &[],
            crowd: USUAL,
        }
    }

    const fn emulated(name: &'static str, prefix: fn() -> Result<Vec<String>, String>) -> Self {
        Self {
            name,
            prefix,
            chosen: CHOOSES_CODE,
            left_out: NOT_EMULATED,
            crowd: EMULATED,
        }
    }

    const fn of_system(name: &'static str, prefix: fn() -> Result<Vec<String>, String>) -> Self {
        Self {
            name,
            prefix,
            chosen: ASKS_THE_SYSTEM,
            left_out: &[],
            crowd: USUAL,
        }
    }

    pub(crate) fn step(&self) -> Outcome {
        let prefix = match (self.prefix)() {
            Ok(prefix) => prefix,
            Err(lacking) => return Outcome::Skipped(format!("NOT RUN: {lacking}")),
        };
        let manner = Manner {
            prefix: &prefix.iter().map(String::as_str).collect::<Vec<_>>(),
            crowd: self.crowd,
            chosen: self.chosen,
            left_out: self.left_out,
            limit: Manner::SLOW,
        };
        match test_programs::run_built(test_programs::of_workspace(), manner) {
            Ok(ran) => Outcome::Ok(ran.note()),
            Err(reason) => Outcome::Failed(reason),
        }
    }
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn hidden(mask: &str) -> Result<Vec<String>, String> {
    match cfg!(target_arch = "x86_64") {
        true => Ok(words(&["env", &format!("OPENSSL_ia32cap={mask}")])),
        false => Err("the masks are of x86-64 processors".to_owned()),
    }
}

fn emulated(model: &str) -> Result<Vec<String>, String> {
    if !cfg!(target_arch = "x86_64") {
        return Err("the models are x86-64 processors".to_owned());
    }
    match exists("qemu-x86_64") {
        true => Ok(words(&["qemu-x86_64", "-cpu", model])),
        false => Err("needs qemu-x86_64: cargo xtask packages".to_owned()),
    }
}

/// The user and the group of nobody in Debian.
const NOBODY: u32 = 65534;

/// Another user than root, with no right on this machine.
fn as_nobody() -> Result<Vec<String>, String> {
    if !packages::is_root() {
        return Err("only root can be another user; the step `tests` has run as one".to_owned());
    }
    let home = folder("nobody")?;
    chown(&home, Some(NOBODY), Some(NOBODY)).map_err(|error| format!("{}: {error}", home.display()))?;
    let [user, group] = ["reuid", "regid"].map(|which| format!("--{which}={NOBODY}"));
    let home = home.to_string_lossy();
    let places = ["HOME", "TMPDIR"].map(|name| format!("{name}={home}"));
    let prefix = words(&[
        "setpriv",
        &user,
        &group,
        "--clear-groups",
        "env",
        &places[0],
        &places[1],
    ]);
    match output(command(&prefix[0], &[]).args(&prefix[1..]).args(["test", "-w", &home])) {
        Some(_) => Ok(prefix),
        None => Err(format!("nobody has no way to {home}")),
    }
}

const LOCALE: &str = "tr_TR.UTF-8";

/// Five hours and three quarters ahead of UTC, with commas in numbers, Turkish words, and an I whose small letter has
/// no dot.
fn in_kathmandu() -> Result<Vec<String>, String> {
    let place = folder("locales")?;
    let made = place.join(LOCALE);
    if !made.is_dir() {
        if !exists("localedef") || !PathBuf::from("/usr/share/i18n/locales/tr_TR").is_file() {
            packages::install_these(&["locales"])?;
        }
        run(command("localedef", &["-i", "tr_TR", "-f", "UTF-8"]).arg(&made))?;
    }
    let set = [
        ("LOCPATH", place.to_string_lossy().into_owned()),
        ("LC_ALL", LOCALE.to_owned()),
        ("LANGUAGE", "tr".to_owned()),
        ("TZ", "Asia/Kathmandu".to_owned()),
    ];
    let set = set.map(|(name, value)| format!("{name}={value}"));
    Ok([words(&["env"]), set.to_vec()].concat())
}

/// Nothing but a loopback interface, without IPv6.
fn without_ipv6() -> Result<Vec<String>, String> {
    let inside = "echo 1 >/proc/sys/net/ipv6/conf/all/disable_ipv6 && ip link set lo up && exec \"$@\"";
    let prefix = words(&["unshare", "--net", "sh", "-c", inside, "sh"]);
    match output(command(&prefix[0], &[]).args(&prefix[1..]).arg("true")) {
        Some(_) => Ok(prefix),
        None => Err("a network namespace takes root, unshare and ip".to_owned()),
    }
}

fn folder(name: &str) -> Result<PathBuf, String> {
    let folder = target_dir().join("masked").join(name);
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paths::sources;
    use crate::shell::root;

    #[test]
    fn each_test_that_is_left_out_exists() {
        NOT_EMULATED.iter().for_each(LeftOut::check);
    }

    #[test]
    fn each_module_that_is_chosen_exists() {
        let files = sources(&root()).expect("git lists the sources");
        for Chosen { program, tests } in MACHINES.iter().flat_map(|machine| machine.chosen) {
            let library = format!("crates/{}/src", program.replace('_', "-"));
            for module in tests.iter().map(|test| test.trim_end_matches("::")) {
                let is_it = |file: &PathBuf| {
                    let place = file.with_extension("");
                    let place = place.to_string_lossy();
                    let inside = |folder: &str| place.split_once(folder).and_then(|(_, rest)| rest.strip_prefix('/'));
                    let found = inside(&library).or_else(|| inside(&format!("/tests/{program}")));
                    found.is_some_and(|found| found.split('/').next() == Some(module))
                };
                assert!(files.iter().any(is_it), "{program} has no module {module}");
            }
        }
    }
}
