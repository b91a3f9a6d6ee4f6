//! Objects on the two tracks of a session: `kind u8 | fields`.

use moq_net::bytes::Bytes;

use crate::pipe::MAX_SESSION_DATA;

const TAKEN: u8 = 0;
const PIECE: u8 = 1;
const END: u8 = 2;

/// An object of a session. Each track begins with [`Taken(0)`](Self::Taken), by which the other end knows that it is
/// there.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Object {
    /// Number of pieces of the other direction that have been taken so far.
    Taken(u64),
    /// The next bytes of the stream, 1 to [`MAX_SESSION_DATA`].
    Piece(Bytes),
    /// There are no further bytes.
    End,
}

impl Object {
    /// `None` if it is none.
    pub(super) fn parse(object: &Bytes) -> Option<Self> {
        let (kind, fields) = object.split_first()?;
        match *kind {
            TAKEN => Some(Self::Taken(u64::from_be_bytes(fields.try_into().ok()?))),
            PIECE => (1..=MAX_SESSION_DATA)
                .contains(&fields.len())
                .then(|| Self::Piece(object.slice(1..))),
            END => fields.is_empty().then_some(Self::End),
            _ => None,
        }
    }

    /// As it is on the track.
    pub(super) fn encode(&self) -> Bytes {
        let (kind, fields) = match self {
            Self::Taken(pieces) => (TAKEN, &pieces.to_be_bytes()[..]),
            Self::Piece(bytes) => (PIECE, &bytes[..]),
            Self::End => (END, &[][..]),
        };
        [&[kind], fields].concat().into()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn objects_are_written_and_read_as_the_document_says() {
        let piece = Object::Piece(Bytes::from_static(b"sealed"));
        for (object, bytes) in [
            (Object::Taken(258), &b"\x00\x00\x00\x00\x00\x00\x00\x01\x02"[..]),
            (piece, b"\x01sealed"),
            (Object::End, b"\x02"),
        ] {
            assert_eq!(object.encode(), bytes);
            assert_eq!(Object::parse(&object.encode()), Some(object));
        }
    }

    #[test]
    fn objects_are_those_of_the_vectors() {
        let file: Value = serde_json::from_str(include_str!("../../../../vectors/relay.json")).unwrap();
        let cases = file["session_objects"].as_array().unwrap();
        assert_eq!(cases.len(), 15);
        for case in cases {
            let bytes = unhex(&case["bytes"]);
            let fields = &case["fields"];
            let expected = match case["object"].as_str() {
                Some("taken") => Some(Object::Taken(fields["pieces"].as_u64().unwrap())),
                Some("piece") => Some(Object::Piece(unhex(&fields["bytes"]))),
                Some("end") => Some(Object::End),
                _ => None,
            };
            if let Some(object) = &expected {
                assert_eq!(object.encode(), bytes, "{}", case["name"]);
            }
            assert_eq!(Object::parse(&bytes), expected, "{}", case["name"]);
        }
    }

    fn unhex(text: &Value) -> Bytes {
        let digits = text.as_str().unwrap().as_bytes().chunks(2);
        let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
        digits.map(byte).collect()
    }

    #[test]
    fn what_is_no_object_is_refused() {
        for bytes in [
            &b""[..],
            b"\x00",
            b"\x00\x00\x00\x00",
            &[0; 10],
            b"\x01",
            b"\x02x",
            b"\x03",
            b"\xff",
        ] {
            assert_eq!(Object::parse(&Bytes::copy_from_slice(bytes)), None, "{bytes:?}");
        }
        let mut longest = vec![1; 1 + MAX_SESSION_DATA];
        assert!(Object::parse(&longest.clone().into()).is_some());
        longest.push(1);
        assert_eq!(Object::parse(&longest.into()), None);
    }
}
