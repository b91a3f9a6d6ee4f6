//! One measurement: an implementation on a load, or before its first byte.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use sealcast::failure::{Failure, FailureKind, Result};
use sealcast::platform::machine::Machine;

use super::alone::{self, Answer, Question};
use super::case::{Case, Coding, Settings};
use super::measure::{Bench, Timed};
use super::sample::{self, About};
use super::workload::{self, Video, Workload};
use crate::ciphers::choice;
use crate::ciphers::code::Image;
use crate::ciphers::cycles;
use crate::ciphers::implementation::Implementation;
use crate::ciphers::nature;
use crate::experiments::energy::{self, Metered};
use crate::harness::process::Stop;
use crate::harness::{Definition, Engine, Entry, Opened, Place, Sample, Turn};

/// Frame size in bytes for a process whose memory figures are not used.
const SMALL_FRAME: usize = 1;

struct Ciphers {
    implementations: BTreeMap<String, Implementation>,
    cases: BTreeMap<String, Case>,
    /// The data of cases that are loads.
    loads: BTreeMap<String, Workload>,
    settings: Settings,
    /// Ticks of the time-stamp counter per second.
    tsc_hz: Option<f64>,
    /// The file of this program.
    program: Option<Image>,
    meter: Option<Mutex<Metered>>,
}

pub(super) fn open(definition: &Definition, _: &Place<'_>) -> Result<Opened> {
    let settings = Settings::read(definition)?;
    let mut cases = BTreeMap::new();
    for case in &definition.cases {
        cases.insert(case.name.clone(), case.read::<Case>()?);
    }
    let implementations = choice::of_systems(definition.systems.iter())?;
    let absent = implementations.iter().filter_map(|one| Some((one.name(), wrong(one)?)));
    let absent: Vec<(String, String)> = absent.collect();
    let loads = loads(&cases, &settings)?;
    let power = energy::meter(&settings.meter)?.open()?;
    let (tsc_hz, program) = (cycles::tsc_hz(), Image::of_this_program());
    let mut facts = facts(
        &settings,
        tsc_hz,
        is_known(&implementations, program.as_ref()),
        power.words,
    );
    let of_frames = |name: &&String| matches!(cases[*name], Case::Frames { .. });
    facts.extend(loads.keys().filter(of_frames).map(|name| {
        let (packets, bytes) = (loads[name].packets.len(), loads[name].bytes());
        (name.clone(), format!("{packets} of {bytes} bytes in all"))
    }));
    let note = |one: &Implementation| Some(("note".to_owned(), format!("{}: {}", one.name(), one.note.as_ref()?)));
    let is_right = |one: &&Implementation| !absent.iter().any(|(name, _)| *name == one.name());
    facts.extend(implementations.iter().filter(is_right).filter_map(note));
    Ok(Opened {
        absent,
        facts,
        ..Opened::new(Ciphers {
            implementations: implementations.into_iter().map(|one| (one.name(), one)).collect(),
            cases,
            loads,
            settings,
            tsc_hz,
            program,
            meter: power.meter.map(|meter| Mutex::new(Metered::new(meter))),
        })
    })
}

/// The reason why an implementation is not timed. A foreign implementation also has to survive a short measurement.
fn wrong(one: &Implementation) -> Option<String> {
    let trial = || match one.load() {
        Some(_) => Ok(()),
        None => Bench::new(one, Duration::ZERO)?.set_up().map(drop),
    };
    let why = one.verify().and_then(|()| trial()).err()?;
    Some(format!("WRONG, not timed: {why}"))
}

fn loads(cases: &BTreeMap<String, Case>, settings: &Settings) -> Result<BTreeMap<String, Workload>> {
    let is_video = |case: &Case| matches!(case, Case::Frames { .. });
    let video = match cases.values().any(is_video) {
        true => Some(Video::of(settings.clip().as_deref())?),
        false => None,
    };
    let load = |case: &Case| match (case, &video) {
        (Case::Packets { bytes }, _) => Some(workload::of_length(*bytes)),
        (Case::Frames { codec }, Some(video)) => Some(video.frames(*codec)),
        _ => None,
    };
    let loads = cases
        .iter()
        .filter_map(|(name, case)| Some((name.clone(), load(case)?)));
    Ok(loads.collect())
}

/// False if this program does not say where its functions end. A foreign library may nevertheless.
fn is_known(implementations: &[Implementation], program: Option<&Image>) -> bool {
    let mut sizes = implementations.iter().map(|one| one.code_bytes(program));
    sizes.any(|bytes| bytes.is_some())
}

fn facts(settings: &Settings, tsc_hz: Option<f64>, code_is_known: bool, energy: String) -> Vec<(String, String)> {
    let frames = settings.clip().map(|path| path.display().to_string());
    let code = match code_is_known {
        true => "bytes of the functions and named constants that instructions lead to from where the cipher begins",
        false => "not known: this program is stripped of its symbols",
    };
    let all = [
        ("cycles", cycles::describe(tsc_hz)),
        ("code", code.to_owned()),
        ("energy", energy),
        ("frames", frames.unwrap_or_else(|| "test card".to_owned())),
        (
            "safe time",
            format!("at {:e} keys a second", settings.guesses_per_second),
        ),
        ("instructions", Machine::detect().features_line()),
    ];
    all.map(|(name, words)| (name.to_owned(), words)).into()
}

impl Engine for Ciphers {
    fn suits(&self, case: &Entry, system: &Entry) -> bool {
        let one = &self.implementations[&system.name];
        self.cases[&case.name] != Case::Instructions {} || alone::is_switched(&one.cipher, &one.implementation)
    }

    fn measure(&self, turn: &Turn, seconds: f64, _: Stop<'_>) -> Result<Sample> {
        let one = &self.implementations[&turn.system];
        let slice = Duration::from_secs_f64(seconds);
        match self.cases[&turn.case] {
            Case::SetUp {} => self.set_up(one, slice),
            Case::Instructions {} => Ok(sample::switched(&alone::switched(one, slice)?)),
            Case::Packets { .. } => self.load(turn, one, slice, Sample::default()),
            Case::Frames { codec: Coding::H264 } => self.load(turn, one, slice, self.memory(turn, one)?),
            Case::Frames { .. } => self.load(turn, one, slice, Sample::default()),
        }
    }
}

impl Ciphers {
    fn set_up(&self, one: &Implementation, slice: Duration) -> Result<Sample> {
        let measured = Bench::new(one, slice).and_then(|mut bench| bench.set_up());
        let set_up = measured.map_err(|why| broken(one, &why))?;
        let about = About::of(one, self.settings.guesses_per_second);
        Ok(sample::set_up(&about, &set_up, &by_itself(one, SMALL_FRAME)?))
    }

    /// Memory for enciphering the frames of a load, and bytes of code, as far as they are known.
    fn memory(&self, turn: &Turn, one: &Implementation) -> Result<Sample> {
        let frame_bytes = self.loads[&turn.case].mean_bytes();
        let answer = by_itself(one, frame_bytes.round() as usize)?;
        let code_bytes = one.code_bytes(self.program.as_ref());
        Ok(sample::memory(&answer, frame_bytes, one.state_bytes, code_bytes))
    }

    /// Adds speed, and energy where it is measured. The first round decides whether an implementation is too slow for
    /// the load, so that each figure has as many values as there are rounds.
    fn load(&self, turn: &Turn, one: &Implementation, slice: Duration, sample: Sample) -> Result<Sample> {
        let load = &self.loads[&turn.case];
        let patience = match turn.round {
            0 => self.settings.patience(),
            _ => Duration::MAX,
        };
        let measured = Bench::new(one, slice).and_then(|mut bench| bench.run(load, patience));
        let Some(timed) = measured.map_err(|why| broken(one, &why))? else {
            let seconds = patience.as_secs_f64();
            let slow = sample.lacking(format!("too slow: a packet takes longer than {seconds} s"));
            return Ok(Sample { last: true, ..slow });
        };
        let sample = sample::timed(sample, &timed, load.mean_bytes(), self.tsc_hz);
        let sample = self.energy(turn, one, &timed, sample)?;
        Ok(match self.cases[&turn.case] {
            Case::Frames { codec: Coding::H264 } => sample::ranked(sample),
            _ => sample,
        })
    }

    /// Adds energy in the cases that are metered. The implementation is started before, so that this is not counted.
    fn energy(&self, turn: &Turn, one: &Implementation, timed: &Timed, sample: Sample) -> Result<Sample> {
        let Some(meter) = &self.meter else {
            return Ok(sample);
        };
        if !self.settings.metered.contains(&turn.case) {
            return Ok(sample);
        }
        let load = &self.loads[&turn.case];
        let (work, rest) = self.settings.energy_times();
        let what = format!("{} {}", turn.system, turn.case);
        let mut bench = Bench::new(one, work).map_err(|why| broken(one, &why))?;
        let act = || bench.repeat(load, timed.packets);
        let mut meter = meter.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(match meter.measure(turn.round, &what, act, rest) {
            Ok((worked, energy)) => {
                let worked = worked.map_err(|why| broken(one, &why))?;
                sample::energy(sample, &energy, worked, load.mean_bytes())
            }
            Err(why) => sample.lacking(why),
        })
    }
}

/// The answer of a new process: one of this program, or a foreign cipher's own.
fn by_itself(one: &Implementation, frame_bytes: usize) -> Result<Answer> {
    let question = Question {
        name: one.name(),
        frame_bytes,
        time_ms: None,
    };
    match one.first_use(nature::of(&one.cipher).block_bytes, frame_bytes) {
        Some(first) => Ok(Answer {
            first: first.map_err(|why| broken(one, &why))?,
            timed: None,
        }),
        None => alone::ask(&question),
    }
}

fn broken(one: &Implementation, why: &str) -> Failure {
    let what = format!("{}: {why}", one.name());
    Failure::new(FailureKind::Internal, what, "leave it out with --only, or correct it")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ciphers::catalogue;

    #[test]
    fn an_implementation_that_is_wrong_in_one_value_is_named() {
        let mut all = catalogue::all().into_iter();
        let mut one = all.find(|one| one.name() == "rc4/definition").expect("RC4 is here");
        assert_eq!(wrong(&one), None);
        assert!(one.known.len() > 1, "the others stay right");
        one.known[1].sealed = "00".repeat(one.known[1].sealed.len() / 2).leak();
        let why = wrong(&one).expect("a wrong byte");
        assert!(why.starts_with("WRONG, not timed: key"), "{why}");
    }
}
