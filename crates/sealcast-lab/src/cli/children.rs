//! Programs that run over the link.

use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use sealcast::failure::{Failure, FailureKind, Result};

/// Poll interval for the end of a program.
const LOOK: Duration = Duration::from_millis(10);

/// Time that programs have to end after they were asked to.
const GRACE: Duration = Duration::from_secs(2);

/// Programs in process groups of their own, so that their descendants end with them.
#[derive(Default)]
pub(super) struct Children {
    background: Vec<Child>,
    foreground: Option<Child>,
}

impl Children {
    /// Starts a program without access to the terminal.
    pub(super) fn start(&mut self, mut command: Command) -> Result<()> {
        command.process_group(0).stdin(std::process::Stdio::null());
        self.background.push(spawn(command)?);
        Ok(())
    }

    /// Starts the main program of the run. It shares the terminal, and Ctrl-C reaches it.
    pub(super) fn start_foreground(&mut self, command: Command) -> Result<()> {
        self.foreground = Some(spawn(command)?);
        Ok(())
    }

    /// Waits until the foreground program has ended, or all others if there is none. Returns its exit code, or the
    /// first that is not 0.
    pub(super) async fn ended(&mut self) -> u8 {
        let mut code = 0;
        loop {
            if let Some(child) = &mut self.foreground {
                if let Ok(Some(status)) = child.try_wait() {
                    self.foreground = None;
                    return code_of(status);
                }
            } else {
                self.background.retain_mut(|child| match child.try_wait() {
                    Ok(Some(status)) => {
                        if code == 0 {
                            code = code_of(status);
                        }
                        false
                    }
                    _ => true,
                });
                if self.background.is_empty() {
                    return code;
                }
            }
            tokio::time::sleep(LOOK).await;
        }
    }
}

impl Drop for Children {
    fn drop(&mut self) {
        let mut left: Vec<Child> = self.background.drain(..).collect();
        for child in &left {
            signal_group(child, Signal::TERM);
        }
        if let Some(child) = self.foreground.take() {
            let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
            // It may have ended already.
            let _ = pid.map(|pid| rustix::process::kill_process(pid, Signal::TERM));
            left.push(child);
        }
        let began = std::time::Instant::now();
        while began.elapsed() < GRACE && !left.is_empty() {
            left.retain_mut(|child| !matches!(child.try_wait(), Ok(Some(_))));
            std::thread::sleep(LOOK);
        }
        for mut child in left {
            signal_group(&child, Signal::KILL);
            // These fail only if it has already ended.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn spawn(mut command: Command) -> Result<Child> {
    command.spawn().map_err(|error| {
        let what = format!("`{}` cannot be started ({error})", command.get_program().display());
        Failure::new(FailureKind::Usage, what, "see whether it is installed")
    })
}

fn signal_group(child: &Child, signal: Signal) {
    let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) else {
        return;
    };
    // This fails if the whole group has already ended.
    let _ = kill_process_group(pid, signal);
}

/// The exit code as a shell reports it.
fn code_of(status: ExitStatus) -> u8 {
    let code = status
        .code()
        .or(status.signal().map(|signal| 128 + signal))
        .unwrap_or(1);
    u8::try_from(code).unwrap_or(1)
}
