//! `vectors/schedule.json`: derivations, base32 and identity files.

use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::hkdf::{HKDF_SHA256, KeyType, Prk};
use sealcast_proto::keys::{EpochKeys, EpochSecret, Identity, Invite, PeerId, Secret, SharedSecret, Side};
use sealcast_proto::seal::suite::RECOMMENDED;
use sealcast_proto::seal::{Opener, RecordMeta, SealLimits, Sealed, Sealer, Suite};
use sealcast_proto::wire::{Accept, Flags, Header, Kind};
use sealcast_testkit::vectors::{Hex, load};
use serde::Deserialize;
use serde::de::IgnoredAny;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    expansions: Vec<Expansion>,
    // Compared by the library's own tests: they are not part of its interface.
    #[serde(rename = "psks")]
    _psks: IgnoredAny,
    #[serde(rename = "hello_macs")]
    _hello_macs: IgnoredAny,
    #[serde(rename = "refused_rekeys")]
    _refused_rekeys: IgnoredAny,
    handshake_keys: Vec<HandshakeKeys>,
    traffic_keys: Vec<TrafficKeys>,
    rekeys: Vec<Rekey>,
    base32: Vec<Base32>,
    identities: Vec<IdentityFile>,
    // Compared by the program's tests: the protocol has no use for them.
    #[serde(rename = "words")]
    _words: IgnoredAny,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expansion {
    name: String,
    expect: String,
    secret: Hex,
    label: Hex,
    context: Hex,
    length: usize,
    info: Hex,
    out: Hex,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HandshakeKeys {
    name: String,
    expect: String,
    psk: Hex,
    early: Hex,
    salt: Hex,
    ss: Hex,
    th1: Hex,
    th2: Hex,
    th3: Hex,
    hs: Hex,
    reply_key: Hex,
    reply_iv: Hex,
    finish_key: Hex,
    finish_iv: Hex,
    epoch_0: Hex,
    session_id: Hex,
    binding: Hex,
    enrolment: Hex,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TrafficKeys {
    name: String,
    expect: String,
    suite: u8,
    epoch: u64,
    epoch_secret: Hex,
    purpose: String,
    direction: String,
    key: Hex,
    base: Hex,
    nonces: Vec<NumberedNonce>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NumberedNonce {
    seq: u32,
    nonce: Hex,
}

/// An exchange; its signatures are compared by the library's own tests.
#[derive(Deserialize)]
struct Rekey {
    name: String,
    expect: String,
    epoch: u64,
    epoch_secret: Hex,
    offer: Hex,
    answer: Hex,
    ss: Hex,
    salt: Hex,
    next_epoch_secret: Hex,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Base32 {
    name: String,
    expect: String,
    #[serde(rename = "why")]
    _why: Option<String>,
    kind: String,
    text: String,
    bytes: Option<Hex>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct IdentityFile {
    name: String,
    expect: String,
    #[serde(rename = "why")]
    _why: Option<String>,
    file: String,
    seed: Option<Hex>,
    public_key: Option<Hex>,
    peer_id: Option<String>,
}

struct Length(usize);

impl KeyType for Length {
    fn len(&self) -> usize {
        self.0
    }
}

fn secret(bytes: &Hex) -> Secret {
    Secret::from_bytes(&bytes.array())
}

fn expand(secret: &Secret, label: &[u8], context: &Hex, length: usize) -> Vec<u8> {
    let mut out = vec![0; length];
    secret.expand(label, &context.0, &mut out);
    out
}

#[test]
fn labelled_expansion_is_the_references() {
    let cases = load::<File>("schedule").expansions;
    assert_eq!(cases.len(), 8);
    for case in cases {
        assert_eq!(case.expect, "ok");
        let out = expand(&secret(&case.secret), &case.label.0, &case.context, case.length);
        assert_eq!(out, case.out.0, "{}", case.name);
        let info = [&case.info.0[..]];
        let plain = Prk::new_less_safe(HKDF_SHA256, &case.secret.0);
        let mut by_info = vec![0; case.length];
        let okm = plain.expand(&info, Length(case.length)).expect("short");
        okm.fill(&mut by_info).expect("the length agrees");
        assert_eq!(by_info, case.out.0, "{}: info", case.name);
    }
}

#[test]
fn the_handshakes_keys_are_the_references() {
    let cases = load::<File>("schedule").handshake_keys;
    assert_eq!(cases.len(), 4);
    for case in cases {
        assert_eq!(case.expect, "ok");
        for early in [Secret::extract(b"sealcast2 early", &case.psk.0), secret(&case.early)] {
            let salt = expand(&early, b"handshake", &Hex(Vec::new()), 32);
            assert_eq!(salt, case.salt.0, "{}: salt", case.name);
        }
        for hs in [Secret::extract(&case.salt.0, &case.ss.0), secret(&case.hs)] {
            let derived = [
                (&b"reply key"[..], &case.th1, &case.reply_key),
                (&b"reply iv"[..], &case.th1, &case.reply_iv),
                (&b"finish key"[..], &case.th2, &case.finish_key),
                (&b"finish iv"[..], &case.th2, &case.finish_iv),
                (&b"epoch"[..], &case.th3, &case.epoch_0),
                (&b"session id"[..], &case.th3, &case.session_id),
                (&b"binding"[..], &case.th3, &case.binding),
                (&b"enrolment"[..], &case.th3, &case.enrolment),
            ];
            for (label, context, expected) in derived {
                assert_eq!(
                    expand(&hs, label, context, expected.0.len()),
                    expected.0,
                    "{}: {label:?}",
                    case.name
                );
            }
        }
    }
}

/// Seals with the bare AEAD, to test what the sealer's interface does not show.
fn raw_seal(suite: u8, key: &[u8], nonce: &[u8], header: &[u8], payload: &[u8]) -> Vec<u8> {
    let mut sealed = payload.to_vec();
    let algorithm = match suite {
        1 => &aws_lc_rs::aead::AES_128_GCM,
        2 => &aws_lc_rs::aead::AES_256_GCM,
        3 => &aws_lc_rs::aead::CHACHA20_POLY1305,
        4 => return raw_aegis(key, nonce, header, sealed),
        other => panic!("suite {other} is not in the vectors"),
    };
    let key = aws_lc_rs::aead::UnboundKey::new(algorithm, key).expect("a key of this suite");
    let nonce = aws_lc_rs::aead::Nonce::try_assume_unique_for_key(nonce).expect("a nonce of this suite");
    aws_lc_rs::aead::LessSafeKey::new(key)
        .seal_in_place_append_tag(nonce, aws_lc_rs::aead::Aad::from(header), &mut sealed)
        .expect("short");
    sealed
}

fn raw_aegis(key: &[u8], nonce: &[u8], header: &[u8], mut sealed: Vec<u8>) -> Vec<u8> {
    let (key, nonce) = (key.try_into().expect("16 bytes"), nonce.try_into().expect("16 bytes"));
    let tag = aegis::aegis128x4::Aegis128X4::<16>::new(key, nonce).encrypt_in_place(&mut sealed, header);
    sealed.extend_from_slice(&tag);
    sealed
}

fn suite(id: u8) -> Suite {
    *RECOMMENDED
        .iter()
        .find(|suite| suite.id == id)
        .expect("a recommended suite")
}

fn half(keys: &mut EpochKeys, kind: Kind) -> (&mut Sealer, &mut Opener) {
    match kind {
        Kind::Control => (&mut keys.control_sealer, &mut keys.control_opener),
        Kind::Media => (&mut keys.media_sealer, &mut keys.media_opener),
        Kind::Cell => (&mut keys.cell_sealer, &mut keys.cell_opener),
        Kind::Data => {
            let data = keys.data.as_mut().expect("they were derived");
            (&mut data.sealer, &mut data.opener)
        }
    }
}

fn meta(kind: Kind) -> RecordMeta {
    let (flags, stream) = match kind {
        Kind::Control => (Flags::CONTROL, 0),
        Kind::Media => (Flags::frame(true, true, true), 1),
        Kind::Cell => (Flags::CELL, 0),
        Kind::Data => (Flags::DATA, 0),
    };
    RecordMeta {
        flags,
        stream,
        timestamp: 1_790_000_000_000_000_000,
    }
}

#[test]
fn traffic_keys_and_nonces_are_the_references() {
    let cases = load::<File>("schedule").traffic_keys;
    assert_eq!(cases.len(), 128);
    let mut nonces = 0;
    for case in cases {
        assert_eq!(case.expect, "ok");
        let kind = match &case.purpose[..] {
            "control" => Kind::Control,
            "cell" => Kind::Cell,
            "data" => Kind::Data,
            _ => Kind::Media,
        };
        let side = if case.direction == "i" {
            Side::Initiator
        } else {
            Side::Responder
        };
        let (suite, epoch) = (
            suite(case.suite),
            EpochSecret::new(secret(&case.epoch_secret), case.epoch),
        );
        assert_eq!(case.key.0.len(), suite.key_len);
        let mut sealing = epoch.keys(&suite, side, SealLimits::COUNTER);
        let mut opening = epoch.keys(&suite, side.other(), SealLimits::COUNTER);
        for (keys, side) in [(&mut sealing, side), (&mut opening, side.other())] {
            keys.data = Some(Box::new(epoch.data_keys(&suite, side, SealLimits::COUNTER)));
        }
        for nonce in &case.nonces {
            assert!(nonce.nonce.0.starts_with(&case.base.0), "{}", case.name);
            let meta = meta(kind);
            let header = Header {
                kind,
                flags: meta.flags,
                epoch: case.epoch as u16,
                stream: meta.stream,
                seq: nonce.seq,
                timestamp: meta.timestamp,
            };
            let header = header.to_bytes();
            let sealed = raw_seal(case.suite, &case.key.0, &nonce.nonce.0, &header, b"payload");
            let mut record = [&header[..], &sealed].concat();
            if nonce.seq == 0 {
                let mut ours = Vec::new();
                half(&mut sealing, kind)
                    .0
                    .seal(meta, &[b"payload"], &mut ours)
                    .expect("a fresh key");
                assert_eq!(ours, record, "{}", case.name);
            }
            let parsed = Sealed::parse(&mut record, Accept::EncryptedOnly).expect("a record");
            let opened = half(&mut opening, kind).1.open(parsed);
            assert_eq!(
                opened.expect("the same key and nonce").payload(),
                b"payload",
                "{}",
                case.name
            );
            nonces += 1;
        }
    }
    assert_eq!(nonces, 384);
}

#[test]
fn the_next_epochs_secret_is_the_references() {
    let cases = load::<File>("schedule").rekeys;
    assert_eq!(cases.len(), 3);
    for case in cases {
        assert_eq!(case.expect, "ok");
        let current = EpochSecret::new(secret(&case.epoch_secret), case.epoch);
        let next = current.next(&case.offer.0, &case.answer.0, &SharedSecret::new(&[&case.ss.0]));
        assert_eq!(next.number(), case.epoch + 1);
        let expected = EpochSecret::new(secret(&case.next_epoch_secret), case.epoch + 1);
        let first_record = |epoch: &EpochSecret| {
            let mut keys = epoch.keys(&suite(1), Side::Initiator, SealLimits::COUNTER);
            let mut record = Vec::new();
            keys.media_sealer
                .seal(meta(Kind::Media), &[b"payload"], &mut record)
                .expect("a fresh key");
            record
        };
        assert_eq!(first_record(&next), first_record(&expected), "{}", case.name);
        let entry = |bytes: &[u8]| [&(bytes.len() as u32).to_be_bytes()[..], bytes].concat();
        let exchange = digest(&SHA256, &[entry(&case.offer.0), entry(&case.answer.0)].concat());
        let salt = expand(
            &secret(&case.epoch_secret),
            b"rekey",
            &Hex(exchange.as_ref().to_vec()),
            32,
        );
        assert_eq!(salt, case.salt.0, "{}: salt", case.name);
    }
}

#[test]
fn base32_has_one_spelling() {
    let cases = load::<File>("schedule").base32;
    let (mut good, mut refused) = (0, 0);
    for case in cases {
        let read = match case.kind.as_str() {
            "peer-id" => PeerId::parse(&case.text).map(|peer| (peer.0.to_vec(), peer.to_string())),
            "invite" => Invite::parse(&case.text).map(|invite| {
                let bytes = case.bytes.as_ref().expect("only ok cases are read").array();
                assert!(invite == Invite::new(bytes), "{}", case.name);
                (bytes.to_vec(), invite.reveal())
            }),
            other => panic!("kind {other}"),
        };
        if case.expect == "ok" {
            let bytes = case.bytes.expect("ok cases have bytes").0;
            assert_eq!(read, Some((bytes, case.text)), "{}", case.name);
            good += 1;
        } else {
            assert_eq!((case.expect.as_str(), read), ("refused", None), "{}", case.name);
            refused += 1;
        }
    }
    assert_eq!((good, refused), (6, 17));
}

#[test]
fn identity_files_have_one_spelling() {
    let cases = load::<File>("schedule").identities;
    let (mut good, mut refused) = (0, 0);
    for case in cases {
        let read = Identity::from_file_text(&case.file);
        if case.expect == "ok" {
            let identity = read.unwrap_or_else(|error| panic!("{}: {error}", case.name));
            assert_eq!(identity.reveal_file_text().as_str(), case.file, "{}", case.name);
            assert_eq!(
                Some(identity.peer_id().0.to_vec()),
                case.public_key.map(|key| key.0),
                "{}",
                case.name
            );
            assert_eq!(Some(identity.peer_id().to_string()), case.peer_id, "{}", case.name);
            let again = Identity::from_seed(&case.seed.expect("ok cases have seeds").array());
            assert_eq!(again.reveal_file_text().as_str(), case.file, "{}", case.name);
            good += 1;
        } else {
            assert_eq!(case.expect, "refused");
            assert!(read.is_err(), "{}", case.name);
            refused += 1;
        }
    }
    assert_eq!((good, refused), (3, 18));
}
