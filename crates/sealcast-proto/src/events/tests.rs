//! Event servers and clients over a simulated network that loses, repeats and alters datagrams.

use std::time::Duration;

use super::message::{Ask, Reports, Told};
use super::*;
use crate::clock::Now;
use crate::sim::Random;
use crate::wire::{AddressBytes, Invite};

const HOME: AddressBytes = [1; 18];
const ELSEWHERE: AddressBytes = [2; 18];
/// The server's clock is this far ahead, ns.
const AHEAD: u64 = 7_000_000_000;

fn keys() -> EventKeys {
    EventKeys::new(&Invite::new([7; 16]))
}

fn server() -> EventServer {
    EventServer::new(keys(), &[8; 32])
}

fn client(number: u8) -> EventClient {
    EventClient::new(keys(), [number; REGISTRATION_LEN])
}

fn at(millis: u64) -> Now {
    Now {
        monotonic: Duration::from_millis(millis),
        wall: 1_800_000_000_000_000_000 + millis * 1_000_000,
    }
}

/// The same moment by the server's wall clock.
fn there(now: Now) -> Now {
    Now {
        wall: now.wall + AHEAD,
        ..now
    }
}

fn report(event: u32) -> EventReport {
    EventReport {
        event,
        shown: u64::from(event) * 1_000,
        uncertainty: event,
    }
}

/// Hands an ask over and returns what the server sends, if anything.
fn asked(server: &mut EventServer, now: Now, address: AddressBytes, ask: &[u8]) -> (Judged, Vec<Vec<u8>>) {
    let judged = server.handle(there(now), address, ask);
    let mut sent = Vec::new();
    while let Some((to, datagram)) = server.poll(there(now).wall) {
        assert_eq!(to, address);
        sent.push(datagram);
    }
    (judged, sent)
}

/// Lets the client ask, without loss, until `end`.
fn talk(server: &mut EventServer, client: &mut EventClient, from: u64, end: u64) {
    for millis in from..end {
        let now = at(millis);
        while let Some(ask) = client.poll(now) {
            for datagram in asked(server, now, HOME, &ask).1 {
                client.handle(now, &datagram);
            }
        }
    }
}

fn taken(client: &mut EventClient) -> Vec<u32> {
    std::iter::from_fn(|| client.take_report())
        .map(|report| report.event)
        .collect()
}

#[test]
fn a_client_registers_learns_the_time_and_is_told_what_is_shown() {
    let (mut server, mut client) = (server(), client(1));
    server.report(there(at(0)), report(1));
    talk(&mut server, &mut client, 0, 1000);
    assert_eq!(server.clients(), 1);
    let clock = client.clock().expect("it was answered");
    let clock = clock.at(at(1000).wall);
    assert!(clock.offset.abs_diff(AHEAD as i64) <= clock.uncertainty, "{clock:?}");
    server.report(there(at(1000)), report(2));
    let (address, news) = server.poll(0).expect("news");
    assert_eq!(address, HOME);
    client.handle(at(1000), &news);
    assert_eq!(
        client.take_report(),
        Some(report(2)),
        "not what was shown before it came"
    );
    assert_eq!(client.take_report(), None);
    client.handle(at(1000), &news);
    assert_eq!(client.take_report(), None, "news that come again are refused");
    assert_eq!(client.counts().refused, 1);
}

#[test]
fn no_datagram_is_taken_that_was_cut_lengthened_or_altered_in_any_bit() {
    let registration = [3; REGISTRATION_LEN];
    let reports = |count: u32| Reports {
        position: 9,
        list: (0..count).map(report).collect(),
    };
    let ask = Ask {
        registration,
        sequence: 1,
        cookie: [4; 24],
        position: 5,
    };
    let sealed = ask.seal(&keys());
    assert_eq!(sealed.len(), ASK_LEN);
    assert_eq!(Ask::open(&keys(), &sealed), Ok(ask));
    let mut server = server();
    altered(&sealed, |datagram| {
        assert!(Ask::open(&keys(), datagram).is_err());
        assert_eq!(server.handle(at(0), HOME, datagram), Judged::Stranger);
        assert!(server.poll(0).is_none());
    });
    let told = [
        Told::Challenge {
            sequence: 1,
            cookie: [5; 24],
        },
        Told::Answer {
            sequence: 2,
            received: 3,
            sent: 4,
            reports: reports(4),
        },
        Told::Answer {
            sequence: 2,
            received: 3,
            sent: 4,
            reports: reports(0),
        },
        Told::News {
            serial: 6,
            reports: reports(3),
        },
    ];
    for told in told {
        let sealed = told.seal(&keys(), registration);
        assert!(sealed.len() <= ASK_LEN);
        assert_eq!(Told::open(&keys(), &sealed), Ok((registration, told)));
        assert!(
            Ask::open(&keys(), &sealed).is_err(),
            "a server's words do not come back as asks"
        );
        altered(&sealed, |datagram| assert!(Told::open(&keys(), datagram).is_err()));
    }
    assert!(Told::open(&keys(), &sealed).is_err());
    assert!(Ask::open(&EventKeys::new(&Invite::new([6; 16])), &sealed).is_err());
}

#[test]
fn the_bytes_are_those_of_the_document() {
    // Made with Python's hmac and hashlib after docs/latency.md.
    let ask = Ask {
        registration: [3; REGISTRATION_LEN],
        sequence: 1,
        cookie: [4; 24],
        position: 5,
    };
    let sealed = ask.seal(&keys());
    let expected = [
        &[1][..],
        &[3; 8],
        &1_u64.to_be_bytes(),
        &[4; 24],
        &5_u64.to_be_bytes(),
        &[0; 163],
        &0x2862_0905_a47c_24dc_2cb8_276d_00fa_1e4d_u128.to_be_bytes(),
    ];
    assert_eq!(sealed, expected.concat());
    let news = Told::News {
        serial: 6,
        reports: Reports {
            position: 9,
            list: vec![report(2)],
        },
    };
    let expected = [
        &[4][..],
        &[3; 8],
        &6_u64.to_be_bytes(),
        &9_u64.to_be_bytes(),
        &[1],
        &2_u32.to_be_bytes(),
        &2000_u64.to_be_bytes(),
        &2_u32.to_be_bytes(),
        &0xe19d_e9ed_218b_b699_0f6d_f554_9abd_f65f_u128.to_be_bytes(),
    ];
    assert_eq!(news.seal(&keys(), [3; REGISTRATION_LEN]), expected.concat());
}

/// Calls `refused` with every beginning of the datagram, one that is longer, and all with one bit changed.
fn altered(datagram: &[u8], mut refused: impl FnMut(&[u8])) {
    (0..datagram.len()).for_each(|length| refused(&datagram[..length]));
    refused(&[datagram, &[0]].concat());
    for bit in 0..datagram.len() * 8 {
        let mut flipped = datagram.to_vec();
        flipped[bit / 8] ^= 1 << (bit % 8);
        refused(&flipped);
    }
}

#[test]
fn a_form_that_its_sender_should_not_have_made_is_refused_whoever_made_it() {
    let too_many = Told::News {
        serial: 1,
        reports: Reports {
            position: u64::MAX,
            list: vec![report(1)],
        },
    };
    assert!(Told::open(&keys(), &too_many.seal(&keys(), [0; REGISTRATION_LEN])).is_err());
}

#[test]
fn who_does_not_receive_at_an_address_is_not_registered_there() {
    let (mut server, mut client) = (server(), client(1));
    let first = client.poll(at(0)).expect("an ask");
    let (judged, sent) = asked(&mut server, at(0), ELSEWHERE, &first);
    assert_eq!((judged, sent.len()), (Judged::Challenged, 1));
    assert!(sent[0].len() < first.len());
    client.handle(at(0), &sent[0]);
    let second = client.poll(at(0)).expect("another ask");
    assert_eq!(
        asked(&mut server, at(0), HOME, &second).0,
        Judged::Challenged,
        "the cookie is of another address"
    );
    assert_eq!(server.clients(), 0);
    assert_eq!(asked(&mut server, at(0), ELSEWHERE, &second).0, Judged::Answered);
    let third = client.poll(at(500)).expect("an ask");
    assert_eq!(
        asked(&mut server, at(500), HOME, &third).0,
        Judged::Challenged,
        "it moved"
    );
    server.report(there(at(500)), report(1));
    assert_eq!(
        server.poll(0).expect("news").0,
        ELSEWHERE,
        "until the new address is proved"
    );
}

#[test]
fn what_was_sent_before_is_not_answered_when_it_comes_again() {
    let (mut server, mut client) = (server(), client(1));
    let first = client.poll(at(0)).expect("an ask");
    let challenge = asked(&mut server, at(0), HOME, &first).1.remove(0);
    client.handle(at(0), &challenge);
    let genuine = client.poll(at(0)).expect("an ask");
    let answer = asked(&mut server, at(0), HOME, &genuine).1.remove(0);
    client.handle(at(0), &answer);
    assert_eq!(client.counts().answered, 1);
    client.handle(at(0), &answer);
    client.handle(at(0), &challenge);
    assert_eq!((client.counts().answered, client.counts().refused), (1, 2));
    // As long as the client is known its number tells, and after that its cookie has expired.
    for millis in (0..30_000).step_by(100) {
        let (judged, sent) = asked(&mut server, at(millis), HOME, &genuine);
        assert_ne!(judged, Judged::Answered, "{millis} ms");
        assert!(sent.iter().all(|datagram| datagram.len() < genuine.len()));
    }
    assert_eq!(server.clients(), 0, "a client that is silent is forgotten");
}

#[test]
fn clients_are_bounded_and_none_is_put_out_by_another() {
    let mut server = server();
    let mut last = None;
    for number in 0..=MAX_REGISTRATIONS {
        let mut client = client(u8::try_from(number).expect("few"));
        talk(&mut server, &mut client, 0, 1);
        last = Some(client);
    }
    assert_eq!(server.clients(), MAX_REGISTRATIONS);
    let mut last = last.expect("many");
    assert_eq!(last.counts().answered, 0);
    let late = REGISTRATION_LIFE.as_millis() as u64;
    talk(&mut server, &mut last, late, late + 1000);
    assert!(last.counts().answered > 0, "when others have gone there is room");
}

#[test]
fn loss_repetition_and_disorder_cost_no_report_and_the_server_never_sends_more_than_it_was_sent() {
    for seed in 0..20 {
        let mut random = Random::new(seed);
        let (mut server, mut client) = (server(), client(1));
        // Datagrams under way: when they arrive, at the server or not, and their bytes.
        let mut way: Vec<(u64, bool, Vec<u8>)> = Vec::new();
        let (mut received, mut sent, mut shown, mut heard) = (0, 0, 0_u32, Vec::new());
        let mut registered_with = None;
        for millis in 0..60_000 {
            let now = at(millis);
            let fly = |random: &mut Random, to_server: bool, datagram: Vec<u8>, way: &mut Vec<_>| {
                for _ in 0..=u8::from(random.chance(0.1)) {
                    if !random.chance(0.3) {
                        way.push((millis + random.uniform(1..120), to_server, datagram.clone()));
                    }
                }
            };
            if let Some(ask) = client.poll(now) {
                fly(&mut random, true, ask, &mut way);
            }
            if millis % 200 == 0 && millis < 50_000 {
                shown += 1;
                server.report(there(now), report(shown));
            }
            let arrived = way.extract_if(.., |(due, ..)| *due == millis).collect::<Vec<_>>();
            for (_, to_server, datagram) in arrived {
                if to_server {
                    received += datagram.len();
                    server.handle(there(now), HOME, &datagram);
                } else {
                    client.handle(now, &datagram);
                }
            }
            while let Some((_, datagram)) = server.poll(there(now).wall) {
                sent += datagram.len();
                fly(&mut random, false, datagram, &mut way);
            }
            assert!(sent <= received, "{sent} bytes for {received}");
            heard.extend(taken(&mut client));
            if registered_with.is_none() && client.counts().answered > 0 {
                registered_with = Some(shown);
            }
        }
        let first = *heard.first().expect("reports");
        assert!(first <= registered_with.expect("registered") + 1, "seed {seed}");
        assert_eq!(heard, (first..=shown).collect::<Vec<_>>(), "seed {seed}");
        assert_eq!(client.counts().lost, 0);
        let clock = client.clock().expect("answers").at(at(60_000).wall);
        assert!(clock.offset.abs_diff(AHEAD as i64) <= clock.uncertainty, "seed {seed}");
    }
}

#[test]
fn reports_that_were_not_kept_are_counted() {
    let (mut server, mut client) = (server(), client(1));
    talk(&mut server, &mut client, 0, 100);
    let many = MAX_KEPT as u32 + 50;
    for event in 1..=many {
        server.report(there(at(100)), report(event));
    }
    while server.poll(0).is_some() {}
    talk(&mut server, &mut client, 100, 9_000);
    assert_eq!(taken(&mut client), (51..=many).collect::<Vec<_>>());
    assert_eq!(client.counts().lost, 50);
}

#[test]
fn a_ticket_is_read_as_it_was_written_and_nothing_else_is_one() {
    let text = "sealcast-events://clock.example:9556#mfrggzdfmztwq2lkmfrggzdfmy";
    let ticket: EventTicket = text.parse().unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(ticket.address.port, 9556);
    assert_eq!(ticket.reveal(), text);
    let beginnings = (0..text.len()).map(|length| text[..length].to_owned());
    let others = [
        text.replace("events", "event"),
        text.replace("9556", "0"),
        text.replace("9556", "09556"),
        text.replace("clock.example", "clock..example"),
        format!("{text}a"),
        text.to_uppercase(),
        format!("sealcast-events://{}:1#mfrggzdfmztwq2lkmfrggzdfmy", "a".repeat(600)),
    ];
    for wrong in beginnings.chain(others) {
        let error = wrong
            .parse::<EventTicket>()
            .err()
            .unwrap_or_else(|| panic!("{wrong} is a ticket"));
        assert!(!error.to_string().contains("mfrg"));
    }
}
