//! `docs/cameras-matrix.md` has the tables of the matrix.

use std::fmt::Write as _;
use std::path::Path;

use super::TABLES;
use super::row::{Carried, Published, Row};

/// Set to write the page instead of comparing it.
const WRITE: &str = "SEALCAST_WRITE_MATRIX";
/// Before the tables.
const HEAD: &str = "<!-- Everything behind this line is written by the test: see above. -->\n";

fn published(row: &Row) -> String {
    let comes = match row.published {
        Published::All => "picture, sound".to_owned(),
        Published::Picture => "picture".to_owned(),
        Published::Alone => "picture, which alone is set up".to_owned(),
        Published::But(without, _) => format!("picture, sound, without {without}"),
        Published::Later => "picture from a later keyframe on, sound".to_owned(),
        Published::Fails(words) => format!("\"{words}\""),
    };
    match row.arguments.join(" ") {
        none if none.is_empty() => comes,
        arguments => format!("with `{arguments}`: {comes}"),
    }
}

fn carried(row: &Row) -> String {
    match row.carried {
        Carried::All => "all".to_owned(),
        Carried::Picture => "those of the picture".to_owned(),
        Carried::As(_) => "all, in order and once".to_owned(),
        Carried::Refused(status) => format!("answer {status}"),
    }
}

fn tables() -> String {
    let mut page = String::new();
    for table in TABLES {
        write!(
            page,
            "\n## {}\n\n| the camera | reported in | viewer of `publish` | packets at a player |\n|---|---|---|---|\n",
            table.title
        )
        .expect("memory");
        for row in table.rows {
            let (published, carried) = (published(row), carried(row));
            writeln!(page, "| {} | {} | {published} | {carried} |", row.name, row.report).expect("memory");
        }
    }
    page
}

#[test]
fn the_page_has_the_tables() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/cameras-matrix.md");
    let page = std::fs::read_to_string(&file).expect("the page");
    let (text, shown) = page.split_once(HEAD).expect("the line before the tables");
    let made = tables();
    if std::env::var_os(WRITE).is_some() {
        std::fs::write(&file, format!("{text}{HEAD}{made}")).expect("the page can be written");
        return;
    }
    assert!(
        shown == made,
        "docs/cameras-matrix.md: run `{WRITE}=1 cargo test -p sealcast --test matrix page`"
    );
}

#[test]
fn every_row_has_a_name_of_its_own() {
    let mut names: Vec<&str> = TABLES.iter().flat_map(|table| table.rows).map(|row| row.name).collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count, "two rows have one name");
}
