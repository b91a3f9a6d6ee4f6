//! A clip sent from a publisher's session to a viewer's, with an observer between them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use sealcast::eavesdrop::{Carriage, Overheard};
use sealcast::failure::{Failure, FailureKind, Result};
use sealcast::keys::mechanism;
use sealcast::meter::resources::thread_cpu_time;
use sealcast::run::Clock;
use sealcast_proto::keys::{HandshakeConfig, HelloKeys, Identity, Role, Side, Wish};
use sealcast_proto::seal::suite;
use sealcast_proto::session::{
    Carrier, Delivery, Event, Input, OutgoingFrame, Output, RekeyPolicy, Session, SessionConfig,
};
use sealcast_proto::sim::Random;
use sealcast_proto::unit::{Assembled, Preamble, Selection, StreamInfo, Unit};
use sealcast_proto::wire::{LENGTH_PREFIX, MessageLength, message_length, write_framed};

use super::clip::Clip;

/// The stream's number.
const STREAM: u32 = 1;
/// Exchanges of messages until the selection must be in force; a handshake takes four.
const MOST_EXCHANGES: usize = 32;

/// Selection of what is encrypted of a stream, and the unit by which it is cut.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Protection {
    pub(crate) selection: Selection,
    pub(crate) unit: Unit,
}

/// Record of what a session carried.
#[derive(Debug)]
pub(crate) struct Carried {
    /// The stream as the observer has it.
    pub(crate) overheard: Overheard,
    /// The frames that the viewer has.
    pub(crate) viewer: Vec<Vec<u8>>,
    /// Time to cut and seal each frame, in µs.
    pub(crate) seal_us: Vec<f64>,
    /// Time to open each frame and to put it together, in µs.
    pub(crate) open_us: Vec<f64>,
    /// Processor time of both ends for all frames.
    pub(crate) cpu: Duration,
}

/// Sends the clip. `seed` decides keys and draws, which protect nothing here.
///
/// # Errors
/// A session ends, which would be a defect.
pub(crate) fn carry(clip: &Clip, protection: Protection, seed: u64) -> Result<Carried> {
    let mut random = Random::new(seed);
    let clock = Clock::default();
    let mut publisher = End::new(Side::Responder, protection.unit, &mut random, clock)?;
    let mut viewer = End::new(Side::Initiator, protection.unit, &mut random, clock)?;
    let mut overheard = Overheard::new(Carriage::Stream);
    agree(&mut publisher, &mut viewer, protection.selection, &mut overheard)?;

    let mut carried = Carried {
        overheard,
        viewer: Vec::new(),
        seal_us: Vec::new(),
        open_us: Vec::new(),
        cpu: Duration::ZERO,
    };
    publisher.describe(&clip.info)?;
    let period = Duration::from_secs(1) / clip.info.rate.numerator.max(1);
    let cpu = thread_cpu_time();
    for (number, frame) in clip.frames.iter().enumerate() {
        let began = Instant::now();
        publisher.seal(number, frame.keyframe, clip, &frame.data)?;
        carried.seal_us.push(began.elapsed().as_secs_f64() * 1e6);
        // Until here the frame's bytes are not on the wire.
        carried.overheard.hear(period * number as u32, &publisher.out);
        let mut sent = std::mem::take(&mut publisher.out);
        let began = Instant::now();
        viewer.receive(&mut sent)?;
        carried.open_us.push(began.elapsed().as_secs_f64() * 1e6);
        let mut answers = std::mem::take(&mut viewer.out);
        publisher.receive(&mut answers)?;
    }
    carried.cpu = thread_cpu_time().saturating_sub(cpu);
    carried.viewer = viewer.frames;
    Ok(carried)
}

/// Exchanges messages until the session is established and the selection in force.
fn agree(publisher: &mut End, viewer: &mut End, selection: Selection, overheard: &mut Overheard) -> Result<()> {
    let mut told = false;
    for _ in 0..MOST_EXCHANGES {
        viewer.drain()?;
        let mut up = std::mem::take(&mut viewer.out);
        publisher.receive(&mut up)?;
        if publisher.session.is_established() && !told {
            told = true;
            publisher.handle(Input::Select(selection))?;
        }
        publisher.drain()?;
        overheard.hear(Duration::ZERO, &publisher.out);
        let mut down = std::mem::take(&mut publisher.out);
        viewer.receive(&mut down)?;
        if told
            && viewer.session.is_established()
            && publisher.session.selection() == selection
            && viewer.out.is_empty()
        {
            return Ok(());
        }
    }
    Err(broken(&"the ends do not agree on what is encrypted"))
}

/// One end, and what it wants to send.
struct End {
    session: Session,
    clock: Clock,
    out: Vec<u8>,
    frames: Vec<Vec<u8>>,
}

fn broken(why: &dyn std::fmt::Display) -> Failure {
    let what = format!("a session in memory broke: {why}");
    Failure::new(FailureKind::Internal, what, "please report this")
}

/// The identity of an end; not secret, since it protects nothing.
fn identity(side: Side) -> Identity {
    Identity::from_seed(&[if side == Side::Initiator { 1 } else { 2 }; 32])
}

impl End {
    fn new(side: Side, unit: Unit, random: &mut Random, clock: Clock) -> Result<Self> {
        let publisher = identity(Side::Responder).peer_id();
        let initiates = side == Side::Initiator;
        let mechanism = mechanism::by_name("x25519").ok_or_else(|| broken(&"a mechanism is missing"))?;
        let config = SessionConfig {
            handshake: HandshakeConfig {
                role: if initiates { Role::Viewer } else { Role::Publisher },
                identity: Arc::new(identity(side)),
                suites: suite::RECOMMENDED.to_vec(),
                mechanisms: vec![mechanism],
                pinned: initiates.then_some(publisher),
                hello_keys: Arc::new(HelloKeys::new(&publisher, [])),
                wish: Wish::default(),
            },
            side,
            carrier: Carrier::Stream,
            rekey: RekeyPolicy::default(),
            delivery: Delivery::default(),
            unit,
            selection_seed: random.next_u64(),
            shape: None,
            group: None,
        };
        let mut bytes = [0; 32];
        bytes
            .chunks_mut(8)
            .for_each(|word| word.copy_from_slice(&random.next_u64().to_le_bytes()));
        let session = match initiates {
            true => Session::initiate(config, bytes, clock.now()).map_err(|error| broken(&error))?,
            false => Session::respond(config, bytes, clock.now()),
        };
        Ok(Self {
            session,
            clock,
            out: Vec::new(),
            frames: Vec::new(),
        })
    }

    fn handle(&mut self, input: Input<'_>) -> Result<()> {
        let handled = self.session.handle(self.clock.now(), input);
        handled.map(drop).map_err(|error| broken(&error))
    }

    /// Handles all messages in a stretch of the byte stream.
    fn receive(&mut self, stream: &mut [u8]) -> Result<()> {
        let mut rest = stream;
        while let Some(length) = message_length(rest, MessageLength::Record).map_err(|error| broken(&error))? {
            let (message, others) = rest
                .split_at_mut_checked(LENGTH_PREFIX + length)
                .ok_or_else(|| broken(&"a message is cut off"))?;
            self.handle(Input::Message(&mut message[LENGTH_PREFIX..]))?;
            self.drain()?;
            rest = others;
        }
        Ok(())
    }

    fn drain(&mut self) -> Result<()> {
        loop {
            match self.session.poll() {
                Output::Transmit(message) => write_framed(&mut self.out, &message),
                Output::Event(Event::PeerProved(_)) => self.handle(Input::Admit)?,
                Output::Media(Assembled::Frame(frame)) => self.frames.push(frame.data),
                Output::Media(_) | Output::Event(_) | Output::Challenge(_) | Output::Follow => {}
                Output::Timeout(_) => return Ok(()),
            }
        }
    }

    fn describe(&mut self, info: &StreamInfo) -> Result<()> {
        let sealed = self.session.seal_info(self.clock.now(), STREAM, info, &mut self.out);
        sealed.map(drop).map_err(|error| broken(&error))
    }

    fn seal(&mut self, number: usize, keyframe: bool, clip: &Clip, data: &[u8]) -> Result<()> {
        let now = self.clock.now();
        let frame = OutgoingFrame {
            stream: STREAM,
            codec: clip.info.codec,
            keyframe,
            preamble: Preamble {
                frame: number as u64,
                captured: now.wall,
                encoded: now.wall,
                ..Preamble::default()
            },
            data,
        };
        let sealed = self.session.seal_frame(now, &frame, &mut self.out);
        sealed.map_err(|error| broken(&error))?;
        self.drain()
    }
}
