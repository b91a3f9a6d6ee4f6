//! Information in sizes and times of sealed packets, for attackers that see nothing else. Pure functions over a trace.
//!
//! Each attacker gives scores; how well these tell two classes apart is their AUC ([`auc`]): the probability that a
//! window of one class has a higher score than one of the other. 0.5 is guessing, 1 is certainty.

pub mod activity;
pub mod auc;
pub mod flicker;
pub mod keyframes;
pub mod presence;
pub mod trace;
