//! The system packages that the tests use, and their installation on Debian.

use crate::shell::{command, exists, output, run};
use crate::summary::Outcome;

/// Package and purpose. The program itself needs none of them.
const PACKAGES: [(&str, &str); 31] = [
    ("nasm", "assembles the H.264 codec's fast code"),
    ("ffmpeg", "makes and checks clips"),
    ("tesseract-ocr", "reads text in what the laboratory's attackers see"),
    ("tcpdump", "captures what an observer of the network sees"),
    ("python3-gi", "runs an RTSP server as a stand-in for a camera"),
    ("gir1.2-gst-rtsp-server-1.0", "the RTSP server"),
    ("glib-networking", "its TLS"),
    ("gstreamer1.0-tools", "another vendor's player"),
    ("gstreamer1.0-plugins-base", "its elements"),
    ("gstreamer1.0-plugins-good", "its elements"),
    ("gstreamer1.0-plugins-bad", "its elements"),
    ("gstreamer1.0-plugins-ugly", "its H.264 encoder"),
    ("gstreamer1.0-libav", "its decoders"),
    ("gstreamer1.0-rtsp", "its RTSP elements"),
    ("mpv", "another vendor's player"),
    ("vlc-bin", "another vendor's player"),
    ("vlc-plugin-base", "its codecs"),
    ("chromium", "opens the viewer's page in a browser"),
    ("libnss3-tools", "lets a browser trust an authority of a test"),
    ("openssh-client", "signs a release, and checks it"),
    ("openssl", "makes certificates, and knocks at the web port"),
    ("xvfb", "is the display of a window"),
    ("python3-venv", "runs the Python reference of the protocol"),
    ("adjtimex", "tells what the kernel says of its clock"),
    ("faketime", "runs a program with a clock that is too fast"),
    ("strace", "counts the system calls of gateways"),
    ("iproute2", "makes the network namespaces of a simulated link"),
    ("iputils-ping", "sends pings over a simulated link"),
    ("qemu-user", "runs programs for Arm"),
    ("gcc-aarch64-linux-gnu", "links the ciphers' tests for it"),
    ("libc6-dev-arm64-cross", "their C library"),
];

/// Installs missing packages, and reports what it does or why it cannot.
pub(crate) fn install() -> Outcome {
    if !exists("apt-get") || !exists("dpkg-query") {
        let all: Vec<&str> = PACKAGES.iter().map(|package| package.0).collect();
        println!(
            "This is not a Debian machine, so nothing is installed. The tests use: {}",
            all.join(" ")
        );
        return Outcome::Skipped("not a Debian machine: install what the tests use by hand".to_owned());
    }
    let missing = missing();
    if missing.is_empty() {
        return Outcome::Ok(format!("all {} packages are installed", PACKAGES.len()));
    }
    println!(
        "The tests use {} Debian packages that are not installed yet:",
        missing.len()
    );
    for (name, purpose) in &missing {
        println!("  {name:<28} {purpose}");
    }
    let names: Vec<&str> = missing.iter().map(|package| package.0).collect();
    let Some(prefix) = privilege() else {
        println!("Installing them needs root or sudo, which are not available here. As root, run:");
        println!("  apt-get install --no-install-recommends {}", names.join(" "));
        return Outcome::Failed(format!("no permission to install {}", names.join(" ")));
    };
    match apt(prefix, &["update"]).and_then(|()| apt(prefix, &[&["install"], names.as_slice()].concat())) {
        Ok(()) => Outcome::Ok(format!("installed {}", names.join(" "))),
        Err(reason) => {
            println!("These packages are still missing: {}", names.join(" "));
            Outcome::Failed(reason)
        }
    }
}

/// Installs packages that only some of the slow checks use.
pub(crate) fn install_these(names: &[&str]) -> Result<(), String> {
    let prefix = privilege().ok_or_else(|| format!("no permission to install {}", names.join(" ")))?;
    apt(prefix, &["update"]).and_then(|()| apt(prefix, &[&["install"], names].concat()))
}

fn missing() -> Vec<(&'static str, &'static str)> {
    let query = ["--show", "--showformat=${db:Status-Status}"];
    let here = |name: &str| output(command("dpkg-query", &query).arg(name)).is_some_and(|status| status == "installed");
    PACKAGES.into_iter().filter(|package| !here(package.0)).collect()
}

pub(crate) fn is_root() -> bool {
    output(&mut command("id", &["-u"])).is_some_and(|id| id.trim() == "0")
}

/// The prefix for `apt-get`: empty for root, sudo if it exists.
fn privilege() -> Option<&'static [&'static str]> {
    match is_root() {
        true => Some(&[]),
        false if exists("sudo") => Some(&["sudo"]),
        false => None,
    }
}

fn apt(prefix: &[&str], arguments: &[&str]) -> Result<(), String> {
    let options = [
        "DEBIAN_FRONTEND=noninteractive",
        "apt-get",
        "--quiet",
        "--yes",
        "--no-install-recommends",
    ];
    let words = [prefix, &["env"], &options, arguments].concat();
    run(&mut command(words[0], &words[1..]))
}
