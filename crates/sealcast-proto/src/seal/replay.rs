//! The replay window, after RFC 6479: a ring of words that are only ever cleared as a whole.

/// Size of the window in record numbers, counted down from the highest one opened. Older numbers are refused.
pub const REPLAY_WINDOW: u32 = 4096;

const WORD_BITS: u32 = 64;
/// Number of words: a power of two, so that the index of a word is computed with a mask, and more than the window
/// needs, so that clearing the newest words never affects a number that is still inside.
const WORDS: usize = 2 * (REPLAY_WINDOW / WORD_BITS) as usize;

/// The record numbers of one key that have been opened. A default window has none.
#[derive(Clone)]
pub struct ReplayWindow {
    /// One more than the highest number opened; 0 if there is none.
    next: u64,
    words: [u64; WORDS],
}

impl Default for ReplayWindow {
    fn default() -> Self {
        Self {
            next: 0,
            words: [0; WORDS],
        }
    }
}

impl ReplayWindow {
    /// Returns true if a record with number `seq` may still be opened. Call it before opening.
    pub fn accepts(&self, seq: u32) -> bool {
        let seq = u64::from(seq);
        if seq >= self.next {
            return true;
        }
        let inside = self.next - 1 - seq < u64::from(REPLAY_WINDOW);
        inside && self.words[slot(seq)] & bit(seq) == 0
    }

    /// Returns true if numbers between the highest one opened and `seq` have not been opened: their records were lost,
    /// or are late. Call it before [`mark`](Self::mark).
    pub fn skips(&self, seq: u32) -> bool {
        u64::from(seq) > self.next
    }

    /// Returns true if `seq` is higher than any number opened. Call it before [`mark`](Self::mark).
    pub fn is_newest(&self, seq: u32) -> bool {
        u64::from(seq) >= self.next
    }

    /// Marks `seq` as opened. Call it only after the tag was verified.
    pub fn mark(&mut self, seq: u32) {
        let seq = u64::from(seq);
        if seq >= self.next {
            let newest = word(self.next.saturating_sub(1));
            let passed = (word(seq) - newest).min(WORDS as u64);
            for number in 1..=passed {
                self.words[((newest + number) % WORDS as u64) as usize] = 0;
            }
            self.next = seq + 1;
        }
        self.words[slot(seq)] |= bit(seq);
    }
}

/// Index of a number's word, before reduction to the ring.
fn word(seq: u64) -> u64 {
    seq / u64::from(WORD_BITS)
}

/// Index of a number's word in the ring.
fn slot(seq: u64) -> usize {
    (word(seq) % WORDS as u64) as usize
}

fn bit(seq: u64) -> u64 {
    1 << (seq % u64::from(WORD_BITS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_accepted_once() {
        let mut window = ReplayWindow::default();
        for seq in [0, 5, 3, 64, 4096, 100_000, u32::MAX] {
            assert!(window.accepts(seq), "{seq}");
            window.mark(seq);
            assert!(!window.accepts(seq), "{seq} again");
        }
    }

    #[test]
    fn a_jump_is_seen_as_one_until_it_is_marked() {
        let mut window = ReplayWindow::default();
        assert!(!window.skips(0) && window.skips(1));
        window.mark(4);
        assert!(!window.skips(3) && !window.skips(5) && window.skips(6));
        window.mark(u32::MAX);
        assert!(!window.skips(u32::MAX));
    }

    #[test]
    fn the_window_is_exactly_4096_wide() {
        let mut window = ReplayWindow::default();
        window.mark(10_000);
        assert!(window.accepts(10_000 - REPLAY_WINDOW + 1));
        assert!(!window.accepts(10_000 - REPLAY_WINDOW));
    }

    #[test]
    fn it_agrees_with_a_set_on_a_long_disordered_run() {
        let mut window = ReplayWindow::default();
        let mut seen = std::collections::BTreeSet::new();
        let (mut state, mut highest) = (1_u32, 0_u32);
        for step in 0..200_000_u32 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let jump = if step % 1000 == 0 { state % 9000 } else { state % 3 };
            let base = highest.saturating_add(jump);
            let seq = base.saturating_sub((state >> 8) % 6000);
            let expected = !seen.contains(&seq) && (seq > highest || highest - seq < REPLAY_WINDOW);
            assert_eq!(
                window.accepts(seq),
                expected || seen.is_empty(),
                "seq {seq}, top {highest}"
            );
            if window.accepts(seq) {
                window.mark(seq);
                seen.insert(seq);
                highest = highest.max(seq);
            }
        }
        assert!(seen.len() > 10_000);
    }
}
