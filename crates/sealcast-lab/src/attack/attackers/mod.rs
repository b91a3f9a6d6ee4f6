//! The attackers. None has a key. Each is a file of its own and stands in [`ALL`].

mod attacker;
mod concealment;
mod fusion;
mod intra;
mod learned;
mod naive;
mod parameters;
mod replacement;
mod sketch;

pub(crate) use attacker::Attacker;
pub(crate) use fusion::expected_coverage;

/// All attackers, in the order of their letters in docs/lab.md.
pub(crate) static ALL: [&dyn Attacker; 10] = [
    &naive::Naive,
    &replacement::ZEROS,
    &replacement::LAST,
    &replacement::TEMPLATE,
    &concealment::Concealment,
    &parameters::Parameters,
    &intra::Intra,
    &fusion::Fusion,
    &sketch::Sketch,
    &learned::Learned,
];
