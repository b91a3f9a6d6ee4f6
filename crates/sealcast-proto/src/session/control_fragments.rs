//! Control messages that do not fit a datagram (protocol.md §7).

use crate::wire::{BASE_DATAGRAM, CONNECTION_LEN, HEADER_LEN, MAX_PARTS, TAG_LEN};

/// Longest control message in one datagram.
pub(super) const MAX_CONTROL: usize = BASE_DATAGRAM - CONNECTION_LEN - HEADER_LEN - TAG_LEN;

/// Numbers the messages that are sent in parts, and reassembles the newest one received.
#[derive(Default)]
pub(super) struct ControlFragments {
    pub(super) sent: u16,
    message: u16,
    count: u8,
    parts: [Option<Vec<u8>>; MAX_PARTS as usize],
}

impl ControlFragments {
    /// Process a part. Returns the whole message once it is complete.
    pub(super) fn take(&mut self, message: u16, index: u8, count: u8, bytes: &[u8]) -> Option<Vec<u8>> {
        let ahead = message.wrapping_sub(self.message);
        if (message, count) != (self.message, self.count) {
            if self.count != 0 && ahead >= 1 << 15 {
                return None;
            }
            (self.message, self.count) = (message, count);
            self.parts = Default::default();
        }
        *self.parts.get_mut(usize::from(index))? = Some(bytes.to_vec());
        let parts = self.parts.get(..usize::from(count))?;
        let whole: Option<Vec<&[u8]>> = parts.iter().map(Option::as_deref).collect();
        let whole = whole?.concat();
        self.parts = Default::default();
        Some(whole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_make_the_message_in_any_order_and_old_ones_do_not_disturb_it() {
        let mut parts = ControlFragments::default();
        assert_eq!(parts.take(7, 1, 2, b"b"), None);
        assert_eq!(parts.take(6, 0, 2, b"x"), None);
        assert_eq!(parts.take(7, 1, 2, b"b"), None);
        assert_eq!(parts.take(7, 0, 2, b"a"), Some(b"ab".to_vec()));
        assert_eq!(parts.take(8, 0, 3, b"a"), None);
        assert_eq!(parts.take(8, 3, 4, b"a"), None, "another count starts anew");
    }
}
