//! Elements of EBML (RFC 8794): a number, a size and content.

/// The size of an element that goes on until another one of its level begins.
pub(super) const UNKNOWN_SIZE: [u8; 8] = [0x01, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff];

/// The number and the size of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) id: u32,
    /// `None` of one that goes on until another one of its level begins.
    pub(super) size: Option<u64>,
    /// Bytes of both.
    pub(super) length: usize,
}

/// Reason why bytes are no element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoElement {
    /// More of them have to come.
    Cut,
    /// They are something else.
    Wrong,
}

impl Head {
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, NoElement> {
        let first = *bytes.first().ok_or(NoElement::Cut)?;
        let id_length = first.leading_zeros() as usize + 1;
        if id_length > 4 {
            return Err(NoElement::Wrong);
        }
        let id = bytes.get(..id_length).ok_or(NoElement::Cut)?;
        let (size, size_length) = number(&bytes[id_length..])?;
        Ok(Self {
            id: id.iter().fold(0, |sum, byte| sum << 8 | u32::from(*byte)),
            size,
            length: id_length + size_length,
        })
    }
}

/// Reads a number whose length its first bits say; `None` if all bits of it are set. Returns its length too.
pub(super) fn number(bytes: &[u8]) -> Result<(Option<u64>, usize), NoElement> {
    let first = *bytes.first().ok_or(NoElement::Cut)?;
    let length = first.leading_zeros() as usize + 1;
    if length > 8 {
        return Err(NoElement::Wrong);
    }
    let bytes = bytes.get(..length).ok_or(NoElement::Cut)?;
    let marked = bytes.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte));
    let unknown = (1 << (7 * length)) - 1;
    let value = marked & unknown;
    Ok(((value != unknown).then_some(value), length))
}

/// The elements in the content of another one, up to what is none.
pub(super) fn elements(mut content: &[u8]) -> impl Iterator<Item = (u32, &[u8])> {
    std::iter::from_fn(move || {
        let head = Head::parse(content).ok()?;
        let size = usize::try_from(head.size?).ok()?;
        let (element, rest) = content[head.length..].split_at_checked(size)?;
        content = rest;
        Some((head.id, element))
    })
}

/// The content of the first element of this number.
pub(super) fn child(content: &[u8], id: u32) -> Option<&[u8]> {
    elements(content)
        .find(|(found, _)| *found == id)
        .map(|(_, content)| content)
}

/// The value of a number's element.
pub(super) fn unsigned(content: &[u8]) -> Option<u64> {
    (content.len() <= 8).then(|| content.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte)))
}

/// The value of an element with a number that has fractions.
pub(super) fn float(content: &[u8]) -> Option<f64> {
    match content.len() {
        4 => Some(f32::from_be_bytes(*content.first_chunk()?).into()),
        8 => Some(f64::from_be_bytes(*content.first_chunk()?)),
        _ => None,
    }
}

/// Appends the number of an element as it is written, with its marker.
pub(super) fn put_id(id: u32, out: &mut Vec<u8>) {
    let bytes = id.to_be_bytes();
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    out.extend_from_slice(&bytes[zeros..]);
}

/// Appends a size.
pub(super) fn put_size(size: u64, out: &mut Vec<u8>) {
    // All bits set means an unknown size.
    let bytes = (1..8).find(|bytes| size < (1 << (7 * bytes)) - 1).unwrap_or(8);
    let marked = size | 1 << (7 * bytes);
    out.extend_from_slice(&marked.to_be_bytes()[8 - bytes..]);
}

/// Appends an element.
pub(super) fn put(id: u32, content: &[u8], out: &mut Vec<u8>) {
    put_id(id, out);
    put_size(content.len() as u64, out);
    out.extend_from_slice(content);
}

/// Appends an element with a number in as few bytes as it needs.
pub(super) fn put_number(id: u32, number: u64, out: &mut Vec<u8>) {
    let zeros = (number.leading_zeros() / 8).min(7) as usize;
    put(id, &number.to_be_bytes()[zeros..], out);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put_by(write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
        let mut out = Vec::new();
        write(&mut out);
        out
    }

    #[test]
    fn sizes_are_as_short_as_they_can_be_and_never_the_unknown_one() {
        for (size, bytes) in [
            (0, &[0x80][..]),
            (126, &[0xfe]),
            (127, &[0x40, 0x7f]),
            (16_382, &[0x7f, 0xfe]),
            (16_383, &[0x20, 0x3f, 0xff]),
            (1 << 40, &[0x05, 0, 0, 0, 0, 0]),
        ] {
            assert_eq!(put_by(|out| put_size(size, out)), bytes, "{size}");
        }
    }

    #[test]
    fn an_element_is_read_as_it_was_written_and_its_beginning_is_none() {
        for size in [0, 126, 127, 16_383, 1 << 40] {
            let bytes = put_by(|out| {
                put_id(0x1654_ae6b, out);
                put_size(size, out);
            });
            let (id, length) = (0x1654_ae6b, bytes.len());
            let size = Some(size);
            assert_eq!(Head::parse(&bytes), Ok(Head { id, size, length }));
            for cut in 0..length {
                assert_eq!(Head::parse(&bytes[..cut]), Err(NoElement::Cut));
            }
        }
        assert_eq!(number(&UNKNOWN_SIZE), Ok((None, 8)));
        for wrong in [&[0][..], &[0x0f, 0xff, 1], &[0xe7, 0]] {
            assert_eq!(Head::parse(wrong), Err(NoElement::Wrong), "{wrong:?}");
        }
    }

    #[test]
    fn numbers_have_no_zeros_before_them() {
        assert_eq!(put_by(|out| put_number(0xd7, 0, out)), [0xd7, 0x81, 0]);
        assert_eq!(
            put_by(|out| put_number(0x56bb, 80_000_000, out)),
            [0x56, 0xbb, 0x84, 0x04, 0xc4, 0xb4, 0x00]
        );
    }
}
