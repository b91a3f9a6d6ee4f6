//! Bars with intervals, as SVG.

use std::error::Error;

use plotters::coord::Shift;
use plotters::coord::ranged1d::{AsRangedCoord, ValueFormatter};
use plotters::prelude::*;

/// A bar: label, length, and the ends of its interval.
pub(crate) type Bar = (String, f64, f64, f64);

const WIDTH: u32 = 900;
const LINE: u32 = 20;
const OURS: RGBColor = RGBColor(31, 120, 180);

/// If the largest value is more than this many times the smallest, the axis is logarithmic. Lengths cannot be
/// compared there, but on a linear axis the short bars would be invisible.
const SPREAD: f64 = 20.0;

/// Horizontal bars from top to bottom, from 0 on a linear axis, or on a logarithmic one. Values that are not above
/// zero have no bar.
pub(crate) fn bars(unit: &str, bars: &[Bar]) -> Result<String, Box<dyn Error>> {
    let values = || {
        bars.iter()
            .flat_map(|&(_, _, low, high)| [low, high])
            .filter(|value| *value > 0.0)
    };
    let least = values().fold(f64::INFINITY, f64::min).min(1e300);
    let most = values().fold(least, f64::max);
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, (WIDTH, LINE * bars.len() as u32 + 60)).into_drawing_area();
        area.fill(&WHITE)?;
        if most <= least * SPREAD {
            draw(&area, unit, bars, 0.0..most * 1.1, 0.0)?;
        } else {
            let floor = 10_f64.powf(least.log10().floor());
            draw(&area, unit, bars, (floor..most * 1.1).log_scale(), floor)?;
        }
        area.present()?;
    }
    Ok(svg)
}

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

fn draw<X>(area: &Area<'_>, unit: &str, bars: &[Bar], axis: X, least: f64) -> Result<(), Box<dyn Error>>
where
    X: AsRangedCoord<Value = f64>,
    X::CoordDescType: ValueFormatter<f64>,
{
    let mut chart = ChartBuilder::on(area)
        .margin(8)
        .margin_right(30)
        .x_label_area_size(40)
        .y_label_area_size(215)
        .build_cartesian_2d(axis, (0..bars.len()).into_segmented())?;
    // Counted from the top.
    let place = |index: usize| bars.len() - 1 - index;
    let name = |at: &SegmentValue<usize>| match at {
        SegmentValue::CenterOf(at) if *at < bars.len() => bars[place(*at)].0.clone(),
        _ => String::new(),
    };
    chart
        .configure_mesh()
        .disable_y_mesh()
        .light_line_style(TRANSPARENT)
        .label_style(("sans-serif", 14))
        .y_labels(bars.len())
        .y_label_formatter(&name)
        .x_label_formatter(&|value| tick(*value))
        .x_desc(unit)
        .draw()?;
    for (index, &(_, value, low, high)) in bars.iter().enumerate() {
        let (floor, ceiling) = (SegmentValue::Exact(place(index)), SegmentValue::Exact(place(index) + 1));
        let mut bar = Rectangle::new([(least, floor), (value.max(least), ceiling)], OURS.mix(0.6).filled());
        bar.set_margin(3, 3, 0, 0);
        chart.draw_series([bar])?;
        let middle = SegmentValue::CenterOf(place(index));
        chart.draw_series([PathElement::new(
            [(low.max(least), middle.clone()), (high.max(least), middle)],
            BLACK.stroke_width(2),
        )])?;
    }
    Ok(())
}

/// The label of a tick.
fn tick(value: f64) -> String {
    if value != 0.0 && !(1e-4..1e6).contains(&value) {
        return format!("{value:.0e}");
    }
    let digits = format!("{value:.4}");
    digits.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_has_short_numbers_where_powers_of_ten_are_not_exact() {
        let values = [9.999_999_999_999_999e43, 1e5, 0.1, 1e-7, 20.0, 0.0];
        assert_eq!(values.map(tick), ["1e44", "100000", "0.1", "1e-7", "20", "0"]);
    }

    fn bar(name: &str, value: f64) -> Bar {
        (name.to_owned(), value, value * 0.9, value * 1.1)
    }

    /// Widths of the drawn bars.
    fn widths(svg: &str) -> Vec<u32> {
        let drawn = svg.split("<rect").filter(|part| part.contains("#1F78B4"));
        let widths = drawn.filter_map(|part| part.split("width=\"").nth(1)?.split('"').next());
        widths.map(|width| width.parse().expect("a number")).collect()
    }

    #[test]
    fn lengths_compare_unless_they_differ_twentyfold() {
        let svg = bars("frames", &[bar("short", 100.0), bar("long", 300.0)]).expect("drawn");
        let drawn = widths(&svg);
        assert!(drawn[1].abs_diff(drawn[0] * 3) <= 4, "{drawn:?}");
        let svg = bars("frames", &[bar("short", 1.0), bar("long", 1000.0)]).expect("drawn");
        let drawn = widths(&svg);
        assert!(drawn[0] * 100 > drawn[1], "both can be seen: {drawn:?}");
    }

    #[test]
    fn what_is_not_above_zero_is_drawn_without_length() {
        let svg = bars("bytes", &[bar("none", 0.0), bar("less", -1.0), bar("some", 20.0)]).expect("drawn");
        let drawn = widths(&svg);
        assert_eq!(drawn[..2], [0, 0], "{svg}");
        assert!(drawn[2] > 0, "{svg}");
        assert!(bars("bytes", &[bar("none", 0.0)]).expect("drawn").contains("none"));
    }
}
