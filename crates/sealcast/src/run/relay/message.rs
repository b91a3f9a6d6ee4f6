//! Messages between this program and a relay client (docs/relay.md §2).

use std::io;

use sealcast_proto::words;
use tokio::io::{AsyncRead, AsyncReadExt};

/// Maximum length of a message in bytes.
pub(super) const MAX_MESSAGE: usize = 17 << 20;
/// Maximum of bytes of a session in one message.
pub(super) const MAX_PIECE: usize = 64 << 10;
/// Length of a message's length.
const PREFIX: usize = 4;

const OPEN: u8 = 1;
const GROUP: u8 = 2;
const OBJECT: u8 = 3;
const SESSION_OPEN: u8 = 4;
const SESSION_DATA: u8 = 5;
const SESSION_CLOSE: u8 = 6;
const STATE: u8 = 16;
const CAME_GROUP: u8 = 17;
const CAME_OBJECT: u8 = 18;
const SESSION_OPENED: u8 = 19;
const CAME_SESSION_DATA: u8 = 20;
const SESSION_CLOSED: u8 = 21;

/// A track of a broadcast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Track {
    /// Sealed frames; a group of objects is a group of pictures.
    Video,
    /// Key sheets, and what they need.
    Keys,
    /// Signatures of groups of pictures.
    Proofs,
    /// Sealed packets of sound; a group of objects begins with a description.
    Sound,
}

impl Track {
    fn byte(self) -> u8 {
        match self {
            Self::Video => 0,
            Self::Keys => 1,
            Self::Proofs => 2,
            Self::Sound => 3,
        }
    }

    fn of(byte: u8) -> Option<Self> {
        [Self::Video, Self::Keys, Self::Proofs, Self::Sound]
            .into_iter()
            .find(|track| track.byte() == byte)
    }
}

/// State of a relay client's connection to its relay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkState {
    /// There is no connection; the relay client tries again.
    Disconnected,
    /// There is a connection.
    Connected,
    /// The camera's broadcast is there.
    Online,
    /// The camera's broadcast is gone.
    Offline,
}

/// Message of a relay client.
#[derive(Debug, PartialEq, Eq)]
pub enum RelayEvent {
    /// State of the connection to the relay, in words as well.
    State(LinkState, String),
    /// An object of a track.
    Object(Track, Vec<u8>),
    /// The objects that follow on this track are of a new group.
    Group(Track),
    /// A viewer has opened this session with the camera; or the camera has the one that was opened here.
    SessionOpened(u32),
    /// Bytes of a session.
    SessionData(u32, Vec<u8>),
    /// A session has ended, with the reason in words.
    SessionClosed(u32, String),
}

/// The message with which a relay client is told what to do.
pub(super) fn open(settings: &str) -> Vec<u8> {
    message(OPEN, &[], settings.as_bytes())
}

/// The message before the first object of a group.
pub(super) fn group(track: Track, number: u64) -> Vec<u8> {
    message(GROUP, &[track.byte()], &number.to_be_bytes())
}

/// Bytes before an object of this length.
pub(super) fn object_head(track: Track, length: usize) -> [u8; PREFIX + 2] {
    let mut head = [0; PREFIX + 2];
    head[..PREFIX].copy_from_slice(&(length as u32 + 2).to_be_bytes());
    head[PREFIX..].copy_from_slice(&[OBJECT, track.byte()]);
    head
}

/// The message that opens a session with the camera.
pub(super) fn session_open(session: u32) -> Vec<u8> {
    message(SESSION_OPEN, &session.to_be_bytes(), &[])
}

/// Bytes of a session, at most [`MAX_PIECE`].
pub(super) fn session_data(session: u32, bytes: &[u8]) -> Vec<u8> {
    message(SESSION_DATA, &session.to_be_bytes(), bytes)
}

/// The message that ends a session.
pub(super) fn session_close(session: u32) -> Vec<u8> {
    message(SESSION_CLOSE, &session.to_be_bytes(), &[])
}

fn message(kind: u8, fields: &[u8], rest: &[u8]) -> Vec<u8> {
    let length = (1 + fields.len() + rest.len()) as u32;
    [&length.to_be_bytes()[..], &[kind], fields, rest].concat()
}

/// Reads the next message of a relay client. `None` if it has ended.
///
/// # Errors
/// It cannot be read, or is none.
pub(super) async fn read(from: &mut (impl AsyncRead + Unpin)) -> io::Result<Option<RelayEvent>> {
    let mut prefix = [0; PREFIX];
    if from.read(&mut prefix[..1]).await? == 0 {
        return Ok(None);
    }
    from.read_exact(&mut prefix[1..]).await?;
    let length = u32::from_be_bytes(prefix) as usize;
    if !(2..=MAX_MESSAGE).contains(&length) {
        return Err(malformed());
    }
    let [kind, first] = [from.read_u8().await?, from.read_u8().await?];
    let mut rest = vec![0; length - 2];
    from.read_exact(&mut rest).await?;
    parse(kind, first, rest).map(Some).ok_or_else(malformed)
}

fn parse(kind: u8, first: u8, rest: Vec<u8>) -> Option<RelayEvent> {
    Some(match kind {
        STATE => {
            let state = match first {
                0 => LinkState::Disconnected,
                1 => LinkState::Connected,
                2 => LinkState::Online,
                3 => LinkState::Offline,
                _ => return None,
            };
            RelayEvent::State(state, words::plain(&String::from_utf8_lossy(&rest)))
        }
        CAME_GROUP if rest.len() == 8 => RelayEvent::Group(Track::of(first)?),
        CAME_OBJECT => RelayEvent::Object(Track::of(first)?, rest),
        SESSION_OPENED | CAME_SESSION_DATA | SESSION_CLOSED => {
            let (more, bytes) = rest.split_first_chunk::<3>()?;
            let session = u32::from_be_bytes([first, more[0], more[1], more[2]]);
            match kind {
                SESSION_OPENED if bytes.is_empty() => RelayEvent::SessionOpened(session),
                CAME_SESSION_DATA if bytes.len() <= MAX_PIECE => RelayEvent::SessionData(session, bytes.to_vec()),
                SESSION_CLOSED => RelayEvent::SessionClosed(session, words::plain(&String::from_utf8_lossy(bytes))),
                _ => return None,
            }
        }
        _ => return None,
    })
}

fn malformed() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "it says what no client says")
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read_all(mut bytes: &[u8]) -> io::Result<Vec<RelayEvent>> {
        let mut events = Vec::new();
        while let Some(event) = read(&mut bytes).await? {
            events.push(event);
        }
        Ok(events)
    }

    #[tokio::test]
    async fn what_a_client_says_is_read_and_anything_else_refused() {
        let said = [
            message(STATE, &[2], "it \x1b\u{202e}left".as_bytes()),
            message(CAME_GROUP, &[1], &7_u64.to_be_bytes()),
            message(CAME_OBJECT, &[0], b"a frame"),
            message(SESSION_OPENED, &[0, 0, 1, 2], b""),
            message(CAME_SESSION_DATA, &[0, 0, 1, 2], b"a record"),
            message(SESSION_CLOSED, &[0, 0, 1, 2], b"it\nleft"),
        ]
        .concat();
        let events = read_all(&said).await.expect("it is right");
        let expected = [
            RelayEvent::State(LinkState::Online, "it \u{fffd}\u{fffd}left".to_owned()),
            RelayEvent::Group(Track::Keys),
            RelayEvent::Object(Track::Video, b"a frame".to_vec()),
            RelayEvent::SessionOpened(258),
            RelayEvent::SessionData(258, b"a record".to_vec()),
            RelayEvent::SessionClosed(258, "it\u{fffd}left".to_owned()),
        ];
        assert_eq!(events, expected);
        for end in 1..said.len() {
            // A message that is cut off is an end that nobody announced, wherever that is.
            let whole = read_all(&said[..end]).await.map(|events| events.len());
            assert!(whole.is_err() || matches!(end, 17 | 31 | 44 | 53 | 70), "{end}");
        }
        for wrong in [
            message(STATE, &[4], b""),
            message(CAME_GROUP, &[1], b"7"),
            message(CAME_OBJECT, &[4], b"a frame"),
            message(OBJECT, &[0], b"a frame"),
            message(SESSION_OPENED, &[0, 0, 1], b""),
            message(SESSION_OPENED, &[0, 0, 1, 2], b"more"),
            message(CAME_SESSION_DATA, &[0, 0, 1, 2], &[0; MAX_PIECE + 1]),
            [0; 5].to_vec(),
            [0xFF; 9].to_vec(),
        ] {
            assert!(read_all(&wrong).await.is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn what_a_client_is_told_is_as_the_document_says() {
        assert_eq!(open("{}"), [0, 0, 0, 3, 1, b'{', b'}']);
        assert_eq!(group(Track::Proofs, 258), [0, 0, 0, 10, 2, 2, 0, 0, 0, 0, 0, 0, 1, 2]);
        assert_eq!(object_head(Track::Keys, 3), [0, 0, 0, 5, 3, 1]);
        assert_eq!(session_open(258), [0, 0, 0, 5, 4, 0, 0, 1, 2]);
        assert_eq!(session_data(258, b"ab"), [0, 0, 0, 7, 5, 0, 0, 1, 2, b'a', b'b']);
        assert_eq!(session_close(258), [0, 0, 0, 5, 6, 0, 0, 1, 2]);
    }
}
