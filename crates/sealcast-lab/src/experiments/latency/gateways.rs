//! One run of a camera behind a pair of gateways, as its user would set it up.

use std::fs;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use sealcast::failure::{Failure, FailureKind, Result};

use super::camera::{self, Camera};
use super::case::{Gateways, Settings};
use super::quota::Quota;
use super::rows;
use crate::experiments::gateway::{connect, free_port};
use crate::experiments::stream::{Proxy, Suite, inside, wall_clock_ns};
use crate::harness::Sample;
use crate::harness::process::{Program, Stop, pause, sealcast_program};
use crate::harness::processor;
use crate::harness::summary::Summary;
use crate::net::{End, Net, NetConfig};
use crate::proxy::TcpProxy;

/// Time limit for programs to start, to find each other, and to end.
const PATIENCE: Duration = Duration::from_secs(60);
/// Beginning of the line with the ticket.
const TICKET: &str = "sealcast://";
/// Interval at which the probe's log is looked at until pictures arrive.
const LOOK: Duration = Duration::from_millis(50);

/// A run.
pub(super) struct Run<'a> {
    pub(super) settings: &'a Settings,
    pub(super) case: &'a Gateways,
    /// Without a suite the probe watches the camera itself, over the link that is between gateways else.
    pub(super) suite: Option<&'a Suite>,
    pub(super) seed: u64,
    pub(super) seconds: f64,
    /// A folder for logs and what the programs say.
    pub(super) folder: &'a Path,
    pub(super) stop: Stop<'a>,
}

/// The gateways, and what is between them.
struct Pair {
    // Fields are dropped in this order: the group can be removed when its process has ended.
    viewer: Program,
    camera: Program,
    _quota: Option<Quota>,
    _link: Proxy,
    /// The port of players.
    port: u16,
}

impl Run<'_> {
    /// Runs everything and evaluates it.
    pub(super) fn measure(&self) -> Result<Sample> {
        // What an earlier try left would be taken for this one's.
        let _ = fs::remove_dir_all(self.folder);
        fs::create_dir_all(self.folder).map_err(|error| {
            let what = format!("{} cannot be made ({error})", self.folder.display());
            Failure::new(FailureKind::Sink, what, "choose another --out")
        })?;
        let Settings {
            camera: pictures,
            jpeg_quality,
            ..
        } = self.settings;
        let net = self.net()?;
        let net = net.as_ref();
        let mut camera = Camera::start(self.case.codec, *pictures, *jpeg_quality, net, self.folder, self.stop)?;
        let mut pair = self.suite.map(|suite| self.pair(&camera, suite)).transpose()?;
        let bare = match (&pair, net) {
            (None, None) => Some(self.bare_link(camera.address())?),
            _ => None,
        };
        let at = match (&pair, &bare) {
            (Some(pair), _) => (Ipv4Addr::LOCALHOST, pair.port).into(),
            (None, Some(bare)) => bare.address(),
            (None, None) => camera.address(),
        };
        let mut probe = self.probe(&camera::url(at, &self.case.carrier), net)?;
        self.until_pictures_arrive(&mut probe, &mut camera, pair.as_mut())?;
        pause(Duration::from_secs_f64(self.settings.warm_up_seconds), self.stop)?;
        let cpu = |pair: &Option<Pair>| -> Result<Option<Duration>> {
            let processes = pair.as_ref().map(|pair| [pair.camera.id(), pair.viewer.id()]);
            processes.map(|both| processor::time_of_all(&both)).transpose()
        };
        let (from, before) = (wall_clock_ns(), cpu(&pair)?);
        pause(Duration::from_secs_f64(self.seconds), self.stop)?;
        let (to, after) = (wall_clock_ns(), cpu(&pair)?);
        let mut programs = vec![&mut probe];
        programs.extend(
            pair.as_mut()
                .map(|pair| [&mut pair.viewer, &mut pair.camera])
                .into_iter()
                .flatten(),
        );
        for program in programs {
            program.ask_to_end();
            program.ended(PATIENCE, self.stop)?;
        }
        let used = before.zip(after).map(|(before, after)| after.saturating_sub(before));
        self.sample(&(from..to), used)
    }

    fn sample(&self, time: &std::ops::Range<i64>, used: Option<Duration>) -> Result<Sample> {
        let seconds = (time.end - time.start) as f64 * 1e-9;
        let nothing = |of: &str| {
            let what = format!("no {of} arrived in the time that is measured");
            Failure::new(FailureKind::Network, what, "see the files of the run")
        };
        let pictures = rows::pictures(&self.logs("probe").join("probe_frames.csv"), time)?;
        let video = Summary::of(pictures).ok_or_else(|| nothing("picture"))?;
        let frames = video.count as f64;
        let sample = Sample::default()
            .with("frames", frames)
            .with("fps", frames / seconds)
            .with_some("cpu_us", used.map(|used| used.as_secs_f64() * 1e6 / frames));
        let sample = video.into_sample(sample, "video", "ms");
        if self.suite.is_none() {
            return Ok(sample);
        }
        let units = rows::units(&self.logs("viewer").join("network_latency.csv"), time)?;
        let sample = sample.with("mbit_s", units.bytes * 8e-6 / seconds);
        let network = Summary::of(units.latencies_ms).ok_or_else(|| nothing("sealed unit"))?;
        Ok(network.into_sample(sample, "network", "ms"))
    }

    /// Two namespaces with the gateways' link between them, for a camera without gateways that sends datagrams: they go
    /// to ports of the probe's own, before which no proxy can be.
    fn net(&self) -> Result<Option<Net>> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        if self.suite.is_some() || self.case.carrier == "tcp" {
            return Ok(None);
        }
        let links = self.case.links(self.settings, self.seed)?;
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        Net::start(&NetConfig {
            name: format!("latency-{}-{number}", std::process::id()),
            // The camera is at the first end, and the probe would connect to it.
            up: links.down,
            down: links.up,
            seed: self.seed,
            ..NetConfig::default()
        })
        .map(Some)
    }

    /// The gateways' link alone, before a camera whose packets come over the RTSP connection.
    fn bare_link(&self, camera: SocketAddr) -> Result<TcpProxy> {
        let any = (Ipv4Addr::LOCALHOST, 0).into();
        TcpProxy::start(any, camera, self.case.links(self.settings, self.seed)?).map_err(|error| {
            let what = format!("the link's proxy cannot be started ({error})");
            Failure::new(FailureKind::Network, what, "try again")
        })
    }

    fn pair(&self, camera: &Camera, suite: &Suite) -> Result<Pair> {
        let carrier = &self.case.carrier;
        let mut command = self.command("camera", &["gateway", "camera"])?;
        command.args([
            "--camera",
            &format!("cam={}", camera::url(camera.address(), carrier)),
            "--open",
            "--ticket-file",
            "-",
        ]);
        command.args(["--listen", &format!("{carrier}://127.0.0.1:0")]);
        command
            .args(["--unit", &format!("chunk:{}", self.case.chunk)])
            .args(suite.options())
            .arg("--log-dir")
            .arg(self.logs("camera"));
        let camera = self.start("the camera gateway", command, "camera-gateway")?;
        let ticket = TICKET.to_owned() + &camera.line(TICKET, PATIENCE, self.stop)?;
        let (ticket, link) = Proxy::before(&ticket, self.case.links(self.settings, self.seed)?)?;
        let port = free_port().map_err(|error: io::Error| {
            let what = format!("no port is free ({error})");
            Failure::new(FailureKind::Network, what, "try again")
        })?;
        let mut command = self.command("viewer", &["gateway", "viewer"])?;
        // In the environment, which other users cannot read.
        command.env("SEALCAST_GATEWAY_PEER", ticket);
        command.args(["--rtsp", &format!("127.0.0.1:{port}"), "--rtsp-open", "--log-dir"]);
        command.arg(self.logs("viewer")).args(suite.options());
        let viewer = self.start("the viewer gateway", command, "viewer-gateway")?;
        // A player that comes too early is turned away.
        connect(port).map_err(|error| {
            let what = format!("the viewer gateway does not listen ({error})");
            Failure::new(
                FailureKind::Network,
                what,
                "see what it printed, in the files of the run",
            )
        })?;
        let quota = match self.case.cpu_percent {
            0 => None,
            percent => Some(Quota::new(percent)?),
        };
        quota.iter().try_for_each(|quota| quota.hold(viewer.id()))?;
        Ok(Pair {
            viewer,
            camera,
            _quota: quota,
            _link: link,
            port,
        })
    }

    fn probe(&self, url: &str, net: Option<&Net>) -> Result<Program> {
        let plain = self.command("probe", &["probe", url])?;
        let mut command = match net {
            Some(net) => inside(net, End::B, &plain),
            None => plain,
        };
        command.arg("--log-dir").arg(self.logs("probe"));
        self.start("the probe", command, "probe")
    }

    fn command(&self, end: &str, words: &[&str]) -> Result<Command> {
        let mut command = sealcast_program(None, &self.folder.join(format!("{end}-home")))?;
        command.args(words).args(["--meter", "none"]);
        Ok(command)
    }

    fn start(&self, name: &'static str, command: Command, file: &str) -> Result<Program> {
        Program::start(name, command, &self.folder.join(format!("{file}.txt")))
    }

    /// The folder of an end's logs.
    fn logs(&self, end: &str) -> PathBuf {
        self.folder.join(format!("{end}-logs"))
    }

    /// Waits until the probe has logged a picture with a clock.
    fn until_pictures_arrive(
        &self,
        probe: &mut Program,
        camera: &mut Camera,
        mut pair: Option<&mut Pair>,
    ) -> Result<()> {
        let began = Instant::now();
        let log = self.logs("probe").join("probe_frames.csv");
        let always = i64::MIN..i64::MAX;
        while !log.is_file() || rows::pictures(&log, &always).is_ok_and(|seen| seen.is_empty()) {
            if began.elapsed() > PATIENCE {
                let what = format!("no picture with a clock arrived within {} s", PATIENCE.as_secs());
                let hint = "see what the programs printed, in the files of the run";
                return Err(Failure::new(FailureKind::Network, what, hint));
            }
            probe.still_runs()?;
            camera.still_runs()?;
            if let Some(pair) = &mut pair {
                pair.camera.still_runs()?;
                pair.viewer.still_runs()?;
            }
            pause(LOOK, self.stop)?;
        }
        Ok(())
    }
}
