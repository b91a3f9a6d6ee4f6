//! Box plots in SVG: the least and the greatest value as whiskers, the quartiles as a box, the median as a line in it.

use std::fmt::Write;

use super::chart::{self, LINE};
use super::column::Column;
use super::experiment::Axis;
use super::html::escape;
use super::number;
use super::results::{Results, Row};

/// Width of a plot, and its margins, in SVG units.
const WIDTH: f64 = 360.0;
const RIGHT: f64 = 12.0;
const TOP: f64 = 4.0;
const BOTTOM: f64 = 34.0;
/// Height of a box's row, and of a heading.
const ROW: f64 = 22.0;
/// Half the height of a box.
const HALF: f64 = 7.0;
/// Width of a letter of a name, on average, and the most that names take.
const LETTER: f64 = 6.6;
const MOST_NAMES: f64 = 150.0;

/// Five numbers: the least value, the first quartile, the median, the third quartile and the greatest value.
pub(crate) type Five = [f64; 5];

/// One box.
#[derive(Clone, Debug)]
pub(crate) struct Boxed {
    pub(crate) name: String,
    /// The CSS class of its colour.
    pub(crate) class: String,
    pub(crate) five: Five,
}

/// A plot of boxes on one axis, in groups with headings.
#[derive(Clone, Debug)]
pub(crate) struct BoxPlot {
    pub(crate) title: String,
    /// Quantity and unit of the axis.
    pub(crate) axis: &'static str,
    pub(crate) groups: Vec<(String, Vec<Boxed>)>,
}

/// The box plot of a column, grouped by case; empty if the column has none or no sample has its series.
pub(crate) fn of_column(results: &Results, column: &Column) -> String {
    let Some(series) = column.boxes else {
        return String::new();
    };
    let boxed = |row: &Row| {
        let five = five(
            &row.lent()
                .iter()
                .filter_map(|(_, sample)| sample.series.get(series))
                .collect::<Vec<_>>(),
        )?;
        Some(Boxed {
            name: row.system.name.clone(),
            class: chart::colour(results, row),
            five: five.map(|value| value * column.scale),
        })
    };
    let cases = results.rows.chunk_by(|a, b| a.case.name == b.case.name);
    let groups = cases.map(|rows| (rows[0].case.name.clone(), rows.iter().filter_map(boxed).collect()));
    let plot = BoxPlot {
        title: column.title.to_owned(),
        axis: column.unit,
        groups: groups.filter(|(_, boxes): &(_, Vec<_>)| !boxes.is_empty()).collect(),
    };
    plot.draw().unwrap_or_default()
}

/// The five numbers of several turns: the least and the greatest of all, and the medians of the quartiles and of the
/// medians. `None` without a turn that has five.
fn five(turns: &[&Vec<f64>]) -> Option<Five> {
    let turns: Vec<&[f64; 5]> = turns
        .iter()
        .filter_map(|turn| turn.as_slice().try_into().ok())
        .collect();
    let of = |at: usize| turns.iter().map(move |turn| turn[at]);
    let middle = |at: usize| sealcast::meter::statistics::median(&mut of(at).collect::<Vec<_>>());
    let least = of(0).reduce(f64::min)?;
    let most = of(4).reduce(f64::max)?;
    Some([least, middle(1), middle(2), middle(3), most])
}

impl BoxPlot {
    /// The plot as an article; `None` without boxes.
    pub(crate) fn draw(&self) -> Option<String> {
        let boxes = || self.groups.iter().flat_map(|(_, boxes)| boxes);
        let most = boxes().map(|boxed| boxed.five[4]).reduce(f64::max)?;
        let least = boxes().map(|boxed| boxed.five[0]).fold(0.0, f64::min);
        let axis = Axis {
            title: self.axis,
            from: least,
            to: most.max(least + 1e-9),
            log: false,
            percent: false,
        };
        let longest = boxes().map(|boxed| boxed.name.chars().count()).max().unwrap_or(0);
        let left = (longest as f64 * LETTER + 10.0).clamp(40.0, MOST_NAMES);
        let across = |value: f64| left + axis.place(value) * (WIDTH - left - RIGHT);
        let rows: usize = self.groups.iter().map(|(_, boxes)| boxes.len() + 1).sum();
        let bottom = TOP + rows as f64 * ROW;
        let title = escape(&self.title);
        let mut svg = format!(
            "<article><h2>{title} <small>{}; whiskers: least and greatest; box: quartiles</small></h2>\n\
             <svg viewBox=\"0 0 {WIDTH} {:.0}\" role=\"img\" aria-label=\"box plot, {title}\">\n",
            escape(self.axis),
            bottom + BOTTOM
        );
        for value in chart::ticks(&axis) {
            let x = across(value);
            let side = if x > WIDTH - RIGHT - LINE { "end" } else { "mid" };
            let _ = writeln!(
                svg,
                "<path class=\"grid\" d=\"M{x:.1} {TOP}V{bottom:.1}\"/>\
                 <text x=\"{x:.1}\" y=\"{:.1}\" class=\"{side}\">{}</text>",
                bottom + 15.0,
                chart::label(&axis, value)
            );
        }
        let middle = f64::midpoint(left, WIDTH - RIGHT);
        let unit = escape(self.axis);
        let _ = writeln!(
            svg,
            "<text x=\"{middle:.1}\" y=\"{:.1}\" class=\"mid\">{unit}</text>",
            bottom + 30.0
        );
        let mut y = TOP;
        for (heading, boxes) in &self.groups {
            y += ROW;
            let _ = writeln!(
                svg,
                "<text x=\"0\" y=\"{:.1}\" class=\"title\">{}</text>",
                y - 6.0,
                escape(heading)
            );
            for boxed in boxes {
                y += ROW;
                boxed.draw(&mut svg, y - ROW / 2.0, left, across);
            }
        }
        Some(svg + "</svg></article>\n")
    }
}

impl Boxed {
    fn draw(&self, svg: &mut String, y: f64, left: f64, across: impl Fn(f64) -> f64) {
        let [least, first, median, third, most] = self.five.map(across);
        let said = self.five.map(|value| number::written(value, number::digits(value)));
        let (above, below, class) = (y - HALF, y + HALF, &self.class);
        let _ = writeln!(
            svg,
            "<g class=\"box {class}\"><title>{}: least {}, quartiles {} and {}, median {}, greatest {}</title>\
             <text x=\"{:.1}\" y=\"{:.1}\" class=\"name end {class}\">{}</text>\
             <path d=\"M{least:.1} {y:.1}H{first:.1}M{third:.1} {y:.1}H{most:.1}\
             M{least:.1} {above:.1}V{below:.1}M{most:.1} {above:.1}V{below:.1}\"/>\
             <rect x=\"{first:.1}\" y=\"{above:.1}\" width=\"{:.1}\" height=\"{}\"/>\
             <path class=\"median\" d=\"M{median:.1} {above:.1}V{below:.1}\"/></g>",
            escape(&self.name),
            said[0],
            said[1],
            said[3],
            said[2],
            said[4],
            left - 6.0,
            y + 4.0,
            escape(&self.name),
            (third - first).max(1.0),
            2.0 * HALF,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn boxed(five: Five) -> Boxed {
        Boxed {
            name: "on".to_owned(),
            class: "c1".to_owned(),
            five,
        }
    }

    #[test]
    fn turns_are_joined_by_their_extremes_and_by_the_medians_of_their_quartiles() {
        let turns = [
            vec![1.0, 2.0, 3.0, 4.0, 9.0],
            vec![0.5, 3.0, 5.0, 6.0, 7.0],
            vec![2.0, 2.5, 4.0, 5.0, 8.0],
            // Not five numbers: left out.
            vec![0.1, 99.0],
        ];
        assert_eq!(five(&turns.iter().collect::<Vec<_>>()), Some([0.5, 2.5, 4.0, 5.0, 9.0]));
        assert_eq!(five(&[]), None);
    }

    #[test]
    fn a_box_is_drawn_where_its_numbers_are() {
        let plot = BoxPlot {
            title: "latency".to_owned(),
            axis: "ms",
            groups: vec![("tcp".to_owned(), vec![boxed([0.0, 25.0, 50.0, 75.0, 100.0])])],
        };
        let svg = plot.draw().expect("a plot");
        // The axis begins at 40 and ends at 348.
        assert!(
            svg.contains("<rect x=\"117.0\"") && svg.contains("width=\"154.0\""),
            "{svg}"
        );
        assert!(svg.contains("M40.0") && svg.contains("H348.0"), "{svg}");
        assert!(svg.contains("class=\"median\" d=\"M194.0"), "{svg}");
        assert!(
            svg.contains(">tcp<") && svg.contains("quartiles 25.0 and 75.0"),
            "{svg}"
        );
        let empty = BoxPlot {
            groups: Vec::new(),
            ..plot
        };
        assert_eq!(empty.draw(), None);
    }
}
