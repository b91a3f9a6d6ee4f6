//! The replay window and the sealer's numbers on every short sequence of the numbers at which their answers change.

use std::collections::BTreeSet;

use super::{Exhausted, Nonce, OpenFailed, PacketKey, REPLAY_WINDOW, RecordMeta, ReplayWindow, SealLimits, Sealer};
use crate::wire::{Accept, Flags, Header, Kind, TAG_LEN};

/// Ends of words (64), of the window (4 096) and of the ring of words (8 192), beside the first and the last number.
const NUMBERS: [u32; 16] = [
    0,
    1,
    63,
    64,
    65,
    REPLAY_WINDOW - 1,
    REPLAY_WINDOW,
    REPLAY_WINDOW + 63,
    REPLAY_WINDOW + 64,
    2 * REPLAY_WINDOW - 1,
    2 * REPLAY_WINDOW,
    2 * REPLAY_WINDOW + 63,
    3 * REPLAY_WINDOW - 1,
    3 * REPLAY_WINDOW + 1,
    u32::MAX - REPLAY_WINDOW,
    u32::MAX,
];

/// protocol.md, section 2: accepted above the highest number opened, or inside the window if it was not opened.
fn accepted(opened: &BTreeSet<u32>, seq: u32) -> bool {
    opened
        .last()
        .is_none_or(|top| seq > *top || (top - seq < REPLAY_WINDOW && !opened.contains(&seq)))
}

/// Compares the window with the set of what was opened, then goes on with each number that is accepted. Returns the
/// number of sequences.
fn compare(window: &ReplayWindow, opened: &mut BTreeSet<u32>, more: usize) -> usize {
    let next = opened.last().map_or(0, |top| u64::from(*top) + 1);
    let mut sequences = 1;
    for seq in NUMBERS {
        let expected = accepted(opened, seq);
        assert_eq!(window.accepts(seq), expected, "{seq} after {opened:?}");
        assert_eq!(window.is_newest(seq), u64::from(seq) >= next, "{seq} after {opened:?}");
        assert_eq!(window.skips(seq), u64::from(seq) > next, "{seq} after {opened:?}");
        if expected && more > 0 {
            let mut window = window.clone();
            window.mark(seq);
            opened.insert(seq);
            sequences += compare(&window, opened, more - 1);
            opened.remove(&seq);
        }
    }
    sequences
}

#[test]
fn the_window_agrees_with_a_set_on_every_sequence_of_six_numbers() {
    let sequences = compare(&ReplayWindow::default(), &mut BTreeSet::new(), 6);
    assert!(sequences > 20_000, "only {sequences} sequences");
}

/// A key that leaves everything as it is: what is tested are the numbers.
struct NoKey;

impl PacketKey for NoKey {
    fn seal(&self, _: Nonce, _: &[u8], _: &mut [u8]) -> [u8; TAG_LEN] {
        [0; TAG_LEN]
    }

    fn open(&self, _: Nonce, _: &[u8], _: &mut [u8]) -> Result<(), OpenFailed> {
        Ok(())
    }
}

/// Payloads with the fewest and the most bytes of zero, one and two blocks.
const PAYLOADS: [usize; 5] = [0, 1, 16, 17, 32];
const RECORDS: usize = 5;

/// The number of the record, if one was sealed.
fn sealed(sealer: &mut Sealer, payload: usize) -> Result<u32, Exhausted> {
    let meta = RecordMeta {
        flags: Flags::frame(false, true, true),
        stream: 1,
        timestamp: 0,
    };
    let mut record = Vec::new();
    sealer.seal(meta, &[&[0; 32][..payload]], &mut record)?;
    Ok(Header::parse(&record, Accept::ClearMedia).unwrap().seq)
}

#[test]
fn numbers_are_consecutive_and_within_the_limits_for_every_sequence_of_payloads() {
    for limits in (0..=4).flat_map(|records| (0..=20).map(move |blocks| SealLimits { records, blocks })) {
        for sequence in 0..PAYLOADS.len().pow(RECORDS as u32) {
            let mut sealer = Sealer::new(Box::new(NoKey), Default::default(), Kind::Media, 0, limits);
            let (mut records, mut blocks) = (0, 0);
            for place in 0..RECORDS {
                let payload = PAYLOADS[sequence / PAYLOADS.len().pow(place as u32) % PAYLOADS.len()];
                let cost = payload.div_ceil(16) as u64 + 3;
                let fits = records < limits.records && blocks + cost <= limits.blocks;
                let number = sealed(&mut sealer, payload);
                assert_eq!(
                    number.ok(),
                    fits.then_some(records as u32),
                    "{limits:?}, {payload} bytes"
                );
                if fits {
                    (records, blocks) = (records + 1, blocks + cost);
                }
                assert_eq!(sealer.sealed(), records);
            }
        }
    }
}
