//! The two ends of a handshake: sessions as the program makes them, and what each costs.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sealcast::failure::{Failure, FailureKind, Result};
use sealcast::keys::entropy;
use sealcast::meter::resources::thread_cpu_time;
use sealcast::run::Clock;
use sealcast_proto::keys::{HandshakeConfig, HelloKeys, Identity, Mechanism, Role, Side, Wish};
use sealcast_proto::seal::suite;
use sealcast_proto::session::{Carrier, Delivery, Event, Input, Output, RekeyPolicy, Session, SessionConfig};
use sealcast_proto::unit::Unit;
use sealcast_proto::wire::{LENGTH_PREFIX, MessageLength, message_length, write_framed};

/// Cost of a handshake to one end, from its first message to the established session, as in the program's
/// `handshake.csv`.
#[derive(Clone, Copy, Debug)]
pub(in crate::experiments) struct Cost {
    pub(in crate::experiments) wall: Duration,
    pub(in crate::experiments) cpu: Duration,
    /// Bytes sent, with framing.
    pub(in crate::experiments) sent: usize,
    /// Bytes received, with framing.
    pub(in crate::experiments) received: usize,
    /// Messages received.
    pub(in crate::experiments) messages: usize,
}

/// Cost of a handshake to both ends, and of the key pair that the initiator made before it.
#[derive(Clone, Copy, Debug)]
pub(in crate::experiments) struct Handshake {
    pub(in crate::experiments) keygen: Duration,
    pub(in crate::experiments) initiator: Cost,
    pub(in crate::experiments) responder: Cost,
}

/// One end, with its clocks.
pub(super) struct End {
    session: Session,
    clock: Clock,
    began: Option<Instant>,
    ended: Option<Instant>,
    cpu: Duration,
    sent: usize,
    received: usize,
    messages: usize,
}

/// The identity of an end; not secret, since it protects nothing.
fn identity(side: Side) -> Identity {
    Identity::from_seed(&[if side == Side::Initiator { 1 } else { 2 }; 32])
}

/// A viewer that connects to a publisher and knows its identity, as with a ticket.
fn config(side: Side, mechanism: &Arc<dyn Mechanism>) -> SessionConfig {
    let responder = identity(Side::Responder).peer_id();
    let initiates = side == Side::Initiator;
    SessionConfig {
        handshake: HandshakeConfig {
            role: if initiates { Role::Viewer } else { Role::Publisher },
            identity: Arc::new(identity(side)),
            suites: suite::RECOMMENDED.to_vec(),
            mechanisms: vec![Arc::clone(mechanism)],
            pinned: initiates.then_some(responder),
            hello_keys: Arc::new(HelloKeys::new(&responder, [])),
            wish: Wish::default(),
        },
        side,
        carrier: Carrier::Stream,
        rekey: RekeyPolicy::default(),
        delivery: Delivery::default(),
        unit: Unit::Frame,
        selection_seed: 0,
        shape: None,
        group: None,
    }
}

impl End {
    fn new(session: Session, clock: Clock) -> Self {
        Self {
            session,
            clock,
            began: None,
            ended: None,
            cpu: Duration::ZERO,
            sent: 0,
            received: 0,
            messages: 0,
        }
    }

    /// The end that connects, and the time that its key pair and first message took.
    pub(super) fn initiator(mechanism: &Arc<dyn Mechanism>, clock: Clock) -> Result<(Self, Duration)> {
        let (config, random) = (config(Side::Initiator, mechanism), entropy::random()?);
        let began = Instant::now();
        let session = Session::initiate(config, random, clock.now()).map_err(|error| broken(&error))?;
        Ok((Self::new(session, clock), began.elapsed()))
    }

    /// The end that is connected to.
    pub(super) fn responder(mechanism: &Arc<dyn Mechanism>, clock: Clock) -> Result<Self> {
        let config = config(Side::Responder, mechanism);
        Ok(Self::new(
            Session::respond(config, entropy::random()?, clock.now()),
            clock,
        ))
    }

    /// Takes all whole messages out of `incoming` and passes the answers to `send`. Its time counts from the first
    /// message on.
    ///
    /// # Errors
    /// The session refuses a message, or `send` fails.
    pub(super) fn step(&mut self, incoming: &mut Vec<u8>, send: impl FnOnce(&[u8]) -> io::Result<()>) -> Result<()> {
        let (since, cpu) = (Instant::now(), thread_cpu_time());
        let mut out = Vec::new();
        let mut established = self.drain(&mut out)?;
        while let Some(length) = message_length(incoming, MessageLength::Handshake).map_err(|error| broken(&error))?
            && incoming.len() >= LENGTH_PREFIX + length
        {
            let mut message: Vec<u8> = incoming.drain(..LENGTH_PREFIX + length).collect();
            let now = self.clock.now();
            let handled = self.session.handle(now, Input::Message(&mut message[LENGTH_PREFIX..]));
            handled.map_err(|error| broken(&error))?;
            self.received += message.len();
            self.messages += 1;
            established |= self.drain(&mut out)?;
        }
        if !out.is_empty() {
            send(&out).map_err(|error| broken(&error))?;
        }
        self.sent += out.len();
        if self.sent + self.received > 0 {
            self.began.get_or_insert(since);
            self.cpu += thread_cpu_time().saturating_sub(cpu);
        }
        if established {
            self.ended.get_or_insert_with(Instant::now);
        }
        Ok(())
    }

    /// Puts the session's messages into `out`, up to the last of the handshake. Returns true if the session was
    /// established.
    fn drain(&mut self, out: &mut Vec<u8>) -> Result<bool> {
        let mut established = false;
        loop {
            match self.session.poll() {
                Output::Transmit(message) => write_framed(out, &message),
                Output::Event(Event::PeerProved(_)) => {
                    let admitted = self.session.handle(self.clock.now(), Input::Admit);
                    admitted.map_err(|error| broken(&error))?;
                }
                Output::Event(Event::Established(_)) => {
                    established = true;
                    if self.session.side() == Side::Initiator {
                        // What it sends from now on belongs to the session.
                        return Ok(true);
                    }
                }
                Output::Event(_) | Output::Media(_) | Output::Challenge(_) | Output::Follow => {}
                Output::Timeout(_) => return Ok(established),
            }
        }
    }

    /// Cost of the handshake; `None` before the session is established.
    pub(super) fn cost(&self) -> Option<Cost> {
        Some(Cost {
            wall: self.ended?.saturating_duration_since(self.began?),
            cpu: self.cpu,
            sent: self.sent,
            received: self.received,
            messages: self.messages,
        })
    }
}

/// Two ends after a handshake, and the time of the initiator's key pair.
struct Met {
    initiator: End,
    responder: End,
    keygen: Duration,
}

/// One handshake whose ends take turns on this thread. Its wall time is that of both ends' work.
pub(in crate::experiments) fn in_memory(mechanism: &Arc<dyn Mechanism>) -> Result<Handshake> {
    let met = meet(mechanism)?;
    match (met.initiator.cost(), met.responder.cost()) {
        (Some(initiator), Some(responder)) => Ok(Handshake {
            keygen: met.keygen,
            initiator,
            responder,
        }),
        _ => Err(broken(&"it did not end")),
    }
}

/// The session of a publisher after such a handshake.
pub(in crate::experiments) fn publisher(mechanism: &Arc<dyn Mechanism>) -> Result<Session> {
    Ok(meet(mechanism)?.responder.session)
}

fn meet(mechanism: &Arc<dyn Mechanism>) -> Result<Met> {
    let clock = Clock::default();
    let (mut initiator, keygen) = End::initiator(mechanism, clock)?;
    let mut responder = End::responder(mechanism, clock)?;
    let (mut up, mut down) = (Vec::new(), Vec::new());
    while initiator.cost().is_none() || responder.cost().is_none() {
        let before = initiator.sent + responder.sent + initiator.messages;
        initiator.step(&mut down, |bytes| {
            up.extend_from_slice(bytes);
            Ok(())
        })?;
        responder.step(&mut up, |bytes| {
            down.extend_from_slice(bytes);
            Ok(())
        })?;
        if before == initiator.sent + responder.sent + initiator.messages {
            return Err(broken(&"neither end has anything more to say"));
        }
    }
    Ok(Met {
        initiator,
        responder,
        keygen,
    })
}

pub(super) fn broken(why: &dyn std::fmt::Display) -> Failure {
    let what = format!("a handshake failed: {why}");
    Failure::new(FailureKind::Internal, what, "please report this")
}

#[cfg(test)]
mod tests {
    use sealcast::keys::mechanism;

    use super::*;

    #[test]
    fn what_one_end_sends_the_other_receives_and_time_at_work_is_no_longer_than_the_exchange() {
        for name in mechanism::names() {
            let mechanism = mechanism::by_name(name).expect("a known name");
            let made = in_memory(&mechanism).expect(name);
            let (initiator, responder) = (made.initiator, made.responder);
            assert_eq!(
                (initiator.sent, initiator.received),
                (responder.received, responder.sent),
                "{name}"
            );
            assert_eq!((initiator.messages, responder.messages), (2, 2), "{name}");
            for cost in [initiator, responder] {
                assert!(Duration::ZERO < cost.cpu && cost.cpu <= cost.wall, "{name}: {cost:?}");
            }
            assert!(made.keygen > Duration::ZERO, "{name}");
        }
    }

    #[test]
    fn an_altered_message_ends_a_handshake_and_is_no_figure() {
        let mechanism = mechanism::by_name("x25519").expect("a known name");
        let clock = Clock::default();
        let (mut initiator, _) = End::initiator(&mechanism, clock).expect("complete");
        let mut responder = End::responder(&mechanism, clock).expect("complete");
        let (mut up, mut down) = (Vec::new(), Vec::new());
        let push = |to: &mut Vec<u8>, bytes: &[u8]| {
            to.extend_from_slice(bytes);
            Ok(())
        };
        initiator
            .step(&mut down, |bytes| push(&mut up, bytes))
            .expect("a hello");
        responder
            .step(&mut up, |bytes| push(&mut down, bytes))
            .expect("a reply");
        let last = down.len() - 1;
        down[last] ^= 1;
        let failure = initiator.step(&mut down, |_| Ok(())).expect_err("it was altered");
        assert!(failure.what.starts_with("a handshake failed"), "{failure}");
        assert!(initiator.cost().is_none());
    }
}
