//! `sealcast probe A --beside B`: opens both ways, and first A once more for the control.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch::{Receiver, channel};
use tokio::time::{sleep, timeout};

use super::args::ProbeArgs;
use super::probe_feed::{From, feed_from, panicked};
use super::{build, shutdown};
use crate::config::Settings;
use crate::config::secrets::redact;
use crate::failure::{Failure, FailureKind, Result};
use crate::meter::metrics::Metrics;
use crate::output;
use crate::run::probe::{Beside, BesideOptions, Control, Way};
use crate::run::{Observation, ObserveOptions, Observing, build_info};
use crate::source::SourceUrl;

/// Time for which A is compared with itself: a fifth of the time, within these bounds, of which the first is what an
/// interval needs; without a time so long.
const LEAST_CONTROL: Duration = Duration::from_secs(15);
const MOST_CONTROL: Duration = Duration::from_secs(60);
const CONTROL: Duration = Duration::from_secs(20);
/// A second session to the camera of A that gives no picture within this time is given up.
const AGAIN_PATIENCE: Duration = Duration::from_secs(15);
/// Time limit for a way to end.
const END_PATIENCE: Duration = Duration::from_secs(2);

pub(super) async fn run(args: &ProbeArgs, settings: &Settings, ways: [From; 2]) -> Result<()> {
    let probe = &settings.config.probe;
    let pair_by = probe.pair_by.parse();
    let pair_by = pair_by.map_err(|failure| settings.placed("probe.pair_by", failure))?;
    if ways.iter().all(is_stdin) {
        let hint = "give one of them a URL or a ticket";
        return Err(Failure::new(
            FailureKind::Usage,
            "standard input is one way and not two",
            hint,
        ));
    }
    // The logs of sessions do not say which way a row is of.
    let observe = ObserveOptions {
        log_dir: None,
        ..build::observe(settings)?
    };
    let observing = Observation::start("probe", observe, Metrics::new(build_info())).await?;
    let options = BesideOptions {
        names: [probe.from.as_deref(), probe.beside.as_deref()].map(shown),
        pair_by,
        alarm: probe.alarm.map(|alarm| alarm.0),
        log_dir: settings.config.observe.log_dir.clone(),
        program: None,
    };
    let names = options.names.clone();
    let outcome = match Beside::start(options, observing.observation().clock) {
        Ok(beside) => {
            let both = Both {
                args,
                settings,
                observing: &observing,
                ways,
                names,
            };
            both.measure(beside).await
        }
        Err(failure) => Err(failure),
    };
    observing.finish(outcome)
}

fn is_stdin(from: &From) -> bool {
    matches!(from, From::Source(url) if matches!(url.parse(), Ok(SourceUrl::Stdin(..))))
}

/// A way as messages name it.
fn shown(typed: Option<&str>) -> String {
    typed.map_or_else(
        || "the configured ticket".to_owned(),
        |typed| redact(typed).into_owned(),
    )
}

/// True if another session gets the same pictures. Nothing is opened once more of which that is not known: another
/// test card has pictures of its own, and a device of this machine has one user.
fn has_sessions(from: &From) -> bool {
    match from {
        From::Publisher(_) => true,
        From::Source(url) => matches!(url.parse(), Ok(SourceUrl::Rtsp(_))),
    }
}

/// The time for which A is compared with itself, of this time for all.
fn control_time(time: Option<Duration>) -> Duration {
    match time {
        Some(time) => (time / 5).clamp(LEAST_CONTROL, MOST_CONTROL).min(time * 2 / 5),
        None => CONTROL,
    }
}

/// Both ways of a comparison.
struct Both<'a> {
    args: &'a ProbeArgs,
    settings: &'a Settings,
    observing: &'a Observing,
    ways: [From; 2],
    names: [String; 2],
}

impl Both<'_> {
    async fn measure(&self, beside: Beside) -> Result<()> {
        let received = self.receive(&beside).await;
        let finished = tokio::task::spawn_blocking(move || beside.finish()).await;
        // The last stage's failure is the reason why those before it ended.
        let outcome = finished.unwrap_or_else(|error| Err(panicked(&error)))?;
        output::print(&outcome.text)?;
        received.and(outcome.failure.map_or(Ok(()), Err))
    }

    /// Receive both ways until the user stops it, or one of them ends.
    async fn receive(&self, beside: &Beside) -> Result<()> {
        let mut stop = shutdown::stop_signal(self.args.session.time())?;
        let (halt, halted) = channel(false);
        let observations = [Way::A, Way::B].map(|way| self.observing.observation().of_way(way.name()));
        let [first, second] = &observations;
        let a = self.way(beside, Way::A, first.clone(), halted.clone());
        let b = self.way(beside, Way::B, second.clone(), halted);
        tokio::pin!(a, b);
        let halting = async {
            // Sending fails if both have ended.
            let _ = halt.send(true);
        };
        tokio::select! {
            ended = &mut a => {
                halting.await;
                let _ = timeout(END_PATIENCE, b).await;
                self.ended(Way::A, ended)
            }
            ended = &mut b => {
                halting.await;
                let _ = timeout(END_PATIENCE, a).await;
                self.ended(Way::B, ended)
            }
            failed = self.course(beside) => failed.map(|never| match never {}),
            _ = stop.wait_for(|stop| *stop) => {
                halting.await;
                let _ = timeout(END_PATIENCE, async { tokio::join!(a, b) }).await;
                let unreached = [Way::A, Way::B].into_iter().zip(&observations);
                let mut unreached = unreached.filter_map(|(way, own)| Some(self.of_way(way, own.take_unreached()?)));
                unreached.next().map_or(Ok(()), Err)
            }
        }
    }

    async fn way(&self, beside: &Beside, way: Way, observation: Arc<Observation>, stop: Receiver<bool>) -> Result<()> {
        let from = match way {
            Way::A | Way::Again => self.ways[0].clone(),
            Way::B => self.ways[1].clone(),
        };
        let sink = (beside.sink(way), way != Way::Again);
        feed_from(self.args, self.settings, from, sink, observation, stop).await
    }

    /// First A beside itself, and then beside B.
    async fn course(&self, beside: &Beside) -> Result<Infallible> {
        beside.arrived(Way::A).await;
        beside.arrived(Way::B).await;
        self.control(beside).await?;
        tracing::info!("comparing A with B");
        beside.compare()?;
        std::future::pending().await
    }

    async fn control(&self, beside: &Beside) -> Result<()> {
        let time = control_time(self.args.session.time());
        if has_sessions(&self.ways[0]) && self.control_by_session(beside, time).await? {
            return Ok(());
        }
        tracing::info!(
            seconds = time.as_secs(),
            "comparing A with itself first: one stream, decoded twice"
        );
        beside.control(Control::Stream)?;
        sleep(time).await;
        Ok(())
    }

    /// Compare A with a second session to the same camera. False if it does not give one.
    async fn control_by_session(&self, beside: &Beside, time: Duration) -> Result<bool> {
        let (end, ended) = channel(false);
        let observation = self.observing.observation().of_way(Way::Again.name());
        let again = self.way(beside, Way::Again, observation, ended);
        tokio::pin!(again);
        let comparing = async {
            if timeout(AGAIN_PATIENCE, beside.arrived(Way::Again)).await.is_err() {
                return Ok(false);
            }
            tracing::info!(
                seconds = time.as_secs(),
                "comparing A with itself first, in two sessions"
            );
            beside.control(Control::Session)?;
            sleep(time).await;
            Ok(true)
        };
        let outcome = tokio::select! {
            outcome = comparing => {
                // Sending fails if it has just ended by itself.
                let _ = end.send(true);
                let _ = timeout(END_PATIENCE, again).await;
                outcome
            }
            ended = &mut again => {
                let why = ended.err().map(|failure| failure.what).unwrap_or_default();
                tracing::info!(why, "the camera of A gives no second session");
                return Ok(false);
            }
        };
        if matches!(outcome, Ok(false)) {
            tracing::info!("the camera of A gives no pictures in a second session");
        }
        outcome
    }

    /// A way has ended by itself.
    fn ended(&self, way: Way, outcome: Result<()>) -> Result<()> {
        match outcome {
            Ok(()) => {
                tracing::info!(way = way.name(), "it has ended");
                Ok(())
            }
            Err(failure) => Err(self.of_way(way, failure)),
        }
    }

    fn of_way(&self, way: Way, failure: Failure) -> Failure {
        let name = match way {
            Way::A | Way::Again => &self.names[0],
            Way::B => &self.names[1],
        };
        Failure {
            what: format!("way {}, {name}: {}", way.name(), failure.what),
            ..failure
        }
    }
}
