//! How long a handshake takes over loopback TCP, for every mechanism: `cargo bench -p sealcast --bench handshake`.
//!
//! Wall time from `connect` to the established session at the end that connects, both ends being threads of this
//! process. The initiator's key pair is made before that and reported apart, since it can be made in advance; for RSA
//! it is most of the cost. Mechanisms take turns in every round, so that a slow moment of the machine falls on all of
//! them.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use sealcast::keys::{entropy, mechanism};
use sealcast::run::Clock;
use sealcast_proto::keys::{HandshakeConfig, HelloKeys, Identity, Mechanism, PeerId, Role, Side};
use sealcast_proto::seal::suite;
use sealcast_proto::session::{Carrier, Event, Input, Output, RekeyPolicy, Session, SessionConfig};
use sealcast_proto::wire::{MessageLength, message_length, write_framed};

const ROUNDS: usize = 100;
const WARM_UP: usize = 3;

fn main() {
    // `cargo test` runs benchmarks too, with this argument missing: once round is enough to know that it works.
    let rounds = if std::env::args().any(|argument| argument == "--bench") {
        ROUNDS
    } else {
        1
    };
    let names: Vec<_> = mechanism::names().collect();
    let mut times = vec![(Vec::new(), Vec::new(), (0, 0)); names.len()];
    for round in 0..rounds + WARM_UP {
        for (name, (keygen, handshake, bytes)) in names.iter().zip(&mut times) {
            let measured = run(mechanism::by_name(name).expect("a known name"));
            if round >= WARM_UP {
                keygen.push(measured.keygen);
                handshake.push(measured.handshake);
                *bytes = measured.bytes;
            }
        }
    }
    println!("handshake over loopback TCP, {rounds} interleaved runs each; times in µs");
    println!(
        "{:<18}{:>9}{:>9}{:>9}{:>9}  {:>12}{:>9}{:>9}",
        "mechanism", "median", "p95", "min", "max", "keygen med", "sent B", "recv B"
    );
    for (name, (keygen, handshake, bytes)) in names.iter().zip(&mut times) {
        handshake.sort_unstable();
        keygen.sort_unstable();
        let at = |times: &[Duration], part: f64| {
            let index = ((times.len() - 1) as f64 * part).round() as usize;
            format!("{:.0}", times[index].as_secs_f64() * 1e6)
        };
        println!(
            "{name:<18}{:>9}{:>9}{:>9}{:>9}  {:>12}{:>9}{:>9}",
            at(handshake, 0.5),
            at(handshake, 0.95),
            at(handshake, 0.0),
            at(handshake, 1.0),
            at(keygen, 0.5),
            bytes.0,
            bytes.1
        );
    }
}

struct Measured {
    keygen: Duration,
    handshake: Duration,
    bytes: (usize, usize),
}

fn config(side: Side, mechanism: Arc<dyn Mechanism>, pinned: Option<PeerId>, seed: u8) -> SessionConfig {
    let role = match side {
        Side::Initiator => Role::Viewer,
        Side::Responder => Role::Publisher,
    };
    SessionConfig {
        handshake: HandshakeConfig {
            role,
            identity: Arc::new(Identity::from_seed(&[seed; 32])),
            suites: suite::RECOMMENDED.to_vec(),
            mechanisms: vec![mechanism],
            pinned,
            hello_keys: Arc::new(HelloKeys::new(&Identity::from_seed(&[2; 32]).peer_id(), [])),
        },
        side,
        carrier: Carrier::Stream,
        rekey: RekeyPolicy::default(),
        unit: sealcast_proto::unit::Unit::Frame,
        selection_seed: 1,
        shape: None,
        group: None,
        delivery: sealcast_proto::session::Delivery::default(),
    }
}

fn run(mechanism: Arc<dyn Mechanism>) -> Measured {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("bound");
    let clock = Clock::default();
    let publisher = Identity::from_seed(&[2; 32]).peer_id();
    let responder = std::thread::spawn({
        let config = config(Side::Responder, Arc::clone(&mechanism), None, 2);
        move || {
            let (stream, _) = listener.accept().expect("the initiator connects");
            let session = Session::respond(config, entropy::random().expect("entropy"), clock.now());
            drive(session, stream, clock);
        }
    });
    let began = Instant::now();
    let config = config(Side::Initiator, mechanism, Some(publisher), 1);
    let session = Session::initiate(config, entropy::random().expect("entropy"), clock.now()).expect("complete");
    let keygen = began.elapsed();
    let began = Instant::now();
    let stream = TcpStream::connect(address).expect("the responder listens");
    let bytes = drive(session, stream, clock);
    let handshake = began.elapsed();
    responder.join().expect("the responder succeeds");
    Measured {
        keygen,
        handshake,
        bytes,
    }
}

/// Drive a session over a blocking socket until it is established; bytes sent and received.
fn drive(mut session: Session, mut stream: TcpStream, clock: Clock) -> (usize, usize) {
    stream.set_nodelay(true).expect("a socket");
    let (mut sent, mut received, mut buffer) = (0, 0, Vec::new());
    loop {
        loop {
            match session.poll() {
                Output::Transmit(message) => {
                    let mut framed = Vec::new();
                    write_framed(&mut framed, &message);
                    sent += framed.len();
                    stream.write_all(&framed).expect("the peer reads");
                }
                Output::Event(Event::PeerProved(_)) => {
                    session.handle(clock.now(), Input::Admit).expect("admitted");
                }
                Output::Event(Event::Established(_)) => {
                    // What is still queued, the responder's welcome, must go out before the socket closes.
                    while let Output::Transmit(message) = session.poll() {
                        let mut framed = Vec::new();
                        write_framed(&mut framed, &message);
                        sent += framed.len();
                        stream.write_all(&framed).expect("the peer reads");
                    }
                    return (sent, received);
                }
                Output::Event(_) | Output::Media(_) | Output::Challenge(_) | Output::Follow => {}
                Output::Timeout(_) => break,
            }
        }
        let length = loop {
            if let Some(length) = message_length(&buffer, MessageLength::Record).expect("well framed")
                && buffer.len() >= 4 + length
            {
                break length;
            }
            let mut chunk = [0; 4096];
            let count = stream.read(&mut chunk).expect("the peer sends");
            assert!(count > 0, "the peer hung up");
            received += count;
            buffer.extend_from_slice(&chunk[..count]);
        };
        let mut message = buffer[4..4 + length].to_vec();
        buffer.drain(..4 + length);
        session
            .handle(clock.now(), Input::Message(&mut message))
            .expect("an honest peer");
    }
}
