//! The page with pictures: `attack.html`, made of the record and the picture files alone.

use std::fmt::Write;
use std::path::Path;

use sealcast::failure::Result;

use super::engine::PICTURES;
use super::verdict::{self, RULES, Verdict, opened, sentence, verdicts};
use super::{ATTACK, figures};
use crate::attack::{ALL, CLOCK, DETAIL, ESS, FACES, MOVING, PEOPLE, TEXT};
use crate::harness::html::{CLOSE_TABLE, escape, open_table, prose};
use crate::harness::page::whole;
use crate::harness::record::unwritable;
use crate::harness::statistics::Estimate;
use crate::harness::{Results, Row};

/// The file.
const FILE: &str = "attack.html";
const TITLE: &str = "What an eavesdropper sees";
const WORDS: &str =
    "Attackers without keys on streams that are encrypted in part: what they recognise, and what the selection saves.";

/// Writes the page of the record in a folder. Returns the verdict in one sentence.
///
/// # Errors
/// There is no record, or the page cannot be written.
pub(crate) fn write(folder: &Path) -> Result<String> {
    let results = Results::load(&ATTACK, folder)?;
    let path = folder.join(FILE);
    std::fs::write(&path, html(&results, folder)).map_err(|error| unwritable(&path, &error))?;
    Ok(sentence(&results))
}

/// The page of these results. Pictures are shown where their files are below `folder`.
fn html(results: &Results, folder: &Path) -> String {
    let mut page = String::new();
    let _ = writeln!(
        page,
        "<article class=\"found\"><p class=\"verdict\">{}</p>\n<p><a href=\"report.html\">All figures, method and \
         machine</a>; <a href=\"#rules\">the rules</a>.</p></article>",
        prose(&sentence(results))
    );
    table(&mut page, &verdicts(results));
    for case in &results.definition.cases {
        let rows: Vec<&Row> = results.rows.iter().filter(|row| row.case.name == case.name).collect();
        if !rows.is_empty() {
            scene(&mut page, &case.name, &case.words, &rows, folder);
        }
    }
    left_out(&mut page, results);
    rules(&mut page);
    whole(TITLE, WORDS, &page)
}

/// Mode by verdict and cost.
fn table(page: &mut String, verdicts: &[Verdict]) {
    page.push_str("<article><h2>Verdict <small>95 % intervals below</small></h2>\n");
    page.push_str(&open_table(""));
    page.push_str(
        "<tr><th scope=\"col\"></th><th scope=\"col\" class=\"words\">opened</th>\
         <th scope=\"col\" class=\"words\">in, by</th>\
         <th scope=\"col\">sealing and opening<small>µs a frame</small></th>\
         <th scope=\"col\">saved beside all<small>µs a frame</small></th>\
         <th scope=\"col\">CPU saved<small>µs a frame</small></th></tr>\n",
    );
    for verdict in verdicts {
        let open = verdict.opened.len();
        let said = match open {
            0 => format!("no, in {} scenes", verdict.scenes.len()),
            _ => format!("yes, in {open} of {} scenes", verdict.scenes.len()),
        };
        let by: Vec<String> = verdict
            .opened
            .iter()
            .map(|(scene, reasons)| reason(scene, reasons))
            .collect();
        let _ = writeln!(
            page,
            "<tr><td>{}</td><td class=\"words\">{said}</td><td class=\"words\">{}</td>{}{}{}</tr>",
            escape(&verdict.system),
            escape(&by.join("; ")),
            cell(verdict.cost_us, 1),
            cell(verdict.saved_us, 1),
            cell(verdict.saved_cpu_us, 1)
        );
    }
    page.push_str(CLOSE_TABLE);
    page.push_str("</article>\n");
}

/// The scene, and the attackers that opened it.
fn reason(scene: &str, reasons: &[verdict::Opened]) -> String {
    let mut by: Vec<&str> = reasons.iter().map(|reason| reason.attacker).collect();
    by.dedup();
    format!("{scene} ({})", by.join(", "))
}

fn cell(figure: Option<Estimate>, digits: usize) -> String {
    match figure {
        None => "<td>–</td>".to_owned(),
        Some(Estimate { median, low, high }) if low == high => format!("<td>{median:.digits$}</td>"),
        Some(Estimate { median, low, high }) => {
            format!("<td>{median:.digits$}<small>{low:.digits$} to {high:.digits$}</small></td>")
        }
    }
}

/// The pictures of a scene, a row for each selection.
fn scene(page: &mut String, name: &str, words: &str, rows: &[&Row], folder: &Path) {
    let _ = writeln!(
        page,
        "<article class=\"scene\" id=\"{0}\"><h2>{0} <small>{1}</small></h2>\n{2}<tr><th scope=\"col\"></th>\
         <th scope=\"col\">original</th><th scope=\"col\">best attacker</th><th scope=\"col\">viewer</th>\
         <th scope=\"col\" class=\"words\">each attacker</th></tr>",
        escape(name),
        escape(words),
        open_table("views")
    );
    for row in rows {
        let best = verdict::best(row).unwrap_or_default();
        let place = format!("{PICTURES}/{}--{}", row.case.name, row.system.name);
        let picture = |file: &str, alt: &str| match folder.join(&place).join(file).is_file() {
            true => format!(
                "<img src=\"{}\" alt=\"{alt}\" loading=\"lazy\">",
                escape(&format!("{place}/{file}"))
            ),
            false => "no picture".to_owned(),
        };
        let reasons = opened(row);
        let verdict = if reasons.is_empty() { "closed" } else { "opened" };
        let known = row
            .samples
            .first()
            .and_then(|(_, sample)| sample.value("known"))
            .unwrap_or(0.0);
        let _ = writeln!(
            page,
            "<tr><td>{}<small>{:.1} % in clear</small><small class=\"{verdict}\">{verdict}</small></td><td>{}</td>\
             <td>{}<small>{}</small></td><td>{}</td><td class=\"words\">{}</td></tr>",
            escape(&row.system.name),
            known * 100.0,
            picture("original.jpg", "the original"),
            picture(&format!("{best}.jpg"), "what the best attacker has"),
            escape(best),
            picture("viewer.jpg", "what the viewer sees"),
            attackers(row)
        );
    }
    page.push_str(CLOSE_TABLE);
    page.push_str("</article>\n");
}

/// The recognition scores of each attacker, with its control on noise, and a link to its picture.
fn attackers(row: &Row) -> String {
    let mut html = String::from(
        "<table class=\"scores\"><tr><th scope=\"col\"></th><th scope=\"col\">ESS<small>on noise</small></th>",
    );
    let shown: Vec<(&str, &str)> = [
        (DETAIL, "detail"),
        (MOVING, "moving"),
        (CLOCK, "clock bits wrong"),
        (FACES, "faces"),
        (PEOPLE, "people"),
        (TEXT, "text wrong"),
    ]
    .into_iter()
    .filter(|(measure, _)| ALL.iter().any(|one| measured(row, one.name(), measure).is_some()))
    .collect();
    for (_, title) in &shown {
        let _ = write!(html, "<th scope=\"col\">{title}<small>on noise</small></th>");
    }
    html.push_str("</tr>\n");
    let reasons = opened(row);
    for attacker in ALL {
        let name = attacker.name();
        let is_open = reasons.iter().any(|reason| reason.attacker == name);
        let class = if is_open { "opened" } else { "closed" };
        let _ = write!(
            html,
            "<tr><td class=\"{class}\"><a href=\"{0}/{1}--{2}/{name}.jpg\">{name}</a></td>",
            PICTURES,
            escape(&row.case.name),
            escape(&row.system.name)
        );
        html.push_str(&score(row, name, ESS, |value| format!("{value:.2}")));
        for (measure, _) in &shown {
            html.push_str(&score(row, name, measure, |value| format!("{:.0} %", value * 100.0)));
        }
        html.push_str("</tr>\n");
    }
    html.push_str("</table>");
    html
}

fn measured(row: &Row, attacker: &str, measure: &str) -> Option<Estimate> {
    verdict::figure(row, &figures::series(attacker, measure))
}

fn score(row: &Row, attacker: &str, measure: &str, written: impl Fn(f64) -> String) -> String {
    let control = verdict::figure(row, &figures::control(attacker, measure));
    let said = |figure: Option<Estimate>| figure.map_or("–".to_owned(), |figure| written(figure.median));
    format!(
        "<td>{}<small>{}</small></td>",
        said(measured(row, attacker, measure)),
        said(control)
    )
}

fn left_out(page: &mut String, results: &Results) {
    if results.missing.is_empty() {
        return;
    }
    page.push_str("<article class=\"prose\"><h2>Not measured</h2><ul>\n");
    for missing in &results.missing {
        let _ = writeln!(page, "<li>{}</li>", escape(missing));
    }
    page.push_str("</ul></article>\n");
}

fn rules(page: &mut String) {
    page.push_str("<article class=\"prose\" id=\"rules\"><h2>Rules</h2>\n");
    for rule in RULES {
        let _ = writeln!(page, "<p>{}</p>", escape(rule));
    }
    page.push_str("<h2>Attackers</h2>\n");
    for attacker in ALL {
        let _ = writeln!(page, "<p><b>{}</b>: {}.</p>", attacker.name(), escape(attacker.words()));
    }
    page.push_str("</article>\n");
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::Value;

    use super::*;
    use crate::attack::{DETAIL_TURNED, ESS_TURNED};
    use crate::harness::record::{Header, Outcome, Record};
    use crate::harness::{Definition, Sample, Turn};

    /// A record of two selections in one scene over two rounds: one is opened by the naive attacker, `all` is not.
    fn recorded(folder: &Path) {
        let mut definition = Definition::parse(ATTACK.definition).expect("it is right");
        definition
            .only(&["card-h264", "none", "all"].map(str::to_owned))
            .expect("known names");
        let mut record = Record::open(folder, Header::new(&definition, Vec::new(), Vec::new())).expect("a folder");
        for (round, step) in [0.0, 0.02].into_iter().enumerate() {
            for (system, ess, cost) in [("none", 0.9 - step, 2.0), ("all", 0.0, 5.5 + step)] {
                let mut sample = Sample::default()
                    .with("seal_us", cost)
                    .with("open_us", 1.0)
                    .with("cpu_us", 4.0 * cost);
                for (name, value) in [(ESS, ess), (ESS_TURNED, 0.05), (DETAIL, 0.0), (DETAIL_TURNED, 0.0)] {
                    sample = sample
                        .with_series(&figures::series("naive", name), vec![value; 3])
                        .with_series(&figures::control("naive", name), vec![0.01; 3]);
                }
                let turn = Turn {
                    round,
                    case: "card-h264".to_owned(),
                    system: system.to_owned(),
                };
                record.add(turn, Outcome::Sample(sample)).expect("written");
            }
        }
    }

    /// The samples of a selection, read from the file by itself.
    fn samples(folder: &Path, system: &str) -> Vec<Value> {
        let text = fs::read_to_string(folder.join("record.jsonl")).expect("a record");
        let lines = text
            .lines()
            .skip(1)
            .map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
        lines
            .filter(|line| line["system"] == system)
            .map(|line| line["sample"].clone())
            .collect()
    }

    #[test]
    fn figures_of_the_page_are_those_of_the_record() {
        let folder = tempfile::tempdir().expect("a folder");
        recorded(folder.path());
        let said = write(folder.path()).expect("a page");
        let html = fs::read_to_string(folder.path().join(FILE)).expect("a page");
        let cost = |sample: &Value| {
            let of = |name: &str| sample["values"][name].as_f64().expect("a figure");
            of("seal_us") + of("open_us")
        };
        let (none, all) = (samples(folder.path(), "none"), samples(folder.path(), "all"));
        // The median of two is their mean.
        let saved: Vec<f64> = none
            .iter()
            .zip(&all)
            .map(|(none, all)| cost(all) - cost(none))
            .collect();
        let median = (saved[0] + saved[1]) / 2.0;
        assert!(html.contains(&format!("<td>{median:.1}")), "{median}");
        let edges: Vec<f64> = none
            .iter()
            .flat_map(|sample| sample["series"]["naive.ess"].as_array().expect("a series"))
            .map(|value| value.as_f64().expect("a figure"))
            .collect();
        let edges = edges.iter().sum::<f64>() / edges.len() as f64;
        assert!(html.contains(&format!("<td>{edges:.2}<small>0.01</small>")), "{edges}");
        assert!(html.contains("yes, in 1 of 1 scenes") && html.contains("no, in 1 scenes"));
        assert!(
            said.starts_with("The cheapest selection that no attacker opened is `all`: 1 of 2 were opened"),
            "{said}"
        );
        assert!(html.contains("no picture"), "there are no files of pictures here");
    }

    #[test]
    fn what_the_controls_have_as_well_opens_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        recorded(folder.path());
        let mut results = Results::load(&ATTACK, folder.path()).expect("a record");
        let row = results
            .rows
            .iter_mut()
            .find(|row| row.system.name == "none")
            .expect("measured");
        assert_eq!(opened(row).iter().map(|one| one.measure).collect::<Vec<_>>(), [ESS]);
        for (_, sample) in &mut row.samples {
            sample.series.insert(figures::control("naive", ESS), vec![0.85; 3]);
        }
        assert_eq!(opened(row), []);
    }
}
