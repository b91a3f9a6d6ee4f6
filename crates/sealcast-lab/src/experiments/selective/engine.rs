//! One measurement: a session between two new processes.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use sealcast::failure::{Failure, FailureKind, Result};
use sealcast_proto::sim::Random;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::ends::{AT, DONE, Received, Sent};
use super::figures;
use super::packets::Packets;
use super::session::Session;
use crate::harness::process::{Program, Stop, last_words, own_program};
use crate::harness::{Definition, Engine, Entry, Opened, Place, Sample, Turn};

/// Limit for the start and the end of a process, beside the session itself.
const PATIENCE: Duration = Duration::from_secs(120);

/// Settings that all sessions have in common.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    packets: u32,
    packet_bytes: usize,
    packets_per_second: f64,
    width: usize,
    height: usize,
    quality: u8,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    key_characters: usize,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct System {
    encrypt: String,
    suite: String,
    /// Cases in which it is measured; all if none is named.
    #[serde(default)]
    cases: Vec<String>,
}

struct Selective {
    settings: Settings,
    key_characters: BTreeMap<String, usize>,
    systems: BTreeMap<String, System>,
    seed: u64,
}

pub(super) fn open(definition: &Definition, _: &Place<'_>) -> Result<Opened> {
    let mut selective = Selective {
        settings: definition.settings()?,
        key_characters: BTreeMap::new(),
        systems: BTreeMap::new(),
        seed: definition.seed,
    };
    for case in &definition.cases {
        let Case { key_characters } = case.read()?;
        selective.key_characters.insert(case.name.clone(), key_characters);
    }
    for system in &definition.systems {
        selective.systems.insert(system.name.clone(), system.read()?);
    }
    let pairs = definition
        .cases
        .iter()
        .flat_map(|case| definition.systems.iter().map(move |system| (case, system)));
    let sessions: Vec<Session> = pairs
        .map(|(case, system)| selective.session(&case.name, &system.name, 0))
        .collect();
    sessions.iter().try_for_each(Session::check)?;
    // All have the same pictures.
    let pictures = sessions.first().map(pictures).transpose()?;
    Ok(Opened {
        facts: pictures
            .map(|words| ("pictures".to_owned(), words))
            .into_iter()
            .collect(),
        ..Opened::new(selective)
    })
}

/// The pictures of a session in words.
fn pictures(session: &Session) -> Result<String> {
    let packets = Packets::new(session)?;
    let (least, most) = packets.lengths();
    Ok(format!(
        "{} of the test card, {least} to {most} bytes as JPEG, padded to {}",
        packets.count(),
        session.packet_bytes
    ))
}

impl Selective {
    /// A session of a round. In one round all sessions draw with the same seed.
    fn session(&self, case: &str, system: &str, round: usize) -> Session {
        let (settings, system) = (&self.settings, &self.systems[system]);
        Session {
            packets: settings.packets,
            packet_bytes: settings.packet_bytes,
            packets_per_second: settings.packets_per_second,
            size: (settings.width, settings.height),
            quality: settings.quality,
            key_characters: self.key_characters[case],
            suite: system.suite.clone(),
            encrypt: system.encrypt.clone(),
            seed: Random::new(self.seed ^ ((round as u64) << 32)).next_u64(),
        }
    }
}

impl Engine for Selective {
    fn suits(&self, case: &Entry, system: &Entry) -> bool {
        let cases = &self.systems[&system.name].cases;
        cases.is_empty() || cases.contains(&case.name)
    }

    fn measure(&self, turn: &Turn, _: f64, stop: Stop<'_>) -> Result<Sample> {
        let scratch = tempfile::tempdir().map_err(|error| {
            let what = format!("there is no room for temporary files ({error})");
            Failure::new(FailureKind::Sink, what, "set TMPDIR")
        })?;
        let session = self.session(&turn.case, &turn.system, turn.round);
        let measured = measure(&session, scratch.path(), stop);
        measured.map_err(|failure| Failure {
            what: failure.what + &last_words(scratch.path()),
            ..failure
        })
    }
}

fn measure(session: &Session, scratch: &Path, stop: Stop<'_>) -> Result<Sample> {
    let json = serde_json::to_string(session).map_err(|error| unreadable(&error.to_string()))?;
    let start = |name, command: &str, more: &[&str]| {
        let mut program = own_program()?;
        program.args([command, "--session", &json]).args(more);
        Program::start(name, program, &scratch.join(format!("{command}.txt")))
    };
    let receiver = start("the receiving end", "selective-receive", &[])?;
    let at = receiver.line(AT, PATIENCE, stop)?;
    let sender = start("the sending end", "selective-send", &["--to", &at])?;
    let patience = PATIENCE + session.period() * session.packets;
    let sent: Sent = said(&sender, patience, stop)?;
    let received: Received = said(&receiver, PATIENCE, stop)?;
    Ok(figures::sample(session, &sent, &received))
}

fn said<T: DeserializeOwned>(program: &Program, patience: Duration, stop: Stop<'_>) -> Result<T> {
    let line = program.line(DONE, patience, stop)?;
    serde_json::from_str(&line).map_err(|_| unreadable(&line))
}

fn unreadable(line: &str) -> Failure {
    let what = format!("an end of a session said `{line}`");
    Failure::new(FailureKind::Internal, what, "please report this")
}
