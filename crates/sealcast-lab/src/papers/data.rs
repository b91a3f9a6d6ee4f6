//! Values that the papers published, and the figures of experiments that belong beside them: the files in `papers/`.

use sealcast::failure::{Failure, FailureKind, Result};
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// The experiments, in the order in which they are measured.
const EXPERIMENTS: &str = include_str!("../../papers/experiments.toml");
/// The papers, in the order of the page.
const PAPERS: [&str; 5] = [
    include_str!("../../papers/rov.toml"),
    include_str!("../../papers/aes.toml"),
    include_str!("../../papers/selective.toml"),
    include_str!("../../papers/stream-ciphers.toml"),
    include_str!("../../papers/raspberry-pi.toml"),
];

/// All papers, and the experiments that the page needs.
#[derive(Clone, Debug)]
pub(crate) struct Library {
    pub(crate) experiments: Vec<Needed>,
    pub(crate) papers: Vec<Paper>,
}

/// An experiment whose figures the page shows.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Needed {
    pub(crate) name: String,
    /// The cases and systems to measure, as with `--only`; all if none is named.
    #[serde(default)]
    pub(crate) only: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Plan {
    #[serde(rename = "experiment")]
    experiments: Vec<Needed>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Paper {
    /// The beginning of the ids of its items on the page.
    pub(crate) id: String,
    /// Its subject, as a heading.
    pub(crate) name: String,
    /// Authors and year.
    pub(crate) short: String,
    pub(crate) reference: String,
    /// Where it can be read.
    #[serde(default)]
    pub(crate) link: String,
    /// Description of what was measured.
    pub(crate) about: String,
    /// Conditions of all items that differ here.
    #[serde(default)]
    pub(crate) differs: Vec<String>,
    /// Things that cannot be measured here, and the reasons.
    #[serde(default)]
    pub(crate) not_here: Vec<String>,
    /// Statements of it that can be true or false here.
    #[serde(default, rename = "claim")]
    pub(crate) claims: Vec<Claim>,
    #[serde(rename = "item")]
    pub(crate) items: Vec<Item>,
}

/// A figure, a table, or a value of the running text.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Item {
    /// Unique in its paper. That of a value of the running text begins with `text-`.
    pub(crate) id: String,
    /// As the paper names it.
    pub(crate) number: String,
    pub(crate) title: String,
    pub(crate) shows: String,
    /// Statements of the paper in words, and remarks on how its values are printed.
    #[serde(default)]
    pub(crate) says: Vec<String>,
    #[serde(default)]
    pub(crate) differs: Vec<String>,
    #[serde(default)]
    pub(crate) not_here: Vec<String>,
    /// Reason why there is nothing beside it yet; empty if there is.
    #[serde(default)]
    pub(crate) later: String,
    #[serde(default, rename = "table")]
    pub(crate) tables: Vec<Table>,
    #[serde(default, rename = "plot")]
    pub(crate) plots: Vec<Plot>,
}

/// The paper's values, with the places of ours.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Table {
    pub(crate) title: String,
    /// The experiment with our figures; empty if there are none.
    pub(crate) experiment: String,
    pub(crate) columns: Vec<Quantity>,
    #[serde(rename = "row")]
    pub(crate) rows: Vec<Row>,
    /// The heading of a last column with the remarks of rows; empty if there is none.
    pub(crate) remarks: String,
    /// The id of the item whose first table has the values, in place of an own one.
    pub(crate) from: String,
    /// The columns of that table, by their titles; all if none is named.
    pub(crate) shown: Vec<String>,
    /// The groups of its rows; all if none is named.
    pub(crate) groups: Vec<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Quantity {
    /// A word in braces is a setting of the experiment, whose value is shown.
    pub(crate) title: String,
    #[serde(default)]
    pub(crate) unit: String,
    /// The experiment's column with our figures; empty if there is none.
    #[serde(default)]
    pub(crate) key: String,
    /// From the unit of `table.csv` to the paper's, if the experiment's page shows another.
    #[serde(default)]
    pub(crate) factor: Option<f64>,
    /// Added afterwards: −100 makes of a percentage of something how much more than it.
    #[serde(default)]
    pub(crate) plus: f64,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Row {
    #[serde(default)]
    pub(crate) group: String,
    /// The condition.
    pub(crate) name: String,
    /// The paper's values as printed, one for each column, empty where it has none; none at all if they are only drawn.
    #[serde(default)]
    pub(crate) values: Vec<String>,
    /// True if the paper does not have this condition.
    #[serde(default)]
    pub(crate) is_added: bool,
    /// Our figures beside them: a case and a system, or a family of systems, of the experiment.
    #[serde(default)]
    pub(crate) ours: Vec<Beside>,
    /// In the column of remarks, beside ours.
    #[serde(default)]
    pub(crate) remark: String,
}

/// A sentence of a paper that figures of ours can contradict.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Claim {
    /// Its words, behind "the paper says".
    pub(crate) words: String,
    /// The section, table or figure of the paper.
    pub(crate) source: String,
    pub(crate) experiment: String,
    /// The experiment's column by which it is judged.
    pub(crate) column: String,
    /// Comparisons that are true of our figures if it holds, all of them.
    pub(crate) holds_if: Vec<Comparison>,
}

/// Two figures, or a figure and a value in the unit of the report, and which is greater: `CASE SYSTEM <
/// CASE SYSTEM`, or `CASE SYSTEM > 3.8`.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Comparison {
    pub(crate) own: Beside,
    /// True if the first is said to be greater.
    pub(super) is_greater: bool,
    pub(crate) other: Other,
}

/// Figure or value with which a figure is compared.
#[derive(Clone, Debug)]
pub(crate) enum Other {
    Ours(Beside),
    Value(f64),
}

impl TryFrom<String> for Comparison {
    type Error = String;

    fn try_from(text: String) -> std::result::Result<Self, String> {
        let (parts, is_greater) = match (text.split_once(" > "), text.split_once(" < ")) {
            (Some(parts), None) => (parts, true),
            (None, Some(parts)) => (parts, false),
            _ => return Err(format!("`{text}` compares no two figures with < or >")),
        };
        let other = match parts.1.parse() {
            Ok(value) => Other::Value(value),
            Err(_) => Other::Ours(parts.1.to_owned().try_into()?),
        };
        Ok(Self {
            own: parts.0.to_owned().try_into()?,
            is_greater,
            other,
        })
    }
}

/// A case and a system of an experiment, written with a space between.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Beside {
    pub(crate) case: String,
    pub(crate) system: String,
}

impl TryFrom<String> for Beside {
    type Error = String;

    fn try_from(text: String) -> std::result::Result<Self, String> {
        let parts = text
            .split_once(' ')
            .ok_or_else(|| format!("`{text}` is no case and system"));
        parts.map(|(case, system)| Self {
            case: case.to_owned(),
            system: system.to_owned(),
        })
    }
}

/// The form of a plot of our figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Form {
    /// Bars of a column.
    Bars,
    /// Box plots of the series of a column.
    Boxes,
    /// Curves of a series, as the experiment draws them.
    Curves,
    /// A series of values in ascending order, as a cumulative distribution.
    Distribution,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Plot {
    pub(crate) kind: Form,
    pub(crate) experiment: String,
    /// The column, or the series.
    pub(crate) key: String,
    #[serde(default)]
    pub(crate) cases: Vec<String>,
    #[serde(default)]
    pub(crate) systems: Vec<String>,
}

impl Library {
    /// The papers of this build.
    ///
    /// # Errors
    /// None in practice: a test reads them.
    pub(crate) fn built_in() -> Result<Self> {
        let plan: Plan = read(EXPERIMENTS)?;
        Ok(Self {
            experiments: plan.experiments,
            papers: PAPERS.into_iter().map(read).collect::<Result<_>>()?,
        })
    }
}

fn read<T: DeserializeOwned>(text: &str) -> Result<T> {
    toml::from_str(text).map_err(|error| {
        let what = format!("the papers of this build cannot be read: {error}");
        Failure::new(FailureKind::Internal, what, "please report this")
    })
}

impl Paper {
    /// The id of an item on the page.
    pub(crate) fn anchor(&self, item: &Item) -> String {
        format!("{}-{}", self.id, item.id)
    }

    /// A table with its own values, or those that it takes from another item.
    pub(crate) fn resolved(&self, table: &Table) -> Table {
        if table.from.is_empty() {
            return table.clone();
        }
        let source = self.items.iter().find(|item| item.id == table.from);
        let Some(source) = source.and_then(|item| item.tables.first()) else {
            return Table::default();
        };
        let is_shown = |title: &String| table.shown.is_empty() || table.shown.contains(title);
        let kept: Vec<usize> = (0..source.columns.len())
            .filter(|at| is_shown(&source.columns[*at].title))
            .collect();
        let rows = source
            .rows
            .iter()
            .filter(|row| table.groups.is_empty() || table.groups.contains(&row.group));
        let rows = rows.map(|row| Row {
            values: kept.iter().filter_map(|at| row.values.get(*at).cloned()).collect(),
            ..row.clone()
        });
        Table {
            title: table.title.clone(),
            experiment: source.experiment.clone(),
            columns: kept.iter().map(|at| source.columns[*at].clone()).collect(),
            rows: rows.collect(),
            ..Table::default()
        }
    }
}

impl Item {
    /// True for a figure or a table, false for a value of the running text.
    pub(crate) fn is_drawn_or_tabled(&self) -> bool {
        !self.id.starts_with("text-")
    }
}
