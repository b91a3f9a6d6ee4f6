//! Messages on a byte stream, each preceded by its length as u32 (protocol.md §1).

use super::{MAX_CONTROL_RECORD, MAX_HANDSHAKE_MESSAGE, MAX_RECORD, Malformed};

/// Length of the prefix before each message in bytes.
pub const LENGTH_PREFIX: usize = 4;

/// The limit on the length of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageLength {
    /// Before the session is established: [`MAX_HANDSHAKE_MESSAGE`].
    Handshake,
    /// In an established session, at an end that receives no media: [`MAX_CONTROL_RECORD`].
    Control,
    /// In an established session, at an end that receives media: [`MAX_RECORD`].
    Record,
}

impl MessageLength {
    fn limit(self) -> usize {
        match self {
            Self::Handshake => MAX_HANDSHAKE_MESSAGE,
            Self::Control => MAX_CONTROL_RECORD,
            Self::Record => MAX_RECORD,
        }
    }
}

/// Returns the length of the message at the start of `stream`, or `None` if its length prefix is incomplete.
///
/// # Errors
/// [`Malformed`] for a length of zero or above the limit: framing is lost and the connection must end.
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

/// Size of the pieces in which payloads are copied. From 2112 bytes on, the C library copies with `rep movsb`, which
/// takes ten times as long on some AMD processors if source and destination have nearly the same offset in their pages,
/// as large buffers do (docs/performance.md).
const COPY_PIECE: usize = 2048;

/// Appends bytes, piece by piece since there may be many.
pub(crate) fn append(out: &mut Vec<u8>, bytes: &[u8]) {
    out.reserve(bytes.len());
    for piece in bytes.chunks(COPY_PIECE) {
        out.extend_from_slice(piece);
    }
}

/// Appends `message`, preceded by its length.
///
/// # Panics
/// If the message is longer than [`MAX_RECORD`]: all code that makes messages keeps to this limit.
pub fn write_framed(out: &mut Vec<u8>, message: &[u8]) {
    assert!(message.len() <= MAX_RECORD, "makers of messages keep to MAX_RECORD");
    out.extend_from_slice(&(message.len() as u32).to_be_bytes());
    out.extend_from_slice(message);
}
