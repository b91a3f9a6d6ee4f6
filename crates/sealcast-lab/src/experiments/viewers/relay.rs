//! A real relay of Media over QUIC, unmodified: a program of its own that holds no key.

use std::fs;
use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::Command;

use sealcast::failure::{Failure, FailureKind, Result};
use sealcast::run::RelayUrl;

use crate::experiments::throughput::stunnel::{certificate, fingerprint};
use crate::harness::process::Program;

/// The relay's program, where none is named, and the client's.
const RELAY: &str = "moq-relay";
const CLIENT: &str = "sealcast-moq";

/// A running relay. Dropping it ends it.
pub(super) struct Relay {
    _program: Program,
    /// The address of the one broadcast.
    pub(super) url: String,
}

impl Relay {
    /// Starts it on a free port; `scratch` is a folder for its files. It may not listen yet: relay clients try again.
    ///
    /// # Errors
    /// It cannot be started, or openssl makes no certificate.
    pub(super) fn start(program: &Path, scratch: &Path) -> Result<Self> {
        let unusable = |error: io::Error| {
            let what = format!("{RELAY} cannot be set up ({error})");
            Failure::new(FailureKind::Sink, what, "set TMPDIR")
        };
        certificate(scratch)?;
        let [chain, key] = ["cert.pem", "key.pem"].map(|file| scratch.join(file));
        let sha256 = fingerprint(&chain).map_err(unusable)?;
        let port = free_port().map_err(unusable)?;
        let config = scratch.join("relay.toml");
        let text = format!(
            "[listen]\nbind = \"127.0.0.1:{port}\"\n[listen.tls]\ncert = [{chain:?}]\nkey = [{key:?}]\n\
             [auth]\npublic = \"**\"\n"
        );
        fs::write(&config, text).map_err(unusable)?;
        let mut command = Command::new(program);
        command.arg(&config);
        Ok(Self {
            _program: Program::start("the relay", command, &scratch.join("relay.txt"))?,
            url: format!("https://127.0.0.1:{port}/viewers#sha256={sha256}"),
        })
    }

    /// Its address, as the program takes it.
    ///
    /// # Errors
    /// None in practice.
    pub(super) fn address(&self) -> Result<RelayUrl> {
        self.url.parse()
    }
}

/// Reason why nothing can be carried by relays here; `None` if the programs are there.
pub(super) fn absent(relay: &Path) -> Option<String> {
    let runs = |program: &Path| Command::new(program).arg("--version").output().is_ok();
    if !runs(relay) {
        return Some(format!(
            "there is no {}: `cargo xtask relay --install` says how",
            relay.display()
        ));
    }
    // Where the program itself looks for it.
    let own = std::env::current_exe().ok().map(|own| own.with_file_name(CLIENT));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let beside = own
        .into_iter()
        .chain(std::env::split_paths(&path).map(|folder| folder.join(CLIENT)));
    let missing = format!("there is no {CLIENT} beside this program or in PATH: docs/relay.md says how to install it");
    (!beside.into_iter().any(|place: PathBuf| place.is_file())).then_some(missing)
}

/// An unused UDP port.
fn free_port() -> io::Result<u16> {
    Ok(UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}
