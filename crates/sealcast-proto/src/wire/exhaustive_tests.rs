//! The reader on every short message with every short sequence of reads, and the numbers of a NACK on every short
//! sequence around the wrap.

use super::{Malformed, Numbers, Reader};

/// Kind of a read of a message. The model is a position in the message.
#[derive(Clone, Copy, Debug)]
enum Read {
    U8,
    U16,
    U32,
    Bytes(usize),
    Bytes8,
    Bytes16,
    Rest,
}

const READS: [Read; 8] = [
    Read::U8,
    Read::U16,
    Read::U32,
    Read::Bytes(0),
    Read::Bytes(3),
    Read::Bytes8,
    Read::Bytes16,
    Read::Rest,
];

/// Bytes that are lengths of fields in such messages, one that is not, and a sign bit.
const BYTES: [u8; 5] = [0, 1, 2, 3, 0x80];
const LONGEST: usize = 5;

/// Every sequence of so many letters.
fn words<T: Copy>(letters: &[T], length: usize) -> impl Iterator<Item = Vec<T>> + use<'_, T> {
    let digits = letters.len();
    let word = move |number: usize| {
        (0..length)
            .map(|place| letters[number / digits.pow(place as u32) % digits])
            .collect()
    };
    (0..digits.pow(length as u32)).map(word)
}

/// Bytes that a read returns.
fn read(reader: &mut Reader<'_>, what: Read) -> Result<Vec<u8>, Malformed> {
    match what {
        Read::U8 => reader.u8().map(|value| vec![value]),
        Read::U16 => reader.u16().map(|value| value.to_be_bytes().to_vec()),
        Read::U32 => reader.u32().map(|value| value.to_be_bytes().to_vec()),
        Read::Bytes(count) => reader.bytes(count).map(<[u8]>::to_vec),
        Read::Bytes8 => reader.bytes8().map(<[u8]>::to_vec),
        Read::Bytes16 => reader.bytes16().map(<[u8]>::to_vec),
        Read::Rest => Ok(reader.rest().to_vec()),
    }
}

/// The same of the model: how many bytes the length takes and how many come after it, if the message has them.
fn expected(message: &[u8], at: usize, what: Read) -> Option<std::ops::Range<usize>> {
    let left = &message[at..];
    let (length, count) = match what {
        Read::U8 => (0, 1),
        Read::U16 => (0, 2),
        Read::U32 => (0, 4),
        Read::Bytes(count) => (0, count),
        Read::Bytes8 => (1, usize::from(*left.first()?)),
        Read::Bytes16 => (2, usize::from(*left.first()?) << 8 | usize::from(*left.get(1)?)),
        Read::Rest => (0, left.len()),
    };
    (length + count <= left.len()).then_some(at + length..at + length + count)
}

#[test]
fn the_reader_agrees_with_a_position_on_every_short_message() {
    let messages = (0..=LONGEST).flat_map(|length| words(&BYTES, length));
    let sequences: Vec<Vec<Read>> = words(&READS, 3).collect();
    for message in messages {
        for sequence in &sequences {
            let (mut reader, mut at) = (Reader::new(&message), 0);
            // A read that fails ends the parsing of a message everywhere, so nothing is said about what follows.
            let all_fit = sequence.iter().all(|what| {
                let wanted = expected(&message, at, *what);
                let found = read(&mut reader, *what);
                assert_eq!(
                    found.as_deref().ok(),
                    wanted.clone().map(|range| &message[range]),
                    "{sequence:?} of {message:?}"
                );
                at = wanted.as_ref().map_or(at, |range| range.end);
                wanted.is_some()
            });
            if all_fit {
                assert_eq!(
                    reader.finish().is_ok(),
                    at == message.len(),
                    "{sequence:?} of {message:?}"
                );
            }
        }
    }
}

#[test]
fn every_short_sequence_of_numbers_comes_back_from_a_nack() {
    let around_the_wrap = [u32::MAX - 1, u32::MAX, 0, 1, 2, 1 << 31];
    for numbers in (1..=6).flat_map(|length| words(&around_the_wrap, length)) {
        let mut entries = Vec::new();
        let collected = Numbers::collect(numbers.iter().copied(), &mut entries);
        assert!(collected.iter().eq(numbers.iter().copied()), "{numbers:?}");
        let mut bytes = Vec::new();
        collected.put(&mut bytes);
        let mut reader = Reader::new(&bytes);
        assert_eq!(Numbers::parse(&mut reader), Ok(collected), "{numbers:?}");
        assert_eq!(reader.finish(), Ok(()));
    }
}

#[test]
fn runs_of_every_length_around_the_longest_come_back_from_a_nack() {
    for length in (0..=3).chain(254..=260).chain(510..=515) {
        for start in [0, 1, u32::MAX - length, u32::MAX - length / 2] {
            let numbers = (0..length).map(|more| start.wrapping_add(more));
            let mut entries = Vec::new();
            let collected = Numbers::collect(numbers.clone(), &mut entries);
            assert!(collected.iter().eq(numbers), "{length} from {start}");
            assert_eq!(
                entries.len(),
                5 * length.div_ceil(256) as usize,
                "{length} from {start}"
            );
        }
    }
}
