//! The messages between sealcast and this program: `length u32 | type u8 | fields`, integers big-endian.

use std::cmp::Ordering;
use std::fmt;
use std::io::{self, Read, Write};

use moq_net::bytes::Bytes;

/// Maximum of `length`: of type and fields together.
pub(crate) const MAX_MESSAGE: usize = 17 << 20;

/// The longest object: a message has a type and a track, too.
pub(crate) const MAX_OBJECT: usize = MAX_MESSAGE - 2;

/// Maximum of an open message, which is JSON.
pub(crate) const MAX_OPEN: usize = 64 << 10;

/// The longest piece of a session's bytes in one message.
pub(crate) const MAX_SESSION_DATA: usize = 64 << 10;

/// The largest number of a group: on the wire it is a QUIC integer of 62 bits.
pub(crate) const MAX_NUMBER: u64 = (1 << 62) - 1;

const OPEN: u8 = 1;
const GROUP: u8 = 2;
const OBJECT: u8 = 3;
const SESSION_OPEN: u8 = 4;
const SESSION_DATA: u8 = 5;
const SESSION_CLOSE: u8 = 6;
const STATE: u8 = 16;
const WATCHED_GROUP: u8 = 17;
const WATCHED_OBJECT: u8 = 18;
const SESSION_OPENED: u8 = 19;
const SESSION_BYTES: u8 = 20;
const SESSION_CLOSED: u8 = 21;

/// One of the tracks of a broadcast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Track {
    /// Sealed pictures.
    Video,
    /// Keys with which a viewer opens the others.
    Keys,
    /// Signatures.
    Proofs,
    /// Sealed sound.
    Sound,
}

impl Track {
    /// All tracks, in the order of their numbers.
    pub(crate) const ALL: [Self; 4] = [Self::Video, Self::Keys, Self::Proofs, Self::Sound];

    /// Its name in the broadcast.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Video => "video",
            Self::Keys => "keys",
            Self::Proofs => "proofs",
            Self::Sound => "sound",
        }
    }

    /// Its number in a message, and its place in [`ALL`](Self::ALL).
    pub(crate) fn index(self) -> usize {
        match self {
            Self::Video => 0,
            Self::Keys => 1,
            Self::Proofs => 2,
            Self::Sound => 3,
        }
    }

    fn parse(number: u8) -> Result<Self, Broken> {
        let track = Self::ALL.get(usize::from(number));
        track.copied().ok_or(Broken::UnknownTrack(number))
    }
}

/// A message from sealcast.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Incoming {
    /// The request, in JSON.
    Open(Vec<u8>),
    /// The objects that follow on this track are of a new group.
    Group(Track, u64),
    /// An object of the group of this track.
    Object(Track, Bytes),
    /// A session with the camera, under a number that no other had.
    SessionOpen(u32),
    /// Bytes for the other end of a session.
    SessionData(u32, Bytes),
    /// No more bytes of this session are wanted.
    SessionClose(u32),
}

/// A message to sealcast.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Outgoing {
    /// State of the connection, with the reason in words.
    State(State, String),
    /// As [`Incoming::Group`].
    Group(Track, u64),
    /// As [`Incoming::Object`].
    Object(Track, Bytes),
    /// A session has its other end.
    SessionOpened(u32),
    /// Bytes from the other end of a session, at most [`MAX_SESSION_DATA`].
    SessionData(u32, Bytes),
    /// A session has ended, with the reason in words: the last message with this number.
    SessionClosed(u32, String),
}

/// State of the connection between this program and the relay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// There is no connection to the relay.
    Disconnected = 0,
    /// There is one.
    Connected = 1,
    /// The relay has the broadcast that is watched.
    Present = 2,
    /// It has it no more.
    Gone = 3,
}

/// Reason why the input cannot be read any further.
#[derive(Debug)]
pub(crate) enum Broken {
    /// A message is longer than its type may be.
    TooLong(u8, usize),
    /// A message has no type, or fewer fields than its type has.
    TooShort,
    /// A message that has no rest is longer than its fields.
    TooMuch,
    /// The input ended within a message.
    CutOff,
    /// There is no such type of message.
    UnknownType(u8),
    /// There is no such track.
    UnknownTrack(u8),
    /// The number of a group is above [`MAX_NUMBER`].
    UnknownNumber(u64),
    /// The system cannot read it.
    Unreadable(io::Error),
}

impl fmt::Display for Broken {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong(kind, length) => {
                let limit = limit(*kind);
                write!(formatter, "a message has {length} bytes; at most {limit} are allowed")
            }
            Self::TooShort => write!(formatter, "a message is shorter than its fields"),
            Self::TooMuch => write!(formatter, "a message is longer than its fields"),
            Self::CutOff => write!(formatter, "the input ended within a message"),
            Self::UnknownType(kind) => write!(formatter, "there is no message of type {kind}"),
            Self::UnknownTrack(track) => write!(formatter, "there is no track {track}, only 0 to 3"),
            Self::UnknownNumber(number) => {
                write!(formatter, "group number {number} is above {MAX_NUMBER}, the largest")
            }
            Self::Unreadable(error) => write!(formatter, "the input cannot be read ({error})"),
        }
    }
}

impl From<io::Error> for Broken {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => Self::CutOff,
            _ => Self::Unreadable(error),
        }
    }
}

/// Reads the next message; `None` at the end of the input.
///
/// # Errors
/// [`Broken`]: no further message can be read.
pub(crate) fn read(input: &mut impl Read) -> Result<Option<Incoming>, Broken> {
    let Some(length) = read_length(input)? else {
        return Ok(None);
    };
    let Some(rest) = length.checked_sub(1) else {
        return Err(Broken::TooShort);
    };
    if length > MAX_MESSAGE {
        return Err(Broken::TooLong(0, length));
    }
    let [kind] = read_array(input)?;
    if length > limit(kind) {
        return Err(Broken::TooLong(kind, length));
    }
    read_fields(input, kind, rest).map(Some)
}

/// Maximum of `length`, by type.
fn limit(kind: u8) -> usize {
    match kind {
        OPEN => MAX_OPEN,
        SESSION_DATA => size_of::<u8>() + size_of::<u32>() + MAX_SESSION_DATA,
        _ => MAX_MESSAGE,
    }
}

/// Reads `rest` bytes, the fields of a message of this type.
fn read_fields(input: &mut impl Read, kind: u8, rest: usize) -> Result<Incoming, Broken> {
    match kind {
        OPEN => Ok(Incoming::Open(read_bytes(input, rest)?)),
        GROUP => {
            exactly(rest, size_of::<u8>() + size_of::<u64>())?;
            let [track] = read_array(input)?;
            let number = u64::from_be_bytes(read_array(input)?);
            if number > MAX_NUMBER {
                return Err(Broken::UnknownNumber(number));
            }
            Ok(Incoming::Group(Track::parse(track)?, number))
        }
        OBJECT => {
            let payload = rest.checked_sub(size_of::<u8>()).ok_or(Broken::TooShort)?;
            let [track] = read_array(input)?;
            let track = Track::parse(track)?;
            Ok(Incoming::Object(track, read_bytes(input, payload)?.into()))
        }
        SESSION_OPEN => {
            exactly(rest, size_of::<u32>())?;
            Ok(Incoming::SessionOpen(read_session(input)?))
        }
        SESSION_DATA => {
            let payload = rest.checked_sub(size_of::<u32>()).ok_or(Broken::TooShort)?;
            let session = read_session(input)?;
            Ok(Incoming::SessionData(session, read_bytes(input, payload)?.into()))
        }
        SESSION_CLOSE => {
            exactly(rest, size_of::<u32>())?;
            Ok(Incoming::SessionClose(read_session(input)?))
        }
        _ => Err(Broken::UnknownType(kind)),
    }
}

fn exactly(rest: usize, fields: usize) -> Result<(), Broken> {
    match rest.cmp(&fields) {
        Ordering::Less => Err(Broken::TooShort),
        Ordering::Equal => Ok(()),
        Ordering::Greater => Err(Broken::TooMuch),
    }
}

fn read_session(input: &mut impl Read) -> Result<u32, Broken> {
    Ok(u32::from_be_bytes(read_array(input)?))
}

/// `None` if the input ended before a message, which is its proper end.
fn read_length(input: &mut impl Read) -> Result<Option<usize>, Broken> {
    let mut length = [0; 4];
    let read = loop {
        match input.read(&mut length) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            read => break read?,
        }
    };
    if read == 0 {
        return Ok(None);
    }
    input.read_exact(&mut length[read..])?;
    // A length that is no usize is too long, too.
    Ok(Some(usize::try_from(u32::from_be_bytes(length)).unwrap_or(usize::MAX)))
}

fn read_array<const N: usize>(input: &mut impl Read) -> Result<[u8; N], Broken> {
    let mut bytes = [0; N];
    input.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// `length` has been compared with the limit.
fn read_bytes(input: &mut impl Read, length: usize) -> Result<Vec<u8>, Broken> {
    let mut bytes = vec![0; length];
    input.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// Writes a message. Words that are too long are cut.
///
/// # Errors
/// Nobody reads the output any more, or an object is longer than [`MAX_OBJECT`].
pub(crate) fn write(output: &mut impl Write, message: &Outgoing) -> io::Result<()> {
    let cut = |words: &str| words.floor_char_boundary(MAX_MESSAGE / 2);
    match message {
        Outgoing::State(state, words) => write_parts(output, STATE, &[*state as u8], &words.as_bytes()[..cut(words)]),
        Outgoing::Group(track, number) => {
            write_parts(output, WATCHED_GROUP, &[track.index() as u8], &number.to_be_bytes())
        }
        Outgoing::Object(track, bytes) => write_parts(output, WATCHED_OBJECT, &[track.index() as u8], bytes),
        Outgoing::SessionOpened(session) => write_parts(output, SESSION_OPENED, &session.to_be_bytes(), &[]),
        Outgoing::SessionData(session, bytes) => write_parts(output, SESSION_BYTES, &session.to_be_bytes(), bytes),
        Outgoing::SessionClosed(session, words) => {
            let words = &words.as_bytes()[..cut(words)];
            write_parts(output, SESSION_CLOSED, &session.to_be_bytes(), words)
        }
    }
}

fn write_parts(output: &mut impl Write, kind: u8, first: &[u8], rest: &[u8]) -> io::Result<()> {
    let length = size_of::<u8>() + first.len() + rest.len();
    let Some(written) = u32::try_from(length).ok().filter(|_| length <= MAX_MESSAGE) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    output.write_all(&written.to_be_bytes())?;
    output.write_all(&[kind])?;
    output.write_all(first)?;
    output.write_all(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: u8, fields: &[u8]) -> Vec<u8> {
        let mut bytes = (fields.len() as u32 + 1).to_be_bytes().to_vec();
        bytes.push(kind);
        bytes.extend_from_slice(fields);
        bytes
    }

    fn words(mut input: &[u8]) -> String {
        loop {
            match read(&mut input) {
                Ok(Some(_)) => {}
                Ok(None) => return "the end".to_owned(),
                Err(why) => return why.to_string(),
            }
        }
    }

    #[test]
    fn messages_are_read_in_order() {
        let mut input = message(OPEN, b"{}");
        input.extend(message(GROUP, &[1, 0, 0, 0, 0, 0, 0, 1, 2]));
        input.extend(message(OBJECT, b"\x02sealed"));
        input.extend(message(OBJECT, b"\x00"));
        input.extend(message(SESSION_OPEN, &[0, 0, 1, 2]));
        input.extend(message(SESSION_DATA, b"\x00\x00\x01\x02sealed"));
        input.extend(message(SESSION_DATA, &[255; 4]));
        input.extend(message(SESSION_CLOSE, &[0, 0, 1, 2]));
        let mut input = input.as_slice();
        let mut next = || read(&mut input).unwrap();
        assert_eq!(next(), Some(Incoming::Open(b"{}".to_vec())));
        assert_eq!(next(), Some(Incoming::Group(Track::Keys, 258)));
        assert_eq!(
            next(),
            Some(Incoming::Object(Track::Proofs, Bytes::from_static(b"sealed")))
        );
        assert_eq!(next(), Some(Incoming::Object(Track::Video, Bytes::new())));
        assert_eq!(next(), Some(Incoming::SessionOpen(258)));
        assert_eq!(next(), Some(Incoming::SessionData(258, Bytes::from_static(b"sealed"))));
        assert_eq!(next(), Some(Incoming::SessionData(u32::MAX, Bytes::new())));
        assert_eq!(next(), Some(Incoming::SessionClose(258)));
        assert_eq!(next(), None);
    }

    #[test]
    fn a_message_that_is_cut_off_anywhere_is_told_from_the_end() {
        let whole = message(GROUP, &[0, 0, 0, 0, 0, 0, 0, 0, 9]);
        for length in 1..whole.len() {
            assert_eq!(words(&whole[..length]), "the input ended within a message", "{length}");
        }
        assert_eq!(words(&whole), "the end");
        assert_eq!(words(&[]), "the end");
    }

    #[test]
    fn what_is_no_message_is_refused_in_words() {
        assert_eq!(words(&[0, 0, 0, 0]), "a message is shorter than its fields");
        assert_eq!(words(&message(9, b"x")), "there is no message of type 9");
        assert_eq!(words(&message(OBJECT, &[])), "a message is shorter than its fields");
        assert_eq!(words(&message(OBJECT, &[4])), "there is no track 4, only 0 to 3");
        assert_eq!(words(&message(GROUP, &[0; 8])), "a message is shorter than its fields");
        assert_eq!(words(&message(GROUP, &[0; 10])), "a message is longer than its fields");
        for (kind, fields) in [(SESSION_OPEN, 4), (SESSION_CLOSE, 4)] {
            let short = message(kind, &[0; 8][..fields - 1]);
            assert_eq!(words(&short), "a message is shorter than its fields", "{kind}");
            let long = message(kind, &[0; 8][..fields + 1]);
            assert_eq!(words(&long), "a message is longer than its fields", "{kind}");
        }
        let short = message(SESSION_DATA, &[0; 3]);
        assert_eq!(words(&short), "a message is shorter than its fields");
        let highest = [&[0][..], &u64::MAX.to_be_bytes()].concat();
        assert!(words(&message(GROUP, &highest)).contains("is above 4611686018427387903"));
    }

    #[test]
    fn a_message_that_is_too_long_is_refused_before_it_is_read() {
        let too_long = (MAX_MESSAGE as u32 + 1).to_be_bytes();
        let expected = "a message has 17825793 bytes; at most 17825792 are allowed";
        assert_eq!(words(&too_long), expected);
        assert!(words(&u32::MAX.to_be_bytes()).contains("at most 17825792"));
        let open = message(OPEN, &vec![b' '; MAX_OPEN]);
        assert_eq!(words(&open), "a message has 65537 bytes; at most 65536 are allowed");
        let longest = message(OBJECT, &vec![0; MAX_MESSAGE - 1]);
        assert_eq!(words(&longest), "the end");
        let longest = message(SESSION_DATA, &vec![0; 4 + MAX_SESSION_DATA]);
        assert_eq!(words(&longest), "the end");
        let too_long = message(SESSION_DATA, &vec![0; 5 + MAX_SESSION_DATA]);
        assert_eq!(words(&too_long), "a message has 65542 bytes; at most 65541 are allowed");
    }

    #[test]
    fn any_bytes_are_read_without_a_panic() {
        // A small generator, so that a failure repeats.
        let mut state: u32 = 1;
        for _ in 0..2000 {
            let mut bytes: Vec<u8> = (0..64)
                .map(|_| {
                    state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    (state >> 24) as u8
                })
                .collect();
            words(&bytes);
            // With a length that is allowed, the fields are reached.
            let start = [0, 0, 0, bytes[5] % 64, bytes[4] % 8];
            bytes[..5].copy_from_slice(&start);
            words(&bytes);
        }
    }

    #[test]
    fn messages_are_written_as_the_contract_says() {
        let written = |message| {
            let mut bytes = Vec::new();
            write(&mut bytes, &message).unwrap();
            bytes
        };
        let state = Outgoing::State(State::Gone, "it ended".to_owned());
        assert_eq!(written(state), message(STATE, b"\x03it ended"));
        let group = Outgoing::Group(Track::Keys, 258);
        assert_eq!(written(group), message(WATCHED_GROUP, &[1, 0, 0, 0, 0, 0, 0, 1, 2]));
        let object = Outgoing::Object(Track::Proofs, Bytes::from_static(b"sealed"));
        assert_eq!(written(object), message(WATCHED_OBJECT, b"\x02sealed"));
        assert_eq!(
            written(Outgoing::SessionOpened(258)),
            message(SESSION_OPENED, &[0, 0, 1, 2])
        );
        let data = Outgoing::SessionData(258, Bytes::from_static(b"sealed"));
        assert_eq!(written(data), message(SESSION_BYTES, b"\x00\x00\x01\x02sealed"));
        let closed = Outgoing::SessionClosed(258, "it ended".to_owned());
        assert_eq!(written(closed), message(SESSION_CLOSED, b"\x00\x00\x01\x02it ended"));
        let longest = Outgoing::Object(Track::Video, vec![0; MAX_OBJECT].into());
        assert_eq!(written(longest).len(), 4 + MAX_MESSAGE);
        let too_long = Outgoing::Object(Track::Video, vec![0; MAX_OBJECT + 1].into());
        assert!(write(&mut Vec::new(), &too_long).is_err());
    }
}
