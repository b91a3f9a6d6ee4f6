//! Time of a handshake over loopback TCP, for every mechanism: `cargo bench -p sealcast --bench handshake`.
//!
//! Wall time from `connect` to the established session at the end that connects, both ends being threads of this
//! process. The initiator's key pair is made before that and reported apart, since it can be made in advance; for RSA
//! it is most of the cost. Mechanisms take turns in every round, so that a slow moment of the machine falls on all of
//! them.
//!
//! Behind them stands what a hello costs the responder that knows many pre-shared keys, in this process alone: of a
//! stranger whose binder none of them made, and without a binder, which is answered.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use sealcast::keys::{entropy, mechanism};
use sealcast::run::Clock;
use sealcast_proto::keys::{
    HandshakeConfig, HandshakeError, HelloKeys, Identity, Initiator, MAX_PSKS, Mechanism, PeerId, PresharedKey,
    Responder, ResponderStep, Role, Side, Wish,
};
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
    hellos(rounds);
}

/// Measures the cost of hellos, by the number of pre-shared keys.
fn hellos(rounds: usize) {
    println!("\na hello at the responder, {rounds} interleaved runs each; median times in µs");
    println!(
        "{:<18}{:>12}{:>12}{:>12}{:>12}",
        "pre-shared keys", "stranger", "answered", "derived", "renewed"
    );
    let counts = [0, 64, 1024, MAX_PSKS];
    let psk = |number: usize| {
        let mut bytes = [7; 32];
        bytes[..8].copy_from_slice(&number.to_be_bytes());
        PresharedKey::new(bytes)
    };
    let publisher = Identity::from_seed(&[2; 32]).peer_id();
    let mechanism = mechanism::by_name("x25519-mlkem768").expect("a known name");
    let hello = |psks: &[PresharedKey]| {
        let config = config(Side::Initiator, Arc::clone(&mechanism), Some(publisher), 1).handshake;
        let hello_keys = Arc::new(HelloKeys::new(&publisher, psks));
        let config = HandshakeConfig { hello_keys, ..config };
        let (_, hello) = Initiator::new(config, entropy::random().expect("entropy")).expect("complete");
        hello
    };
    let (strange, plain) = (hello(&[psk(usize::MAX)]), hello(&[]));
    let known: Vec<_> = counts.map(|count| (0..count).map(psk).collect::<Vec<_>>()).into();
    let keys: Vec<_> = known
        .iter()
        .map(|psks| Arc::new(HelloKeys::new(&publisher, psks)))
        .collect();
    let mut times = vec![[const { Vec::new() }; 4]; counts.len()];
    for _ in 0..rounds {
        for ((known, keys), times) in known.iter().zip(&keys).zip(&mut times) {
            let handle = |hello: &[u8]| {
                let config = config(Side::Responder, Arc::clone(&mechanism), None, 2).handshake;
                let hello_keys = Arc::clone(keys);
                let config = HandshakeConfig { hello_keys, ..config };
                let mut responder = Responder::new(config, entropy::random().expect("entropy"), Vec::new());
                let began = Instant::now();
                let step = responder.handle(hello);
                (step, began.elapsed())
            };
            let (step, took) = handle(&strange);
            assert!(matches!(step, Err(HandshakeError::Psk)), "nobody has this key");
            times[0].push(took);
            let (step, took) = handle(&plain);
            assert!(matches!(step, Ok(ResponderStep::Send(_))), "it is answered");
            times[1].push(took);
            let began = Instant::now();
            std::hint::black_box(HelloKeys::new(&publisher, known));
            times[2].push(began.elapsed());
            let began = Instant::now();
            std::hint::black_box(keys.renewed(known));
            times[3].push(began.elapsed());
        }
    }
    for (count, times) in counts.iter().zip(&mut times) {
        let median = times.each_mut().map(|times| {
            times.sort_unstable();
            format!("{:.1}", times[times.len() / 2].as_secs_f64() * 1e6)
        });
        let [stranger, answered, derived, renewed] = median;
        println!("{count:<18}{stranger:>12}{answered:>12}{derived:>12}{renewed:>12}");
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
            wish: Wish::default(),
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
