//! Programs that take pictures from a pipe, and give what arrived back through another one.

use std::fs;
use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::AsFd;
use std::sync::atomic::Ordering;
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use sealcast::failure::{Failure, FailureKind, Result};
use serde::Deserialize;

use super::circumstances::{Circumstances, DRAIN, PATIENCE};
use super::commands::{Parts, command, values, words};
use super::figures::{Mark, Seen};
use super::painter::Painter;
use super::pictures::{Pictures, Reading};
use super::reader::Reader;
use crate::harness::Sample;
use crate::harness::process::{Program, pause, stopped};
use crate::harness::processor;

/// Interval at which something is looked at that does not wake us.
const LOOK: Duration = Duration::from_millis(20);
/// Sizes of pipes to try, in bytes: room for several pictures, and the most without privileges.
const PIPE_BYTES: [usize; 2] = [8 << 20, 1 << 20];

/// Programs, as a definition names them.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Piped {
    /// Command lines that succeed if all that is needed is installed.
    #[serde(default)]
    pub(super) needs: Vec<String>,
    /// Instructions to install it.
    #[serde(default)]
    pub(super) install: String,
    /// The program that takes pictures; also the one that gives them back if there is no receiver.
    sender: String,
    /// The program that gives them back.
    #[serde(default)]
    receiver: String,
}

/// Running programs, and the threads at their ends. They end in this order.
struct Running {
    programs: Vec<Program>,
    painter: Painter,
    reader: Reader,
}

impl Piped {
    /// Looks for names in command lines that nobody knows.
    ///
    /// # Errors
    /// There is one.
    pub(super) fn check<'a>(&self, parts: &Parts, all: impl Iterator<Item = &'a Pictures>) -> Result<()> {
        for pictures in all {
            let values = values(pictures, 0);
            for line in [&self.sender, &self.receiver] {
                words(line, parts, &values)?;
            }
            command(&words(&self.sender, parts, &values)?)?;
        }
        Ok(())
    }

    /// Shows the programs pictures for a while.
    ///
    /// # Errors
    /// They cannot be started, end early, or give no picture back.
    pub(super) fn measure(&self, parts: &Parts, turn: &Circumstances<'_>) -> Result<Sample> {
        let mut running = self.start(parts, turn)?;
        let mut seen = Vec::new();
        running.first_picture(&mut seen, turn)?;
        pause(turn.warm_up, turn.stop)?;
        let begin = running.mark()?;
        pause(turn.time, turn.stop)?;
        let end = running.mark()?;
        pause(DRAIN, turn.stop)?;
        seen.extend(running.reader.readings.try_iter());
        drop(running);
        let seen = Seen {
            unreadable: seen.iter().filter(|reading| reading.is_none()).count(),
            readings: seen.into_iter().flatten().collect(),
            marks: [begin, end],
        };
        seen.write(&turn.folder)?;
        seen.sample(&turn.pictures)
    }

    fn start(&self, parts: &Parts, turn: &Circumstances<'_>) -> Result<Running> {
        let port = free_port()?;
        let values = values(&turn.pictures, port);
        let start = |name, line: &str| {
            let command = command(&words(line, parts, &values)?)?;
            Program::with_pipes(name, command, &turn.folder.join(format!("{name}.txt")))
        };
        if self.receiver.is_empty() {
            let (program, stdin, stdout) = start("sender", &self.sender)?;
            widen(&stdin);
            widen(&stdout);
            return Ok(Running {
                programs: vec![program],
                painter: Painter::start(turn.pictures, stdin)?,
                reader: Reader::start(turn.pictures, stdout)?,
            });
        }
        let (receiver, _, stdout) = start("receiver", &self.receiver)?;
        widen(&stdout);
        until_bound(port, turn)?;
        let (sender, stdin, _) = start("sender", &self.sender)?;
        widen(&stdin);
        Ok(Running {
            programs: vec![sender, receiver],
            painter: Painter::start(turn.pictures, stdin)?,
            reader: Reader::start(turn.pictures, stdout)?,
        })
    }
}

impl Running {
    /// Waits for a picture with a clock.
    fn first_picture(&mut self, seen: &mut Vec<Option<Reading>>, turn: &Circumstances<'_>) -> Result<()> {
        let began = Instant::now();
        let what = loop {
            match self.reader.readings.recv_timeout(LOOK) {
                Ok(reading) => {
                    seen.push(reading);
                    if reading.is_some() {
                        return Ok(());
                    }
                }
                Err(RecvTimeoutError::Disconnected) => break "the receiver ended before the first picture".to_owned(),
                Err(RecvTimeoutError::Timeout) => {}
            }
            if turn.stop.load(Ordering::Relaxed) {
                return Err(stopped());
            }
            if self.painter.is_over() {
                break "the sender ended before the first picture".to_owned();
            }
            if began.elapsed() > PATIENCE {
                break format!("no picture arrived within {} s", PATIENCE.as_secs());
            }
        };
        let hint = "see what the programs printed, in the files of the run";
        Err(Failure::new(FailureKind::Network, what, hint))
    }

    /// The processor time of the programs and of painting, which an encoder in the same process would pay for as well.
    fn mark(&self) -> Result<Mark> {
        let mut cpu = processor::time_of_thread(self.painter.id)?;
        for program in &self.programs {
            cpu += processor::time_of_family(program.id())?;
        }
        Ok(Mark::new(cpu))
    }
}

/// Makes a pipe as large as the system allows, so that its writer need not wait for its reader in each picture.
fn widen(pipe: &impl AsFd) {
    // A smaller pipe carries pictures as well.
    let _ = PIPE_BYTES
        .into_iter()
        .find(|&bytes| rustix::pipe::fcntl_setpipe_size(pipe, bytes).is_ok());
}

/// An unused UDP port.
fn free_port() -> Result<u16> {
    let bound = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|socket| socket.local_addr());
    bound.map(|address| address.port()).map_err(|error| {
        let what = format!("there is no free UDP port ({error})");
        Failure::new(FailureKind::Network, what, "try again")
    })
}

/// Waits until a program has opened the port.
fn until_bound(port: u16, turn: &Circumstances<'_>) -> Result<()> {
    let began = Instant::now();
    while !is_bound(port) {
        if began.elapsed() > PATIENCE {
            let what = format!("the receiver did not open port {port} within {} s", PATIENCE.as_secs());
            let hint = "see what it printed, in the files of the run";
            return Err(Failure::new(FailureKind::Network, what, hint));
        }
        pause(LOOK, turn.stop)?;
    }
    Ok(())
}

/// True if the port is in one of the kernel's tables, whose second field is the local address.
fn is_bound(port: u16) -> bool {
    let ending = format!(":{port:04X}");
    ["udp", "udp6", "tcp", "tcp6"].into_iter().any(|kind| {
        let table = fs::read_to_string(format!("/proc/net/{kind}")).unwrap_or_default();
        let mut local = table.lines().filter_map(|line| line.split_whitespace().nth(1));
        local.any(|address| address.ends_with(&ending))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_bound_while_somebody_has_it() {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let port = socket.local_addr().expect("an address").port();
        assert!(is_bound(port));
        assert!(free_port().is_ok_and(|free| free != port));
    }
}
