//! stunnel: TLS 1.3 around a stream, in and out again, by two processes of its own.

use std::fs;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use sealcast::failure::{Failure, FailureKind, Result};

use super::{Carrier, Contender, Sample, bare};

/// How long a program may take to be there.
pub(super) const START_PATIENCE: Duration = Duration::from_secs(5);
/// How often it is looked.
pub(super) const LOOK: Duration = Duration::from_millis(20);
/// How long a connection may take to come through.
const ACCEPT_PATIENCE: Duration = Duration::from_secs(5);
/// The kernel counts processor time for others in units of this.
const TICKS: u32 = 100;

/// A program that ends with us.
pub(super) struct Running(Child);

impl Running {
    pub(super) fn start(command: &mut Command) -> Result<Self> {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let name = command.get_program().display().to_string();
        let child = command.spawn().map_err(|error| {
            let what = format!("`{name}` cannot be started ({error})");
            Failure::new(FailureKind::Usage, what, "install it to have it measured")
        })?;
        Ok(Self(child))
    }

    /// Processor time that the process has used, all its threads together.
    pub(super) fn cpu(&self) -> Result<Duration> {
        let file = format!("/proc/{}/stat", self.0.id());
        let gone = || {
            Failure::new(
                FailureKind::Network,
                format!("{file} tells nothing: has it ended?"),
                "try again",
            )
        };
        let stat = fs::read_to_string(&file).map_err(|_| gone())?;
        cpu_of(&stat).ok_or_else(gone)
    }
}

/// User and system time, fields 14 and 15 of `/proc/PID/stat`. The second, the name, may hold anything.
fn cpu_of(stat: &str) -> Option<Duration> {
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace().skip(11);
    let ticks = |field: Option<&str>| field?.parse::<u32>().ok();
    let all = ticks(fields.next())?.checked_add(ticks(fields.next())?)?;
    Some(Duration::from_secs(all.into()) / TICKS)
}

impl Drop for Running {
    fn drop(&mut self) {
        // It fails only for one that has ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Both processes, and where what went through them comes out.
pub(super) struct Stunnel {
    near: Running,
    far: Running,
    to: SocketAddr,
    out: TcpListener,
    _folder: tempfile::TempDir,
}

impl Stunnel {
    pub(super) fn start() -> Result<Self> {
        let unusable = |what: String| Failure::new(FailureKind::Usage, what, "install stunnel and openssl");
        let folder = tempfile::tempdir().map_err(|error| unusable(format!("no folder for its files ({error})")))?;
        certificate(folder.path())?;
        let bind = || TcpListener::bind("127.0.0.1:0").and_then(|socket| Ok((socket.local_addr()?, socket)));
        let ports = bind().and_then(|out| Ok((out, bind()?, bind()?)));
        let ((out_at, out), (to, near), (between, far)) =
            ports.map_err(|error| unusable(format!("no free ports ({error})")))?;
        // It wants to listen there itself.
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

    /// Until both listen.
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

/// Whether somebody listens there. Connecting to see would end up at our own listener.
fn listens(address: SocketAddr) -> bool {
    let port = format!("0100007F:{:04X} 00000000:0000 0A", address.port());
    fs::read_to_string("/proc/net/tcp").is_ok_and(|table| table.contains(&port))
}

/// Accept, but not for ever: what stands between may have failed.
pub(super) fn accept(listener: &TcpListener) -> std::io::Result<TcpStream> {
    listener.set_nonblocking(true)?;
    let began = Instant::now();
    loop {
        match listener.accept() {
            Ok((stream, _)) => {
                stream.set_nonblocking(false)?;
                return Ok(stream);
            }
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock && began.elapsed() < ACCEPT_PATIENCE => {
                std::thread::sleep(Duration::from_millis(1));
            }
            Err(error) => return Err(error),
        }
    }
}

fn certificate(folder: &Path) -> Result<()> {
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
        .args(["-subj", "/CN=localhost", "-days", "2", "-keyout"])
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

impl Contender for Stunnel {
    fn name(&self) -> String {
        "stunnel, TLS 1.3 with AES-128-GCM".to_owned()
    }

    fn carrier(&self) -> Carrier {
        Carrier::Tcp
    }

    fn counted(&self) -> &'static str {
        "its two processes"
    }

    fn measure(&mut self, time: Duration) -> Result<Sample> {
        let before = self.near.cpu()? + self.far.cpu()?;
        let sample = bare::stream(&self.out, self.to, time).map_err(|error| {
            let what = format!("nothing comes through stunnel ({error})");
            Failure::new(FailureKind::Network, what, "see whether it works by itself")
        })?;
        Ok(Sample {
            cpu: (self.near.cpu()? + self.far.cpu()?).saturating_sub(before),
            ..sample
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processor_time_is_found_whatever_a_program_is_called() {
        let stat = "42 (a b) c) S 1 42 42 0 -1 4194304 100 0 0 0 250 50 0 0 20 0 1 0 100";
        assert_eq!(cpu_of(stat), Some(Duration::from_secs(3)));
        assert_eq!(cpu_of("42 (cut off"), None);
        let own = fs::read_to_string("/proc/self/stat").expect("Linux");
        assert!(cpu_of(&own).is_some());
    }
}
