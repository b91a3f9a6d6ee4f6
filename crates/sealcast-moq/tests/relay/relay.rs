//! The relay's program.

use std::fs;
use std::net::UdpSocket;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use crate::certificate::Certificate;

/// A running relay; it is killed when this is dropped.
pub(crate) struct Relay {
    port: u16,
    certificate: Certificate,
    config: PathBuf,
    process: Option<Child>,
}

impl Relay {
    /// Starts a relay on a free port.
    pub(crate) fn start(test: &str) -> Self {
        Self::start_with(test, "**", "")
    }

    /// Starts a relay that takes broadcasts from another one.
    pub(crate) fn start_beside(test: &str, other: &Self) -> Self {
        Self::start_with(test, "**", &other.cluster())
    }

    /// The configuration of a relay that takes broadcasts from this one.
    pub(crate) fn cluster(&self) -> String {
        let (url, sha256) = (self.origin(), &self.certificate.sha256);
        format!("[cluster]\nconnect = [\"{url}\"]\n[connect.tls]\nfingerprint = [\"{sha256}\"]\n")
    }

    /// Starts a relay that lets everybody use these paths, with more lines of its configuration.
    pub(crate) fn start_with(test: &str, public: &str, more: &str) -> Self {
        let certificate = Certificate::new(test);
        let port = free_port();
        let config = certificate.chain.with_file_name("relay.toml");
        let text = format!(
            "[listen]\nbind = \"127.0.0.1:{port}\"\n[listen.tls]\ncert = [{:?}]\nkey = [{:?}]\n\
             [auth]\npublic = \"{public}\"\n{more}",
            certificate.chain, certificate.key
        );
        fs::write(&config, text).unwrap();
        let mut relay = Self {
            port,
            certificate,
            config,
            process: None,
        };
        relay.restart();
        relay
    }

    /// Starts it again, on the same port and with the same certificate.
    pub(crate) fn restart(&mut self) {
        let program = std::env::var_os("MOQ_RELAY").map(PathBuf::from);
        let program = program.expect("MOQ_RELAY must name the relay's program: run `cargo xtask relay`");
        assert!(
            program.is_file(),
            "there is no relay at {}: run `cargo xtask relay --install`",
            program.display()
        );
        // Each start has its own log beside the configuration, to look at after a failure.
        let log = fs::File::options()
            .create(true)
            .append(true)
            .open(self.config.with_extension("log"))
            .unwrap();
        let process = Command::new(&program)
            .arg(&self.config)
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap_or_else(|error| panic!("{} does not start: {error}", program.display()));
        self.process = Some(process);
    }

    /// Kills it without a chance to say goodbye.
    pub(crate) fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.kill().unwrap();
            process.wait().unwrap();
        }
    }

    /// URL of a broadcast at this relay.
    pub(crate) fn url(&self, name: &str) -> String {
        format!("{}/{name}", self.origin())
    }

    pub(crate) fn sha256(&self) -> &str {
        &self.certificate.sha256
    }

    fn origin(&self) -> String {
        format!("https://127.0.0.1:{}", self.port)
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A UDP port that nobody uses.
pub(crate) fn free_port() -> u16 {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.local_addr().unwrap().port()
}
