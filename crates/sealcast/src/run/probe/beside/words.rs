//! The result of a comparison, as a table and in sentences.

use std::fmt::Write;
use std::time::Duration;

use super::alarm::Alarm;
use super::compare::Results;
use super::comparison::{Finding, MIN_SHARE, Verdict};
use super::differences::{Estimate, Judged};
use super::options::{BesideOptions, Control};
use super::pairing::{By, Counts, Side};
use crate::failure::{Failure, FailureKind};
use crate::run::probe::readings;

/// A time that is enough for control and comparison, as the user gives it.
const ENOUGH: &str = "--seconds 60";

/// The result of a comparison, in words.
pub struct Outcome {
    /// The table, and what it says in sentences.
    pub text: String,
    /// Failure that says why there is no finding, or that the alarm was raised.
    pub failure: Option<Failure>,
}

/// The outcome of two ways of these names.
pub(super) fn outcome(options: &BesideOptions, results: &Results) -> Outcome {
    let mut text = String::new();
    let finding = results.beside.as_ref();
    let rates = finding.map_or([None; 2], |finding| finding.rates);
    for ((name, way), rate) in ["A", "B"].into_iter().zip(&options.names).zip(rates) {
        let rate = rate.map_or_else(String::new, |rate| format!(", {rate:.1} pictures/s"));
        say(&mut text, format_args!("way {name}: {way}{rate}"));
    }
    let [a, b] = &results.latencies;
    if a.any() || b.any() {
        say(
            &mut text,
            format_args!("\n{}", readings::table(&[("A", a), ("B", b)]).trim_end()),
        );
    }
    text.push('\n');
    table(&mut text, results);
    let unfound = match finding.map(|finding| (finding, &finding.verdict)) {
        Some((_, Verdict::Judged(by, judged, _))) => {
            let control = results.control.as_ref().map(|(control, finding)| (*control, finding));
            say(&mut text, format_args!("\n{}", found(*by, judged, control)));
            notes(&mut text, judged, rates);
            None
        }
        Some((finding, verdict)) => Some(unfound(options, verdict, finding.time)),
        None => Some(Failure::new(
            FailureKind::Source,
            "A was not compared with B: the time was over before",
            format!("run it for longer, as with {ENOUGH}"),
        )),
    };
    let alarmed = results.alarm.as_ref().and_then(|alarm| alarmed(options, alarm));
    if let (Some(_), Some(unfound)) = (&alarmed, &unfound) {
        // A way that stood still has few pairs, and it is the alarm that was asked for.
        say(&mut text, format_args!("{}", unfound.what));
    }
    Outcome {
        text,
        failure: alarmed.or(unfound),
    }
}

fn say(text: &mut String, line: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{line}");
}

fn table(text: &mut String, results: &Results) {
    let judged = |finding: &Finding| match finding.verdict {
        Verdict::Judged(_, judged, counts) => Some((judged, counts)),
        _ => None,
    };
    let beside = results.beside.as_ref().and_then(judged);
    let control = results.control.as_ref().and_then(|(_, finding)| judged(finding));
    if beside.is_none() && control.is_none() {
        return;
    }
    say(
        text,
        format_args!(
            "{:<26}{:>7}{:>8}{:>9}{:>10}{:>22}{:>10}{:>22}{:>10}{:>10}",
            "difference, ms", "pairs", "paired", "batches", "median", "95 %", "mean", "95 %", "5th", "95th"
        ),
    );
    for (name, row) in [("B later than A", beside), ("A beside itself", control)] {
        if let Some((judged, counts)) = row {
            say(text, format_args!("{}", whole(name, &judged, &counts)));
            let (arrival, range) = (judged.arrival.ms, range(judged.arrival));
            say(
                text,
                format_args!("{:<26}{:>34.3}{range:>22}", "  before decoding", arrival),
            );
        }
    }
}

fn range(estimate: Estimate) -> String {
    format!("{:.3} to {:.3}", estimate.low, estimate.high)
}

fn whole(name: &str, judged: &Judged, counts: &Counts) -> String {
    let share = format!("{:.0} %", 100.0 * counts.share());
    let (median, mean) = (range(judged.median), range(judged.mean));
    format!(
        "{name:<26}{:>7}{share:>8}{:>9}{:>10.3}{median:>22}{:>10.3}{mean:>22}{:>10.3}{:>10.3}",
        judged.pairs, judged.batches, judged.median.ms, judged.mean.ms, judged.p5, judged.p95,
    )
}

/// A difference and its interval: "0.43 ms (0.32 to 0.52)".
fn shown(estimate: Estimate) -> String {
    format!("{:.2} ms ({:.2} to {:.2})", estimate.ms, estimate.low, estimate.high)
}

/// Words about A beside itself, the doubt that it adds in ms, and the difference below which nothing can be trusted.
fn of_control(control: Option<(Control, &Finding)>) -> (String, f64, f64) {
    let none = |why: &str| (format!("There is no control: {why}."), 0.0, 0.0);
    let Some((control, finding)) = control else {
        return none("A was not compared with itself");
    };
    let Verdict::Judged(_, judged, _) = &finding.verdict else {
        return none("A beside itself gave too few pairs");
    };
    let manner = match control {
        Control::Session => "the same way beside itself",
        Control::Stream => "one stream of A, decoded twice, which is a weaker control than two sessions",
    };
    let (found, floor) = (judged.median, judged.median.low.abs().max(judged.median.high.abs()));
    if found.excludes_zero() {
        let words = format!(
            "The control failed: {manner} differs by {}. Differences below {floor:.2} ms are not to be trusted, and \
             the intervals of the sentence are wider by {:.2} ms.",
            shown(found),
            found.ms.abs()
        );
        return (words, found.ms.abs(), floor);
    }
    (format!("The control: {manner} differs by {}.", shown(found)), 0.0, 0.0)
}

/// The finding in a sentence.
fn found(by: By, judged: &Judged, control: Option<(Control, &Finding)>) -> String {
    let (words, doubt, floor) = of_control(control);
    let median = judged.median.widened(doubt);
    let of = format!("from {} pictures paired {}", judged.pairs, by.words());
    let later = match median.excludes_zero() && median.ms.abs() > floor {
        false => format!("A and B are not told apart: B is later by {}, {of}", shown(median)),
        true if median.ms > 0.0 => format!("B is later than A by {}, {of}", shown(median)),
        true => {
            let earlier = Estimate {
                ms: -median.ms,
                low: -median.high,
                high: -median.low,
            };
            format!("B is earlier than A by {}, {of}", shown(earlier))
        }
    };
    format!("{later}. {words}")
}

fn notes(text: &mut String, judged: &Judged, rates: [Option<f64>; 2]) {
    if judged.step > 0.0 {
        let [a, b] = rates.map(Option::unwrap_or_default);
        say(
            text,
            format_args!(
                "Pictures of B are paired with the nearest of A ({a:.1} and {b:.1} a second): half a step, {:.1} ms, \
                 is in the intervals.",
                judged.step
            ),
        );
    }
    say(
        text,
        format_args!(
            "Intervals are those of {} batches of {:.1} s: of the mean by Student's t, of the median by order \
             statistics.",
            judged.batches,
            judged.batch.as_secs_f64()
        ),
    );
}

fn unfound(options: &BesideOptions, verdict: &Verdict, time: Duration) -> Failure {
    let seconds = time.as_secs_f64();
    let source = |what: String, hint: String| Failure::new(FailureKind::Source, what, hint);
    match verdict {
        Verdict::Silent(side) => {
            let way = &options.names[*side as usize];
            let what = format!("way {}, {way}, gave no picture to compare", side.name());
            source(what, "try it alone, with `sealcast probe`".to_owned())
        }
        Verdict::Short(pairs) => source(
            format!("there are too few pairs for a finding: {pairs} in {seconds:.0} s"),
            format!("run it for longer, as with {ENOUGH}"),
        ),
        Verdict::Unpaired(furthest) => unpaired(*furthest, seconds),
        Verdict::Judged(by, _, counts) => unpaired(Some((*by, *counts)), seconds),
    }
}

fn unpaired(furthest: Option<(By, Counts)>, seconds: f64) -> Failure {
    let hint = "move something before the camera, or show it `sealcast clock --window`";
    Failure::new(FailureKind::Source, why_unpaired(furthest, seconds), hint)
}

fn why_unpaired(furthest: Option<(By, Counts)>, seconds: f64) -> String {
    let Some((by, counts)) = furthest else {
        return "the pictures of A and B could not be paired".to_owned();
    };
    let share = counts.share();
    if share >= MIN_SHARE {
        let paired = counts.paired;
        return format!("only {paired} pictures of A and B in {seconds:.0} s differ from those before them");
    }
    format!(
        "the pictures of A and B could not be paired: {:.0} % have a partner {}, and {:.0} % must",
        100.0 * share,
        by.words(),
        100.0 * MIN_SHARE
    )
}

/// The failure that the alarm was raised, if it was.
fn alarmed(options: &BesideOptions, alarm: &Alarm) -> Option<Failure> {
    let limit = options.alarm.unwrap_or_default().as_millis();
    let mut what = Vec::new();
    if alarm.times > 0 {
        what.push(format!(
            "B was later than A by more than {limit} ms {}, at most by {:.1} ms in ten seconds",
            times(alarm.times),
            alarm.greatest
        ));
    }
    for side in Side::BOTH {
        let still = alarm.still.of(side);
        if still.times > 0 {
            let (way, seconds) = (&options.names[side as usize], still.longest.as_secs());
            what.push(format!(
                "way {}, {way}, stood still {}, for {seconds} s at most",
                side.name(),
                times(still.times)
            ));
        }
    }
    let hint = "the warnings before say when; probe_beside.csv has each picture";
    (!what.is_empty()).then(|| Failure::new(FailureKind::Alarm, what.join(", and "), hint))
}

fn times(count: u64) -> String {
    match count {
        1 => "once".to_owned(),
        count => format!("{count} times"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::options::PairBy;
    use super::*;

    fn judged(ms: f64, half: f64) -> Judged {
        let estimate = Estimate {
            ms,
            low: ms - half,
            high: ms + half,
        };
        Judged {
            pairs: 751,
            batches: 30,
            batch: Duration::from_secs(1),
            median: estimate,
            mean: estimate,
            p5: ms - 1.0,
            p95: ms + 1.0,
            arrival: estimate,
            step: 0.0,
        }
    }

    fn finding(judged: Judged) -> Finding {
        let counts = Counts {
            paired: 751,
            ..Counts::default()
        };
        Finding {
            rates: [Some(25.0); 2],
            time: Duration::from_secs(30),
            verdict: Verdict::Judged(By::Clock, judged, counts),
        }
    }

    fn options() -> BesideOptions {
        BesideOptions {
            names: ["rtsp://camera/1", "rtsp://gateway/1"].map(str::to_owned),
            pair_by: PairBy::Auto,
            alarm: Some(Duration::from_millis(20)),
            log_dir: None,
            program: None,
        }
    }

    fn said(beside: Finding, control: Option<(Control, Finding)>) -> Outcome {
        let results = Results {
            control,
            beside: Some(beside),
            ..Results::default()
        };
        outcome(&options(), &results)
    }

    #[test]
    fn a_finding_is_said_with_its_interval_its_pairs_and_its_control() {
        let control = finding(judged(0.01, 0.02));
        for (ms, words) in [
            (
                0.43,
                "B is later than A by 0.43 ms (0.33 to 0.53), from 751 pictures paired by the clock.",
            ),
            (-0.43, "B is earlier than A by 0.43 ms (0.33 to 0.53)"),
            (
                0.05,
                "A and B are not told apart: B is later by 0.05 ms (-0.05 to 0.15)",
            ),
        ] {
            let outcome = said(finding(judged(ms, 0.1)), Some((Control::Session, control)));
            assert!(outcome.text.contains(words), "{}", outcome.text);
            assert!(
                outcome.text.contains("itself differs by 0.01 ms (-0.01 to 0.03)"),
                "{}",
                outcome.text
            );
            assert!(outcome.failure.is_none());
        }
    }

    #[test]
    fn what_is_below_a_failed_control_is_no_finding() {
        let control = finding(judged(0.2, 0.1));
        let outcome = said(finding(judged(0.25, 0.02)), Some((Control::Stream, control)));
        assert!(outcome.text.contains("not told apart"), "{}", outcome.text);
        assert!(
            outcome.text.contains("below 0.30 ms are not to be trusted"),
            "{}",
            outcome.text
        );
        assert!(outcome.text.contains("weaker control"), "{}", outcome.text);
        let outcome = said(finding(judged(5.0, 0.02)), Some((Control::Stream, control)));
        assert!(
            outcome.text.contains("B is later than A by 5.00 ms (4.78 to 5.22)"),
            "{}",
            outcome.text
        );
        assert!(
            said(finding(judged(5.0, 0.1)), None)
                .text
                .contains("There is no control")
        );
    }

    #[test]
    fn a_way_that_stood_still_is_the_alarm_even_where_too_few_pairs_are_left() {
        let mut alarm = Alarm::new(Duration::from_millis(20));
        for (side, second) in [(Side::B, 1), (Side::A, 1)]
            .into_iter()
            .chain((2..40).map(|at| (Side::A, at)))
        {
            let _ = alarm.still.take(side, Duration::from_secs(second)).count();
        }
        let verdict = Verdict::Short(40);
        let results = Results {
            beside: Some(Finding {
                verdict,
                ..finding(judged(0.0, 1.0))
            }),
            alarm: Some(alarm),
            ..Results::default()
        };
        let outcome = outcome(&options(), &results);
        let failure = outcome.failure.expect("an alarm");
        assert_eq!(failure.kind, FailureKind::Alarm);
        assert_eq!(
            failure.what,
            "way B, rtsp://gateway/1, stood still once, for 38 s at most"
        );
        assert!(outcome.text.contains("too few pairs for a finding"), "{}", outcome.text);
    }

    #[test]
    fn where_there_is_no_finding_it_says_what_to_do() {
        let counts = Counts {
            paired: 30,
            unpaired: [70, 80],
            ..Counts::default()
        };
        for (verdict, words) in [
            (Verdict::Silent(Side::B), "way B, rtsp://gateway/1, gave no picture"),
            (
                Verdict::Short(40),
                "too few pairs for a finding: 40 in 30 s; run it for longer",
            ),
            (
                Verdict::Unpaired(Some((By::Content, counts))),
                "30 % have a partner by their content, and 60 % must",
            ),
            (Verdict::Unpaired(None), "`sealcast clock --window`"),
        ] {
            let found = Finding {
                verdict,
                ..finding(judged(0.0, 1.0))
            };
            let failure = said(found, None).failure.expect("no finding");
            assert!(failure.to_string().contains(words), "{failure}");
            assert_eq!(failure.kind, FailureKind::Source);
        }
    }
}
