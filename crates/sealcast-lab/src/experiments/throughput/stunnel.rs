//! stunnel: a stream goes through TLS 1.3 between two stunnel processes.

use std::fs;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use data_encoding::HEXLOWER;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use sealcast::failure::{Failure, FailureKind, Result};

use super::bare;
use super::carried::{Carried, Sending};
use crate::harness::processor;

/// Time limit for a program to start.
pub(super) const START_PATIENCE: Duration = Duration::from_secs(5);
/// Poll interval.
pub(super) const LOOK: Duration = Duration::from_millis(20);

/// A child process that is killed when this is dropped.
pub(crate) struct Running(Child);

impl Running {
    pub(crate) fn start(command: &mut Command) -> Result<Self> {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let name = command.get_program().display().to_string();
        let child = command.spawn().map_err(|error| {
            let what = format!("`{name}` cannot be started ({error})");
            Failure::new(FailureKind::Usage, what, "install it to have it measured")
        })?;
        Ok(Self(child))
    }

    /// Its process id.
    pub(crate) fn id(&self) -> u32 {
        self.0.id()
    }

    /// True if it has ended by itself.
    pub(super) fn has_ended(&mut self) -> bool {
        !matches!(self.0.try_wait(), Ok(None))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It fails only if the process has already ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Both processes, and the listener at the exit.
pub(crate) struct Stunnel {
    near: Running,
    far: Running,
    to: SocketAddr,
    out: TcpListener,
    _folder: tempfile::TempDir,
}

impl Stunnel {
    pub(crate) fn start() -> Result<Self> {
        let unusable = |what: String| Failure::new(FailureKind::Usage, what, "install stunnel and openssl");
        let folder = tempfile::tempdir().map_err(|error| unusable(format!("no folder for its files ({error})")))?;
        certificate(folder.path())?;
        let bind = || TcpListener::bind("127.0.0.1:0").and_then(|socket| Ok((socket.local_addr()?, socket)));
        let ports = bind().and_then(|out| Ok((out, bind()?, bind()?)));
        let ((out_at, out), (to, near), (between, far)) =
            ports.map_err(|error| unusable(format!("no free ports ({error})")))?;
        // Frees the ports, at which stunnel itself will listen.
        drop((near, far));
        let common = "foreground = yes\nsslVersion = TLSv1.3\nciphersuites = TLS_AES_128_GCM_SHA256\npid =\n[x]\n";
        let start = |name: &str, own: String| {
            let file = folder.path().join(name);
            let written = fs::write(&file, format!("{common}{own}"));
            written.map_err(|error| unusable(format!("{} cannot be written ({error})", file.display())))?;
            Running::start(Command::new("stunnel").arg(&file))
        };
        let (certificate, key) = (folder.path().join("cert.pem"), folder.path().join("key.pem"));
        let far = start(
            "far.conf",
            format!(
                "accept = {between}\nconnect = {out_at}\ncert = {}\nkey = {}\n",
                certificate.display(),
                key.display()
            ),
        )?;
        let near = start(
            "near.conf",
            format!("client = yes\naccept = {to}\nconnect = {between}\n"),
        )?;
        let stunnel = Self {
            near,
            far,
            to,
            out,
            _folder: folder,
        };
        stunnel.wait(&[between, to])?;
        Ok(stunnel)
    }

    /// The ids of both processes.
    pub(crate) fn processes(&self) -> [u32; 2] {
        [self.near.id(), self.far.id()]
    }

    /// Fills it. Processor time is that of its two processes alone.
    pub(super) fn carry(&self, sending: Sending<'_>) -> Result<Carried> {
        let before = processor::time_of_all(&self.processes())?;
        let carried = bare::stream(&self.out, self.to, sending).map_err(|error| {
            let what = format!("nothing comes through stunnel ({error})");
            Failure::new(FailureKind::Network, what, "see whether it works by itself")
        })?;
        Ok(Carried {
            cpu: processor::time_of_all(&self.processes())?.saturating_sub(before),
            ..carried
        })
    }

    /// A stream into it, and the corresponding stream at the exit.
    pub(crate) fn through(&self) -> std::io::Result<(TcpStream, TcpStream)> {
        let inward = TcpStream::connect(self.to)?;
        Ok((inward, bare::accept(&self.out)?))
    }

    /// Waits until both listen.
    fn wait(&self, at: &[SocketAddr]) -> Result<()> {
        let began = Instant::now();
        while !at.iter().all(|&address| listens(address)) {
            if began.elapsed() > START_PATIENCE {
                let what = "stunnel does not listen within 5 s";
                return Err(Failure::new(
                    FailureKind::Network,
                    what,
                    "see whether it works by itself",
                ));
            }
            std::thread::sleep(LOOK);
        }
        Ok(())
    }
}

/// True if a program listens there. Reads the kernel's table, since a test connection would reach our own listener.
fn listens(address: SocketAddr) -> bool {
    let port = format!("0100007F:{:04X} 00000000:0000 0A", address.port());
    fs::read_to_string("/proc/net/tcp").is_ok_and(|table| table.contains(&port))
}

/// Creates `cert.pem` and `key.pem` for the name `localhost` in a folder.
pub(crate) fn certificate(folder: &Path) -> Result<()> {
    let made = Command::new("openssl")
        .args([
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
            "-nodes",
        ])
        .args(["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"])
        .args(["-addext", "basicConstraints=critical,CA:FALSE", "-days", "2", "-keyout"])
        .arg(folder.join("key.pem"))
        .arg("-out")
        .arg(folder.join("cert.pem"))
        .output();
    if made.is_ok_and(|output| output.status.success()) {
        return Ok(());
    }
    let what = "`openssl` makes no certificate for it";
    Err(Failure::new(FailureKind::Usage, what, "install stunnel and openssl"))
}

/// SHA-256 of a certificate, in hexadecimal.
///
/// # Errors
/// It cannot be read.
pub(crate) fn fingerprint(chain: &Path) -> std::io::Result<String> {
    let certificate = CertificateDer::from_pem_file(chain).map_err(std::io::Error::other)?;
    Ok(HEXLOWER.encode(aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, &certificate).as_ref()))
}
