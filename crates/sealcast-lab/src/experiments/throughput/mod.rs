//! Data carried per second of processor time: sessions compared with the bare carriers and with other programs.
//! Contenders take turns in every round, so that a busy machine slows all of them.

mod bare;
mod figures;
mod ours;
mod record;
pub(crate) mod stunnel;
pub(crate) mod tunnel;

use std::fmt;
use std::time::Duration;

use sealcast::failure::Result;
use sealcast_proto::seal::Suite;

pub use figures::{Figures, Sample};
pub use record::{Record, write};

/// Bytes of every datagram, its own headers included.
pub const DATAGRAM: usize = 1200;

/// The transport below.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Carrier {
    /// Datagrams of [`DATAGRAM`] bytes.
    Udp,
    /// A byte stream.
    Tcp,
}

impl fmt::Display for Carrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Udp => "udp",
            Self::Tcp => "tcp",
        })
    }
}

/// Plan of the measurement.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The suites of our sessions.
    pub suites: Vec<Suite>,
    /// The carriers.
    pub carriers: Vec<Carrier>,
    /// True if other programs are measured too.
    pub peers: bool,
    /// The program to run as `boringtun-cli`.
    pub boringtun: String,
    /// Number of rounds.
    pub rounds: usize,
    /// Duration of one measurement.
    pub time: Duration,
}

/// A system that is measured.
trait Contender {
    /// Its short description.
    fn name(&self) -> String;

    fn carrier(&self) -> Carrier;

    /// The processes whose processor time counts.
    fn counted(&self) -> &'static str;

    fn measure(&mut self, time: Duration) -> Result<Sample>;
}

/// Label where both ends are threads of this process, and the processor time of both counts.
const BOTH_ENDS: &str = "both ends";

/// Measures everything and reports each sample to `told`.
///
/// # Errors
/// One of our own sessions or the loopback interface fails. A peer that is missing or fails is noted instead.
pub fn measure(plan: &Plan, told: &mut dyn FnMut(&str)) -> Result<Record> {
    let mut missing = Vec::new();
    let mut contenders = own(plan);
    let first_peer = contenders.len();
    if plan.peers {
        contenders.extend(peers(plan, &mut missing));
    } else {
        missing.push("peers: not asked for".to_owned());
    }
    let mut figures: Vec<Figures> = contenders
        .iter()
        .map(|contender| Figures::new(contender.name(), contender.carrier(), contender.counted()))
        .collect();
    for round in 0..plan.rounds {
        for (at, contender) in contenders.iter_mut().enumerate() {
            match contender.measure(plan.time) {
                Ok(sample) => {
                    told(&format!(
                        "{} of {}: {}: {sample}",
                        round + 1,
                        plan.rounds,
                        contender.name()
                    ));
                    figures[at].samples.push(sample);
                }
                Err(failure) if at >= first_peer => {
                    missing.push(format!("{} in round {}: {failure}", contender.name(), round + 1));
                }
                Err(failure) => return Err(failure),
            }
        }
    }
    figures.retain(|figures| !figures.samples.is_empty());
    Ok(Record::new(plan, figures, missing))
}

fn own(plan: &Plan) -> Vec<Box<dyn Contender>> {
    let mut all: Vec<Box<dyn Contender>> = Vec::new();
    for &carrier in &plan.carriers {
        all.push(Box::new(bare::Bare(carrier)));
        for &suite in &plan.suites {
            let sessions = ours::frames(carrier).iter();
            all.extend(sessions.map(|&frame| Box::new(ours::Ours { suite, carrier, frame }) as Box<dyn Contender>));
        }
    }
    all
}

/// The other programs that are installed; those that are not are added to `missing`, with the reason.
fn peers(plan: &Plan, missing: &mut Vec<String>) -> Vec<Box<dyn Contender>> {
    let mut all: Vec<Box<dyn Contender>> = Vec::new();
    if plan.carriers.contains(&Carrier::Udp) {
        match tunnel::Tunnel::start(&plan.boringtun) {
            Ok(tunnel) => all.push(Box::new(tunnel)),
            Err(failure) => missing.push(format!("boringtun: {failure}")),
        }
    }
    if plan.carriers.contains(&Carrier::Tcp) {
        match stunnel::Stunnel::start() {
            Ok(stunnel) => all.push(Box::new(stunnel)),
            Err(failure) => missing.push(format!("stunnel: {failure}")),
        }
    }
    all
}
