//! The dependencies that parse peers' bytes, under detectors of memory errors.
//!
//! Their own `unsafe` code, and the C and C++ that some of them compile, are instrumented together with ours. Assembly
//! is not: OpenH264 is compiled without it here, and AWS-LC's stays.

use std::process::Command;

use crate::shell::{cargo, nightly_cargo, output, run, target_dir};
use crate::summary::Outcome;

const TARGET: &str = "x86_64-unknown-linux-gnu";

/// Tests that do not hold here: the sanitizer maps more memory than a decoder behind the fence may have, and OpenH264
/// has no assembly.
const NOT_HERE: [&str; 3] = ["fence::", "http_sink::", "the_codec_is_the_fast_one"];

/// Tests of the protocol and of the program in their own process: records, handshakes with the real mechanisms, RTSP,
/// QUIC and UDP over loopback, pages, containers, JPEG and H.264.
pub(crate) fn addresses() -> Outcome {
    if !cfg!(all(target_arch = "x86_64", target_os = "linux")) {
        return Outcome::Skipped("NOT RUN: the address sanitizer comes with the compiler for x86-64 Linux".to_owned());
    }
    let tests = [
        "test",
        "--package=sealcast-proto",
        "--package=sealcast",
        "--lib",
        "--no-fail-fast",
        "--locked",
    ];
    let mut command = cargo(&tests);
    for binary in ["sessions", "vectors", "media", "udp"] {
        command.args(["--test", binary]);
    }
    // Compiled once for this: optimising all of it would take longer than the tests.
    command.args(["--target", TARGET, "--config", "profile.dev.package.\"*\".opt-level=1"]);
    command.arg("--");
    for name in NOT_HERE {
        command.args(["--skip", name]);
    }
    Outcome::of(run(instrument(&mut command)))
}

/// Everything is instrumented but build scripts and macros. Libraries in C keep memory until the end on purpose.
fn instrument(command: &mut Command) -> &mut Command {
    for name in ["CFLAGS_x86_64_unknown_linux_gnu", "CXXFLAGS_x86_64_unknown_linux_gnu"] {
        command.env(name, "-fsanitize=address -fno-omit-frame-pointer");
    }
    command
        .env("RUSTC_BOOTSTRAP", "1")
        .env("RUSTFLAGS", "-Zsanitizer=address")
        .env("OPENH264_NO_ASM", "1")
        .env("ASAN_OPTIONS", "detect_leaks=0")
        .env("CARGO_TARGET_DIR", target_dir().join("sanitized"))
}

/// Tests that reach dependencies with `unsafe` and no C, and that an interpreter gets through in minutes: repair
/// symbols, parameter sets and images, MP4 files, buffers.
const INTERPRETED: [(&str, &[&str]); 2] = [
    (
        "sealcast-proto",
        &["repair::fec::tests::a_", "repair::fec::tests::blocks_"],
    ),
    (
        "sealcast",
        &[
            "sink::file_mp4",
            "source::h264::tests::a_delimiter",
            "source::h264::tests::a_parameter_set_tells",
            "source::h264::tests::nal_units",
            "source::mjpeg::tests::the_size",
        ],
    ),
];

/// Runs tests in Miri, which also finds what is no wrong access: references that must not exist, and values that must
/// not be.
pub(crate) fn miri() -> Outcome {
    if output(&mut nightly_cargo(&["miri", "--version"])).is_none() {
        let how = "no Miri: rustup component add miri rust-src --toolchain nightly";
        return Outcome::Skipped(how.to_owned());
    }
    for (package, tests) in INTERPRETED {
        let mut command = nightly_cargo(&["miri", "test", "--locked", "--lib", "--package", package, "--"]);
        command
            .args(tests)
            .env("MIRIFLAGS", "-Zmiri-disable-isolation")
            .env("CARGO_TARGET_DIR", target_dir().join("miri"));
        if let Err(why) = run(&mut command) {
            return Outcome::Failed(why);
        }
    }
    Outcome::ok()
}
