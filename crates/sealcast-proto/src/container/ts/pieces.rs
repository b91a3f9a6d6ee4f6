//! Pieces of one stream out of packets (PES), each with its time.

use super::{CLOCK, TIME_BITS};

/// Flags of the fields that a head has.
const SHOWN: u8 = 0x80;

/// A piece that is not whole.
#[derive(Clone, Debug, Default)]
pub(super) struct Open {
    pub(super) data: Vec<u8>,
    /// Ticks of its presentation.
    pub(super) shown: Option<u64>,
    /// Bytes that are missing, if the length was told.
    pub(super) missing: Option<usize>,
    pub(super) random_access: bool,
}

/// The beginning of a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head<'a> {
    pub(super) shown: Option<u64>,
    /// Bytes of content, if they are told.
    pub(super) length: Option<usize>,
    pub(super) content: &'a [u8],
}

impl<'a> Head<'a> {
    /// Reads the head of a piece. `None` if these bytes begin with none.
    pub(super) fn parse(bytes: &'a [u8]) -> Option<Self> {
        let ([0, 0, 1, _, a, b, marks, flags, more], rest) = bytes.split_first_chunk::<9>()? else {
            return None;
        };
        let (fields, content) = rest.split_at_checked((*more).into())?;
        let length = usize::from(u16::from_be_bytes([*a, *b]));
        let length = match length {
            0 => None,
            length => Some(length.checked_sub(3 + fields.len())?),
        };
        (marks >> 6 == 2).then_some(Self {
            shown: (flags & SHOWN != 0).then(|| time(fields)).flatten(),
            length,
            content,
        })
    }
}

fn time(fields: &[u8]) -> Option<u64> {
    let [a, b, c, d, e] = fields.first_chunk::<5>()?.map(u64::from);
    Some((a >> 1 & 7) << 30 | b << 22 | (c >> 1) << 15 | d << 7 | e >> 1)
}

/// Times without their wraps.
#[derive(Clone, Debug, Default)]
pub(super) struct Unwrapped {
    last: Option<i64>,
}

impl Unwrapped {
    /// The time in ns.
    pub(super) fn nanos(&mut self, ticks: u64) -> i64 {
        const UNUSED: u32 = 64 - TIME_BITS;
        let ticks = ticks as i64;
        let ticks = match self.last {
            None => ticks,
            // The nearest time to the last one that has these bits.
            Some(last) => last.wrapping_add(ticks.wrapping_sub(last) << UNUSED >> UNUSED),
        };
        self.last = Some(ticks);
        let nanos = i128::from(ticks) * 1_000_000_000 / i128::from(CLOCK);
        i64::try_from(nanos).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_has_length_time_and_content_and_a_cut_one_is_none() {
        let bytes = [0, 0, 1, 0xe0, 0, 10, 0x84, 0x80, 5, 0x2f, 0xff, 0xff, 0xff, 0xff, 7, 8];
        let head = Head::parse(&bytes).expect("a head");
        assert_eq!(
            (head.shown, head.length, head.content),
            (Some((1 << 33) - 1), Some(2), &[7, 8][..])
        );
        for length in 0..14 {
            assert_eq!(Head::parse(&bytes[..length]), None, "{length}");
        }
        let without = [0, 0, 1, 0xe0, 0, 0, 0x80, 0, 0, 9];
        let head = Head::parse(&without).expect("a head");
        assert_eq!((head.shown, head.length, head.content), (None, None, &[9][..]));
        assert_eq!(
            Head::parse(&[0, 0, 1, 0xe0, 0, 1, 0x80, 0, 0, 9]),
            None,
            "shorter than its head"
        );
    }

    #[test]
    fn times_go_on_over_their_wrap_in_both_directions() {
        let end = 1 << TIME_BITS;
        let mut unwrapped = Unwrapped::default();
        let times = [end - 9000, 9000, end - 4500, 18_000].map(|ticks| unwrapped.nanos(ticks));
        let differences = times.map(|time| (time - times[0]) / 1_000_000);
        assert_eq!(differences, [0, 200, 50, 300]);
    }
}
