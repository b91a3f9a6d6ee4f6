//! Bars with intervals, as SVG.

use std::error::Error;

use plotters::prelude::*;

/// A bar: what it is called, how long it is, and the ends of its interval.
pub(crate) type Bar = (String, f64, f64, f64);

const WIDTH: u32 = 900;
const LINE: u32 = 20;
const OURS: RGBColor = RGBColor(31, 120, 180);

/// Horizontal bars from top to bottom, on a logarithmic axis since what is compared may differ a thousandfold.
pub(crate) fn bars(unit: &str, bars: &[Bar]) -> Result<String, Box<dyn Error>> {
    let values = || bars.iter().flat_map(|&(_, _, low, high)| [low, high]);
    let least = 10_f64.powf(values().fold(f64::INFINITY, f64::min).log10().floor());
    let most = values().fold(0.0, f64::max) * 1.1;
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, (WIDTH, LINE * bars.len() as u32 + 60)).into_drawing_area();
        area.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&area)
            .margin(8)
            .x_label_area_size(40)
            .y_label_area_size(190)
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
            .y_labels(bars.len())
            .y_label_formatter(&name)
            .x_label_formatter(&|value| super::table::short(*value))
            .x_desc(unit)
            .draw()?;
        for (index, &(_, value, low, high)) in bars.iter().enumerate() {
            let (floor, ceiling) = (SegmentValue::Exact(place(index)), SegmentValue::Exact(place(index) + 1));
            let mut bar = Rectangle::new([(least, floor), (value, ceiling)], OURS.mix(0.6).filled());
            bar.set_margin(3, 3, 0, 0);
            chart.draw_series([bar])?;
            let middle = SegmentValue::CenterOf(place(index));
            chart.draw_series([PathElement::new(
                [(low, middle.clone()), (high, middle)],
                BLACK.stroke_width(2),
            )])?;
        }
        area.present()?;
    }
    Ok(svg)
}
