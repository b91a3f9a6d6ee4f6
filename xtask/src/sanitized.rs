//! The dependencies that parse peers' bytes, under detectors of memory errors.
//!
//! Their own `unsafe` code, and the C and C++ that some of them compile, are instrumented together with ours. Assembly
//! is not: OpenH264 is compiled without it here, and AWS-LC's stays.

use std::process::Command;

use crate::shell::{cargo, run};
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
        .env("CARGO_TARGET_DIR", crate::shell::target_dir().join("sanitized"))
}
