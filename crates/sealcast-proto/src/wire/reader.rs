//! Bounds-checked reading and writing of message fields.

use super::Malformed;

/// A cursor over a message. Every read is bounds-checked; [`finish`](Self::finish) fails if bytes are left over.
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    pub(crate) fn bytes(&mut self, count: usize) -> Result<&'a [u8], Malformed> {
        let (head, rest) = self.rest.split_at_checked(count).ok_or(Malformed)?;
        self.rest = rest;
        Ok(head)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (head, rest) = self.rest.split_first_chunk::<N>().ok_or(Malformed)?;
        self.rest = rest;
        Ok(*head)
    }

    pub(crate) fn u8(&mut self) -> Result<u8, Malformed> {
        Ok(u8::from_be_bytes(self.array()?))
    }

    pub(crate) fn u16(&mut self) -> Result<u16, Malformed> {
        Ok(u16::from_be_bytes(self.array()?))
    }

    pub(crate) fn u32(&mut self) -> Result<u32, Malformed> {
        Ok(u32::from_be_bytes(self.array()?))
    }

    pub(crate) fn u64(&mut self) -> Result<u64, Malformed> {
        Ok(u64::from_be_bytes(self.array()?))
    }

    /// Reads a `u8-len bytes` field.
    pub(crate) fn bytes8(&mut self) -> Result<&'a [u8], Malformed> {
        let count = usize::from(self.u8()?);
        self.bytes(count)
    }

    /// Reads a `u16-len bytes` field.
    pub(crate) fn bytes16(&mut self) -> Result<&'a [u8], Malformed> {
        let count = usize::from(self.u16()?);
        self.bytes(count)
    }

    /// Returns all remaining bytes.
    pub(crate) fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.rest)
    }

    pub(crate) fn finish(self) -> Result<(), Malformed> {
        if self.rest.is_empty() { Ok(()) } else { Err(Malformed) }
    }
}

/// Appends a `u16-len bytes` field.
///
/// # Panics
/// If `bytes` is longer than 65 535. All callers bound their fields far below that with named constants.
pub(crate) fn put_bytes16(out: &mut Vec<u8>, bytes: &[u8]) {
    let count = u16::try_from(bytes.len()).expect("fields are bounded by constants below 65 536");
    out.extend_from_slice(&count.to_be_bytes());
    out.extend_from_slice(bytes);
}
