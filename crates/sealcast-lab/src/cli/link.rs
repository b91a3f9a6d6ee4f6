//! `sealcast-lab link`, and the two ends of its runs.

use std::path::PathBuf;
use std::process::ExitCode;

use sealcast::failure::{Failure, FailureKind, Result};

use super::args::{LinkCommand, LinkEndArgs};
use super::run::{built_in, measure};
use crate::experiments::link::{self, EndConfig, LINK, System};
use crate::harness::Entry;

/// One-way delay of a packet, and mean length of loss bursts in packets.
const DELAY: &str = "delay=20ms";
const MEAN_BURST: u32 = 4;

pub(super) fn run(args: &LinkCommand) -> Result<ExitCode> {
    let mut definition = built_in(&LINK, &args.common)?;
    if !args.loss.is_empty() {
        definition.cases = cases(&args.loss)?;
    }
    if args.proxy {
        definition.settings.insert("proxy".to_owned(), true.into());
    }
    definition.only(&args.common.only)?;
    measure(definition, &args.common)
}

/// Parses `1,2,5r,10b`: percentages of independent losses (`r`), of losses in bursts (`b`), or both. Cases with
/// independent losses come first.
fn cases(losses: &[String]) -> Result<Vec<Entry>> {
    let mut points: Vec<(bool, f64)> = Vec::new();
    for text in losses {
        let (number, kinds): (_, &[bool]) = match text.strip_suffix(['r', 'b']) {
            Some(number) if text.ends_with('r') => (number, &[false]),
            Some(number) => (number, &[true]),
            None => (text.as_str(), &[false, true]),
        };
        let percent = number
            .parse::<f64>()
            .ok()
            .filter(|percent| (0.0..=50.0).contains(percent));
        let percent = percent.ok_or_else(|| {
            let what = format!("--loss {text} is no loss in percent");
            Failure::new(
                FailureKind::Usage,
                what,
                "write 0 to 50, such as 2, 2r (random alone) or 2b (bursts alone)",
            )
        })?;
        points.extend(kinds.iter().map(|&bursts| (bursts, percent)));
    }
    points.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    points.dedup();
    Ok(points
        .into_iter()
        .map(|(bursts, percent)| case(bursts, percent))
        .collect())
}

fn case(bursts: bool, percent: f64) -> Entry {
    let (losses, loss) = match bursts {
        true => ("bursts", format!("burst={percent}%/{MEAN_BURST}")),
        false => ("random", format!("loss={percent}%")),
    };
    let fields = [
        ("loss_percent", percent.into()),
        ("losses", losses.into()),
        ("link", format!("{DELAY} {loss}").into()),
    ];
    Entry {
        name: format!("{percent}-{losses}"),
        words: String::new(),
        fields: fields
            .into_iter()
            .map(|(name, value): (&str, toml::Value)| (name.to_owned(), value))
            .collect(),
    }
}

pub(super) fn send(args: &LinkEndArgs) -> Result<ExitCode> {
    link::send(&config(args)).map(|()| ExitCode::SUCCESS)
}

pub(super) fn receive(args: &LinkEndArgs) -> Result<ExitCode> {
    link::receive(&config(args)).map(|()| ExitCode::SUCCESS)
}

fn config(args: &LinkEndArgs) -> EndConfig {
    EndConfig {
        system: System {
            carrier: args.carrier,
            options: args.options.clone(),
        },
        address: args.address,
        frames: args.frames,
        rows: PathBuf::clone(&args.rows),
        metrics: PathBuf::clone(&args.metrics),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::Definition;

    fn read(text: &[&str]) -> Result<Vec<String>> {
        let typed: Vec<String> = text.iter().map(|&text| text.to_owned()).collect();
        cases(&typed).map(|cases| cases.into_iter().map(|case| case.name).collect())
    }

    #[test]
    fn losses_are_typed_with_or_without_their_kind() {
        assert_eq!(read(&["2", "5b"]).expect("three"), ["2-random", "2-bursts", "5-bursts"]);
        assert_eq!(read(&["0.5r", "0.5"]).expect("two"), ["0.5-random", "0.5-bursts"]);
        for wrong in ["", "x", "-1", "51", "NaN", "2rb"] {
            assert!(read(&[wrong]).expect_err(wrong).hint.contains("0 to 50"));
        }
    }

    #[test]
    fn a_loss_that_is_typed_is_the_case_that_the_definition_has() {
        let definition = Definition::parse(LINK.definition).expect("it is right");
        let typed: Vec<String> = ["1", "2", "5", "10"].map(str::to_owned).into();
        assert_eq!(cases(&typed).expect("eight"), definition.cases);
    }
}
