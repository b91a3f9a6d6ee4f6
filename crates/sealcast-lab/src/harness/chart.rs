//! Charts: bars in HTML and curves in SVG. They use the page's colours, so that they follow its light and dark modes.
//! Labels stand beside the curves and bars they name.

use std::fmt::Write;

use super::column::Column;
use super::definition::Entry;
use super::experiment::{Axis, Chart};
use super::html::escape;
use super::number;
use super::results::{Results, Row};

/// Size of a chart of curves and the margins of its plot area, in SVG units.
const WIDTH: f64 = 360.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 52.0;
const RIGHT: f64 = 8.0;
const TOP: f64 = 24.0;
const BOTTOM: f64 = 40.0;
/// Distance between the lines of two names.
pub(super) const LINE: f64 = 14.0;
/// Room for the words of a mark.
const MARK: f64 = 110.0;
/// If the largest value is more than this many times the smallest, the axis is logarithmic. Lengths cannot be
/// compared there, but on a linear axis the short bars would be invisible.
const SPREAD: f64 = 20.0;
/// Number of colours that the page has for systems.
const COLOURS: usize = 8;
/// Number of dash patterns that it has for systems after these.
const DASHES: usize = 3;

/// The CSS classes of a system's colour, which members of a family share. When all colours are taken they come again,
/// with other dashes. Published figures have a colour of their own.
pub(crate) fn colour(results: &Results, row: &Row) -> String {
    if row.samples.is_empty() {
        return "published".to_owned();
    }
    let mut families: Vec<&str> = results.definition.systems.iter().map(Entry::family).collect();
    families.dedup();
    let place = families.into_iter().position(|family| family == row.system.family());
    classes(place.unwrap_or(0))
}

/// The colour and the dashes of a place among systems.
fn classes(place: usize) -> String {
    match place / COLOURS {
        0 => format!("c{place}"),
        again => format!("c{} d{}", place % COLOURS, again.min(DASHES)),
    }
}

/// Bars of a column, grouped by case; empty if there is no figure.
pub(crate) fn bars(results: &Results, column: &Column) -> String {
    let Some(at) = results.columns.iter().position(|other| other.key == column.key) else {
        return String::new();
    };
    let is_drawn = |row: &&Row| column.drawn_in.is_empty() || column.drawn_in.contains(&row.case.name.as_str());
    let rows = || results.rows.iter().filter(is_drawn);
    let figures = || rows().filter_map(|row| Some((row, row.figures[at]?)));
    // A chart of published figures alone shows no result.
    if figures().all(|(row, _)| row.samples.is_empty()) {
        return String::new();
    }
    let values = || figures().map(|(_, figure)| figure.high).filter(|value| *value > 0.0);
    let least = figures()
        .map(|(_, figure)| figure.low)
        .filter(|value| *value > 0.0)
        .fold(f64::INFINITY, f64::min);
    let most = values().fold(f64::NEG_INFINITY, f64::max);
    if !most.is_finite() || !least.is_finite() {
        return String::new();
    }
    let log = column.unit != "%" && most > least * SPREAD;
    let from = if log { 10_f64.powf(least.log10().floor()) } else { 0.0 };
    let axis = Axis {
        title: column.title,
        from,
        to: if column.unit == "%" { 1.0_f64.max(most) } else { most },
        log,
        percent: false,
    };
    let scale = if log { "lengths are logarithmic" } else { "" };
    let words = [column.unit, scale].into_iter().filter(|words| !words.is_empty());
    let mut html = format!(
        "<article><h2>{} <small>{}</small></h2>\n",
        escape(column.title),
        escape(&words.collect::<Vec<_>>().join("; "))
    );
    let all: Vec<_> = figures().collect();
    for group in all.chunk_by(|a, b| a.0.case.name == b.0.case.name) {
        let _ = writeln!(html, "<h3>{}</h3><div class=\"bars\">", escape(&group[0].0.case.name));
        for (row, figure) in group {
            let [middle, low, high] = [figure.median, figure.low, figure.high].map(|value| axis.place(value) * 100.0);
            let _ = writeln!(
                html,
                "<span>{}</span><div class=\"bar {}\"><i style=\"width:{middle:.1}%\"></i>\
                 <u style=\"left:{low:.1}%;width:{:.1}%\"></u></div><b>{}</b>",
                escape(&row.system.name),
                colour(results, row),
                high - low,
                column.written(figure.median),
            );
        }
        html.push_str("</div>\n");
    }
    html + "</article>\n"
}

/// A chart of curves for each case; empty if there is none.
pub(crate) fn curves(results: &Results, chart: &Chart) -> String {
    let cases = results.rows.chunk_by(|a, b| a.case.name == b.case.name);
    let drawn: Vec<String> = cases.filter_map(|rows| case(results, chart, rows)).collect();
    if drawn.is_empty() {
        return String::new();
    }
    format!(
        "<section><p class=\"words\">{}</p><div class=\"charts\">\n{}</div></section>\n",
        escape(chart.words),
        drawn.concat()
    )
}

fn case(results: &Results, chart: &Chart, rows: &[Row]) -> Option<String> {
    let name = &rows.first()?.case.name;
    let curves = rows.iter().map(|row| Curve {
        name: row.system.name.clone(),
        class: colour(results, row),
        points: chart.x.spaced(&row.curve(chart.series)),
    });
    let mark = chart.mark.map(|(value, words)| (value, words.to_owned()));
    let plot = Plot {
        title: name.clone(),
        x: chart.x,
        y: chart.y,
        marks: mark.into_iter().collect(),
        curves: curves.filter(|curve| curve.points.len() > 1).collect(),
    };
    let all_rise = plot.curves.iter().all(Curve::rises);
    plot.draw(if all_rise { Names::AtEnds } else { Names::Beside })
}

/// A named line.
#[derive(Clone, Debug)]
pub(crate) struct Curve {
    pub(crate) name: String,
    /// The CSS class of its colour.
    pub(crate) class: String,
    /// Values on the axes. One without a height ends a line; the next begins another of the same curve.
    pub(crate) points: Vec<(f64, f64)>,
}

impl Curve {
    fn rises(&self) -> bool {
        let ends = (self.points.first(), self.points.last());
        matches!(ends, (Some(first), Some(last)) if last.1 > first.1)
    }

    /// The same curve in SVG units, without the breaks.
    fn drawn(&self, plot: &Plot) -> Vec<(f64, f64)> {
        let whole = self.points.iter().filter(|point| point.1.is_finite());
        whole.map(|&point| plot.at(point)).collect()
    }
}

/// Where the names of curves stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Names {
    /// Beside the curve, each at a height of its own.
    Beside,
    /// The same where all curves end at one height, as distributions do.
    Across,
    /// Below the right ends, for curves that rise or keep their height.
    AtEnds,
}

/// A chart of curves.
#[derive(Clone, Debug)]
pub(crate) struct Plot {
    pub(crate) title: String,
    pub(crate) x: Axis,
    pub(crate) y: Axis,
    /// Vertical lines at values of the horizontal axis, with their labels.
    pub(crate) marks: Vec<(f64, String)>,
    pub(crate) curves: Vec<Curve>,
}

impl Plot {
    /// The chart as an article; `None` without curves.
    pub(crate) fn draw(mut self, place: Names) -> Option<String> {
        if self.curves.iter().all(|curve| curve.points.is_empty()) {
            return None;
        }
        let heights = self.curves.iter().flat_map(|curve| &curve.points).map(|point| point.1);
        self.y = fitted(self.y, heights);
        let name = escape(&self.title);
        let mut svg = format!(
            "<article><h2>{name}</h2><svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}, {name}\">\n",
            escape(self.y.title)
        );
        grid(&mut svg, &self);
        for curve in &self.curves {
            for line in curve.points.split(|point| !point.1.is_finite()) {
                self.line(&mut svg, &curve.class, line);
            }
        }
        let curves: Vec<_> = self.curves.iter().map(|curve| (curve, curve.drawn(&self))).collect();
        match place {
            Names::AtEnds => names_at_ends(&mut svg, &curves),
            Names::Beside | Names::Across => names(&mut svg, &curves, place),
        }
        Some(svg + "</svg></article>\n")
    }

    fn line(&self, svg: &mut String, class: &str, points: &[(f64, f64)]) {
        if points.is_empty() {
            return;
        }
        let path: Vec<String> = points
            .iter()
            .map(|&point| self.at(point))
            .map(|(x, y)| format!("{x:.1},{y:.1}"))
            .collect();
        let _ = writeln!(svg, "<polyline class=\"{class}\" points=\"{}\"/>", path.join(" "));
    }

    /// The place of a point in SVG units.
    fn at(&self, (x, y): (f64, f64)) -> (f64, f64) {
        (across(self.x.place(x)), down(self.y.place(y)))
    }
}

/// The vertical axis ended at the largest value, if it has no end of its own.
fn fitted(mut axis: Axis, values: impl Iterator<Item = f64>) -> Axis {
    if axis.to.is_infinite() {
        axis.to = values.fold(axis.from + 1e-9, f64::max);
    }
    axis
}

fn across(along: f64) -> f64 {
    LEFT + along * (WIDTH - LEFT - RIGHT)
}

fn down(along: f64) -> f64 {
    HEIGHT - BOTTOM - along * (HEIGHT - TOP - BOTTOM)
}

/// Grid lines at round values, with their labels.
fn grid(svg: &mut String, chart: &Plot) {
    let (top, bottom, right) = (TOP, HEIGHT - BOTTOM, WIDTH - RIGHT);
    for value in ticks(&chart.y) {
        let y = down(chart.y.place(value));
        let _ = writeln!(
            svg,
            "<path class=\"grid\" d=\"M{LEFT} {y:.1}H{right}\"/><text x=\"{:.1}\" y=\"{:.1}\" class=\"end\">{}</text>",
            LEFT - 5.0,
            y + 4.0,
            label(&chart.y, value)
        );
    }
    for value in ticks(&chart.x) {
        let x = across(chart.x.place(value));
        let _ = writeln!(
            svg,
            "<path class=\"grid\" d=\"M{x:.1} {top}V{bottom}\"/><text x=\"{x:.1}\" y=\"{:.1}\" class=\"{}\">{}</text>",
            bottom + 15.0,
            // The last label would not fit otherwise.
            if x > right - LINE { "end" } else { "mid" },
            label(&chart.x, value)
        );
    }
    let middle = f64::midpoint(LEFT, right);
    let _ = writeln!(
        svg,
        "<text x=\"{middle}\" y=\"{}\" class=\"mid\">{}</text><text x=\"{}\" y=\"{}\" class=\"title\">{}</text>",
        HEIGHT - 6.0,
        escape(chart.x.title),
        4.0,
        TOP - 12.0,
        escape(chart.y.title)
    );
    for (at, (value, words)) in chart.marks.iter().enumerate() {
        let x = across(chart.x.place(*value));
        // Near the left edge the words stand right of their line; each mark's are on a line of their own.
        let (beside, side) = if x > LEFT + MARK {
            (x - 4.0, "end")
        } else {
            (x + 4.0, "start")
        };
        let _ = writeln!(
            svg,
            "<path class=\"mark\" d=\"M{x:.1} {top}V{bottom}\"/>\
             <text x=\"{beside:.1}\" y=\"{:.1}\" class=\"{side}\">{}</text>",
            bottom - 5.0 - at as f64 * LINE,
            escape(words)
        );
    }
}

/// The name of each curve beside it, each on a line of its own so that none hides another.
fn names(svg: &mut String, curves: &[(&Curve, Vec<(f64, f64)>)], place: Names) {
    let share = (HEIGHT - TOP - BOTTOM - 2.0 * LINE) / (curves.len() + 1) as f64;
    let mut order: Vec<_> = curves.iter().collect();
    let half = f64::midpoint(TOP, HEIGHT - BOTTOM);
    order.sort_by(|a, b| crossing(&a.1, half).0.total_cmp(&crossing(&b.1, half).0).reverse());
    let mut taken: Vec<f64> = Vec::new();
    for (at, (curve, points)) in order.into_iter().enumerate() {
        let own = TOP + 2.0 * LINE + share * (at + 1) as f64;
        let mut y = match place {
            Names::Across => own,
            // A curve that ends above this line has its name at the height where it ends.
            _ => own.min(points.last().map_or(HEIGHT, |point| point.1) - 5.0),
        };
        while taken.iter().any(|other: &f64| (other - y).abs() < LINE) {
            y -= LINE;
        }
        let x = crossing(points, y).0;
        taken.push(y);
        // Left of the curve if there is no room on the right.
        let (x, side) = if x > WIDTH * 0.7 {
            (x - 5.0, "end")
        } else {
            (x + 5.0, "start")
        };
        let _ = writeln!(
            svg,
            "<text x=\"{x:.1}\" y=\"{y:.1}\" class=\"name {side} {}\">{}</text>",
            curve.class,
            escape(&curve.name)
        );
    }
}

/// The name of each curve below its right end, for curves that rise. Names that would overlap move apart.
fn names_at_ends(svg: &mut String, curves: &[(&Curve, Vec<(f64, f64)>)]) {
    let end = |points: &[(f64, f64)]| points.last().map_or(HEIGHT, |point| point.1);
    let mut order: Vec<_> = curves.iter().collect();
    order.sort_by(|a, b| end(&a.1).total_cmp(&end(&b.1)));
    let mut heights: Vec<f64> = order.iter().map(|(_, points)| end(points) + LINE).collect();
    for at in 1..heights.len() {
        heights[at] = heights[at].max(heights[at - 1] + LINE);
    }
    let mut lowest = HEIGHT - BOTTOM - 4.0;
    for height in heights.iter_mut().rev() {
        *height = height.min(lowest);
        lowest = *height - LINE;
    }
    for ((curve, _), y) in order.into_iter().zip(heights) {
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{y:.1}\" class=\"name end {}\">{}</text>",
            WIDTH - RIGHT - 4.0,
            curve.class,
            escape(&curve.name)
        );
    }
}

/// The point where a curve first reaches a height; its last point if it never does.
fn crossing(points: &[(f64, f64)], height: f64) -> (f64, f64) {
    let crosses = |pair: &&[(f64, f64)]| (pair[0].1 - height) * (pair[1].1 - height) <= 0.0;
    let found = points.windows(2).find(crosses).map(|pair| (pair[1].0, height));
    found.or(points.last().copied()).unwrap_or((LEFT, height))
}

/// About five round values on an axis; powers of ten on a logarithmic one.
pub(super) fn ticks(axis: &Axis) -> Vec<f64> {
    if axis.log {
        let powers = axis.from.log10().ceil() as i32..=(axis.to.log10() + 1e-9).floor() as i32;
        return powers.map(|power| 10_f64.powi(power)).collect();
    }
    let rough = (axis.to - axis.from) / 5.0;
    let power = 10_f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|digit| digit * power);
    let step = step.into_iter().find(|step| *step >= rough).unwrap_or(rough);
    let first = (axis.from / step).ceil() as i64;
    let last = (axis.to / step + 1e-9).floor() as i64;
    (first..=last).map(|count| count as f64 * step).collect()
}

pub(super) fn label(axis: &Axis, value: f64) -> String {
    let value = if axis.percent { value * 100.0 } else { value };
    let digits = (0..4).find(|digits| {
        let power = 10_f64.powi(*digits);
        (value * power - (value * power).round()).abs() < 1e-6
    });
    let text = number::written(value, digits.unwrap_or(4) as usize);
    if axis.percent { format!("{text} %") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(from: f64, to: f64, log: bool) -> Axis {
        Axis {
            title: "",
            from,
            to,
            log,
            percent: false,
        }
    }

    #[test]
    fn an_axis_has_round_values() {
        assert_eq!(ticks(&axis(0.0, 240.0, false)), [0.0, 50.0, 100.0, 150.0, 200.0]);
        assert_eq!(ticks(&axis(0.0, 1.02, false)).len(), 3);
        let logarithmic = ticks(&axis(1e-4, 1.0, true));
        assert_eq!(logarithmic.len(), 5);
        let percent = Axis {
            percent: true,
            ..axis(1e-4, 1.0, true)
        };
        let labels: Vec<String> = logarithmic.iter().map(|value| label(&percent, *value)).collect();
        assert_eq!(labels, ["0.01 %", "0.1 %", "1 %", "10 %", "100 %"]);
    }

    #[test]
    fn an_axis_without_an_end_ends_at_the_largest_value() {
        let values = || [2.0, f64::NAN, 7.0, 3.0].into_iter();
        assert_eq!(fitted(axis(0.0, f64::INFINITY, false), values()).to, 7.0);
        assert_eq!(fitted(axis(0.0, 5.0, false), values()).to, 5.0);
    }

    #[test]
    fn a_point_without_a_height_breaks_the_line_and_not_the_curve() {
        let curve = Curve {
            name: "one".to_owned(),
            class: "c1".to_owned(),
            points: vec![(0.0, 1.0), (1.0, 2.0), (2.0, f64::NAN), (3.0, 1.0), (4.0, 3.0)],
        };
        let plot = Plot {
            title: "rate".to_owned(),
            x: axis(0.0, 4.0, false),
            y: axis(0.0, f64::INFINITY, false),
            marks: vec![(2.0, "here".to_owned())],
            curves: vec![curve],
        };
        let drawn = plot.clone().draw(Names::Beside).expect("a chart");
        assert_eq!(
            (drawn.matches("<polyline").count(), drawn.matches(">one<").count()),
            (2, 1)
        );
        assert!(drawn.contains(">here<") && !drawn.contains("NaN"), "{drawn}");
        let empty = Plot {
            curves: Vec::new(),
            ..plot
        };
        assert_eq!(empty.draw(Names::Beside), None);
    }

    #[test]
    fn a_value_is_found_where_it_is_drawn() {
        for axis in [axis(0.0, 240.0, false), axis(10.0, 1e6, true)] {
            for (step, value) in axis.steps(5).enumerate() {
                assert!((axis.place(value) - step as f64 / 4.0).abs() < 1e-9);
            }
            assert_eq!((axis.place(axis.from / 2.0), axis.place(axis.to * 2.0)), (0.0, 1.0));
        }
    }

    #[test]
    fn no_two_systems_look_alike_and_the_page_knows_every_look() {
        let style = include_str!("page.css");
        let looks: Vec<String> = (0..COLOURS * (DASHES + 1)).map(classes).collect();
        for (at, look) in looks.iter().enumerate() {
            assert!(!looks[..at].contains(look), "{look}");
            let known = |class: &str| style.contains(&format!(".{class} "));
            assert!(look.split(' ').all(known) && known("published"), "{look}");
        }
    }

    #[test]
    fn a_name_stands_where_its_curve_is() {
        let points = [(0.0, 0.0), (10.0, 50.0), (20.0, 100.0)];
        assert_eq!(crossing(&points, 40.0), (10.0, 40.0));
        assert_eq!(crossing(&points, 400.0), (20.0, 100.0));
    }
}
