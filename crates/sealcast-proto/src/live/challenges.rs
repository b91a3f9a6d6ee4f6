//! The camera's half: it collects challenges, and folds them into a root for the next frame (signatures.md §6).

use std::collections::BTreeMap;

use super::answer::{Answer, Challenge, MAX_CHALLENGERS};
use crate::sign::Hash;
use crate::sign::merkle::Tree;

/// There is no such slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the slot is not one of this camera's viewers")]
pub struct NoSuchSlot;

/// Keeps the newest challenge of each viewer until a frame answers it. The caller numbers viewers: their *slots*.
pub struct Challenges {
    slots: u16,
    /// With their leaves, which are hashed when a challenge comes, and not when a frame waits for the root.
    waiting: BTreeMap<u16, (Challenge, Hash)>,
    /// The slot whose turn it is.
    next: u16,
}

/// Challenges that one frame answers.
pub struct Batch {
    tree: Tree,
    taken: Vec<(u16, Challenge)>,
}

impl Challenges {
    /// Room for viewers with slots below `slots`, at most [`MAX_CHALLENGERS`].
    pub fn new(slots: u16) -> Self {
        Self {
            slots: slots.min(MAX_CHALLENGERS),
            waiting: BTreeMap::new(),
            next: 0,
        }
    }

    /// Takes a viewer's challenge. An earlier one of the same viewer that still waits is forgotten.
    ///
    /// # Errors
    /// [`NoSuchSlot`].
    pub fn put(&mut self, slot: u16, challenge: Challenge) -> Result<(), NoSuchSlot> {
        if slot >= self.slots {
            return Err(NoSuchSlot);
        }
        self.waiting.insert(slot, (challenge, challenge.leaf()));
        Ok(())
    }

    /// Forgets the challenge of a viewer that left.
    pub fn remove(&mut self, slot: u16) {
        self.waiting.remove(&slot);
    }

    /// Folds up to `at_most` waiting challenges for the next frame, beginning with the slot after the last folded one,
    /// so that each has its turn. `None` if there are none. Costs a hash for each challenge while the frame waits: some
    /// 0.1 ms for 333 of them.
    pub fn fold(&mut self, at_most: usize) -> Option<Batch> {
        let ahead = self.waiting.range(self.next..);
        let turn = ahead.chain(self.waiting.range(..self.next)).take(at_most);
        let (taken, leaves): (Vec<(u16, Challenge)>, Vec<Hash>) = turn
            .map(|(slot, (challenge, leaf))| ((*slot, *challenge), *leaf))
            .unzip();
        let tree = Tree::new(leaves)?;
        for (slot, _) in &taken {
            self.waiting.remove(slot);
            self.next = slot + 1;
        }
        Some(Batch { tree, taken })
    }
}

impl Batch {
    /// The root for the next frame's statement.
    pub fn root(&self) -> Hash {
        self.tree.root()
    }

    /// The answers, each for the viewer with this slot. To be sent once the frame is signed.
    pub fn answers(&self) -> impl Iterator<Item = (u16, Answer)> {
        self.taken.iter().enumerate().map(|(index, (slot, challenge))| {
            let answer = Answer {
                name: challenge.name(),
                count: self.taken.len() as u16,
                index: index as u16,
                path: self.tree.path(index),
            };
            (*slot, answer)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::{MAX_ANSWER, MAX_PATH};
    use crate::wire::Malformed;

    fn challenge(number: u16) -> Challenge {
        let mut bytes = [7; 16];
        bytes[..2].copy_from_slice(&number.to_be_bytes());
        Challenge(bytes)
    }

    #[test]
    fn every_viewer_gets_a_path_to_the_root_and_nobody_elses_leads_there() {
        for count in [1, 2, 3, 5, 8, 100] {
            let mut challenges = Challenges::new(count);
            (0..count).for_each(|slot| challenges.put(slot, challenge(slot)).expect("a slot"));
            let batch = challenges.fold(usize::MAX).expect("they wait");
            let answers: Vec<(u16, Answer)> = batch.answers().collect();
            assert_eq!(answers.len(), usize::from(count));
            for (slot, answer) in answers {
                assert_eq!(Answer::parse(&answer.to_bytes()), Ok(answer.clone()));
                assert_eq!(answer.root(&challenge(slot)), Some(batch.root()));
                assert_ne!(answer.root(&challenge(slot + 1)), Some(batch.root()));
            }
            assert!(challenges.fold(usize::MAX).is_none(), "each is answered once");
        }
    }

    #[test]
    fn the_most_viewers_get_answers_of_the_longest_length() {
        let mut challenges = Challenges::new(u16::MAX);
        assert_eq!(challenges.put(MAX_CHALLENGERS, challenge(0)), Err(NoSuchSlot));
        (0..MAX_CHALLENGERS).for_each(|slot| challenges.put(slot, challenge(slot)).expect("a slot"));
        let batch = challenges.fold(usize::MAX).expect("they wait");
        let (_, answer) = batch.answers().last().expect("one for each");
        assert_eq!((answer.path.len(), answer.to_bytes().len()), (MAX_PATH, MAX_ANSWER));
        assert_eq!(answer.root(&challenge(MAX_CHALLENGERS - 1)), Some(batch.root()));
    }

    #[test]
    fn the_newest_challenge_of_a_viewer_counts_and_one_that_left_is_forgotten() {
        let mut challenges = Challenges::new(3);
        challenges.put(0, challenge(1)).expect("a slot");
        challenges.put(0, challenge(2)).expect("a slot");
        challenges.put(1, challenge(3)).expect("a slot");
        challenges.remove(1);
        let batch = challenges.fold(9).expect("one waits");
        let (slot, answer) = batch.answers().next().expect("one");
        assert_eq!((slot, answer.count), (0, 1));
        assert_eq!(answer.root(&challenge(2)), Some(batch.root()));
    }

    #[test]
    fn each_viewer_has_its_turn_where_not_all_are_folded_at_once() {
        let mut challenges = Challenges::new(5);
        let mut answered = Vec::new();
        for _ in 0..5 {
            (0..5).for_each(|slot| challenges.put(slot, challenge(slot)).expect("a slot"));
            let batch = challenges.fold(2).expect("they wait");
            answered.extend(batch.answers().map(|(slot, _)| slot));
        }
        assert_eq!(answered, [0, 1, 2, 3, 4, 0, 1, 2, 3, 4]);
    }

    #[test]
    fn an_answer_of_another_form_is_malformed() {
        let mut challenges = Challenges::new(5);
        (0..5).for_each(|slot| challenges.put(slot, challenge(slot)).expect("a slot"));
        let (_, answer) = challenges.fold(9).expect("five").answers().last().expect("five");
        let good = answer.to_bytes();
        assert_eq!(good.len(), 9 + 32, "the last of five has a short path");
        let changed = |at: usize, byte: u8| {
            let mut bytes = good.clone();
            bytes[at] = byte;
            bytes
        };
        let bad = [
            changed(0, 2),
            changed(5, 0x40),
            changed(8, 5),
            changed(8, 3),
            changed(6, 0),
            good[..good.len() - 1].to_vec(),
            [&good[..], &[0]].concat(),
            vec![],
        ];
        for bytes in bad {
            assert_eq!(Answer::parse(&bytes), Err(Malformed), "{bytes:?}");
        }
    }
}
