//! Counts what the programs between camera and player do for each burst.

use std::time::Duration;

use sealcast::failure::Result;

use super::load::Load;
use super::paths::Paths;
use super::system::System;
use super::traffic::carry;
use crate::count::{Carried, Counting, Laden, Tally, Turn};
use crate::harness::Definition;
use crate::harness::process::Stop;

/// The programs of a path, in the order of its processes. Several viewer gateways count as one.
const SIDES: &[&str] = &["camera", "viewer"];

/// Counts each system in each case.
///
/// # Errors
/// The user stopped it, or the definition cannot be used.
pub(crate) fn count(definition: &Definition, counting: &Counting<'_>) -> Result<Tally> {
    let mut tally = Tally::default();
    for case in &definition.cases {
        let load = Load::read(case)?;
        for entry in &definition.systems {
            let system: System = entry.read()?;
            if !system.suits(&load) {
                continue;
            }
            let turn = Turn {
                case: &case.name,
                system: &entry.name,
                sides: SIDES,
                units: ["burst", "packet"],
                ours: matches!(system, System::Sealcast(_)),
                open: &|under, folder| {
                    let mut system = system.clone();
                    if let System::Sealcast(gateways) = &mut system {
                        gateways.under = under.to_vec();
                    }
                    Ok(Box::new(Carrying {
                        paths: system.open(&load, folder, counting.stop)?,
                        load: &load,
                        stop: counting.stop,
                    }))
                },
                counting,
            };
            turn.add_to(&mut tally)?;
        }
    }
    Ok(tally)
}

/// Paths that are set up.
struct Carrying<'a> {
    paths: Paths,
    load: &'a Load,
    stop: Stop<'a>,
}

impl Laden for Carrying<'_> {
    fn processes(&self) -> Vec<u32> {
        self.paths.processes.clone()
    }

    fn run(&mut self, time: Duration) -> Result<Carried> {
        let outcome = carry(&mut self.paths, self.load, time, self.stop)?;
        let (least, most) = self.load.packets;
        let packets = (least + most) as f64 / 2.0;
        Ok(Carried {
            bursts: outcome.packets as f64 / packets,
            packets,
            lost: Some(outcome.packets.saturating_sub(outcome.arrived) as f64 / outcome.packets as f64),
        })
    }
}
