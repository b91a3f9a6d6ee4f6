//! The common entry point for developers and CI.
//!
//! `cargo xtask test` on a fresh Debian machine installs what the tests need and runs every check that a change must
//! pass; `nightly` adds the slow ones. It uses few crates, so it builds in seconds.

#![forbid(unsafe_code)]

mod alerts;
mod cameras;
mod checks;
mod codec;
mod cross;
mod deb;
mod deny;
mod dist;
mod elf;
mod formal;
mod fuzz;
mod gst;
mod image;
mod install_test;
mod installed;
mod kernels;
mod licences;
mod load;
mod locks;
mod loopback;
mod manual;
mod masked;
mod metadata;
mod packages;
mod paths;
mod program;
mod reference;
mod relay;
mod release;
mod reproducible;
mod sanitized;
mod sbom;
mod shell;
mod skips;
mod speed;
mod summary;
mod test_programs;
mod tidy;
mod venv;
mod web;

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use masked::Machine;
use summary::{Outcome, Summary};

const USAGE: &str = "\
cargo xtask COMMAND

 Three tiers:
  check                     format, tidy, lock files, clippy: before each commit
  test                      install what the tests need (Debian packages), then run everything a change must not break
  nightly [--seconds N]     `test`, then the checks that take long or measure: the suite under load, on one processor
                            and as on other machines, network runs in real time, costs, 4K, soak, fuzzing for N
                            seconds per target (600), two builds with the same bytes, the address sanitizer and Miri,
                            aarch64 and armv7, the relay client, cameras, GStreamer, the package, the image and the
                            alerts, formal models, and the speed beside the last tag or a week ago

 Parts of them, and other tools:
  packages                  only the first step of `test`
  tidy                      the house rules that clippy does not check
  decisions                 write the index of docs/decisions
  speed [--against COMMIT] [--bound 3%] [--time 30m] [--only PART] [--clip FILE]
                            build that commit (the last tag, or one of a week ago) like this tree, measure both in
                            turns, and tell by how much this one is slower at most; fail where it is shown to be more
                            than 5 % slower
  load [--rounds N]         the suite beside two busy threads and a disk writer, then on one processor, N times each (1)
  masked [NAME]...          the suite as on other machines, or on those named, as far as that can affect it: the
                            cryptography library with less of the processor (no-avx512, no-avx2, no-aes), ciphers and
                            codecs on older processors, in an emulator (haswell, sandybridge, nehalem), another user
                            than root (nobody), another time zone and language (kathmandu), no IPv6 (no-ipv6)
  fuzz [--seconds N] [--target NAME] [--install]
                            run each fuzz target, or the one named, for N seconds (20)
  formal [--install]        run the Verifpal and ProVerif models of docs/formal and compare the results with what the
                            models expect; --install installs Verifpal
  sanitizer                 under the address sanitizer: the tests of the cipher crate, and those of protocol and
                            program with their dependencies, also in C and C++; and some of them in Miri
  aarch64                   tests on aarch64, in an emulator, but for those that it cannot run, which are named
  cross TARGET [--profile NAME] [--install]
                            build the program for x86_64, aarch64 or armv7, or as one static file (static-x86_64,
                            static-aarch64), and stream between it and this machine's; --profile release is faster
                            to build than dist, which users are given; --install installs a compiler and an emulator
  deny [--install]          the rules of deny.toml for dependencies: licences, bans, sources, advisories; --install
                            installs cargo-deny, without which advisories are not looked at
  installed                 check that the program built alone refuses study suites and contains none of their code
  reference                 check vectors/ against the Python reference
  web                       check the TypeScript peer in web/, in Node, in Chromium and against the program
  cameras [--install]       publish from video devices of a virtual machine; --install installs QEMU and a kernel
  gst [--install]           the program with its feature gst: clippy, and its tests with real pipelines; --install
                            installs GStreamer's headers
  relay [--install]         check crates/sealcast-moq with a real relay; --install installs moq-relay
  reproducible [--quick]    build the program twice, in two folders, and compare the bytes; --quick: not optimised
  manual                    write the manual pages and completions of packaging/ from the program's options
  deb [--program FILE]      make the Debian package, of the program in FILE or of one that is built for it (10 minutes)
  install-test [--program FILE] [--install]
                            install, upgrade, use, remove and purge the package in a fresh Debian system (needs root);
                            --install installs what makes one
  release [--sign-with KEY] [--profile NAME] [--install]
                            make, sign and try the files of a release, from a clean checkout: static programs, packages
                            and containers for x86-64 and aarch64, checksums and bills of materials (an hour); KEY is
                            one of SSH; --profile release is faster to build; --install installs what makes them
  image [--program FILE] [--install]
                            make the container image and stream between containers of it; --install installs podman
  alerts [--install]        check the alerts for Prometheus, when each fires, and the dashboard for Grafana; --install
                            installs promtool and Grafana's library
  sbom                      write the bill of materials of the program (CycloneDX) to target/sealcast.cdx.json
  dist [--counts FILE]      build the program to install with profile-guided optimisation (20 minutes); with the counts
                            of another build of these sources it has the same bytes
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let mut summary = Summary::default();
    let _all_went_well = match words.as_slice() {
        ["check"] => check(&mut summary),
        ["test"] => test(&mut summary),
        ["nightly"] => nightly(&mut summary, FUZZING),
        ["nightly", "--seconds", seconds] => match seconds.parse() {
            Ok(seconds) => nightly(&mut summary, Duration::from_secs(seconds)),
            Err(_) => return usage(),
        },
        ["packages"] => summary.step("packages", packages::install),
        ["tidy"] => summary.step("tidy", tidy::step),
        ["decisions"] => summary.step("decisions", tidy::write_decisions),
        ["speed", rest @ ..] => match speed::asked(rest) {
            Some(asked) => summary.step("speed", || speed::step(&asked)),
            None => return usage(),
        },
        ["load"] => under_load(&mut summary, 1),
        ["load", "--rounds", rounds] => match rounds.parse() {
            Ok(rounds) => under_load(&mut summary, rounds),
            Err(_) => return usage(),
        },
        ["masked", names @ ..] if masked::are_known(names) => on_other_machines(names, &mut summary),
        ["sanitizer"] => sanitizers(&mut summary),
        ["aarch64"] => summary.step("aarch64", cross::suite),
        ["cross", rest @ ..] => return cross_command(rest, summary),
        ["installed"] => summary.step("installed", installed::step),
        ["web"] => {
            summary.step("npm", web::packages);
            summary.step("web", web::step);
            summary.step("page", web::page)
        }
        [name @ ("deny" | "gst" | "relay" | "cameras" | "formal")] => with_tools(name, &mut summary),
        [name @ ("deny" | "gst" | "relay" | "cameras" | "formal"), "--install"] => {
            let _installed = summary.step("install", || tools_of(name));
            with_tools(name, &mut summary)
        }
        ["reproducible"] => summary.step("same bytes", || reproducible::step("dist", false)),
        ["reproducible", "--quick"] => summary.step("same bytes", || reproducible::step("dev", true)),
        ["sbom"] => summary.step("sbom", || sbom::step(program::NAME)),
        ["dist"] => summary.step("dist", || dist::step(None)),
        ["dist", "--counts", file] => summary.step("dist", || dist::step(Some(file.as_ref()))),
        ["manual" | "release" | "deb" | "install-test" | "image" | "alerts", ..] => {
            return packaging_command(&words, summary);
        }
        ["reference"] => summary.step("reference", reference::step),
        ["fuzz", rest @ ..] => return fuzz_command(rest, summary),
        _ => return usage(),
    };
    summary.finish()
}

fn usage() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if !words.is_empty() {
        eprintln!("there is no command `cargo xtask {}`\n", words.join(" "));
    }
    eprint!("{USAGE}");
    ExitCode::from(2)
}

/// Time for each fuzz target every night.
const FUZZING: Duration = Duration::from_secs(600);

/// Runs every step even after one has failed, except those that need the build.
fn test(summary: &mut Summary) -> bool {
    summary.step("packages", packages::install);
    check(summary);
    if summary.step("build", checks::build) {
        summary.step("codec", codec::step);
        summary.step("npm", web::packages);
        // Most tests wait most of the time.
        summary.step_beside(
            ("tests", checks::tests),
            &[
                &[("page", web::page)],
                &[
                    ("docs", checks::docs),
                    ("reference", reference::step),
                    ("web", web::step),
                ],
            ],
        );
    } else {
        for name in ["codec", "npm", "tests", "page", "docs", "reference", "web"] {
            summary.skip(name, "the build failed");
        }
    }
    deny::steps(summary)
}

fn nightly(summary: &mut Summary, fuzzing: Duration) -> bool {
    summary.step("install", deny::install);
    test(summary);
    under_load(summary, 1);
    let _all_went_well = on_other_machines(&[], summary);
    summary.step("long tests", checks::nightly_tests);
    summary.step("mls", checks::mls);
    summary.step("installed", installed::step);
    summary.step("same bytes", || reproducible::step("dist", false));
    sanitizers(summary);
    other_machine("armv7", "release", summary);
    release::steps(&release::Asked::usual(), summary);
    summary.step("aarch64", cross::suite);
    summary.step("fuzz", || fuzz::step(fuzzing, None));
    summary.step("relay", relay::step);
    summary.step("cameras", cameras::step);
    summary.step("gst", gst::step);
    summary.step("alerts", alerts::step);
    summary.step("speed", || speed::step(&speed::Asked::default()));
    models(summary)
}

fn sanitizers(summary: &mut Summary) -> bool {
    summary.step("sanitizer", kernels::sanitizer);
    summary.step("addresses", sanitized::addresses);
    summary.step("miri", sanitized::miri)
}

fn models(summary: &mut Summary) -> bool {
    summary.step("verifpal", formal::verifpal);
    summary.step("proverif", formal::proverif)
}

fn under_load(summary: &mut Summary, rounds: usize) -> bool {
    let mut well = true;
    for _ in 0..rounds {
        well &= summary.step("loaded", || load::beside(checks::tests));
    }
    for _ in 0..rounds {
        well &= summary.step("one core", checks::tests_on_one_processor);
    }
    well
}

/// Runs the suite as on each other machine, or as on those named.
fn on_other_machines(names: &[&str], summary: &mut Summary) -> bool {
    let asked = |machine: &&Machine| names.is_empty() || names.contains(&machine.name);
    let mut well = true;
    for machine in masked::MACHINES.iter().filter(asked) {
        well &= summary.step(machine.name, || machine.step());
    }
    well
}

fn check(summary: &mut Summary) -> bool {
    summary.step("format", checks::format);
    summary.step("tidy", tidy::step);
    summary.step("locks", locks::step);
    summary.step("clippy", checks::clippy)
}

/// Installs what only the checks of this name use.
fn tools_of(name: &str) -> Outcome {
    match name {
        "deny" => deny::install(),
        "gst" => gst::install(),
        "relay" => relay::install(),
        "cameras" => cameras::install(),
        _ => formal::install(),
    }
}

fn with_tools(name: &str, summary: &mut Summary) -> bool {
    match name {
        "deny" => deny::steps(summary),
        "gst" => summary.step("gst", gst::step),
        "relay" => summary.step("relay", relay::step),
        "cameras" => summary.step("cameras", cameras::step),
        _ => models(summary),
    }
}

/// Runs a command that makes something of the program for other machines.
fn packaging_command(words: &[&str], mut summary: Summary) -> ExitCode {
    let (name, options) = (words[0], &words[1..]);
    if name == "release" {
        let Some(asked) = release::Asked::read(options) else {
            return usage();
        };
        let _went_well = release::steps(&asked, &mut summary);
        return summary.finish();
    }
    let others: Vec<&str> = options.iter().copied().filter(|word| *word != "--install").collect();
    let program = match (name, others.as_slice()) {
        (_, []) => None,
        ("deb" | "install-test" | "image", ["--program", file]) => Some(Path::new(*file)),
        _ => return usage(),
    };
    if options.contains(&"--install") {
        let _installed = match name {
            "install-test" => summary.step("tools", install_test::install),
            "image" => summary.step("tools", image::install),
            "alerts" => summary.step("tools", alerts::install),
            _ => return usage(),
        };
    }
    let _went_well = match name {
        "manual" => summary.step("manual", manual::step),
        "alerts" => summary.step("alerts", alerts::step),
        "deb" => summary.step("deb", || deb::step(program)),
        "install-test" => summary.step("install", || install_test::step(program)),
        _ => summary.step("image", || image::step(program)),
    };
    summary.finish()
}

fn cross_command(words: &[&str], mut summary: Summary) -> ExitCode {
    let [name, rest @ ..] = words else { return usage() };
    let Some(target) = cross::target(name) else {
        return usage();
    };
    let (profile, installs) = match rest {
        [] => (cross::PROFILE, false),
        ["--install"] => (cross::PROFILE, true),
        ["--profile", profile] => (*profile, false),
        ["--profile", profile, "--install"] => (*profile, true),
        _ => return usage(),
    };
    if !installs || summary.step("install", || target.install()) {
        other_machine(name, profile, &mut summary);
    }
    summary.finish()
}

/// Builds the program for another machine, and tries it.
fn other_machine(name: &str, profile: &str, summary: &mut Summary) -> bool {
    let target = cross::target(name);
    target.is_none_or(|target| summary.step(target.step, || target.step(profile)))
}

fn fuzz_command(words: &[&str], mut summary: Summary) -> ExitCode {
    let mut seconds = 20;
    let mut target = None;
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        let value = rest.as_slice().first();
        match (*word, value) {
            ("--install", _) => {
                summary.step("install", fuzz::install);
                continue;
            }
            ("--seconds", Some(value)) if value.parse::<u64>().is_ok() => seconds = value.parse().unwrap_or(seconds),
            ("--target", Some(value)) => target = Some(*value),
            _ => return usage(),
        }
        rest.next();
    }
    summary.step("fuzz", || fuzz::step(Duration::from_secs(seconds), target));
    summary.finish()
}
