//! The built-in experiments: each a definition, an engine and columns.

pub mod attack;
pub mod browser;
pub mod ciphers;
pub mod delay;
pub(crate) mod energy;
pub mod gateway;
pub mod glass;
pub mod groups;
pub mod handshake;
pub mod latency;
pub mod link;
pub mod live;
pub mod load;
pub mod pipeline;
pub mod records;
pub mod selective;
pub mod stream;
pub mod throughput;
pub mod traffic;
pub mod viewers;

use sealcast::failure::{Failure, FailureKind, Result};

use crate::harness::Experiment;

/// The experiments that a definition can name.
pub static ALL: [&Experiment; 21] = [
    &attack::ATTACK,
    &browser::BROWSER,
    &ciphers::CIPHERS,
    &delay::DELAY,
    &gateway::GATEWAY,
    &glass::GLASS,
    &groups::GROUPS,
    &handshake::HANDSHAKE,
    &latency::LATENCY,
    &link::LINK,
    &live::LIVE,
    &load::LOAD,
    &pipeline::PIPELINE,
    &records::RECORDS,
    &selective::SELECTIVE,
    &stream::PRICE,
    &stream::RESOLUTION,
    &stream::SLOW,
    &throughput::THROUGHPUT,
    &traffic::TRAFFIC,
    &viewers::VIEWERS,
];

/// The experiment that a definition names.
///
/// # Errors
/// There is none of this name; the message lists the valid names.
pub fn by_name(name: &str) -> Result<&'static Experiment> {
    let known = ALL.into_iter().find(|experiment| experiment.name == name);
    known.ok_or_else(|| {
        let names: Vec<&str> = ALL.iter().map(|experiment| experiment.name).collect();
        let what = format!("there is no experiment `{name}`");
        Failure::new(FailureKind::Usage, what, format!("choose among {}", names.join(", ")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::{Asked, Column, Definition, table};

    #[test]
    fn every_built_in_definition_can_be_read_and_says_what_would_disprove_it() {
        for experiment in ALL {
            let mut definition = Definition::parse(experiment.definition).expect(experiment.name);
            let completed = experiment.complete(&mut definition, &Asked::default());
            completed.expect(experiment.name);
            assert_eq!(definition.experiment, experiment.name);
            let known = |name: &String| definition.systems.iter().any(|system| system.name == *name);
            let named = [&definition.subject, &definition.baseline]
                .into_iter()
                .chain(&definition.rivals);
            assert!(named.filter(|name| !name.is_empty()).all(known), "{}", experiment.name);
            let columns = (experiment.columns)();
            for target in &definition.targets {
                assert!(
                    columns.iter().any(|column| column.key == target.column),
                    "{}",
                    target.column
                );
                assert!(
                    target.cases.iter().all(|case| definition.case(case).is_some()),
                    "{:?}",
                    target.cases
                );
            }
            for control in &definition.controls {
                let checks = |column: &&Column| column.finding.is_some() && column.key == control.column;
                assert!(
                    control.column.is_empty() || columns.iter().any(|column| checks(&column)),
                    "{control:?}"
                );
            }
            for published in &definition.published {
                let known = |key: &String| columns.iter().any(|column| column.key == key);
                assert!(published.figures.keys().all(known), "{published:?}");
                assert!(definition.case(&published.case).is_some(), "{published:?}");
            }
            let cases = &definition.terminal_cases;
            assert!(cases.iter().all(|case| definition.case(case).is_some()), "{cases:?}");
            let mut names = table::head(&definition, &columns);
            names.sort();
            let twice = names.windows(2).find(|pair| pair[0] == pair[1]);
            assert_eq!(twice, None, "{}: a column is there twice", experiment.name);
            assert!(!definition.method.is_empty() && !definition.disproved_by.is_empty());
        }
    }
}
