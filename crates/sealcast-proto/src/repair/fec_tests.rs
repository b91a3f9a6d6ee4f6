use super::*;

/// A reproducible random generator (SplitMix64).
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.roll() % limit as u64) as usize
    }

    fn bytes(&mut self, length: usize) -> Vec<u8> {
        (0..length).map(|_| self.roll() as u8).collect()
    }

    /// Returns `count` different numbers below `limit`, in any order.
    fn some_of(&mut self, count: usize, limit: usize) -> Vec<usize> {
        let mut all: Vec<usize> = (0..limit).collect();
        for at in 0..count {
            let other = at + self.below(limit - at);
            all.swap(at, other);
        }
        all.truncate(count);
        all
    }
}

fn encode(sources: &[Vec<u8>], repairs: usize) -> Vec<Vec<u8>> {
    let mut symbols = Vec::new();
    let records = sources.iter().map(Vec::as_slice);
    let each = |index: usize, symbol: &[u8]| {
        assert_eq!(index, symbols.len());
        symbols.push(symbol.to_vec());
    };
    Encoder::new()
        .encode(records, repairs, each)
        .expect("within the limits");
    assert_eq!(symbols.len(), repairs);
    symbols
}

/// A block of records as a sender makes them: all of the same length, except that the last may be shorter.
fn records(dice: &mut Dice, count: usize, length: usize) -> Vec<Vec<u8>> {
    let mut records: Vec<Vec<u8>> = (0..count).map(|_| dice.bytes(length)).collect();
    let last = 1 + dice.below(length);
    records[count - 1].truncate(last);
    records
}

/// The field that docs/repair.md defines, computed bit by bit and without tables.
mod field {
    const BASIS: [u16; 16] = [
        0x0001, 0xacca, 0x3c0e, 0x163e, 0xc582, 0xed2e, 0x914c, 0x4012, 0x6c98, 0x10d8, 0x6a72, 0xb900, 0xfdb8, 0xfb34,
        0xff38, 0x991e,
    ];

    fn polynomial(index: u16) -> u16 {
        (0..16)
            .filter(|bit| index >> bit & 1 == 1)
            .fold(0, |sum, bit| sum ^ BASIS[bit])
    }

    /// Multiplies two elements of the field, given as polynomials.
    fn times(mut a: u16, mut b: u16) -> u16 {
        let mut product = 0;
        while b != 0 {
            if b & 1 == 1 {
                product ^= a;
            }
            a = a << 1 ^ if a & 0x8000 == 0 { 0 } else { 0x002d };
            b >>= 1;
        }
        product
    }

    fn inverse(a: u16) -> u16 {
        // a to the power of 2^16 - 2
        let (mut square, mut result) = (a, 1);
        for _ in 1..16 {
            square = times(square, square);
            result = times(result, square);
        }
        result
    }

    /// Coefficient of source `j` in repair `i`, as a polynomial. `m` is the least power of two not below the number of
    /// repair symbols.
    pub(super) fn coefficient(i: usize, j: usize, m: usize) -> u16 {
        let (to, from) = (polynomial(i as u16), polynomial((m + j) as u16));
        (0..m).filter(|t| *t != i).fold(1, |product, t| {
            let t = polynomial(t as u16);
            times(product, times(from ^ t, inverse(to ^ t)))
        })
    }

    pub(super) fn product(coefficient: u16, value: u16) -> u16 {
        let product = times(coefficient, polynomial(value));
        let index = (0..=u16::MAX).find(|index| polynomial(*index) == product);
        index.expect("the basis spans the field")
    }
}

/// Element `at` of a symbol. In every 64 bytes the low bytes of the elements come first; likewise in the shorter rest.
fn element(symbol: &[u8], at: usize) -> u16 {
    let block = symbol.chunks(64).nth(at / 32).expect("inside");
    u16::from_le_bytes([block[at % 32], block[block.len() / 2 + at % 32]])
}

#[test]
fn repair_symbols_are_those_of_the_written_definition() {
    let mut dice = Dice(1);
    for (count, repairs, length) in [
        (1, 1_usize, 4),
        (5, 1, 10),
        (5, 2, 100),
        (6, 3, 62),
        (12, 5, 70),
        (40, 20, 66),
    ] {
        let sources = records(&mut dice, count, length);
        let longest = sources.iter().map(Vec::len).max().expect("not empty");
        let symbols: Vec<Vec<u8>> = sources
            .iter()
            .map(|record| {
                let prefix = (record.len() as u16).to_be_bytes();
                let mut symbol = [&prefix[..], record].concat();
                symbol.resize((longest + 2).next_multiple_of(2), 0);
                symbol
            })
            .collect();
        let m = repairs.next_power_of_two();
        for (i, repair) in encode(&sources, repairs).iter().enumerate() {
            assert_eq!(repair.len(), symbols[0].len());
            let at = dice.below(repair.len() / 2);
            let sum = symbols.iter().enumerate().fold(0, |sum, (j, symbol)| {
                sum ^ field::product(field::coefficient(i, j, m), element(symbol, at))
            });
            assert_eq!(sum, element(repair, at), "{count} {repairs}: {i}, {at}");
        }
    }
}

#[test]
fn one_repair_symbol_is_the_parity_of_the_records() {
    let sources = [vec![1, 2, 3], vec![4, 5, 6], vec![7, 8]];
    assert_eq!(encode(&sources, 1), [[0, 2, 1 ^ 4 ^ 7, 2 ^ 5 ^ 8, 3 ^ 6, 0]]);
}

#[test]
fn any_pieces_as_many_as_sources_bring_everything_back() {
    let mut dice = Dice(2);
    let mut decoder = Decoder::new();
    let mut recovered = 0;
    for round in 0..400 {
        let count = 1 + dice.below(MAX_SOURCES);
        let repairs = 1 + dice.below(max_repairs(count));
        let length = 1 + dice.below(300);
        let sources = records(&mut dice, count, length);
        let symbols = encode(&sources, repairs);
        let mut block = Block::new(count, repairs).expect("within the limits");
        let arrived = dice.some_of(count, count + repairs);
        for (order, piece) in arrived.iter().enumerate() {
            assert_eq!(block.recover(&mut decoder), Ok(Vec::new()), "{order} of {count}");
            match piece.checked_sub(count) {
                None => block.add_source(*piece, &sources[*piece]),
                Some(index) => block.add_repair(index, &symbols[index]),
            }
            .expect("honest");
        }
        let missing: Vec<usize> = (0..count).filter(|index| !arrived.contains(index)).collect();
        assert_eq!(block.missing(), missing.len());
        assert_eq!(block.recoverable(), !missing.is_empty(), "round {round}");
        let expected: Vec<(usize, Vec<u8>)> = missing.iter().map(|index| (*index, sources[*index].clone())).collect();
        recovered += expected.len();
        assert_eq!(block.recover(&mut decoder), Ok(expected), "round {round}");
        assert!(!block.recoverable());
        assert_eq!(block.recover(&mut decoder), Ok(Vec::new()));
    }
    assert!(recovered > 1000, "{recovered} records are no test");
}

#[test]
fn an_encoder_that_was_used_before_gives_what_a_fresh_one_gives() {
    let mut dice = Dice(3);
    let mut encoder = Encoder::default();
    for _ in 0..100 {
        let count = 1 + dice.below(MAX_SOURCES);
        let repairs = dice.below(max_repairs(count) + 1);
        let length = 1 + dice.below(200);
        let sources = records(&mut dice, count, length);
        let mut symbols = Vec::new();
        let records = sources.iter().map(Vec::as_slice);
        encoder
            .encode(records, repairs, |_, symbol| symbols.push(symbol.to_vec()))
            .expect("within the limits");
        assert_eq!(symbols, encode(&sources, repairs));
    }
}

#[test]
fn pieces_that_come_again_or_late_change_nothing() {
    let sources = [vec![1; 9], vec![2; 9], vec![3; 4]];
    let symbols = encode(&sources, 2);
    let mut decoder = Decoder::default();
    let mut block = Block::new(3, 2).expect("within the limits");
    for _ in 0..3 {
        block.add_source(0, &sources[0]).expect("honest");
        block.add_repair(1, &symbols[1]).expect("honest");
        assert!(!block.recoverable());
    }
    // The first copy counts.
    block.add_source(0, &[9; 9]).expect("it fits");
    block.add_repair(1, &[9; 12]).expect("it fits");
    block.add_repair(0, &symbols[0]).expect("honest");
    assert_eq!(
        block.recover(&mut decoder),
        Ok(vec![(1, sources[1].clone()), (2, sources[2].clone())])
    );
    block.add_source(1, &sources[1]).expect("honest");
    block.add_repair(0, &symbols[0]).expect("honest");
    assert_eq!((block.missing(), block.recoverable(), block.memory()), (0, false, 0));
}

#[test]
fn what_comes_after_enough_repair_is_still_taken() {
    let sources = [vec![1; 9], vec![2; 9]];
    let symbols = encode(&sources, 1);
    let mut block = Block::new(2, 1).expect("within the limits");
    block.add_repair(0, &symbols[0]).expect("honest");
    block.add_source(1, &sources[1]).expect("honest");
    assert!(block.recoverable());
    block.add_source(0, &sources[0]).expect("honest");
    assert_eq!((block.missing(), block.recoverable()), (0, false));
    assert_eq!(block.recover(&mut Decoder::new()), Ok(Vec::new()));
}

#[test]
fn blocks_outside_the_limits_are_refused() {
    for (sources, repairs) in [
        (0, 0),
        (0, 1),
        (1, 2),
        (4, 3),
        (129, 1),
        (128, 65),
        (usize::MAX, usize::MAX),
    ] {
        assert!(Block::new(sources, repairs).is_none(), "{sources} {repairs}");
    }
    for (sources, repairs) in [(1, 0), (1, 1), (3, 2), (128, 64)] {
        assert!(Block::new(sources, repairs).is_some(), "{sources} {repairs}");
    }
    let mut encoder = Encoder::new();
    let mut refused = |sources: &[&[u8]], repairs| {
        let result = encoder.encode(sources.iter().copied(), repairs, |_, _| panic!("refused"));
        result.expect_err("outside the limits")
    };
    let counts = |sources, repairs| EncodeError::Counts { sources, repairs };
    assert_eq!(refused(&[], 0), counts(0, 0));
    assert_eq!(refused(&[b"a", b"b", b"c"], 3), counts(3, 3));
    assert_eq!(refused(&[&b"a"[..]; 129], 1), counts(129, 1));
    assert_eq!(refused(&[b"a", b""], 1), EncodeError::Record { length: 0 });
    assert_eq!(refused(&[&[0; 8971]], 1), EncodeError::Record { length: 8971 });
    assert_eq!(encode(&[vec![1; 8970]], 1)[0].len(), MAX_SYMBOL);
}

#[test]
fn a_peer_that_contradicts_itself_is_found_out() {
    let block = || Block::new(3, 2).expect("within the limits");
    let wrong = Err(Inconsistent);
    assert_eq!(block().add_source(3, b"record"), wrong);
    assert_eq!(block().add_source(0, b""), wrong);
    assert_eq!(block().add_source(0, &[1; MAX_SYMBOL - 1]), wrong);
    assert_eq!(block().add_repair(2, &[0; 8]), wrong);
    for length in [0, 1, 2, 3, 7, MAX_SYMBOL + 1, MAX_SYMBOL + 2] {
        assert_eq!(block().add_repair(0, &vec![0; length]), wrong, "{length}");
    }
    let mut with_repair = block();
    assert_eq!(with_repair.add_repair(0, &[0; 8]), Ok(()));
    assert_eq!(with_repair.add_repair(1, &[0; 10]), wrong);
    assert_eq!(with_repair.add_source(0, &[1; 7]), wrong);
    assert_eq!(with_repair.add_source(0, &[1; 6]), Ok(()));
    let mut with_source = block();
    assert_eq!(with_source.add_source(0, &[1; 7]), Ok(()));
    assert_eq!(with_source.add_repair(0, &[0; 8]), wrong);
    assert_eq!(with_source.add_repair(0, &[0; 10]), Ok(()));
}

#[test]
fn symbols_that_are_not_those_of_the_records_give_an_error() {
    // With one repair symbol, the recovered symbol is the sum of the repair symbol and the other source symbol.
    for symbol in [
        [0, 3, 1, 2, 3, 9],
        [0, 5, 1, 2, 3, 4],
        [255, 255, 1, 2, 3, 4],
        [0, 0, 0, 0, 0, 0],
    ] {
        let mut block = Block::new(2, 1).expect("within the limits");
        let repair = [symbol[0], symbol[1] ^ 4, symbol[2], symbol[3], symbol[4], symbol[5]];
        block.add_source(0, &[0; 4]).expect("it fits");
        block.add_repair(0, &repair).expect("it fits");
        assert_eq!(block.recover(&mut Decoder::new()), Err(Inconsistent), "{symbol:?}");
        assert_eq!((block.missing(), block.memory()), (0, 0));
    }
}

#[test]
fn a_block_holds_no_more_than_its_bound() {
    let (record, symbol) = (vec![1; MAX_SYMBOL - LENGTH], vec![0; MAX_SYMBOL]);
    let mut block = Block::new(MAX_SOURCES, MAX_REPAIRS).expect("within the limits");
    for index in 0..MAX_SOURCES {
        if index < MAX_REPAIRS {
            block.add_repair(index, &symbol).expect("it fits");
        }
        block.add_source(MAX_SOURCES - 1 - index, &record).expect("it fits");
        assert!(block.memory() <= MAX_BLOCK_BYTES);
    }
    // A repair symbol that is not needed is not stored.
    let mut whole = Block::new(2, 1).expect("within the limits");
    whole.add_source(0, &record).expect("it fits");
    whole.add_source(1, &record).expect("it fits");
    let before = whole.bytes.len();
    whole.add_repair(0, &symbol).expect("it fits");
    assert_eq!(whole.bytes.len(), before);
}
