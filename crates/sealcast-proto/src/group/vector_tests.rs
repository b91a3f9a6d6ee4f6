//! `vectors/groups.json`: derivations, leaders whose every sheet is given, and what members make of sheets.

use std::sync::Arc;
use std::time::Duration;

use sealcast_testkit::vectors::{Hex, load};
use serde::Deserialize;

use super::node::Node;
use super::secret::{Group, KeyUse, NodeSecret};
use super::*;
use crate::keys::{Identity, PeerId};
use crate::seal::suite::RECOMMENDED;
use crate::seal::{RecordMeta, SealLimits, Sealed, Sealer, Suite};
use crate::wire::{Accept, CameraName, Flags};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    member_keys: Vec<MemberKeyCase>,
    node_secrets: Vec<NodeSecretCase>,
    wraps: Vec<WrapCase>,
    media_keys: Vec<MediaKeyCase>,
    leaders: Vec<LeaderCase>,
    terms: Vec<TermsCase>,
    members: Vec<MemberCase>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GroupFields {
    camera: Hex,
    stream: u32,
    run: Hex,
}

impl GroupFields {
    fn group(&self) -> Group {
        Group {
            name: name(&self.camera, self.stream),
            run: self.run.array(),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MemberKeyCase {
    name: String,
    expect: String,
    shared: Hex,
    camera: Hex,
    stream: u32,
    member_key: Hex,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NodeSecretCase {
    name: String,
    expect: String,
    group: GroupFields,
    seed: Hex,
    epoch: u64,
    node: u32,
    /// The fresh one, and each step of the ratchet.
    secrets: Vec<Hex>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrapCase {
    name: String,
    expect: String,
    group: GroupFields,
    epoch: u64,
    node: u32,
    secret: Hex,
    parent: u32,
    parent_secret: Hex,
    // The key cannot be read from the library; what it makes can.
    #[serde(rename = "wrap_key")]
    _wrap_key: Hex,
    wrapped: Hex,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MediaKeyCase {
    name: String,
    expect: String,
    group: GroupFields,
    suite: u8,
    epoch: u64,
    #[serde(rename = "use")]
    of: String,
    group_secret: Hex,
    // Compared by the record that they seal.
    #[serde(rename = "key")]
    _key: Hex,
    #[serde(rename = "base")]
    _base: Hex,
    record: Hex,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LeaderCase {
    name: String,
    expect: String,
    camera_seed: Hex,
    stream: u32,
    suite: u8,
    run: Hex,
    first: u64,
    first_group: u64,
    seed: Hex,
    steps: Vec<Step>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    remove: Vec<u64>,
    admit: Vec<Admitted>,
    rekey: bool,
    next_group: u64,
    seed: Hex,
    epoch: u64,
    sheet: Option<Hex>,
    full: Option<Hex>,
    paths: Vec<PathSheet>,
    record: Hex,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Admitted {
    member: u64,
    shared: Hex,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PathSheet {
    member: u64,
    sheet: Hex,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TermsCase {
    name: String,
    expect: String,
    #[serde(rename = "why")]
    _why: Option<String>,
    camera: Hex,
    stream: u32,
    suites: Vec<u8>,
    /// The camera's name that the member asked for.
    asked: String,
    terms: Hex,
    sign: Option<u8>,
    suite: Option<u8>,
    run: Option<Hex>,
    name_of_camera: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MemberCase {
    name: String,
    expect: String,
    #[serde(rename = "why")]
    _why: Option<String>,
    camera: Hex,
    stream: u32,
    suites: Vec<u8>,
    member_key: Hex,
    told: Vec<ToldStep>,
    records: Vec<RecordStep>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ToldStep {
    terms: Option<Hex>,
    sheet: Option<Hex>,
    expect: String,
    #[serde(rename = "why")]
    _why: Option<String>,
    epoch: Option<u64>,
    effect: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RecordStep {
    record: Hex,
    expect: String,
    #[serde(rename = "why")]
    _why: Option<String>,
    epoch: Option<u64>,
    payload: Option<Hex>,
}

fn name(camera: &Hex, stream: u32) -> GroupName {
    GroupName {
        camera: PeerId(camera.array()),
        stream,
    }
}

fn suite(id: u8) -> Suite {
    let mut suites = RECOMMENDED.into_iter();
    suites
        .find(|suite| suite.id == id)
        .expect("the vectors use no study suite")
}

/// A record with a whole frame, as most records in the vectors are.
fn seal(sealer: &mut Sealer, stream: u32, payload: &[u8]) -> Vec<u8> {
    seal_as(sealer, Flags::frame(true, true, true), stream, payload)
}

fn seal_as(sealer: &mut Sealer, flags: Flags, stream: u32, payload: &[u8]) -> Vec<u8> {
    let meta = RecordMeta {
        flags,
        stream,
        timestamp: 1_800_000_000_000_000_000,
    };
    let mut record = Vec::new();
    sealer.seal(meta, &[payload], &mut record).expect("within the limits");
    record
}

#[test]
fn member_keys_are_the_references() {
    let cases = load::<File>("groups").member_keys;
    assert_eq!(cases.len(), 4);
    for case in cases {
        assert_eq!(case.expect, "ok");
        let key = MemberKey::derive(&case.shared.array(), &name(&case.camera, case.stream));
        assert_eq!(key.0.bytes()[..], case.member_key.0, "{}", case.name);
    }
}

#[test]
fn node_secrets_are_drawn_and_stepped_as_the_references() {
    let cases = load::<File>("groups").node_secrets;
    assert_eq!(cases.len(), 4);
    for case in cases {
        assert_eq!(case.expect, "ok");
        let (group, epoch) = (case.group.group(), case.epoch);
        let node = Node::below_root(case.node).unwrap_or(Node::ROOT);
        assert_eq!(node.number(), case.node, "{}", case.name);
        let fresh = NodeSecret::fresh(&case.seed.array(), &group, epoch, node);
        for (secret, step) in case.secrets.iter().zip(0..) {
            let stepped = fresh.ratcheted(&group, node, epoch, epoch + step);
            assert_eq!(stepped.bytes()[..], secret.0, "{}: {step}", case.name);
        }
    }
}

#[test]
fn wraps_are_the_references() {
    let cases = load::<File>("groups").wraps;
    assert_eq!(cases.len(), 4);
    for case in cases {
        assert_eq!(case.expect, "ok");
        let node = Node::below_root(case.node).expect("it has a parent");
        assert_eq!(node.parent().map(Node::number), Some(case.parent), "{}", case.name);
        let key = NodeSecret::new(case.secret.array()).wrap_key(&case.group.group());
        let parent = NodeSecret::new(case.parent_secret.array());
        assert_eq!(key.wrap(case.epoch, node, &parent)[..], case.wrapped.0, "{}", case.name);
        assert!(
            key.unwrap(case.epoch, node, &case.wrapped.array()) == Some(parent),
            "{}",
            case.name
        );
    }
}

#[test]
fn media_keys_are_the_references() {
    let cases = load::<File>("groups").media_keys;
    assert_eq!(cases.len(), 24);
    for case in cases {
        assert_eq!(case.expect, "ok");
        let (of, flags) = match case.of.as_str() {
            "media" | "sound media" => (KeyUse::Media, Flags::frame(true, true, true)),
            _ => (KeyUse::Repair, Flags::REPAIR.with_unit()),
        };
        let (named, secret) = (case.group.group(), NodeSecret::new(case.group_secret.array()));
        let group = match case.of.starts_with("sound") {
            true => named.sound(),
            false => named,
        };
        let mut sealer = secret.sealer(&group, case.epoch, &suite(case.suite), SealLimits::COUNTER, of);
        // The reference's record is the sixth.
        let records: Vec<Vec<u8>> = (0..6)
            .map(|_| seal_as(&mut sealer, flags, group.name.stream, b"frame"))
            .collect();
        assert_eq!(records[5], case.record.0, "{}", case.name);
        let mut opener = secret.opener(&group, case.epoch, &suite(case.suite), of);
        let mut record = case.record.0.clone();
        let sealed = Sealed::parse(&mut record, Accept::Group { clear: false }).expect("it is one");
        assert_eq!(
            opener.open(sealed).expect("its key").payload(),
            b"frame",
            "{}",
            case.name
        );
    }
}

#[test]
fn leaders_make_the_references_sheets() {
    let cases = load::<File>("groups").leaders;
    assert_eq!(cases.len(), 3);
    for case in cases {
        assert_eq!(case.expect, "ok");
        let config = LeaderConfig {
            identity: Arc::new(Identity::from_seed(&case.camera_seed.array())),
            stream: case.stream,
            suite: suite(case.suite),
            limits: SealLimits::COUNTER,
        };
        let numbers = case.first..case.first + 1_000;
        let made = Leader::new(config, numbers, case.first_group, case.run.array(), &case.seed.array());
        let (mut leader, _) = made.expect("there are numbers");
        for step in &case.steps {
            play(&mut leader, step, &case);
        }
    }
}

fn play(leader: &mut Leader, step: &Step, case: &LeaderCase) {
    let (now, what) = (Duration::ZERO, format!("{}, epoch {}", case.name, step.epoch));
    let group = leader.tree().group().name;
    for member in &step.remove {
        leader.remove(now, MemberId(*member)).expect("it is one");
    }
    for Admitted { member, shared } in &step.admit {
        let key = MemberKey::derive(&shared.array(), &group);
        leader.admit(now, MemberId(*member), key).expect("it is none");
    }
    if step.rekey {
        leader.rekey(now);
    }
    let announced = leader.announce(now, step.next_group, &step.seed.array());
    let announced = announced.expect("there are numbers").expect("changes wait");
    assert_eq!(announced.epoch, step.epoch, "{what}");
    assert_eq!(
        announced.sheet,
        step.sheet.as_ref().map(|sheet| sheet.0.clone()),
        "{what}"
    );
    if let Some(full) = &step.full {
        assert_eq!(leader.full_sheet(), full.0, "{what}: full");
    }
    for PathSheet { member, sheet } in &step.paths {
        let path = leader.path_sheet(MemberId(*member));
        assert_eq!(path.as_ref(), Some(&sheet.0), "{what}: member {member}");
    }
    let mut in_force = leader.switch(now, true).expect("it was announced");
    assert_eq!(
        seal(&mut in_force.sealer, case.stream, b"picture"),
        step.record.0,
        "{what}: record"
    );
}

#[test]
fn terms_are_taken_and_refused_as_the_reference_does() {
    let cases = load::<File>("groups").terms;
    assert_eq!(cases.len(), 42);
    for case in cases {
        let group = name(&case.camera, case.stream);
        let suites = case.suites.iter().copied().map(suite).collect();
        let mut member = Member::new(MemberConfig { group, suites }, MemberKey::derive(&[0; 32], &group));
        let asked = CameraName::new(&case.asked).expect("a name");
        let terms = Terms::verified(&case.terms.0, &group, &asked);
        let terms = terms.and_then(|terms| member.agree(terms).map(|_| terms));
        let word = terms.map_or_else(|refusal| refusal.to_string(), |_| "ok".to_owned());
        assert_eq!(word, case.expect, "{}", case.name);
        let fields = |terms: Terms| {
            let run = Hex(terms.group.run.to_vec());
            (
                terms.sign().byte(),
                terms.suite(),
                run,
                terms.camera_name().as_str().to_owned(),
            )
        };
        let expected = case.sign.zip(case.suite).zip(case.run).zip(case.name_of_camera);
        let expected = expected.map(|(((sign, suite), run), name)| (sign, suite, run, name));
        assert_eq!(terms.ok().map(fields), expected, "{}", case.name);
    }
}

#[test]
fn members_take_and_refuse_what_the_reference_does() {
    let cases = load::<File>("groups").members;
    assert_eq!(cases.len(), 64);
    for case in cases {
        let group = name(&case.camera, case.stream);
        let config = MemberConfig {
            group,
            suites: case.suites.iter().copied().map(suite).collect(),
        };
        let key = MemberKey(NodeSecret::new(case.member_key.array()));
        let mut member = Member::new(config, key);
        let mut all_ok = true;
        for (step, at) in case.told.iter().zip(0..) {
            let told = match (&step.terms, &step.sheet) {
                (Some(terms), None) => {
                    let terms = Terms::verified(&terms.0, &group, &CameraName::NONE);
                    let agreed = terms.and_then(|terms| member.agree(terms));
                    agreed.map(|_| None).map_err(|refusal| refusal.to_string())
                }
                (None, Some(sheet)) => member.take(&sheet.0).map(Some).map_err(|refusal| refusal.to_string()),
                _ => panic!("{}: step {at} is of one of them", case.name),
            };
            let (word, taken) = told.map_or_else(|word| (word, None), |taken| ("ok".to_owned(), taken));
            let told = (word, taken.map(|taken| taken.epoch), taken.map(|taken| taken.effect));
            let expected = (step.expect.clone(), step.epoch, step.effect);
            assert_eq!(told, expected, "{}: step {at}", case.name);
            all_ok &= step.expect == "ok";
        }
        for (step, at) in case.records.iter().zip(0..) {
            let mut record = step.record.0.clone();
            let sealed = Sealed::parse(&mut record, Accept::Group { clear: false }).expect("it is a record");
            let (word, epoch, payload) = match member.open(sealed) {
                Ok((opened, epoch)) => ("ok".to_owned(), Some(epoch), Some(Hex(opened.payload().to_vec()))),
                Err(refusal) => (refusal.to_string(), None, None),
            };
            let expected = (step.expect.clone(), step.epoch, step.payload.clone());
            assert_eq!((word, epoch, payload), expected, "{}: record {at}", case.name);
            all_ok &= step.expect == "ok";
        }
        assert_eq!(case.expect == "ok", all_ok, "{}", case.name);
    }
}
