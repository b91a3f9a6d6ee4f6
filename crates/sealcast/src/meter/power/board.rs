//! A measuring board on a serial line, such as an Arduino with an INA219. `docs/meters.md` describes the format of
//! its lines.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags};
use rustix::termios::{ControlModes, OptionalActions, QueueSelector, tcflush, tcgetattr, tcsetattr};

use super::sample::{About, Channel, Meter, Quantity, Sample};
use crate::failure::{Failure, FailureKind, Result};

/// Maximum length of a sample's line.
const MAX_LINE: usize = 80;
/// Maximum of bytes taken in one call. Data that the board sends meanwhile waits for the next call.
const MAX_READ: usize = 16 * 1024;
/// After this many consecutive lines that are not samples, the device is not a supported board.
const MAX_GARBAGE: u32 = 20;
/// More power in milliwatts than any board measures: the line must be damaged.
const MOST_MILLIWATTS: f64 = 1e7;
/// Time allowed for the first sample: a board may restart when the line is opened, which takes it a second or two.
const OPENING: Duration = Duration::from_secs(5);
/// A board that is silent for longer than this is considered gone.
const SILENCE: Duration = Duration::from_secs(2);

/// A board on a serial line.
pub struct Board {
    port: File,
    about: About,
    lines: Lines,
    clock: BoardClock,
    garbage: u32,
    /// Time of the last sample, on the clock passed in by the caller.
    heard: Option<Duration>,
}

impl Board {
    /// Opens the line at `baud` bits per second and waits until the board sends samples.
    ///
    /// # Errors
    /// The line cannot be opened or configured, or no board sends samples on it.
    pub fn open(path: &Path, baud: u32) -> Result<Self> {
        let name = format!("serial:{}", path.display());
        let port = open_line(path, baud).map_err(|error| {
            let hint = match error.kind() {
                ErrorKind::PermissionDenied => "let this user use serial lines (group dialout), or run as root",
                _ => "see whether the board is plugged in, and what `ls /dev/serial/by-id` calls it",
            };
            Failure::new(
                FailureKind::Source,
                format!("the meter {name} cannot be opened ({error})"),
                hint,
            )
        })?;
        let about = About {
            name,
            covers: "what the board's sensor is wired to".to_owned(),
            resolution: "the board's: 1 ms of its clock, and as many digits of mW as it sends",
            period: Duration::from_millis(20),
            // The board may send as seldom as that.
            step: Duration::from_millis(50),
            channels: vec![Channel {
                name: "board".to_owned(),
                quantity: Quantity::Watts,
                counted: true,
            }],
        };
        let mut board = Self {
            port,
            about,
            lines: Lines::default(),
            clock: BoardClock::default(),
            garbage: 0,
            heard: None,
        };
        board.wait_for_samples()?;
        Ok(board)
    }

    fn wait_for_samples(&mut self) -> Result<()> {
        let began = Instant::now();
        let mut samples = Vec::new();
        while samples.is_empty() {
            if began.elapsed() > OPENING {
                return Err(self.silent(OPENING));
            }
            self.take(&mut samples)?;
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(())
    }

    /// Takes all received data as samples.
    fn take(&mut self, samples: &mut Vec<Sample>) -> Result<()> {
        let mut bytes = [0; MAX_READ];
        let length = match self.port.read(&mut bytes) {
            Ok(0) => return Err(self.gone(&"the line is closed")),
            Ok(length) => length,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => 0,
            Err(error) => return Err(self.gone(&error)),
        };
        let lines = self.lines.push(&bytes[..length]);
        for line in lines.iter().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let Some((millis, milliwatts)) = parse(line) else {
                self.garbage += 1;
                if self.garbage > MAX_GARBAGE {
                    return Err(self.not_samples(line));
                }
                continue;
            };
            self.garbage = 0;
            let at = self.clock.at(millis).ok_or_else(|| self.begun_anew())?;
            samples.push(Sample {
                channel: 0,
                at,
                value: milliwatts / 1e3,
            });
        }
        Ok(())
    }

    fn failure(&self, what: &str, hint: &str) -> Failure {
        Failure::new(
            FailureKind::Source,
            format!("the meter {} {what}", self.about.name),
            hint,
        )
    }

    fn gone(&self, error: &dyn std::fmt::Display) -> Failure {
        self.failure(
            &format!("is gone ({error})"),
            "see whether the board is still plugged in",
        )
    }

    fn silent(&self, time: Duration) -> Failure {
        let what = format!("has sent no sample for {:.1} s", time.as_secs_f64());
        self.failure(
            &what,
            "see whether the board runs and its program sends lines as docs/meters.md has them",
        )
    }

    fn not_samples(&self, line: &str) -> Failure {
        let what = format!("sends lines that are no samples, such as \"{}\"", line.escape_debug());
        self.failure(
            &what,
            "see whether baud= is the board's, and docs/meters.md for what a line is",
        )
    }

    fn begun_anew(&self) -> Failure {
        self.failure(
            "has begun anew: its clock went back",
            "see whether its supply is steady",
        )
    }

    fn say(&mut self, line: &str) -> Result<()> {
        let sent = self.port.write_all(line.as_bytes());
        sent.map_err(|error| self.gone(&error))
    }
}

impl Meter for Board {
    fn about(&self) -> &About {
        &self.about
    }

    /// Sends `start NAME`, and discards earlier data. Characters that are not printable ASCII become `?`.
    fn begin(&mut self, what: &str) -> Result<()> {
        tcflush(&self.port, QueueSelector::IFlush).map_err(|error| self.gone(&error))?;
        self.lines = Lines::default();
        let printable = |c: char| if c == ' ' || c.is_ascii_graphic() { c } else { '?' };
        let name: String = what.chars().map(printable).take(MAX_LINE).collect();
        self.say(&format!("start {name}\n"))
    }

    /// Sends `stop`.
    fn end(&mut self) -> Result<()> {
        self.say("stop\n")
    }

    fn read(&mut self, now: Duration, samples: &mut Vec<Sample>) -> Result<()> {
        let before = samples.len();
        self.take(samples)?;
        let heard = *self.heard.get_or_insert(now);
        // `heard` is later than `now` only if the caller passes in another clock than before; then start over.
        if samples.len() > before || heard > now {
            self.heard = Some(now);
        } else if now - heard > SILENCE {
            return Err(self.silent(now - heard));
        }
        Ok(())
    }
}

/// Opens a serial line: no echo, no translation, no signals, non-blocking reads.
fn open_line(path: &Path, baud: u32) -> io::Result<File> {
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let line = rustix::fs::open(path, flags, Mode::empty())?;
    let mut settings = tcgetattr(&line)?;
    settings.make_raw();
    settings.control_modes |= ControlModes::CLOCAL | ControlModes::CREAD;
    settings.set_speed(baud)?;
    tcsetattr(&line, OptionalActions::Flush, &settings)?;
    Ok(File::from(line))
}

/// Assembles lines from pieces. The first line is dropped, since the port is usually opened in the middle of one.
#[derive(Debug, Default)]
struct Lines {
    begun: bool,
    rest: Vec<u8>,
}

impl Lines {
    /// Returns the lines that `bytes` complete. A line that is too long is cut off.
    fn push(&mut self, bytes: &[u8]) -> Vec<String> {
        let mut complete = Vec::new();
        for &byte in bytes {
            if byte != b'\n' {
                if self.rest.len() <= MAX_LINE {
                    self.rest.push(byte);
                }
                continue;
            }
            if std::mem::replace(&mut self.begun, true) {
                complete.push(String::from_utf8_lossy(&self.rest).trim().to_owned());
            }
            self.rest.clear();
        }
        complete
    }
}

/// Parses the time and the power of `MILLISECONDS,MILLIWATTS,MILLIAMPERES`. The last field proves that the second one
/// is complete.
fn parse(line: &str) -> Option<(u32, f64)> {
    if line.len() > MAX_LINE {
        return None;
    }
    let [millis, milliwatts, milliamperes] = <[&str; 3]>::try_from(line.split(',').collect::<Vec<_>>()).ok()?;
    milliamperes.parse::<f64>().ok().filter(|value| value.is_finite())?;
    let milliwatts: f64 = milliwatts.parse().ok()?;
    Some((millis.parse().ok()?, milliwatts)).filter(|_| milliwatts.abs() <= MOST_MILLIWATTS)
}

/// The board's clock: milliseconds in 32 bits, which wrap around after 49 days.
#[derive(Debug, Default)]
struct BoardClock {
    last: Option<u32>,
    total: Duration,
}

impl BoardClock {
    /// Time since the first sample; `None` if it is before the previous sample.
    fn at(&mut self, millis: u32) -> Option<Duration> {
        let apart = millis.wrapping_sub(self.last.replace(millis).unwrap_or(millis));
        self.total += Duration::from_millis(apart.into());
        (apart <= u32::MAX / 2).then_some(self.total)
    }
}
