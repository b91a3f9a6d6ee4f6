//! The order of measurements.

use std::ops::Range;

use sealcast_proto::sim::Random;
use serde::{Deserialize, Serialize};

use super::definition::{Definition, Entry};

/// One measurement: a system in a case, in one round.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    /// Counted from 0.
    pub round: usize,
    /// The name of the case.
    pub case: String,
    /// The name of the system.
    pub system: String,
}

/// All turns in order. One round has cases and systems in a random order drawn from the seed, the next round the same
/// order backwards (A B C, C B A), so that a drift of the machine affects all systems alike. The systems of a case
/// are measured one after the other. `suits` says which system can be measured in which case.
pub(crate) fn turns(
    definition: &Definition,
    rounds: Range<usize>,
    suits: impl Fn(&Entry, &Entry) -> bool,
) -> Vec<Turn> {
    let mut all = Vec::new();
    for round in rounds {
        let mut random = Random::new(definition.seed ^ (round as u64 / 2) << 32);
        let mut order = Vec::new();
        for case in shuffled(&definition.cases, &mut random) {
            for system in shuffled(&definition.systems, &mut random) {
                if suits(case, system) {
                    order.push(Turn {
                        round,
                        case: case.name.clone(),
                        system: system.name.clone(),
                    });
                }
            }
        }
        if round % 2 == 1 {
            order.reverse();
        }
        all.extend(order);
    }
    all
}

/// A random order, uniformly distributed (Fisher–Yates shuffle).
fn shuffled<'a>(entries: &'a [Entry], random: &mut Random) -> Vec<&'a Entry> {
    let mut order: Vec<&Entry> = entries.iter().collect();
    for at in (1..order.len()).rev() {
        order.swap(at, random.uniform(0..at as u64 + 1) as usize);
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    fn definition(seed: u64) -> Definition {
        let entry = |kind: &str, name: &str| format!("[[{kind}]]\nname = \"{name}\"\n");
        let cases: String = ["a", "b", "c"].iter().map(|name| entry("case", name)).collect();
        let systems: String = ["x", "y", "z"].iter().map(|name| entry("system", name)).collect();
        let head = format!(
            "experiment = \"e\"\ntitle = \"t\"\nasks = \"a\"\ndisproved_by = \"d\"\nrounds = 3\nseconds = 1\n\
             seed = {seed}\n"
        );
        Definition::parse(&(head + &cases + &systems)).expect("it is right")
    }

    #[test]
    fn the_second_round_is_the_first_one_backwards_and_everybody_has_a_turn() {
        let all = turns(&definition(1), 0..3, |case, system| {
            (case.name.as_str(), system.name.as_str()) != ("a", "z")
        });
        let of = |round| -> Vec<(String, String)> {
            let own = all.iter().filter(|turn| turn.round == round);
            own.map(|turn| (turn.case.clone(), turn.system.clone())).collect()
        };
        let mut second = of(1);
        second.reverse();
        assert_eq!((of(0), of(0).len()), (second, 8));
        let mut all_of_it = of(2);
        all_of_it.sort();
        all_of_it.dedup();
        assert_eq!(all_of_it.len(), 8);
        assert!(
            of(0).chunk_by(|a, b| a.0 == b.0).count() == 3,
            "systems of a case follow each other"
        );
    }

    #[test]
    fn the_seed_decides_the_order() {
        let order = |seed| turns(&definition(seed), 0..3, |_, _| true);
        assert_eq!(order(1), order(1));
        assert!((2..9).any(|seed| order(seed) != order(1)));
    }
}
