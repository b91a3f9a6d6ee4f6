//! `sealcast-lab link`, and the two ends of its runs.

use std::path::PathBuf;
use std::process::ExitCode;

use sealcast::failure::{Failure, FailureKind, Result};

use super::args::{LinkCommand, LinkEndArgs};
use super::control;
use crate::link::{self, EndConfig, LinkOptions, Point, System};

/// Losses that are measured unless others are typed, in percent.
const LOSSES: [f64; 4] = [1.0, 2.0, 5.0, 10.0];
/// How much is measured: rounds, and seconds of each run.
const FULL: (usize, u32) = (3, 60);
const QUICK: (usize, u32) = (1, 10);

pub(super) fn run(args: &LinkCommand) -> Result<ExitCode> {
    let (rounds, seconds) = if args.quick { QUICK } else { FULL };
    let scratch = tempfile::tempdir().map_err(|error| {
        let what = format!("there is no room for temporary files ({error})");
        Failure::new(FailureKind::Sink, what, "set TMPDIR")
    })?;
    let folder = args.out.clone().unwrap_or_else(|| scratch.path().to_owned());
    let options = LinkOptions {
        points: points(&args.loss)?,
        systems: if args.only.is_empty() {
            System::ALL.into()
        } else {
            systems(&args.only)?
        },
        rounds: args.rounds.unwrap_or(rounds).max(1),
        seconds: args.seconds.unwrap_or(seconds).max(1),
        seed: args.seed,
        at_once: args.at_once.max(1),
        proxy: args.proxy,
        folder: folder.join("runs"),
    };
    let planned = options.clone();
    let result = control::until_signalled(move |stop| link::measure(&planned, stop, &|words| eprintln!("{words}")))?;
    print!("{}", link::terminal(&result));
    for verdict in link::verdicts(&result) {
        println!("{verdict}");
    }
    println!(
        "the link was {}; TCP congestion control: {}",
        result.ground, result.congestion_control
    );
    if let Some(out) = &args.out {
        link::write(out, &options, &result)?;
        println!("written: table.csv, record.json and report.html in {}", out.display());
    }
    Ok(ExitCode::SUCCESS)
}

/// `1,2,5r,10b`: so many percent, each by itself (`r`), in bursts (`b`), or both.
fn points(losses: &[String]) -> Result<Vec<Point>> {
    let typed = losses.iter().map(|text| {
        let (number, kinds): (_, &[bool]) = match text.strip_suffix(['r', 'b']) {
            Some(number) if text.ends_with('r') => (number, &[false]),
            Some(number) => (number, &[true]),
            None => (text.as_str(), &[false, true]),
        };
        let percent = number
            .parse::<f64>()
            .ok()
            .filter(|percent| (0.0..=50.0).contains(percent));
        let points = percent.map(|percent| kinds.iter().map(move |&bursts| Point { percent, bursts }));
        points.ok_or_else(|| {
            let what = format!("--loss {text} is no loss in percent");
            Failure::new(
                FailureKind::Usage,
                what,
                "write 0 to 50, such as 2, 2r (random alone) or 2b (bursts alone)",
            )
        })
    });
    let mut points: Vec<Point> = typed.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect();
    if points.is_empty() {
        points = LOSSES
            .into_iter()
            .flat_map(|percent| [false, true].map(|bursts| Point { percent, bursts }))
            .collect();
    }
    // First all random ones.
    points.sort_by(|a, b| {
        (a.bursts, a.percent)
            .partial_cmp(&(b.bursts, b.percent))
            .unwrap_or(std::cmp::Ordering::Equal)
    });
    points.dedup();
    Ok(points)
}

fn systems(names: &[String]) -> Result<Vec<System>> {
    let mut systems = names.iter().map(|name| name.parse()).collect::<Result<Vec<System>>>()?;
    systems.sort_unstable();
    systems.dedup();
    Ok(systems)
}

pub(super) fn send(args: &LinkEndArgs) -> Result<ExitCode> {
    link::send(&config(args)?).map(|()| ExitCode::SUCCESS)
}

pub(super) fn receive(args: &LinkEndArgs) -> Result<ExitCode> {
    link::receive(&config(args)?).map(|()| ExitCode::SUCCESS)
}

fn config(args: &LinkEndArgs) -> Result<EndConfig> {
    Ok(EndConfig {
        system: args.system.parse()?,
        address: args.address,
        frames: args.frames,
        rows: PathBuf::clone(&args.rows),
        metrics: PathBuf::clone(&args.metrics),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &[&str]) -> Result<Vec<String>> {
        let typed: Vec<String> = text.iter().map(|&text| text.to_owned()).collect();
        points(&typed).map(|points| points.iter().map(Point::key).collect())
    }

    #[test]
    fn losses_are_typed_with_or_without_their_kind() {
        assert_eq!(read(&[]).expect("all").len(), 8);
        assert_eq!(read(&["2", "5b"]).expect("three"), ["2-random", "2-bursts", "5-bursts"]);
        assert_eq!(read(&["0.5r", "0.5"]).expect("two"), ["0.5-random", "0.5-bursts"]);
        for wrong in ["", "x", "-1", "51", "NaN", "2rb"] {
            assert!(read(&[wrong]).expect_err(wrong).hint.contains("0 to 50"));
        }
    }
}
