//! `vectors/datagrams.json`: unit headers and the code of the repair symbols. The rest of the file is tested inside the
//! crate (`src/wire`, `src/session`), because it needs private items.

use sealcast_proto::repair::{Block, Decoder, Encoder};
use sealcast_proto::unit::{UNIT_HEADER_LEN, UnitHeader};
use sealcast_testkit::vectors::{Hex, load};
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    units: Vec<Unit>,
    codes: Vec<Code>,
    #[serde(rename = "messages")]
    _messages: Value,
    #[serde(rename = "knocks")]
    _knocks: Value,
    #[serde(rename = "quic_ids")]
    _quic_ids: Value,
    #[serde(rename = "cookies")]
    _cookies: Value,
    #[serde(rename = "cuts")]
    _cuts: Value,
    #[serde(rename = "reassemblies")]
    _reassemblies: Value,
    #[serde(rename = "streams")]
    _streams: Value,
    #[serde(rename = "arrivals")]
    _arrivals: Value,
    #[serde(rename = "violations")]
    _violations: Value,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Unit {
    name: String,
    expect: String,
    #[serde(rename = "why")]
    _why: Option<String>,
    repair: bool,
    fields: Option<Value>,
    bytes: Hex,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Code {
    name: String,
    expect: String,
    records: Vec<Hex>,
    symbols: Vec<Hex>,
    lost: Vec<usize>,
    used: Vec<usize>,
}

#[test]
fn unit_headers_are_the_references() {
    let (mut good, mut malformed) = (0, 0);
    for case in load::<File>("datagrams").units {
        let split = UnitHeader::split(&case.bytes.0, case.repair);
        if case.expect == "ok" {
            let (header, rest) = split.unwrap_or_else(|error| panic!("{}: {error}", case.name));
            let fields = json!({
                "number": header.number,
                "index": header.index,
                "sources": header.sources,
                "repairs": header.repairs,
            });
            assert_eq!(Some(fields), case.fields, "{}", case.name);
            assert_eq!(rest, &case.bytes.0[UNIT_HEADER_LEN..], "{}", case.name);
            assert_eq!(header.to_bytes(), case.bytes.0[..UNIT_HEADER_LEN], "{}", case.name);
            good += 1;
        } else {
            assert_eq!(case.expect, "malformed");
            assert!(split.is_err(), "{}", case.name);
            malformed += 1;
        }
    }
    assert_eq!((good, malformed), (5, 11));
}

#[test]
fn repair_symbols_are_the_references_and_bring_back_what_it_lost() {
    let cases = load::<File>("datagrams").codes;
    assert_eq!(cases.len(), 7);
    for case in cases {
        assert_eq!(case.expect, "ok");
        let (sources, repairs) = (case.records.len(), case.symbols.len());
        let records = case.records.iter().map(|record| &record.0[..]);
        let mut symbols = Vec::new();
        let encoded = Encoder::new().encode(records, repairs, |_, symbol| symbols.push(Hex(symbol.to_vec())));
        encoded.expect("within the limits");
        assert!(symbols == case.symbols, "{}", case.name);

        let mut block = Block::new(sources, repairs).expect("within the limits");
        for (index, record) in case.records.iter().enumerate() {
            if !case.lost.contains(&index) {
                block.add_source(index, &record.0).expect("its own records");
            }
        }
        for &index in &case.used {
            block
                .add_repair(index, &case.symbols[index].0)
                .expect("its own symbols");
        }
        let recovered = block.recover(&mut Decoder::new()).expect("they agree");
        let expected = case.lost.iter().map(|&index| (index, case.records[index].0.clone()));
        assert!(recovered.into_iter().eq(expected), "{}", case.name);
    }
}
