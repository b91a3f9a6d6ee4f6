//! Controls a running link by lines on standard input, and ends it.

use std::io::BufRead;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use sealcast::failure::{Failure, FailureKind, Result};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;

use crate::proxy::{Direction, Running};

/// Length of the queue of input lines.
const LINES: usize = 16;

/// A running link, for its user.
pub(super) trait Controlled: Running {
    /// Statistics so far, in lines that each end with a line break.
    fn report(&self) -> String;
}

/// Executes one line. `Ok(false)` ends the run.
pub(super) fn obey(line: &str, link: &dyn Controlled) -> Result<bool, String> {
    let (word, rest) = line.trim().split_once(char::is_whitespace).unwrap_or((line.trim(), ""));
    let rest = rest.trim();
    let ways: &[Direction] = match word {
        "" => return Ok(true),
        "quit" => return Ok(false),
        "show" => {
            print!("{}", link.report());
            return Ok(true);
        }
        "link" | "outage" => &[Direction::Up, Direction::Down],
        "up" => &[Direction::Up],
        "down" => &[Direction::Down],
        _ => {
            return Err(format!(
                "`{word}` is not understood; say link, up, down, outage, show or quit"
            ));
        }
    };
    let now = link.elapsed();
    let text = match word {
        // Outages count from now, not from the start of the link.
        "outage" => format!("outage={}ns+{rest}", now.as_nanos()),
        _ => rest.to_owned(),
    };
    for direction in ways {
        let mut profile = link.profile(*direction);
        // Removes past outages, since there is a maximum number of them.
        profile
            .outages
            .retain(|(start, length)| start.saturating_add(*length) > now);
        link.change(*direction, profile.changed(&text).map_err(|error| error.to_string())?)?;
    }
    println!("{}", profiles(link));
    Ok(true)
}

/// Both profiles, in one line if they are equal.
pub(super) fn profiles(link: &dyn Controlled) -> String {
    let (up, down) = (link.profile(Direction::Up), link.profile(Direction::Down));
    if up == down {
        format!("link: {up}")
    } else {
        format!("up:   {up}\ndown: {down}")
    }
}

/// The lines of standard input, read by a thread that ends with the process.
pub(super) fn lines() -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel(LINES);
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            if sender.blocking_send(line).is_err() {
                return;
            }
        }
    });
    receiver
}

/// Signals that may end a run.
pub(super) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
}

impl Signals {
    /// Starts to listen. Works only within the runtime.
    pub(super) fn listen() -> Result<Self> {
        let listen = |kind| {
            signal(kind).map_err(|error| {
                let what = format!("signals cannot be listened for ({error})");
                Failure::new(FailureKind::Internal, what, "please report this")
            })
        };
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            hang_up: listen(SignalKind::hangup())?,
        })
    }

    /// Waits for a signal that asks for the end. `keyboard`: true if Ctrl-C does.
    pub(super) async fn wait(&mut self, keyboard: bool) {
        loop {
            tokio::select! {
                _ = self.interrupt.recv() => if keyboard { return },
                _ = self.terminate.recv() => return,
                _ = self.hang_up.recv() => return,
            }
        }
    }
}

/// Waits for `seconds`; for ever if `None`.
pub(super) async fn time_is_up(seconds: Option<u64>) {
    match seconds {
        Some(seconds) => tokio::time::sleep(Duration::from_secs(seconds)).await,
        None => std::future::pending().await,
    }
}

/// The runtime for these waits.
pub(super) fn runtime() -> Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| {
            let what = format!("the system gives no event queue ({error})");
            Failure::new(FailureKind::Internal, what, "raise the limit on open files")
        })
}

/// Measures in a thread that signals can stop through its argument, so that everything is cleaned up.
pub(super) fn until_signalled<T: Send + 'static>(
    measure: impl FnOnce(&AtomicBool) -> Result<T> + Send + 'static,
) -> Result<T> {
    runtime()?.block_on(async {
        let mut signals = Signals::listen()?;
        let stop = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&stop);
        let mut measured = tokio::task::spawn_blocking(move || measure(&told));
        let result = tokio::select! {
            result = &mut measured => result,
            () = signals.wait(true) => {
                stop.store(true, Ordering::Relaxed);
                measured.await
            }
        };
        let defect = |_| {
            let what = "the measurement failed";
            Err(Failure::new(FailureKind::Internal, what, "please report this"))
        };
        result.unwrap_or_else(defect)
    })
}

/// Executes lines; ends on `quit`, on a signal and when the time is up.
pub(super) async fn run(
    link: &dyn Controlled,
    signals: &mut Signals,
    seconds: Option<u64>,
    mut lines: Option<mpsc::Receiver<String>>,
) {
    let mut time = std::pin::pin!(time_is_up(seconds));
    loop {
        let line = async {
            match &mut lines {
                Some(lines) => lines.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = signals.wait(true) => return,
            () = &mut time => return,
            line = line => match line.map(|line| obey(&line, link)) {
                Some(Ok(true)) => {}
                Some(Ok(false)) => return,
                Some(Err(words)) => eprintln!("sealcast-lab: {words}"),
                // Standard input has ended; the link continues.
                None => lines = None,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use sealcast_proto::sim::LinkProfile;

    use super::*;

    struct Fake(RefCell<[LinkProfile; 2]>);

    impl Running for Fake {
        fn elapsed(&self) -> Duration {
            Duration::from_secs(7)
        }

        fn profile(&self, direction: Direction) -> LinkProfile {
            self.0.borrow()[direction as usize].clone()
        }

        fn change(&self, direction: Direction, profile: LinkProfile) -> Result<(), String> {
            self.0.borrow_mut()[direction as usize] = profile;
            Ok(())
        }
    }

    impl Controlled for Fake {
        fn report(&self) -> String {
            String::new()
        }
    }

    #[test]
    fn lines_change_the_link_while_it_runs() {
        let fake = Fake(RefCell::new(
            ["delay=20ms outage=1s+2s", "delay=20ms"].map(|text| text.parse().expect(text)),
        ));
        assert_eq!(obey("link loss=5%", &fake), Ok(true));
        assert_eq!(profiles(&fake), "link: delay=20ms loss=5%");
        assert_eq!(obey(" down rate=1mbit delay=5ms ", &fake), Ok(true));
        assert_eq!(
            profiles(&fake),
            "up:   delay=20ms loss=5%\ndown: delay=5ms loss=5% rate=1mbit"
        );
        assert_eq!(obey("link perfect", &fake), Ok(true));
        assert_eq!(obey("outage 30s", &fake), Ok(true));
        assert_eq!(profiles(&fake), "link: outage=7s+30s");
        assert_eq!(obey("", &fake), Ok(true));
        assert_eq!(obey("quit", &fake), Ok(false));
    }

    #[test]
    fn a_line_that_is_not_understood_changes_nothing_and_says_why() {
        let fake = Fake(RefCell::new(["", ""].map(|text| text.parse().expect(text))));
        for (line, word) in [
            ("lnik loss=5%", "say link, up"),
            ("link loss=5", "like 2%"),
            ("outage soon", "like 20ms"),
        ] {
            let said = obey(line, &fake).expect_err(line);
            assert!(said.contains(word), "{said}");
        }
        assert_eq!(profiles(&fake), "link: perfect");
    }
}
