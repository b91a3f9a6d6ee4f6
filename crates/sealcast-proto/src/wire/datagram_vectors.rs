//! `vectors/datagrams.json`: messages without a key, cookies, and the fragments of handshake messages.

use serde::Deserialize;
use serde_json::{Value, json};

use super::super::RetryCookies;
use super::*;
use sealcast_testkit::vectors::{Hex, hex, load};

#[derive(Deserialize)]
struct File {
    messages: Vec<Message>,
    knocks: Vec<Knock>,
    quic_ids: Vec<QuicId>,
    cookies: Vec<Cookie>,
    cuts: Vec<Cut>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Message {
    name: String,
    expect: String,
    #[serde(rename = "why")]
    _why: Option<String>,
    message: Option<String>,
    fields: Option<Value>,
    bytes: Hex,
}

#[derive(Deserialize)]
struct Knock {
    name: String,
    expect: String,
    mac_key: Hex,
    datagram: Hex,
}

#[derive(Deserialize)]
struct QuicId {
    name: String,
    expect: String,
    mac_key: Hex,
    id: Hex,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Cookie {
    name: String,
    expect: String,
    secrets: Vec<Hex>,
    address: Hex,
    port: u16,
    connection: u32,
    cookie: Hex,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Cut {
    name: String,
    expect: String,
    connection: u32,
    cookie: Hex,
    number: u8,
    message: Hex,
    datagrams: Vec<Hex>,
}

#[test]
fn messages_without_a_key_are_the_references() {
    let (mut good, mut malformed) = (0, 0);
    for case in load::<File>("datagrams").messages {
        let described = match Bare::parse(&case.bytes.0) {
            Ok(Bare::Knock { random, mac }) => Some(("knock", json!({"random": hex(&random), "mac": hex(&mac)}))),
            Ok(Bare::Cookie { random, cookie }) => {
                Some(("cookie", json!({"random": hex(&random), "cookie": hex(&cookie)})))
            }
            Ok(Bare::Fragment(fragment)) => Some((
                "fragment",
                json!({"cookie": hex(&fragment.cookie), "message": fragment.message, "index": fragment.index,
                    "count": fragment.count, "part": hex(fragment.part)}),
            )),
            Ok(Bare::Other) if is_record(&case.bytes.0) => Some(("record", json!({}))),
            Ok(Bare::Other) | Err(Malformed) => None,
        };
        let (name, fields) = described.unzip();
        assert_eq!((name, fields), (case.message.as_deref(), case.fields), "{}", case.name);
        match name {
            Some(_) => good += 1,
            None => malformed += 1,
        }
        assert_eq!(case.expect == "ok", name.is_some(), "{}", case.name);
    }
    assert_eq!((good, malformed), (8, 17));
}

#[test]
fn cookies_are_the_references() {
    let cases = load::<File>("datagrams").cookies;
    assert_eq!(cases.len(), 5);
    for case in cases {
        assert_eq!(case.expect, "ok");
        let mut cookie = RetryCookies::new(TicketMac::new(&[1; 32]), case.secrets[0].array());
        for secret in &case.secrets[1..] {
            cookie.rotate(secret.array());
        }
        let address = [&case.address.0[..], &case.port.to_be_bytes()].concat();
        let address = address.try_into().expect("an address and a port");
        assert_eq!(
            cookie.cookie(&address, case.connection),
            case.cookie.array(),
            "{}",
            case.name
        );
    }
}

#[test]
fn handshake_messages_are_cut_as_by_the_reference() {
    let cases = load::<File>("datagrams").cuts;
    assert_eq!(cases.len(), 8);
    for case in cases {
        assert_eq!(case.expect, "ok");
        let cut = fragments(case.connection, &case.cookie.array(), case.number, &case.message.0);
        assert!(
            cut.iter().eq(case.datagrams.iter().map(|datagram| &datagram.0)),
            "{}",
            case.name
        );
    }
}

#[test]
fn knocks_and_quic_ids_have_the_references_mac() {
    let File { knocks, quic_ids, .. } = load::<File>("datagrams");
    assert_eq!((knocks.len(), quic_ids.len()), (11, 12));
    for case in knocks {
        let mac = TicketMac::new(&case.mac_key.array());
        let connection = connection_of(&case.datagram.0).expect("a number");
        let Ok(Bare::Knock { random, mac: shown }) = Bare::parse(&case.datagram.0[CONNECTION_LEN..]) else {
            panic!("{}: a knock", case.name)
        };
        let genuine = knock_is_genuine(&mac, connection, &random, &shown);
        assert_eq!(genuine, case.expect == "ok", "{}", case.name);
        if genuine {
            assert_eq!(knock(&mac, connection, &random), case.datagram.0, "{}", case.name);
        }
    }
    for case in quic_ids {
        let mac = TicketMac::new(&case.mac_key.array());
        let genuine = mac.verifies_quic_id(&case.id.0);
        assert_eq!(genuine, case.expect == "ok", "{}", case.name);
        let random = || case.id.0[..8].try_into().expect("8 bytes");
        assert!(!genuine || mac.quic_id(random())[..] == case.id.0, "{}", case.name);
    }
}
