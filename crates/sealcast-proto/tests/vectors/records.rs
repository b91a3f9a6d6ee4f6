//! `vectors/records.json`: sealing, refusals, replay windows and framing. Cases that need a key's record number to be
//! set (sealing records with high numbers) or a session's state (`connections`) are tested inside the crate, because
//! they need private items.

use std::collections::BTreeMap;

use sealcast_proto::keys::{EpochKeys, EpochSecret, Secret, Side};
use sealcast_proto::seal::suite::RECOMMENDED;
use sealcast_proto::seal::{SealLimits, Sealed, Suite};
use sealcast_proto::wire::{Accept, Kind, LENGTH_PREFIX, MessageLength, message_length, write_framed};
use sealcast_testkit::vectors::{Hex, load};
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    key_sets: BTreeMap<String, KeySet>,
    sealed: Vec<SealedCase>,
    refused: Vec<RefusedCase>,
    sequences: Vec<Sequence>,
    framing: Vec<Framing>,
    /// Read in `src/session/tests.rs`.
    connections: Vec<Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct KeySet {
    suite: u8,
    direction: String,
    /// True if the opener accepts media in clear.
    clear: bool,
    epochs: Vec<Epoch>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Epoch {
    epoch: u64,
    secret: Hex,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SealedCase {
    name: String,
    expect: String,
    key_set: String,
    suite: u8,
    direction: String,
    purpose: String,
    epoch: u64,
    epoch_secret: Hex,
    kind: u8,
    flags: u8,
    stream: u32,
    seq: u32,
    timestamp: u64,
    payload: Hex,
    record: Hex,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RefusedCase {
    name: String,
    expect: String,
    #[serde(rename = "why")]
    _why: String,
    key_set: String,
    record: Hex,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    record: Hex,
    expect: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Sequence {
    name: String,
    expect: String,
    #[serde(rename = "why")]
    _why: String,
    key_set: String,
    steps: Vec<Step>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Framing {
    name: String,
    expect: String,
    #[serde(rename = "why")]
    _why: Option<String>,
    limit: String,
    stream: Hex,
    messages: Option<Vec<Hex>>,
}

fn suite(id: u8) -> Suite {
    *RECOMMENDED
        .iter()
        .find(|suite| suite.id == id)
        .expect("a recommended suite")
}

fn side(direction: &str) -> Side {
    match direction {
        "i" => Side::Initiator,
        "r" => Side::Responder,
        other => panic!("direction {other}"),
    }
}

fn keys(suite_id: u8, secret: &Hex, epoch: u64, side: Side) -> EpochKeys {
    let (secret, suite) = (
        EpochSecret::new(Secret::from_bytes(&secret.array()), epoch),
        suite(suite_id),
    );
    let mut keys = secret.keys(&suite, side, SealLimits::COUNTER);
    keys.data = Some(Box::new(secret.data_keys(&suite, side, SealLimits::COUNTER)));
    keys
}

fn accept(set: &KeySet) -> Accept {
    if set.clear {
        Accept::ClearMedia
    } else {
        Accept::EncryptedOnly
    }
}

/// The keys of all epochs of a set, at the end that opens the records.
struct Openers(Vec<EpochKeys>, Accept);

impl Openers {
    fn new(set: &KeySet) -> Self {
        let opens = side(&set.direction).other();
        let epoch = |epoch: &Epoch| keys(set.suite, &epoch.secret, epoch.epoch, opens);
        Self(set.epochs.iter().map(epoch).collect(), accept(set))
    }

    /// Returns the payload, or the word for the reason of the refusal.
    fn open(&mut self, record: &Hex) -> Result<Vec<u8>, String> {
        let mut record = record.0.clone();
        let record = Sealed::parse(&mut record, self.1).map_err(|reason| reason.to_string())?;
        let header = record.unverified_header();
        let epoch = self.0.iter_mut().find(|keys| keys.wire_number() == header.epoch);
        let keys = epoch.ok_or("unknown-epoch")?;
        let opener = match header.kind {
            Kind::Control => &mut keys.control_opener,
            Kind::Media => &mut keys.media_opener,
            Kind::Cell => &mut keys.cell_opener,
            Kind::Data => &mut keys.data.as_mut().expect("all purposes are known").opener,
        };
        let opened = opener.open(record).map_err(|reason| reason.to_string())?;
        assert_eq!(opened.header(), header);
        Ok(opened.payload().to_vec())
    }
}

#[test]
fn every_sealed_record_opens_to_its_payload() {
    let file = load::<File>("records");
    assert_eq!((file.sealed.len(), file.key_sets.len()), (176, 16));
    for case in &file.sealed {
        assert_eq!(case.expect, "ok");
        let set = &file.key_sets[&case.key_set];
        let epoch = set
            .epochs
            .iter()
            .find(|epoch| epoch.epoch == case.epoch)
            .expect("the set has the epoch");
        assert_eq!(
            (set.suite, &set.direction, &epoch.secret),
            (case.suite, &case.direction, &case.epoch_secret)
        );
        assert_eq!(
            Openers::new(set).open(&case.record).as_ref(),
            Ok(&case.payload.0),
            "{}",
            case.name
        );
        let header = Sealed::parse(&mut case.record.0.clone(), accept(set))
            .expect("a record")
            .unverified_header();
        let purpose = match header.kind {
            Kind::Control => "control",
            Kind::Media => "media",
            Kind::Cell => "cell",
            Kind::Data => "data",
        };
        assert_eq!(
            (purpose, header.epoch),
            (case.purpose.as_str(), case.epoch as u16),
            "{}",
            case.name
        );
        assert_eq!(
            (header.stream, header.seq, header.timestamp),
            (case.stream, case.seq, case.timestamp),
            "{}",
            case.name
        );
        assert_eq!(header.to_bytes()[..2], [case.kind, case.flags], "{}", case.name);
        assert_eq!(header.to_bytes(), case.record.0[..24], "{}", case.name);
    }
}

#[test]
fn every_bad_record_is_refused_for_its_reason() {
    let file = load::<File>("records");
    assert_eq!(file.refused.len(), 550);
    for case in &file.refused {
        let outcome = Openers::new(&file.key_sets[&case.key_set]).open(&case.record);
        assert_eq!(outcome, Err(case.expect.clone()), "{}", case.name);
    }
}

#[test]
fn replay_windows_follow_the_reference_step_by_step() {
    let file = load::<File>("records");
    assert_eq!(file.sequences.len(), 21);
    for case in &file.sequences {
        let mut openers = Openers::new(&file.key_sets[&case.key_set]);
        for (number, step) in case.steps.iter().enumerate() {
            let outcome = openers
                .open(&step.record)
                .map_or_else(|reason| reason, |_| "ok".to_owned());
            assert_eq!(outcome, step.expect, "{}, step {number}", case.name);
        }
        let all_ok = case.steps.iter().all(|step| step.expect == "ok");
        assert_eq!(case.expect, if all_ok { "ok" } else { "mixed" }, "{}", case.name);
    }
}

/// The messages of a stream, and why the reader stopped.
fn split(mut stream: &[u8], limit: MessageLength) -> (Vec<Vec<u8>>, &'static str) {
    let mut messages = Vec::new();
    while !stream.is_empty() {
        match message_length(stream, limit) {
            Err(_) => return (messages, "framing"),
            Ok(Some(length)) if stream.len() >= LENGTH_PREFIX + length => {
                let (message, rest) = stream[LENGTH_PREFIX..].split_at(length);
                messages.push(message.to_vec());
                stream = rest;
            }
            Ok(_) => return (messages, "incomplete"),
        }
    }
    (messages, "ok")
}

#[test]
fn byte_streams_are_split_as_by_the_reference() {
    let file = load::<File>("records");
    assert_eq!((file.framing.len(), file.connections.len()), (13, 5));
    for case in file.framing {
        let limit = match case.limit.as_str() {
            "established" => MessageLength::Record,
            "handshake" => MessageLength::Handshake,
            other => panic!("limit {other}"),
        };
        let (messages, stopped) = split(&case.stream.0, limit);
        assert_eq!(stopped, case.expect, "{}", case.name);
        if let Some(expected) = case.messages {
            let expected: Vec<Vec<u8>> = expected.into_iter().map(|message| message.0).collect();
            assert_eq!(messages, expected, "{}", case.name);
            let mut again = Vec::new();
            for message in &messages {
                write_framed(&mut again, message);
            }
            assert_eq!(again, case.stream.0, "{}", case.name);
        }
    }
}
