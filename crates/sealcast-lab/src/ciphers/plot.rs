//! Bars with intervals, as SVG.

use std::error::Error;

use plotters::prelude::*;

/// A bar: what it is called, how long it is, and the ends of its interval.
pub(crate) type Bar = (String, f64, f64, f64);

const WIDTH: u32 = 900;
const LINE: u32 = 20;
const OURS: RGBColor = RGBColor(31, 120, 180);

/// Horizontal bars from top to bottom, on a logarithmic axis since what is compared may differ a thousandfold. What is
/// not above zero has no place on it, and so no length.
pub(crate) fn bars(unit: &str, bars: &[Bar]) -> Result<String, Box<dyn Error>> {
    let values = || {
        bars.iter()
            .flat_map(|&(_, _, low, high)| [low, high])
            .filter(|value| *value > 0.0)
    };
    let least = 10_f64.powf(values().fold(f64::INFINITY, f64::min).min(1e300).log10().floor());
    let most = values().fold(least, f64::max) * 1.1;
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, (WIDTH, LINE * bars.len() as u32 + 60)).into_drawing_area();
        area.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&area)
            .margin(8)
            .margin_right(30)
            .x_label_area_size(40)
            .y_label_area_size(215)
            .build_cartesian_2d((least..most).log_scale(), (0..bars.len()).into_segmented())?;
        // From the top.
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
        area.present()?;
    }
    Ok(svg)
}

/// What an axis has at its lines: powers of ten, or nearly.
fn tick(value: f64) -> String {
    if !(1e-4..1e6).contains(&value) {
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
        let values = [9.999_999_999_999_999e43, 1e5, 0.1, 1e-7, 20.0];
        assert_eq!(values.map(tick), ["1e44", "100000", "0.1", "1e-7", "20"]);
    }

    #[test]
    fn what_is_not_above_zero_is_drawn_without_length() {
        let bar = |name: &str, value: f64| (name.to_owned(), value, value * 0.9, value * 1.1);
        let svg = bars("bytes", &[bar("none", 0.0), bar("less", -1.0), bar("some", 20.0)]).expect("drawn");
        let drawn: Vec<&str> = svg.split("<rect").filter(|part| part.contains("#1F78B4")).collect();
        assert_eq!(drawn.len(), 3, "{svg}");
        let widths = drawn.iter().map(|part| part.split("width=\"").nth(1).expect("a width"));
        let widths: Vec<&str> = widths.filter_map(|part| part.split('"').next()).collect();
        assert_eq!(widths[..2], ["0", "0"], "{svg}");
        assert_ne!(widths[2], "0", "{svg}");
        assert!(bars("bytes", &[bar("none", 0.0)]).expect("drawn").contains("none"));
    }
}
