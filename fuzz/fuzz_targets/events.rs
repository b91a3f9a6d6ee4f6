//! Event server and clients over a network that loses, repeats, alters and redirects datagrams: nobody without the key
//! is answered, an address gets no more bytes than came from it, and no report is taken that nobody made.
#![no_main]

use std::collections::BTreeMap;
use std::time::Duration;

use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use sealcast_fuzz::Edit;
use sealcast_proto::clock::Now;
use sealcast_proto::events::{
    EventClient, EventKeys, EventReport, EventServer, EventTicket, Judged, MAX_REGISTRATIONS, REGISTRATION_LEN,
};
use sealcast_proto::wire::{AddressBytes, Invite};

/// Datagrams under way at once.
const MOST: usize = 64;

#[derive(Debug, Arbitrary)]
enum Step {
    /// Time passes, and the clients ask as they like.
    Wait(u16),
    /// The display shows an event.
    Show(u32, u32),
    /// A datagram under way arrives at the server from an address, perhaps altered; it stays under way.
    Ask { which: u8, from: u8, edit: Option<Edit> },
    /// A datagram under way arrives at a client, perhaps altered; it stays under way.
    Tell { which: u8, client: u8, edit: Option<Edit> },
    /// Bytes of a stranger arrive at both.
    Noise(Vec<u8>),
}

fn address(number: u8) -> AddressBytes {
    [number % 8; 18]
}

struct World {
    server: EventServer,
    clients: Vec<EventClient>,
    now: Now,
    under_way: Vec<Vec<u8>>,
    came: BTreeMap<AddressBytes, usize>,
    went: BTreeMap<AddressBytes, usize>,
    shown: Vec<EventReport>,
}

impl World {
    fn ask(&mut self, from: AddressBytes, datagram: &[u8], altered: bool) {
        *self.came.entry(from).or_default() += datagram.len();
        let judged = self.server.handle(self.now, from, datagram);
        assert!(!altered || judged == Judged::Stranger, "an altered ask is {judged:?}");
        assert!(self.server.clients() <= MAX_REGISTRATIONS);
        self.send();
    }

    fn send(&mut self) {
        while let Some((to, datagram)) = self.server.poll(self.now.wall) {
            let went = self.went.entry(to).or_default();
            *went += datagram.len();
            let came = self.came.get(&to).copied().unwrap_or(0);
            assert!(*went <= came, "{went} bytes to who sent {came}");
            self.under_way.push(datagram);
        }
        let old = self.under_way.len().saturating_sub(MOST);
        self.under_way.drain(..old);
    }

    fn pick(&self, which: u8, edit: Option<Edit>) -> Option<(Vec<u8>, bool)> {
        let original = self.under_way.get(usize::from(which) % self.under_way.len().max(1))?;
        let mut datagram = original.clone();
        if let Some(edit) = edit {
            edit.apply(&mut datagram);
        }
        let altered = datagram != *original;
        Some((datagram, altered))
    }

    fn tell(&mut self, client: u8, datagram: &[u8]) {
        let count = self.clients.len();
        let client = &mut self.clients[usize::from(client) % count];
        client.handle(self.now, datagram);
        while let Some(report) = client.take_report() {
            assert!(self.shown.contains(&report), "nobody reported {report:?}");
        }
        if let Some(clock) = client.clock() {
            let read = clock.at(self.now.wall);
            assert!(read.spread <= read.uncertainty);
        }
    }

    fn take(&mut self, step: Step) {
        match step {
            Step::Wait(millis) => {
                self.now = self.now.plus(Duration::from_millis(millis.into()));
                for client in &mut self.clients {
                    self.under_way.extend(client.poll(self.now));
                }
            }
            Step::Show(event, uncertainty) => {
                let report = EventReport {
                    event,
                    shown: self.now.wall,
                    uncertainty,
                };
                self.shown.push(report);
                self.server.report(self.now, report);
                self.send();
            }
            Step::Ask { which, from, edit } => {
                if let Some((datagram, altered)) = self.pick(which, edit) {
                    self.ask(address(from), &datagram, altered);
                }
            }
            Step::Tell { which, client, edit } => {
                if let Some((datagram, _)) = self.pick(which, edit) {
                    self.tell(client, &datagram);
                }
            }
            Step::Noise(bytes) => {
                let known = self.under_way.contains(&bytes);
                self.ask(address(7), &bytes, !known);
                self.tell(0, &bytes);
                if let Ok(text) = std::str::from_utf8(&bytes) {
                    let _ = text.parse::<EventTicket>();
                }
            }
        }
    }
}

fuzz_target!(|steps: Vec<Step>| {
    let keys = || EventKeys::new(&Invite::new([7; 16]));
    let mut world = World {
        server: EventServer::new(keys(), &[8; 32]),
        clients: (0..4)
            .map(|number| EventClient::new(keys(), [number; REGISTRATION_LEN]))
            .collect(),
        now: Now {
            monotonic: Duration::ZERO,
            wall: 1_800_000_000_000_000_000,
        },
        under_way: Vec::new(),
        came: BTreeMap::new(),
        went: BTreeMap::new(),
        shown: Vec::new(),
    };
    for step in steps.into_iter().take(256) {
        world.take(step);
    }
});
