//! Messages on a byte stream: a u32 length before each (protocol.md §1).

use super::{MAX_HANDSHAKE_MESSAGE, MAX_RECORD, Malformed};

/// Bytes of the length before each message on a byte stream.
pub const LENGTH_PREFIX: usize = 4;

/// Which limit a length is held against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageLength {
    /// Before the session is established: [`MAX_HANDSHAKE_MESSAGE`].
    Handshake,
    /// Afterwards: [`MAX_RECORD`].
    Record,
}

impl MessageLength {
    fn limit(self) -> usize {
        match self {
            Self::Handshake => MAX_HANDSHAKE_MESSAGE,
            Self::Record => MAX_RECORD,
        }
    }
}

/// The length of the message that begins at `stream`, or `None` when its length prefix has not arrived whole.
///
/// # Errors
/// A length of zero or above the limit: framing is lost and the connection must end.
pub fn message_length(stream: &[u8], limit: MessageLength) -> Result<Option<usize>, Malformed> {
    let Some(prefix) = stream.first_chunk::<LENGTH_PREFIX>() else {
        return Ok(None);
    };
    let length = usize::try_from(u32::from_be_bytes(*prefix)).map_err(|_| Malformed)?;
    if length == 0 || length > limit.limit() {
        Err(Malformed)
    } else {
        Ok(Some(length))
    }
}

/// Payloads are copied in pieces of this size. From 2112 bytes on, the C library copies with `rep movsb`, which on
/// some AMD processors takes ten times as long where source and destination stand at nearly the same place of their
/// pages, as large buffers do (docs/performance.md).
const COPY_PIECE: usize = 2048;

/// Append bytes, of which there may be many.
pub(crate) fn append(out: &mut Vec<u8>, bytes: &[u8]) {
    out.reserve(bytes.len());
    for piece in bytes.chunks(COPY_PIECE) {
        out.extend_from_slice(piece);
    }
}

/// Append `message` with its length before it.
///
/// # Panics
/// If the message is longer than [`MAX_RECORD`]: the makers of messages keep to it.
pub fn write_framed(out: &mut Vec<u8>, message: &[u8]) {
    assert!(message.len() <= MAX_RECORD, "makers of messages keep to MAX_RECORD");
    out.extend_from_slice(&(message.len() as u32).to_be_bytes());
    out.extend_from_slice(message);
}
