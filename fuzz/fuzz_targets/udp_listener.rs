//! The door of a UDP listener as one machine: demultiplexing, tickets, cookies, places by address, and the sessions
//! that begin. Who has not shown that it receives at its address gets no session and no more bytes than it sent.
#![no_main]

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use sealcast::fuzzing::{MAX_WAITING, UdpDoor, UdpSession, address_bytes};
use sealcast::transport::{AddressLimits, Limits, Place};
use sealcast_fuzz::{Edit, Ends, RANDOM_INITIATOR, RANDOM_RESPONDER, START};
use sealcast_proto::keys::ticket_mac;
use sealcast_proto::session::{Carrier, Entry, Event, Input, Output, Session};
use sealcast_proto::wire::{COOKIE_LEN, RetryCookies};

/// As in the program.
const LIMITS: Limits = Limits {
    per_address: 16,
    in_all: 64,
    per_second: 20,
};
const CONNECTIONS: u32 = 96;

#[derive(Debug, Arbitrary)]
enum Step {
    /// Honest ends send what they have to say, from their addresses, in one batch.
    Clients(Vec<u8>),
    /// A client's latest datagram again, from an address, perhaps altered.
    Replay {
        client: u8,
        from: u8,
        edit: Option<Edit>,
    },
    /// Datagrams of one sender that were read together.
    Run {
        from: u8,
        stride: u16,
        bytes: Vec<u8>,
    },
    /// The program accepts what waits.
    Accept(u8),
    /// A session ends.
    End(u8),
    Rotate(u8),
    Wait(u16),
}

struct Client {
    session: Session,
    address: SocketAddr,
    out: Vec<Vec<u8>>,
    last: Vec<u8>,
    established: bool,
}

struct Serving {
    place: Place,
    at: UdpSession,
    session: Session,
    address: SocketAddr,
}

struct Machine {
    door: UdpDoor,
    /// The cookies of all secrets so far: who begins may wait to be accepted while secrets change.
    cookies: Vec<RetryCookies>,
    limits: AddressLimits,
    clients: BTreeMap<u8, Client>,
    serving: Vec<Serving>,
    secret: [u8; 32],
    time: Instant,
}

fn address(number: u8) -> SocketAddr {
    ([192, 0, 2, number / 8], 1000 + u16::from(number)).into()
}

fn cookies(secret: [u8; 32]) -> RetryCookies {
    let peer = Ends::new(true, Carrier::Stream).responder.handshake.identity.peer_id();
    RetryCookies::new(ticket_mac(&peer), secret)
}

impl Machine {
    fn client(&mut self, number: u8) -> &mut Client {
        self.clients.entry(number).or_insert_with(|| {
            let mut config = Ends::on_datagrams(true).initiator;
            let connection = u32::from(number) % CONNECTIONS + 1;
            config.carrier = Carrier::Datagrams(Entry::Knock {
                connection,
                random: [number; COOKIE_LEN],
            });
            let session = Session::initiate(config, RANDOM_INITIATOR, START).expect("the configuration is complete");
            let mut client = Client {
                session,
                address: address(number),
                out: vec![],
                last: vec![],
                established: false,
            };
            client.drain();
            client
        })
    }

    /// Datagrams arrive; the answers go to those clients that are at their addresses.
    fn arrive(&mut self, runs: &[(SocketAddr, usize, Vec<u8>)]) {
        let came: usize = runs.iter().map(|run| run.2.len()).sum();
        let answers = self.door.receive(runs);
        let went: usize = answers.iter().map(|answer| answer.1.len()).sum();
        assert!(went <= came, "strangers get {went} bytes for {came}");
        for (to, mut answer) in answers {
            assert!(runs.iter().any(|run| run.0 == to), "an answer to who did not ask");
            for client in self.clients.values_mut().filter(|client| client.address == to) {
                let _ = client.session.handle(START, Input::Message(&mut answer.clone()));
                client.drain();
            }
            answer.clear();
        }
        assert!(self.door.sessions() <= self.serving.len() + MAX_WAITING);
    }

    fn accept(&mut self, most: u8) {
        for _ in 0..most {
            let Some(at) = self.door.accept() else { return };
            let (connection, cookie, from) = at.entry();
            let bytes = address_bytes(from);
            assert!(
                self.cookies
                    .iter()
                    .any(|cookies| cookies.cookie(&bytes, connection)[1..] == cookie[1..]),
                "a session begins for who has not shown that it receives at its address"
            );
            let Some(place) = self.limits.enter(from.ip(), self.time) else {
                continue;
            };
            let mut config = Ends::on_datagrams(true).responder;
            config.carrier = Carrier::Datagrams(Entry::Shown { connection, cookie });
            let session = Session::respond(config, RANDOM_RESPONDER, START);
            self.serving.push(Serving {
                place,
                at,
                session,
                address: from,
            });
        }
    }

    /// The sessions take what arrived for them; what they say arrives at the clients.
    fn serve(&mut self) {
        self.serving.retain(|serving| !is_evicted(&serving.place));
        assert!(self.serving.len() <= LIMITS.in_all);
        for serving in &mut self.serving {
            for (_, mut datagram) in serving.at.datagrams() {
                let _ = serving.session.handle(START, Input::Message(&mut datagram));
                loop {
                    match serving.session.poll() {
                        Output::Transmit(message) => {
                            let at = |client: &&mut Client| client.address == serving.address;
                            for client in self.clients.values_mut().filter(at) {
                                let _ = client.session.handle(START, Input::Message(&mut message.clone()));
                                client.drain();
                            }
                        }
                        Output::Event(Event::PeerProved(_)) => {
                            serving.place.speaks();
                            let _ = serving.session.handle(START, Input::Admit);
                        }
                        Output::Timeout(_) => break,
                        _ => {}
                    }
                }
            }
        }
    }

    fn take(&mut self, step: Step) {
        match step {
            Step::Clients(numbers) => {
                let mut runs = Vec::new();
                for number in numbers.into_iter().take(32) {
                    let client = self.client(number);
                    for datagram in std::mem::take(&mut client.out) {
                        client.last.clone_from(&datagram);
                        runs.push((client.address, datagram.len().max(1), datagram));
                    }
                }
                self.arrive(&runs);
            }
            Step::Replay { client, from, edit } => {
                let mut datagram = self.client(client).last.clone();
                if let Some(edit) = edit {
                    edit.apply(&mut datagram);
                }
                self.arrive(&[(address(from), datagram.len().max(1), datagram)]);
            }
            Step::Run { from, stride, bytes } => {
                self.arrive(&[(address(from), usize::from(stride).max(1), bytes)]);
            }
            Step::Accept(most) => self.accept(most),
            Step::End(at) => {
                if !self.serving.is_empty() {
                    self.serving.swap_remove(usize::from(at) % self.serving.len());
                }
            }
            Step::Rotate(byte) => {
                self.secret = [byte; 32];
                self.door.rotate(self.secret);
                self.cookies.push(cookies(self.secret));
            }
            Step::Wait(millis) => self.time += Duration::from_millis(millis.into()),
        }
    }
}

impl Client {
    fn drain(&mut self) {
        loop {
            match self.session.poll() {
                Output::Transmit(message) => self.out.push(message),
                Output::Event(Event::Established(_)) => self.established = true,
                Output::Timeout(_) => return,
                _ => {}
            }
        }
    }
}

fn is_evicted(place: &Place) -> bool {
    std::pin::pin!(place.evicted())
        .poll(&mut std::task::Context::from_waker(std::task::Waker::noop()))
        .is_ready()
}

fuzz_target!(|steps: Vec<Step>| {
    let peer = Ends::new(true, Carrier::Stream).responder.handshake.identity.peer_id();
    let mut machine = Machine {
        door: UdpDoor::new(&peer, [6; 32]),
        cookies: vec![cookies([6; 32])],
        limits: AddressLimits::new(LIMITS),
        clients: BTreeMap::new(),
        serving: Vec::new(),
        secret: [6; 32],
        time: Instant::now(),
    };
    for step in steps.into_iter().take(256) {
        machine.take(step);
        machine.serve();
    }
    machine.serving.clear();
    while machine.door.accept().is_some() {}
    assert_eq!(machine.door.sessions(), 0, "a session that is gone keeps a place");
    honest(&mut machine);
});

/// Checks that, whatever happened, an end with a ticket at an address of its own gets a session.
fn honest(machine: &mut Machine) {
    machine.time += Duration::from_secs(60);
    machine.clients.clear();
    for _ in 0..6 {
        machine.take(Step::Clients(vec![255]));
        machine.accept(1);
        machine.serve();
    }
    assert!(machine.client(255).established, "an honest end is kept out");
}
