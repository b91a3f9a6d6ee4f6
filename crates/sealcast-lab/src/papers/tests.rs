//! The papers' data against the experiments of this build, and the page made of records.

use std::collections::BTreeSet;
use std::path::Path;

use super::data::Other;
use super::data::{Form, Item, Paper};
use super::*;
use crate::experiments;
use crate::harness::record::{Header, Outcome, Record};
use crate::harness::{self, Asked, Column, Definition, Experiment, Results, Sample, Turn};

/// The figures and tables with results, by paper.
const ITEMS: [(&str, &[&str]); 5] = [
    (
        "rov",
        &[
            "Table 2",
            "Table 3",
            "Figure 11",
            "Figure 12",
            "Figure 13",
            "Figure 14",
            "Figure 15",
            "Figure 16",
            "Figure 17",
            "Figure 18",
        ],
    ),
    ("aes", &["Figure 4", "Figure 5", "Figure 6", "Figure 7", "Table 1"]),
    ("selective", &["Figure 5", "Figure 6", "Table 1", "Table 2", "Table 3"]),
    (
        "stream-ciphers",
        &[
            "Figure 3", "Figure 4", "Figure 5", "Figure 6", "Figure 7", "Figure 8", "Figure 9", "Table 1",
        ],
    ),
    (
        "raspberry-pi",
        &["Figure 2", "Figure 3", "Figure 4", "Table II", "Table III"],
    ),
];

fn library() -> Library {
    Library::built_in().expect("it can be read")
}

fn items(library: &Library) -> impl Iterator<Item = (&Paper, &Item)> {
    library
        .papers
        .iter()
        .flat_map(|paper| paper.items.iter().map(move |item| (paper, item)))
}

/// The built-in definition, complete.
fn definition(experiment: &Experiment) -> Definition {
    let mut definition = Definition::parse(experiment.definition).expect(experiment.name);
    experiment
        .complete(&mut definition, &Asked::default())
        .expect(experiment.name);
    definition
}

fn present(library: &Library) -> Vec<(&Needed, &'static Experiment)> {
    let needed = library.experiments.iter();
    needed
        .map(|needed| (needed, experiments::by_name(&needed.name).expect("this build has it")))
        .collect()
}

#[test]
fn all_33_figures_and_tables_with_results_are_there() {
    let library = library();
    let papers: Vec<&str> = library.papers.iter().map(|paper| paper.id.as_str()).collect();
    assert_eq!(papers, ITEMS.map(|(id, _)| id));
    for (paper, (_, numbers)) in library.papers.iter().zip(ITEMS) {
        let drawn = paper.items.iter().filter(|item| item.is_drawn_or_tabled());
        let found: BTreeSet<&str> = drawn.map(|item| item.number.as_str()).collect();
        assert_eq!(found, numbers.iter().copied().collect(), "{}", paper.id);
    }
    assert_eq!(ITEMS.iter().map(|(_, numbers)| numbers.len()).sum::<usize>(), 33);
}

#[test]
fn every_row_has_a_value_for_each_column_and_every_reference_leads_somewhere() {
    let library = library();
    let mut ids = BTreeSet::new();
    for (paper, item) in items(&library) {
        let anchor = paper.anchor(item);
        assert!(ids.insert(anchor.clone()), "{anchor} is there twice");
        let experiments: Vec<_> = item
            .tables
            .iter()
            .map(|table| paper.resolved(table).experiment)
            .collect();
        let is_explained = !item.later.is_empty() || experiments.iter().any(|name| !name.is_empty());
        assert!(is_explained, "{anchor} has neither an experiment nor a reason");
        for table in &item.tables {
            let resolved = paper.resolved(table);
            assert!(!resolved.rows.is_empty() && !resolved.columns.is_empty(), "{anchor}");
            let titles: Vec<&str> = resolved.columns.iter().map(|column| column.title.as_str()).collect();
            assert!(
                table.shown.iter().all(|title| titles.contains(&title.as_str())),
                "{anchor}"
            );
            let groups: Vec<&String> = resolved.rows.iter().map(|row| &row.group).collect();
            assert!(table.groups.iter().all(|group| groups.contains(&group)), "{anchor}");
            for row in &resolved.rows {
                let count = row.values.len();
                assert!(count == 0 || count == resolved.columns.len(), "{anchor}, {}", row.name);
                assert!(!row.is_added || count == 0, "{anchor}, {}", row.name);
            }
        }
    }
}

#[test]
fn every_place_of_ours_is_in_its_experiment() {
    let library = library();
    for (needed, experiment) in present(&library) {
        let (mut definition, columns) = (definition(experiment), (experiment.columns)());
        definition.only(&needed.only).expect("they are there");
        let charts = (experiment.charts)(&definition);
        let has_column = |key: &str| columns.iter().any(|column| column.key == key);
        let has_system = |name: &str| definition.systems.iter().any(|system| system.goes_by(name));
        for (paper, item) in items(&library) {
            let anchor = paper.anchor(item);
            let tables = item.tables.iter().map(|table| paper.resolved(table));
            for table in tables.filter(|table| table.experiment == needed.name) {
                let mut keys = table
                    .columns
                    .iter()
                    .map(|column| &column.key)
                    .filter(|key| !key.is_empty());
                assert!(keys.all(|key| has_column(key)), "{anchor}: {:?}", table.columns);
                for beside in table.rows.iter().flat_map(|row| &row.ours) {
                    let is_there = definition.case(&beside.case).is_some() && has_system(&beside.system);
                    assert!(is_there, "{anchor}: {beside:?}");
                }
            }
            for plot in item.plots.iter().filter(|plot| plot.experiment == needed.name) {
                assert!(
                    plot.cases.iter().all(|case| definition.case(case).is_some()),
                    "{anchor}"
                );
                assert!(plot.systems.iter().all(|system| has_system(system)), "{anchor}");
                let is_there = match plot.kind {
                    Form::Bars => has_column(&plot.key),
                    Form::Boxes => columns
                        .iter()
                        .any(|column| column.key == plot.key && column.boxes.is_some()),
                    Form::Curves | Form::Distribution => charts.iter().any(|chart| chart.series == plot.key),
                };
                assert!(is_there, "{anchor}: {}", plot.key);
            }
        }
    }
    assert_claims(&library);
    let known = |name: &String| name.is_empty() || library.experiments.iter().any(|needed| needed.name == *name);
    for (paper, item) in items(&library) {
        let mut tables = item.tables.iter().map(|table| &table.experiment);
        let mut plots = item.plots.iter().map(|plot| &plot.experiment);
        assert!(tables.all(known) && plots.all(known), "{}", paper.anchor(item));
    }
}

/// Claims name an experiment of the page, a median over rounds of it, and cases and systems of its own.
fn assert_claims(library: &Library) {
    let one = Sample::default();
    for claim in library.papers.iter().flat_map(|paper| &paper.claims) {
        let mut present = present(library).into_iter();
        let (needed, experiment) = present
            .find(|(needed, _)| needed.name == claim.experiment)
            .unwrap_or_else(|| panic!("{claim:?}"));
        let mut definition = definition(experiment);
        definition.only(&needed.only).expect("they are there");
        let columns = (experiment.columns)();
        let column = columns.iter().find(|column| column.key == claim.column);
        let column = column.unwrap_or_else(|| panic!("{}", claim.column));
        let measured = columns
            .iter()
            .fold(one.clone(), |sample, column| sample.with(column.key, 1.0));
        let is_judged = column.reference("").is_some() || !column.of_rounds(&[(0, &measured)], &[]).is_empty();
        assert!(is_judged && !claim.holds_if.is_empty(), "{claim:?}");
        for comparison in &claim.holds_if {
            let other = match &comparison.other {
                Other::Ours(other) => Some(other),
                Other::Value(_) => None,
            };
            for beside in [&comparison.own].into_iter().chain(other) {
                let has_system = definition.systems.iter().any(|system| system.goes_by(&beside.system));
                assert!(definition.case(&beside.case).is_some() && has_system, "{beside:?}");
            }
        }
    }
}

/// The experiment of this build that is named in a reason why an item has no figures.
fn named_in(reason: &str) -> Option<&'static str> {
    let words = || reason.split(|letter: char| !letter.is_ascii_alphanumeric());
    let mut names = experiments::ALL.iter().map(|experiment| experiment.name);
    names.find(|name| words().any(|word| word.eq_ignore_ascii_case(name)))
}

#[test]
fn no_item_is_put_off_to_an_experiment_that_there_is() {
    assert_eq!(
        named_in("An experiment with groups is not part of this build."),
        Some("groups")
    );
    assert_eq!(
        named_in("An experiment with submarines is not part of this build."),
        None
    );
    for (paper, item) in items(&library()) {
        assert_eq!(named_in(&item.later), None, "{}: {}", paper.anchor(item), item.later);
    }
}

#[test]
fn every_paper_has_verdicts_on_its_claims_at_its_head() {
    let (_out, page) = page(&[], &[]);
    for paper in &library().papers {
        assert!(paper.claims.len() >= 2, "{}", paper.id);
        let from = page
            .find(&format!("class=\"paper prose\" id=\"{}\"", paper.id))
            .expect("its head");
        let to = from + page[from..].find("</article>").expect("an end");
        let said = page[from..to].matches("The paper says: ").count();
        assert_eq!(said, paper.claims.len(), "{}", &page[from..to]);
        // Two rounds judge nothing.
        assert!(!page[from..to].contains(">holds</span>"), "{}", &page[from..to]);
        assert!(page[from..to].contains("--rounds 6 --out"), "{}", &page[from..to]);
    }
}

#[test]
fn the_quick_runs_are_planned_for_ten_minutes_together() {
    let library = library();
    let mut all = 0.0;
    for (needed, experiment) in present(&library) {
        let mut definition = definition(experiment);
        let whole = definition.takes_seconds;
        definition.quicken();
        definition.only(&needed.only).expect("they are there");
        let quick = definition.takes_seconds;
        assert!(
            0.0 < quick && quick < whole,
            "{} does not say how long it takes",
            needed.name
        );
        all += quick;
    }
    assert!(all <= 600.0, "{all} s");
}

#[test]
fn definitions_have_the_same_published_figures() {
    let library = library();
    let mut compared = 0;
    for experiment in experiments::ALL {
        for published in definition(experiment).published {
            for (key, figure) in &published.figures {
                let mut values = Vec::new();
                for (paper, item) in items(&library) {
                    for table in item.tables.iter().map(|table| paper.resolved(table)) {
                        let columns = table.columns.iter().enumerate();
                        for (at, column) in columns.filter(|(_, column)| column.key == *key) {
                            let printed = table
                                .rows
                                .iter()
                                .filter_map(|row| row.values.get(at)?.parse::<f64>().ok());
                            values.extend(printed.map(|value| value / column.factor.unwrap_or(1.0)));
                        }
                    }
                }
                let is_there = values.iter().any(|value| (value - figure).abs() <= 1e-9 * figure.abs());
                assert!(is_there, "{}: {key} = {figure} is none of {values:?}", published.system);
                compared += 1;
            }
        }
    }
    assert!(compared > 50, "{compared}");
}

/// Writes a record of two rounds, or of one where there are many systems, with some value of every column and series,
/// and the files beside it.
fn record(out: &Path, needed: &Needed, experiment: &'static Experiment, is_finished: bool) {
    let folder = out.join(&needed.name);
    let mut definition = definition(experiment);
    definition.quicken();
    definition.only(&needed.only).expect("they are there");
    let rounds = if definition.systems.len() > 10 { 1 } else { 2 };
    definition.rounds = if is_finished { rounds } else { rounds + 1 };
    if experiment.name == "ciphers" {
        // All of its loads would only take longer.
        let few = ["set-up", "h264-frames", "instructions"].map(str::to_owned);
        definition.only(&few).expect("they are there");
    }
    let columns = (experiment.columns)();
    let charts = (experiment.charts)(&definition);
    let mut record = Record::open(&folder, Header::new(&definition, Vec::new(), Vec::new())).expect("new");
    for round in 0..rounds {
        for (case, system) in definition
            .cases
            .iter()
            .flat_map(|case| definition.systems.iter().map(move |system| (case, system)))
        {
            let value = |column: &Column| column.key.len() as f64 + 0.25 * round as f64;
            let sample = columns.iter().fold(Sample::default(), |sample, column| {
                sample.with(column.key, value(column))
            });
            let sample = charts.iter().fold(sample, |sample, chart| {
                sample.with_series(chart.series, vec![1.0, 2.0, 3.0 + round as f64])
            });
            let turn = Turn {
                round,
                case: case.name.clone(),
                system: system.name.clone(),
            };
            record.add(turn, Outcome::Sample(sample)).expect("written");
        }
    }
    let results = Results::load(experiment, &folder).expect("it can be read");
    harness::write(&results, &definition.method, &folder).expect("written");
}

/// The page of records of all experiments, but for those left out; some of them unfinished.
fn page(without: &[&str], unfinished: &[&str]) -> (tempfile::TempDir, String) {
    let out = tempfile::tempdir().expect("a folder");
    let library = library();
    for (needed, experiment) in present(&library) {
        if !without.contains(&experiment.name) {
            record(out.path(), needed, experiment, !unfinished.contains(&experiment.name));
        }
    }
    let said = write(&library, out.path()).expect("a page");
    assert!(said.starts_with("33 figures and tables: "), "{said}");
    let page = std::fs::read_to_string(out.path().join("index.html")).expect("a page");
    (out, page)
}

/// The part of the page with this id.
fn section<'a>(page: &'a str, id: &str) -> &'a str {
    let from = page
        .find(&format!("<section id=\"{id}\""))
        .unwrap_or_else(|| panic!("no {id}"));
    let to = page[from..].find("</section>\n<").map_or(page.len(), |end| from + end);
    &page[from..to]
}

fn assert_links(out: &Path, page: &str, least: usize) {
    let ids: BTreeSet<&str> = page
        .split(" id=\"")
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
        .collect();
    let mut reports = std::collections::BTreeMap::new();
    let mut count = 0;
    for link in page.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next()) {
        let (file, place) = link.split_once('#').unwrap_or((link, ""));
        match file {
            "" => assert!(ids.contains(place), "{link}"),
            file if file.starts_with("https://doi.org/") => {}
            file => {
                let text = reports.entry(file.to_owned()).or_insert_with(|| {
                    std::fs::read_to_string(out.join(file)).unwrap_or_else(|error| panic!("{link}: {error}"))
                });
                let is_there = place.is_empty() || text.contains(&format!("<tr id=\"{place}\""));
                assert!(is_there, "{link}");
                count += 1;
            }
        }
    }
    assert!(count >= least, "{count} links to files");
}

#[test]
fn the_page_has_every_published_value_ours_beside_it_and_links_that_lead_somewhere() {
    let (out, page) = page(&[], &[]);
    let library = library();
    for (paper, item) in items(&library) {
        let section = section(&page, &paper.anchor(item));
        for table in item.tables.iter().map(|table| paper.resolved(table)) {
            for row in &table.rows {
                let values = row.values.iter().filter(|value| !value.is_empty());
                for value in values {
                    assert!(section.contains(&format!("<td>{value}</td>")), "{value} in {section}");
                }
            }
            if !table.experiment.is_empty() && table.title.is_empty() {
                assert!(section.contains("class=\"ours\""), "{section}");
            }
        }
        let badges = section.matches("<span class=\"state s-").count();
        assert_eq!(badges, 1, "{section}");
        assert!(!section.contains(">not measured<"), "{section}");
    }
    assert_links(out.path(), &page, 300);
    assert!(
        !page.contains("src=") && !page.contains("<script") && !page.contains("@import"),
        "one file"
    );
    assert!(!page.contains("NaN"), "every figure is a number");
}

#[test]
fn an_experiment_that_has_no_record_or_is_unfinished_is_named_and_the_others_are_shown() {
    let (out, page) = page(&["ciphers", "handshake", "live"], &["pipeline"]);
    let handshake = section(&page, "raspberry-pi-table-2");
    assert!(
        handshake.contains(">not measured<") && handshake.contains("it was not run") && handshake.contains(">4.00<"),
        "{handshake}"
    );
    assert!(section(&page, "aes-figure-4").contains(">measured<"));
    let pipeline = section(&page, "raspberry-pi-figure-2");
    assert!(
        pipeline.contains(">partly<") && pipeline.contains("unfinished, 2 of 3 rounds"),
        "{pipeline}"
    );
    assert_links(out.path(), &page, 20);

    let library = library();
    let failure = sealcast::failure::Failure::new(sealcast::failure::FailureKind::Network, "no <route>", "try again");
    evidence::note(&out.path().join("handshake"), Some(&failure)).expect("written");
    write(&library, out.path()).expect("a page");
    let page = std::fs::read_to_string(out.path().join("index.html")).expect("a page");
    assert!(
        section(&page, "raspberry-pi-table-2").contains("no &lt;route&gt;"),
        "{page}"
    );
}

#[test]
fn a_folder_without_records_is_refused() {
    let out = tempfile::tempdir().expect("a folder");
    let refused = write(&library(), out.path()).expect_err("nothing to show");
    assert!(refused.what.contains("no record"), "{refused}");
}
