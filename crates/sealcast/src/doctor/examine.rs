//! All checks, in their order.

use std::path::{Path, PathBuf};

use futures_util::future::join_all;

use super::files::{NamedFile, check_keys, check_named};
use super::finding::{Finding, Report};
use super::ports::Place;
use super::sources::NamedSource;
use super::{buffers, cameras, clock, codec, descriptors, disk, entropy, fence, ipv6, mtu, ports, sources};
use crate::failure::Result;
use crate::rtsp::RtspOptions;

/// Subject of the examination, from the configuration.
pub struct Subject {
    /// Finding about the configuration itself.
    pub configuration: Finding,
    /// The program's file, which decoders are started from.
    pub program: PathBuf,
    /// The folder of keys.
    pub home: Result<PathBuf>,
    /// Addresses to listen at.
    pub places: Vec<Place>,
    /// Length of datagrams that the configuration asks for, in bytes.
    pub datagram: Option<u16>,
    /// Maximum number of viewers at once.
    pub viewers: u32,
    /// Files that the configuration names.
    pub files: Vec<NamedFile>,
    /// Folders that the program writes to.
    pub folders: Vec<PathBuf>,
    /// Cameras to reach.
    pub cameras: Vec<RtspOptions>,
    /// Sources to look at, cameras to reach among them.
    pub sources: Vec<NamedSource>,
}

/// Runs every check. It takes less than a second, and some seconds where a camera does not answer.
pub async fn examine(subject: &Subject) -> Report {
    let mut findings = vec![
        subject.configuration.clone(),
        codec::check(),
        fence::check(&subject.program),
        entropy::check(),
    ];
    findings.extend(clock::check());
    findings.extend(subject.places.iter().map(ports::check));
    findings.push(ipv6::check(subject.places.iter().any(|place| place.address.is_ipv6())));
    let datagrams = subject.places.iter().any(|place| place.udp);
    findings.push(mtu::check(Path::new("/sys/class/net"), datagrams, subject.datagram));
    findings.extend(buffers::check(Path::new("/proc/sys/net/core")));
    findings.push(descriptors::check(subject.viewers));
    match &subject.home {
        Ok(home) => findings.extend(check_keys(home)),
        Err(failure) => findings.push(Finding::failed("files", failure)),
    }
    findings.extend(subject.files.iter().map(check_named));
    findings.extend(subject.folders.iter().map(|folder| disk::check(folder)));
    findings.extend(subject.sources.iter().filter_map(sources::check));
    findings.extend(join_all(subject.cameras.iter().map(cameras::check)).await);
    Report { findings }
}
