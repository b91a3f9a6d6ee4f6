//! Counts what a publisher does for each frame and viewer.

use std::time::Duration;

use sealcast::failure::{Failure, FailureKind, Result};

use super::audience::Audience;
use super::engine::{Case, Settings, System, source, watched};
use super::publisher::{Publisher, Start};
use crate::count::{Carried, Counting, Laden, Tally, Turn};
use crate::harness::Definition;
use crate::harness::process::{Stop, pause};

/// Counts each system without a relay in each case.
///
/// # Errors
/// The user stopped it, the definition cannot be used, or no clip can be made.
pub(crate) fn count(definition: &Definition, counting: &Counting<'_>) -> Result<Tally> {
    let settings: Settings = definition.settings()?;
    let source = source(&settings.clip(counting.folder)?);
    let mut tally = Tally::default();
    for case in &definition.cases {
        let read: Case = case.read()?;
        for entry in &definition.systems {
            let System { sending, program } = entry.read()?;
            if read.relay || sending.is_relayed() {
                continue;
            }
            let turn = Turn {
                case: &case.name,
                system: &entry.name,
                sides: &["publisher"],
                units: ["frame", "viewer"],
                ours: true,
                open: &|under, folder| {
                    let start = Start {
                        sending,
                        carrier: read.carrier,
                        source: &source,
                        viewers: read.viewers,
                        relay: None,
                        program: program.as_deref(),
                        under,
                        scratch: folder,
                        stop: counting.stop,
                    };
                    let (audience, publisher) = watched(&start)?;
                    Ok(Box::new(Watched {
                        audience,
                        publisher,
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

/// A publisher and its viewers.
struct Watched<'a> {
    // Dropped first, so that viewers say goodbye.
    audience: Audience,
    publisher: Publisher,
    stop: Stop<'a>,
}

impl Laden for Watched<'_> {
    fn processes(&self) -> Vec<u32> {
        vec![self.publisher.process()]
    }

    fn run(&mut self, time: Duration) -> Result<Carried> {
        let before = self.audience.frames();
        pause(time, self.stop)?;
        let after = self.audience.frames();
        let all: u64 = after.iter().zip(before).map(|(after, before)| after - before).sum();
        if all == 0 {
            let what = "no viewer got a frame";
            return Err(Failure::new(FailureKind::Network, what, "count fewer viewers"));
        }
        let packets = after.len() as f64;
        Ok(Carried {
            bursts: all as f64 / packets,
            packets,
            lost: None,
        })
    }
}
