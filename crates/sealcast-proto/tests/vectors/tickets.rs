//! `vectors/tickets.json`: each ticket has exactly one spelling.

use sealcast_proto::keys::{Invite, PeerId};
use sealcast_proto::wire::{Address, BroadcastName, CertHash, Host, Ticket, TransportKind};
use sealcast_testkit::vectors::{Hex, load};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    tickets: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    expect: String,
    #[serde(rename = "why")]
    _why: Option<String>,
    ticket: String,
    host: Option<String>,
    host_kind: Option<String>,
    port: Option<u16>,
    peer_id: Option<Hex>,
    transport: Option<String>,
    transport_written: Option<bool>,
    latency: Option<u16>,
    cert_hashes: Option<Vec<Hex>>,
    broadcast: Option<String>,
    addresses: Option<Vec<Place>>,
    invite: Option<Hex>,
    page_link: Option<String>,
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
struct Place {
    host: String,
    host_kind: String,
    port: u16,
}

fn place(Address { host, port }: Address) -> Place {
    let (kind, host) = match host {
        Host::Name(name) => ("dns", name),
        Host::V4(address) => ("ipv4", address.to_string()),
        Host::V6(address) => ("ipv6", address.to_string()),
    };
    let host_kind = kind.to_owned();
    Place { host, host_kind, port }
}

fn check(case: &Case, ticket: &Ticket) {
    let places: Vec<Place> = ticket.addresses().map(place).collect();
    let (own, others) = places.split_first().expect("one at least");
    assert_eq!(
        (Some(&own.host_kind), Some(&own.host), Some(own.port)),
        (case.host_kind.as_ref(), case.host.as_ref(), case.port),
        "{}",
        case.name
    );
    assert_eq!(Some(others), case.addresses.as_deref(), "{}", case.name);
    assert_eq!(
        Some(ticket.peer),
        case.peer_id.as_ref().map(|id| PeerId(id.array())),
        "{}",
        case.name
    );
    let transport = match ticket.transport {
        TransportKind::Tcp => "tcp",
        TransportKind::Udp => "udp",
        TransportKind::Quic => "quic",
        TransportKind::Http => "http",
        TransportKind::Https => "https",
        TransportKind::Relay => "relay",
    };
    assert_eq!(Some(transport), case.transport.as_deref(), "{}", case.name);
    assert_eq!(ticket.latency, case.latency, "{}", case.name);
    let hashes = case.cert_hashes.iter().flatten();
    let hashes: Vec<CertHash> = hashes.map(|hash| CertHash::new(hash.array())).collect();
    assert_eq!(ticket.cert_hashes, hashes, "{}", case.name);
    let broadcast = ticket.broadcast.as_ref().map(BroadcastName::as_str);
    assert_eq!(broadcast, case.broadcast.as_deref(), "{}", case.name);
    let invite = case.invite.as_ref().map(|invite| Invite::new(invite.array()));
    assert!(ticket.invite == invite, "{}", case.name);
    let written = case.transport_written.expect("ok cases say so");
    let shown = if written && transport == "tcp" && others.is_empty() {
        case.ticket.replace("?transport=tcp", "")
    } else {
        case.ticket.clone()
    };
    assert_eq!(ticket.reveal(), shown, "{}", case.name);
    assert_eq!(ticket.reveal_page_link(), case.page_link, "{}", case.name);
}

#[test]
fn every_ticket_is_read_or_refused_as_by_the_reference() {
    let (mut good, mut refused) = (0, 0);
    for case in load::<File>("tickets").tickets {
        let read = case.ticket.parse::<Ticket>();
        if case.expect == "ok" {
            let ticket = read.unwrap_or_else(|error| panic!("{}: {error}", case.name));
            check(&case, &ticket);
            good += 1;
        } else {
            assert_eq!(case.expect, "refused");
            assert!(read.is_err(), "{}", case.name);
            refused += 1;
        }
    }
    assert_eq!((good, refused), (52, 234));
}
