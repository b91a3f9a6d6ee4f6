//! Records of a group that came before their key.

use std::collections::VecDeque;
use std::time::Duration;

/// Time for which a record waits for its key.
const WAIT_FOR_KEY: Duration = Duration::from_secs(1);
/// Maximum number of records that wait for their key.
const MAX_WAITING: usize = 1024;
/// Maximum of their bytes.
const MAX_WAITING_BYTES: usize = 2 << 20;

/// Records that came before the message without which they cannot be opened.
#[derive(Default)]
pub(super) struct EarlyRecords {
    records: VecDeque<(Duration, Vec<u8>)>,
    bytes: usize,
}

impl EarlyRecords {
    /// Keeps a record. The oldest go when they are too many, or too old; returns how many went.
    pub(super) fn push(&mut self, now: Duration, record: &[u8]) -> u32 {
        self.records.push_back((now, record.to_vec()));
        self.bytes += record.len();
        let mut gone = 0;
        while let Some((since, oldest)) = self.records.front() {
            let too_many = self.records.len() > MAX_WAITING || self.bytes > MAX_WAITING_BYTES;
            if !too_many && now < *since + WAIT_FOR_KEY {
                break;
            }
            self.bytes -= oldest.len();
            self.records.pop_front();
            gone += 1;
        }
        gone
    }

    /// All of them.
    pub(super) fn take(&mut self) -> impl Iterator<Item = Vec<u8>> + use<> {
        self.bytes = 0;
        std::mem::take(&mut self.records).into_iter().map(|(_, record)| record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn records_wait_for_their_key_for_a_second_and_only_so_many() {
        let mut early = EarlyRecords::default();
        assert_eq!((early.push(MS, &[1]), early.push(MS * 500, &[2])), (0, 0));
        assert_eq!(early.push(MS * 1001, &[3]), 1, "the first one");
        assert_eq!(early.take().collect::<Vec<_>>(), [[2], [3]]);
        let gone: u32 = (0..2 * MAX_WAITING).map(|_| early.push(MS * 1002, &[3; 100])).sum();
        assert_eq!((gone, early.bytes), (MAX_WAITING as u32, 100 * MAX_WAITING));
        let gone = early.push(MS * 1003, &vec![4; 2 * MAX_WAITING_BYTES]);
        assert_eq!((gone, early.bytes), (MAX_WAITING as u32 + 1, 0), "too long a record");
    }
}
