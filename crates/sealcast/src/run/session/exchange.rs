//! Cost of a handshake for this end: wall time, CPU time, bytes and energy, for the log and the report.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use jiff::Timestamp;

use super::observe::Observation;
use super::phases::SessionPhase;
use crate::keys::startup;
use crate::meter::labels::HandshakeOutcome;
use crate::meter::logs::{HandshakeRow, Phase};
use crate::meter::resources::ResourceSample;

/// The energy of an exchange is given if it lasted this many times longer than its ends are uncertain.
const CERTAIN: u32 = 10;

/// The exchange of handshake messages, as [`Connection`](super::connection::Connection) measures it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Exchange {
    /// Just before this end sent its first message, or after it received the first.
    pub(crate) began: Option<Instant>,
    /// The session is established at this end, and the last message is with the carrier.
    pub(crate) ended: Option<Instant>,
    /// Bytes sent, with framing.
    pub(crate) sent: u64,
    /// Bytes received, with framing.
    pub(crate) received: u64,
    /// CPU time of this end's thread, without the time that it waits.
    pub(crate) cpu: Duration,
    /// The meter's reading at the beginning, if there is a meter; it arrives later.
    pub(crate) reading: Option<Arc<OnceLock<Reading>>>,
}

impl Exchange {
    /// A handshake message is about to be sent or was received, in work that began at `since`.
    pub(crate) fn begin(&mut self, since: Instant, phase: Option<&mut SessionPhase>) {
        if self.began.is_none() {
            self.began = Some(since);
            if let Some(phase) = phase {
                phase.handshakes();
                self.reading = phase.observation().read_meter();
            }
        }
    }
}

/// Count of the energy meter at a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Reading {
    at: Instant,
    joules: f64,
}

impl Reading {
    pub(crate) fn of(at: Instant, sample: &ResourceSample) -> Option<Self> {
        Some(Self {
            at,
            joules: sample.joules?,
        })
    }
}

/// The energy between two readings in joules, if they tell that of the exchange `began..ended`. A reading is taken
/// after the time it is meant for, and its value is up to one `step` of the meter old. Together these must be at most
/// a tenth of the exchange.
fn energy([first, last]: [Reading; 2], [began, ended]: [Instant; 2], step: Duration) -> Option<f64> {
    let lasted = ended.saturating_duration_since(began);
    let late = first.at.saturating_duration_since(began) + last.at.saturating_duration_since(ended);
    (CERTAIN * (late + step) <= lasted).then_some(last.joules - first.joules)
}

/// Data for the energy of an exchange, which is computed once its last reading has come.
pub(crate) struct Metering {
    reading: Arc<OnceLock<Reading>>,
    times: [Instant; 2],
    step: Duration,
}

impl Metering {
    /// `step` is the meter's. `None` if the exchange did not begin, or nobody reads a meter.
    pub(crate) fn new(exchange: &Exchange, step: Option<Duration>) -> Option<Self> {
        Some(Self {
            reading: Arc::clone(exchange.reading.as_ref()?),
            times: [exchange.began?, exchange.ended.unwrap_or_else(Instant::now)],
            step: step?,
        })
    }

    /// The energy in joules, by the reading `at` its end.
    pub(crate) fn joules(&self, at: Instant, sample: &ResourceSample) -> Option<f64> {
        // A meter that has failed keeps its sum but has no power any more.
        sample.power_watts?;
        energy([*self.reading.get()?, Reading::of(at, sample)?], self.times, self.step)
    }
}

/// Makes the row of one handshake.
pub(crate) struct HandshakeTimer {
    connected: Instant,
    keygen: Option<Duration>,
    role: &'static str,
}

impl HandshakeTimer {
    /// The connection exists now. `keygen` is the time that an initiator's key pair took.
    pub(crate) fn begin(role: &'static str, keygen: Option<Duration>) -> Self {
        Self {
            connected: Instant::now(),
            keygen,
            role,
        }
    }

    /// The row, without energy, which comes later.
    pub(crate) fn row(
        &self,
        observation: &Observation,
        outcome: HandshakeOutcome,
        peer: String,
        agreed: Option<(&str, &str)>,
        exchange: &Exchange,
    ) -> HandshakeRow {
        let (mechanism, suite) = agreed.unwrap_or_default();
        let millis = |time: Duration| time.as_secs_f64() * 1e3;
        let ended = exchange.ended.unwrap_or_else(Instant::now);
        let stamp = |at| Timestamp::from_nanosecond(observation.clock.wall(at).into()).unwrap_or_default();
        HandshakeRow {
            start: stamp(exchange.began.unwrap_or(self.connected)),
            end: stamp(ended),
            phase: Phase::Handshake,
            duration_ms: exchange.began.map(|began| millis(ended - began)),
            mechanism: mechanism.to_owned(),
            suite: suite.to_owned(),
            role: self.role.to_owned(),
            peer,
            bytes_sent: exchange.sent,
            bytes_received: exchange.received,
            startup_ms: millis(startup::libraries()),
            keygen_ms: self.keygen.map(millis),
            cpu_ms: millis(exchange.cpu),
            energy_joules: None,
            outcome,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::observe::ObserveOptions;
    use super::super::observe::build_info;
    use super::*;
    use crate::meter::metrics::Metrics;

    #[test]
    fn energy_is_told_only_of_an_exchange_ten_times_as_long_as_its_ends_are_uncertain() {
        let start = Instant::now();
        let at = |millis: u64| start + Duration::from_millis(millis);
        let reading = |millis, joules| Reading { at: at(millis), joules };
        let step = Duration::from_millis(1);
        let told = |late: u64, lasted: u64| {
            let readings = [reading(late, 2.0), reading(lasted, 2.5)];
            energy(readings, [at(0), at(lasted)], step)
        };
        assert_eq!(told(0, 10), Some(0.5));
        assert_eq!(told(0, 9), None, "the meter's step");
        assert_eq!((told(1, 20), told(2, 20)), (Some(0.5), None), "the reading was late");
    }

    /// Runs an exchange of `lasted` while a meter counts half a joule, and returns the row that is kept of it.
    async fn metered(lasted: Duration) -> HandshakeRow {
        let tree = tempfile::tempdir().expect("a folder");
        let zone = tree.path().join("intel-rapl:0");
        fs::create_dir(&zone).expect("a folder");
        fs::write(zone.join("name"), "package-0\n").expect("a file");
        let count = |microjoules: &str| fs::write(zone.join("energy_uj"), microjoules).expect("a file");
        count("1000000\n");
        let options = ObserveOptions {
            meter: format!("rapl:{}", tree.path().display()).parse().expect("a meter"),
            ..ObserveOptions::default()
        };
        let started = Observation::start("test", options, Metrics::new(build_info())).await;
        let observing = started.expect("the counter is there");
        let observation = observing.observation();
        let timer = HandshakeTimer::begin("responder", None);
        let mut phase = SessionPhase::new(&observation);
        let mut exchange = Exchange::default();
        exchange.begin(Instant::now(), Some(&mut phase));
        while exchange.reading.as_ref().is_none_or(|reading| reading.get().is_none()) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        count("1500000\n");
        tokio::time::sleep(lasted).await;
        exchange.ended = Some(Instant::now());
        let row = timer.row(
            &observation,
            HandshakeOutcome::Established,
            String::new(),
            None,
            &exchange,
        );
        observation.handshake(row, &exchange);
        observing.finish(Ok(())).expect("nothing to write");
        observation.last_handshake().expect("rows are kept before the end")
    }

    #[tokio::test]
    async fn a_handshake_has_the_energy_that_the_meter_counted_from_its_beginning_to_its_end() {
        // On a busy machine a reading may come too late to tell: then a longer exchange does.
        let mut lasted = Duration::from_millis(50);
        let row = loop {
            let row = metered(lasted).await;
            if row.energy_joules.is_some() || lasted > Duration::from_secs(60) {
                break row;
            }
            lasted *= 2;
        };
        assert_eq!(row.energy_joules, Some(0.5));
        assert!(row.duration_ms.expect("it took place") >= 50.0 && row.startup_ms > 0.0);
    }
}
