//! Reaching the other end of a ticket: by the addresses of the ticket, and by those that it told in a session.

use std::net::SocketAddr;
use std::sync::Arc;

use sealcast_proto::keys::Role;
use sealcast_proto::session::{Carrier, Entry};
use sealcast_proto::unit::Unit;
use sealcast_proto::wire::{Address, Host, MAX_ADDRESSES, Ticket, TransportKind};

use super::race::{self, Given, MAX_TRIED, Place, Stood};
use super::{AnyTransport, StreamTransport, quic, tcp, udp, web};
use crate::failure::{Failure, FailureKind, Result};
use crate::keys::entropy;
use crate::keys::peers::KnownPeers;
use crate::meter::metrics::Metrics;
use crate::platform::addresses::is_for_others;

/// The addresses of the other end of a ticket, and what is known of them. It lasts as long as this program wants to
/// reach that end.
pub struct Reach {
    ticket: Ticket,
    /// Addresses that the other end told, at most [`MAX_ADDRESSES`].
    told: Vec<Told>,
    /// Keeps them over a restart.
    known: KnownPeers,
    /// Places where something stood of which no session came, at most [`MAX_TRIED`]: tried last.
    doubted: Vec<SocketAddr>,
    /// Places of the last attempt.
    tried: Vec<Place>,
    /// The one of them at which it stood.
    stood: Stood,
}

/// An address that the other end told.
struct Told {
    address: Address,
    /// It answered there with the pinned identity.
    answered: bool,
}

/// A connection to the other end of a ticket.
pub struct Connected {
    /// The transport of the connection.
    pub transport: AnyTransport,
    /// The properties of the transport that the session must know.
    pub carrier: Carrier,
    /// Address of the other end, for display. Where several are tried and none has answered yet, the ticket's first:
    /// the transport knows [which answered](super::Transport::answered_at).
    pub remote: String,
}

impl Reach {
    /// By the addresses of this ticket.
    pub fn new(ticket: Ticket) -> Self {
        Self {
            ticket,
            told: Vec::new(),
            known: KnownPeers::nowhere(),
            doubted: Vec::new(),
            tried: Vec::new(),
            stood: Stood::default(),
        }
    }

    /// Also by what its end told before, which is kept there over a restart.
    #[must_use]
    pub fn kept_in(mut self, known: KnownPeers) -> Self {
        self.learn(known.told(&self.ticket));
        self.known = known;
        self
    }

    /// The ticket.
    pub fn ticket(&self) -> &Ticket {
        &self.ticket
    }

    /// True if more than one address of the other end is known.
    pub fn has_others(&self) -> bool {
        self.given().len() > 1
    }

    /// The invite of the ticket is proved no more.
    pub fn leave_out_invite(&mut self) {
        self.ticket.invite = None;
    }

    /// The other end told its addresses, or said nothing of them. They take the place of those that never answered.
    pub fn told(&mut self, addresses: Option<Vec<Address>>) {
        if let Some(addresses) = addresses {
            self.learn(addresses);
            self.keep();
        }
    }

    /// Keep over a restart what was told.
    fn keep(&self) {
        let told: Vec<Address> = self.told.iter().map(|told| told.address.clone()).collect();
        self.known.keep_told(&self.ticket.peer, self.ticket.transport, &told);
    }

    fn learn(&mut self, addresses: Vec<Address>) {
        let before = std::mem::take(&mut self.told);
        let own: Vec<Address> = self.ticket.addresses().collect();
        let for_others = |address: &Address| match address.host {
            Host::V4(ip) => is_for_others(ip.into()),
            Host::V6(ip) => is_for_others(ip.into()),
            // What it stands for is looked at when it is known.
            Host::Name(_) => true,
        };
        for address in addresses
            .into_iter()
            .filter(|address| for_others(address) && !own.contains(address))
        {
            let answered = before.iter().any(|old| old.answered && old.address == address);
            self.told.push(Told { address, answered });
        }
        let again = |old: &Told, told: &[Told]| told.iter().any(|new| new.address == old.address);
        for old in before.into_iter().filter(|old| old.answered) {
            if !again(&old, &self.told) {
                self.told.push(old);
            }
        }
        self.told.truncate(MAX_ADDRESSES);
    }

    /// The session of the last connection is over; `established` if it ever was one with the pinned identity.
    pub fn ended(&mut self, established: bool) {
        let Some(at) = self.stood.get().map(|place| place.at) else {
            return;
        };
        self.doubted.retain(|doubted| *doubted != at);
        if !established {
            // The oldest doubt is given up where there are too many.
            let surplus = (self.doubted.len() + 1).saturating_sub(MAX_TRIED);
            self.doubted.drain(..surplus);
            self.doubted.push(at);
            return;
        }
        let tried = std::mem::take(&mut self.tried);
        for told in &mut self.told {
            told.answered |= tried
                .iter()
                .any(|place| place.at == at && place.address == told.address);
        }
        // It is found, and not by those.
        self.told
            .retain(|told| told.answered || !tried.iter().any(|place| place.address == told.address));
        self.keep();
    }

    /// Connect at the first address at which a connection stands. `role` is that of this end, and `unit` its sealing
    /// unit.
    ///
    /// # Errors
    /// No name is known, or no address answers.
    pub async fn connect(&mut self, role: Role, unit: Unit, metrics: Metrics) -> Result<Connected> {
        if self.ticket.transport == TransportKind::Relay {
            let hint = "ask for a ticket of another transport: only a viewer goes through a relay";
            return Err(Failure::new(FailureKind::Usage, "this ticket names a relay", hint));
        }
        (self.tried, self.stood) = (Vec::new(), Stood::default());
        let places = race::places(&self.given()).await;
        let hint = "check the name and the network";
        let places = self.ordered(places.map_err(|failed| self.unreached(&failed, hint))?);
        self.tried.clone_from(&places);
        let (transport, carrier) = self.carry(places, role, unit, metrics).await?;
        let alone = self.tried.first().filter(|_| self.tried.len() == 1);
        let place = self.stood.get().or(alone).map(|place| place.address.clone());
        let shown = place.or_else(|| self.ticket.addresses().next());
        Ok(Connected {
            transport,
            carrier,
            remote: shown.map_or_else(String::new, |address| address.to_string()),
        })
    }

    /// All addresses: those of the ticket come first.
    fn given(&self) -> Vec<Given> {
        let own = self.ticket.addresses().map(|address| Given { address, told: false });
        let told = self.told.iter().map(|told| Given {
            address: told.address.clone(),
            told: true,
        });
        own.chain(told).collect()
    }

    /// The places to try together: first those without a doubt, and last the one that was doubted last.
    fn ordered(&self, mut places: Vec<Place>) -> Vec<Place> {
        places.sort_by_key(|place| self.doubted.iter().position(|doubted| *doubted == place.at));
        places.truncate(MAX_TRIED);
        places
    }

    async fn carry(
        &self,
        places: Vec<Place>,
        role: Role,
        unit: Unit,
        metrics: Metrics,
    ) -> Result<(AnyTransport, Carrier)> {
        let peer = &self.ticket.peer;
        let transport = match self.ticket.transport {
            TransportKind::Udp => {
                let transport = udp::connect(&places, Arc::clone(&self.stood), metrics);
                let transport =
                    transport.map_err(|failed| self.unreached(&[failed], "check that this machine has a network"))?;
                let entry = Entry::Knock {
                    connection: u32::from_be_bytes(entropy::random()?),
                    random: entropy::random()?,
                };
                return Ok((AnyTransport::Udp(Box::new(transport)), Carrier::Datagrams(entry)));
            }
            TransportKind::Quic => {
                let connect = |place: Place| quic::connect(place.at, role, peer);
                let hint = "check that the other end runs, listens at quic://, and that a firewall lets you through";
                let connected = self.stand(race::first(places, connect).await, hint)?;
                let transport = quic::transport(connected, unit, metrics);
                let carrier = Carrier::Quic(transport.media());
                return Ok((AnyTransport::Quic(Box::new(transport)), carrier));
            }
            TransportKind::Http | TransportKind::Https => {
                let connect = |place: Place| web::connect(place, role);
                let hint = "check that the other end runs, that UDP reaches its port, or ask for its other ticket";
                let stream = self.stand(race::first(places, connect).await, hint)?;
                AnyTransport::Browser(Box::new(StreamTransport::new(stream.into())))
            }
            TransportKind::Tcp | TransportKind::Relay => {
                let connect = |place: Place| tcp::connect(place.at);
                let hint = "check that the other end runs and that a firewall lets you through";
                let stream = self.stand(race::first(places, connect).await, hint)?;
                AnyTransport::Tcp(StreamTransport::new(stream))
            }
        };
        Ok((transport, Carrier::Stream))
    }

    /// Note where a connection stood.
    fn stand<T>(&self, outcome: std::result::Result<(Place, T), Vec<String>>, hint: &str) -> Result<T> {
        let (place, connection) = outcome.map_err(|failed| self.unreached(&failed, hint))?;
        // It is empty: each attempt has one of its own.
        let _ = self.stood.set(place);
        Ok(connection)
    }

    fn unreached(&self, failed: &[String], hint: &str) -> Failure {
        let (first, more) = (self.ticket.addresses().next(), self.given().len() > 1);
        let first = first.map_or_else(String::new, |address| address.to_string());
        let over = match self.ticket.transport {
            TransportKind::Udp => " over UDP",
            TransportKind::Quic => " over QUIC",
            TransportKind::Http | TransportKind::Https => " over WebTransport",
            TransportKind::Tcp | TransportKind::Relay => "",
        };
        let others = if more { ", nor any other address of it," } else { "" };
        let what = format!("cannot reach {first}{others}{over} ({})", failed.join("; "));
        Failure::new(FailureKind::Network, what, hint)
    }
}

#[cfg(test)]
mod tests {
    use sealcast_proto::keys::PeerId;

    use super::*;

    const OWN: [&str; 2] = ["192.0.2.1:9", "192.0.2.2:9"];

    fn reach() -> Reach {
        let id = PeerId([7; 32]);
        let text = format!("sealcast://{}/{id}?transport=tcp&addr=192.0.2.2", OWN[0]);
        Reach::new(text.parse().expect("a ticket"))
    }

    fn addresses(texts: &[&str]) -> Option<Vec<Address>> {
        Some(texts.iter().map(|text| text.parse().expect("an address")).collect())
    }

    /// Tries all addresses that there are, in their order.
    fn tries(reach: &mut Reach) -> Vec<String> {
        let place = |given: Given| {
            let at = given.address.to_string().parse().expect("no name");
            let address = given.address;
            Place { at, address }
        };
        let places = reach.given().into_iter().map(place).collect();
        (reach.tried, reach.stood) = (reach.ordered(places), Stood::default());
        reach.tried.iter().map(|place| place.at.to_string()).collect()
    }

    /// A connection stood at an address, and its session has ended.
    fn stood(reach: &mut Reach, at: &str, established: bool) {
        reach
            .stood
            .set(Place::of(at.parse().expect("an address")))
            .expect("one in each attempt");
        reach.ended(established);
    }

    #[test]
    fn what_was_told_is_tried_after_the_ticket_and_forgotten_where_it_never_answered() {
        let mut reach = reach();
        assert_eq!(tries(&mut reach), OWN);
        stood(&mut reach, OWN[0], true);
        reach.told(addresses(&["192.0.2.1:9", "192.0.2.3:9", "192.0.2.4:9"]));
        for _ in 0..3 {
            // As long as nobody answers anywhere, all are tried.
            assert_eq!(
                tries(&mut reach),
                ["192.0.2.1:9", "192.0.2.2:9", "192.0.2.3:9", "192.0.2.4:9"]
            );
        }
        stood(&mut reach, "192.0.2.3:9", true);
        assert_eq!(tries(&mut reach), ["192.0.2.1:9", "192.0.2.2:9", "192.0.2.3:9"]);
        // What has answered stays beside what is told anew.
        reach.told(addresses(&["192.0.2.5:9"]));
        assert_eq!(
            tries(&mut reach),
            ["192.0.2.1:9", "192.0.2.2:9", "192.0.2.5:9", "192.0.2.3:9"]
        );
        stood(&mut reach, OWN[1], true);
        assert_eq!(tries(&mut reach), ["192.0.2.1:9", "192.0.2.2:9", "192.0.2.3:9"]);
    }

    #[test]
    fn at_most_four_are_learned_and_none_that_means_another_machine_to_each() {
        let mut reach = reach();
        for round in 0..1000 {
            let port = 1000 + round;
            let told = [
                "127.0.0.1",
                "[::1]",
                "169.254.1.1",
                "[fe80::1]",
                "224.0.0.1",
                "0.0.0.0",
                "10.0.0.1",
            ];
            let told = told.map(|host| format!("{host}:{port}"));
            reach.told(addresses(&told.each_ref().map(String::as_str)));
            let expected = [OWN[0], OWN[1], &format!("10.0.0.1:{port}")].map(str::to_owned);
            assert_eq!(tries(&mut reach), expected);
            stood(&mut reach, &format!("10.0.0.1:{port}"), true);
            let kept = reach.given().len() - OWN.len();
            assert!(kept <= MAX_ADDRESSES, "{kept}");
            reach.told.clear();
        }
        for port in 1..=9 {
            reach.told(addresses(&[&format!("10.0.0.1:{port}")]));
            tries(&mut reach);
            stood(&mut reach, &format!("10.0.0.1:{port}"), true);
        }
        let newest = ["10.0.0.1:9", "10.0.0.1:8", "10.0.0.1:7", "10.0.0.1:6"];
        assert_eq!(tries(&mut reach), [&OWN[..], &newest].concat());
    }

    #[test]
    fn where_another_machine_stood_is_tried_last_until_the_right_one_does() {
        let mut reach = reach();
        tries(&mut reach);
        stood(&mut reach, OWN[0], false);
        assert_eq!(tries(&mut reach), [OWN[1], OWN[0]]);
        stood(&mut reach, OWN[1], false);
        assert_eq!(tries(&mut reach), OWN);
        stood(&mut reach, OWN[1], true);
        assert_eq!(tries(&mut reach), [OWN[1], OWN[0]]);
        stood(&mut reach, OWN[0], true);
        assert_eq!(tries(&mut reach), OWN);
    }
}
