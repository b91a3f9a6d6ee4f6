//! Charts: bars in HTML and curves in SVG. They use the page's colours, so that they follow its light and dark modes.
//! Labels stand beside the curves and bars they name.

use std::fmt::Write;

use super::column::Column;
use super::definition::Entry;
use super::experiment::{Axis, Chart};
use super::number;
use super::page::escape;
use super::results::{Results, Row};

/// Size of a chart of curves and the margins of its plot area, in SVG units.
const WIDTH: f64 = 460.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 52.0;
const RIGHT: f64 = 8.0;
const TOP: f64 = 24.0;
const BOTTOM: f64 = 40.0;
/// Distance between the lines of two names.
const LINE: f64 = 14.0;
/// If the largest value is more than this many times the smallest, the axis is logarithmic. Lengths cannot be
/// compared there, but on a linear axis the short bars would be invisible.
const SPREAD: f64 = 20.0;
/// Number of colours that the page has for systems.
const COLOURS: usize = 8;

/// The CSS class of a system's colour, which members of a family share. The first one is also that of published
/// figures.
pub(crate) fn colour(results: &Results, row: &Row) -> String {
    let mut families: Vec<&str> = results.definition.systems.iter().map(Entry::family).collect();
    families.dedup();
    let place = families.into_iter().position(|family| family == row.system.family());
    format!("c{}", place.unwrap_or(0) % COLOURS)
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
    let curves: Vec<(&Row, Vec<f64>)> = rows
        .iter()
        .map(|row| (row, row.curve(chart.series)))
        .filter(|(_, values)| values.len() > 1)
        .collect();
    let name = escape(&rows.first()?.case.name);
    if curves.is_empty() {
        return None;
    }
    let chart = &fitted(chart, curves.iter().flat_map(|(_, values)| values));
    let curves: Vec<(&Row, Vec<(f64, f64)>)> = curves
        .into_iter()
        .map(|(row, values)| (row, points(chart, &values)))
        .collect();
    let mut svg = format!(
        "<article><h2>{name}</h2><svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}, {name}\">\n",
        escape(chart.y.title)
    );
    grid(&mut svg, chart);
    for (row, points) in &curves {
        let path: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let _ = writeln!(
            svg,
            "<polyline class=\"{}\" points=\"{}\"/>",
            colour(results, row),
            path.join(" ")
        );
    }
    let rises = |curve: &[(f64, f64)]| curve[curve.len() - 1].1 < curve[0].1;
    match curves.iter().all(|(_, points)| rises(points)) {
        true => names_at_ends(&mut svg, results, &curves),
        false => names(&mut svg, results, &curves),
    }
    Some(svg + "</svg></article>\n")
}

/// The chart with its vertical axis ended at the largest value, if it has no end of its own.
fn fitted<'a>(chart: &Chart, values: impl Iterator<Item = &'a f64>) -> Chart {
    let mut chart = chart.clone();
    if chart.y.to.is_infinite() {
        chart.y.to = values.copied().fold(chart.y.from + 1e-9, f64::max);
    }
    chart
}

fn points(chart: &Chart, values: &[f64]) -> Vec<(f64, f64)> {
    let last = (values.len() - 1) as f64;
    let all = values.iter().enumerate();
    all.map(|(at, &value)| (across(at as f64 / last), down(chart.y.place(value))))
        .collect()
}

fn across(along: f64) -> f64 {
    LEFT + along * (WIDTH - LEFT - RIGHT)
}

fn down(along: f64) -> f64 {
    HEIGHT - BOTTOM - along * (HEIGHT - TOP - BOTTOM)
}

/// Grid lines at round values, with their labels.
fn grid(svg: &mut String, chart: &Chart) {
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
    if let Some((value, words)) = chart.mark {
        let x = across(chart.x.place(value));
        let _ = writeln!(
            svg,
            "<path class=\"mark\" d=\"M{x:.1} {top}V{bottom}\"/><text x=\"{:.1}\" y=\"{:.1}\" class=\"end\">{}</text>",
            x - 4.0,
            bottom - 5.0,
            escape(words)
        );
    }
}

/// The name of each curve beside it, each on a line of its own so that none hides another.
fn names(svg: &mut String, results: &Results, curves: &[(&Row, Vec<(f64, f64)>)]) {
    let share = (HEIGHT - TOP - BOTTOM - 2.0 * LINE) / (curves.len() + 1) as f64;
    let mut order: Vec<_> = curves.iter().collect();
    let half = f64::midpoint(TOP, HEIGHT - BOTTOM);
    order.sort_by(|a, b| crossing(&a.1, half).0.total_cmp(&crossing(&b.1, half).0).reverse());
    let mut taken: Vec<f64> = Vec::new();
    for (at, (row, points)) in order.into_iter().enumerate() {
        // A curve that ends above this line has its name at the height where it ends.
        let end = points.last().map_or(HEIGHT, |point| point.1) - 5.0;
        let mut y = end.min(TOP + 2.0 * LINE + share * (at + 1) as f64);
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
            colour(results, row),
            escape(&row.system.name)
        );
    }
}

/// The name of each curve below its right end, for curves that rise. Names that would overlap move apart.
fn names_at_ends(svg: &mut String, results: &Results, curves: &[(&Row, Vec<(f64, f64)>)]) {
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
    for ((row, _), y) in order.into_iter().zip(heights) {
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{y:.1}\" class=\"name end {}\">{}</text>",
            WIDTH - RIGHT - 4.0,
            colour(results, row),
            escape(&row.system.name)
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
fn ticks(axis: &Axis) -> Vec<f64> {
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

fn label(axis: &Axis, value: f64) -> String {
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
        let chart = Chart {
            series: "",
            words: "",
            x: axis(0.0, 1.0, false),
            y: axis(0.0, f64::INFINITY, false),
            mark: None,
        };
        assert_eq!(fitted(&chart, [2.0, 7.0, 3.0].iter()).y.to, 7.0);
        let ended = Chart {
            y: axis(0.0, 5.0, false),
            ..chart
        };
        assert_eq!(fitted(&ended, [2.0, 7.0, 3.0].iter()).y.to, 5.0);
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
    fn a_name_stands_where_its_curve_is() {
        let points = [(0.0, 0.0), (10.0, 50.0), (20.0, 100.0)];
        assert_eq!(crossing(&points, 40.0), (10.0, 40.0));
        assert_eq!(crossing(&points, 400.0), (20.0, 100.0));
    }
}
