//! Signals and timers: stopping the program, and reading the configuration again.

use std::convert::Infallible;
use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

use crate::failure::{Failure, FailureKind, Result};
use crate::run::Observation;

/// A value that turns true on Ctrl-C, on SIGTERM, or after this time.
pub(super) fn stop_signal(time: Option<Duration>) -> Result<watch::Receiver<bool>> {
    stop_signal_or(time, std::future::pending())
}

/// The same, also when `asked` is ready.
pub(super) fn stop_signal_or(
    time: Option<Duration>,
    asked: impl Future<Output = ()> + Send + 'static,
) -> Result<watch::Receiver<bool>> {
    let (mut interrupt, mut terminate) = (listen(SignalKind::interrupt())?, listen(SignalKind::terminate())?);
    let (stop, stopped) = watch::channel(false);
    tokio::spawn(async move {
        let time_is_up = async {
            match time {
                Some(time) => tokio::time::sleep(time).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            () = time_is_up => {}
            () = asked => {}
        }
        // Sending fails if everything has already ended by itself.
        let _ = stop.send(true);
        // Keep the channel open. A second signal ends the program at once.
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        std::process::exit(130);
    });
    Ok(stopped)
}

/// The outcome of a viewer that was to run for this time: if it is over and it has not reached its publisher
/// once, the reason is its failure. A user or a service manager that ends it before is told nothing of that.
///
/// # Errors
/// Those of `outcome`, and that reason.
pub(super) fn in_time(
    outcome: Result<()>,
    began: Instant,
    time: Option<Duration>,
    observation: &Observation,
) -> Result<()> {
    let over = time.is_some_and(|time| began.elapsed() >= time);
    match observation.take_unreached().filter(|_| over) {
        Some(failure) => outcome.and(Err(failure)),
        None => outcome,
    }
}

/// A stream of SIGHUP signals, the usual request to a daemon to read its configuration again. From now on SIGHUP does
/// not end the program.
pub(super) fn hangups() -> Result<Signal> {
    listen(SignalKind::hangup())
}

/// Call `renew` on every SIGHUP. What fails changes nothing, and is logged.
pub(super) async fn on_hangup(mut hangups: Signal, mut renew: impl AsyncFnMut() -> Result<()>) -> Infallible {
    loop {
        if hangups.recv().await.is_none() {
            return std::future::pending().await;
        }
        if let Err(failure) = renew().await {
            tracing::error!("everything stays as it was: {failure}");
        }
    }
}

fn listen(kind: SignalKind) -> Result<Signal> {
    signal(kind).map_err(|error| {
        let what = format!("signals cannot be listened for ({error})");
        Failure::new(FailureKind::Internal, what, "please report this")
    })
}

/// The runtime of long-running commands.
pub(super) fn runtime() -> Result<Runtime> {
    built(Builder::new_multi_thread().worker_threads(2))
}

/// The runtime of programs that forward packets or receive one stream. It has one thread: waking another thread for a
/// packet costs more than all the work on that packet.
pub(super) fn single_threaded_runtime() -> Result<Runtime> {
    built(&mut Builder::new_current_thread())
}

fn built(builder: &mut Builder) -> Result<Runtime> {
    builder.enable_all().build().map_err(|error| {
        let what = format!("the system gives no threads ({error})");
        Failure::new(FailureKind::Internal, what, "raise the limit on threads")
    })
}
