//! Curves over the packets sent, as SVG.

use std::error::Error;

use plotters::prelude::*;

use super::plan::{DelayResult, Medium};
use super::table::Row;

/// The colour of a curve, by its index.
fn colour(at: usize) -> RGBColor {
    [
        RGBColor(120, 120, 120),
        RGBColor(31, 120, 180),
        RGBColor(227, 26, 28),
        RGBColor(51, 160, 44),
        RGBColor(255, 127, 0),
        RGBColor(106, 61, 154),
    ][at % 6]
}

/// The delay of a medium under all ciphers, with intervals.
pub(super) fn delays(result: &DelayResult, medium: Medium, rows: &[Row]) -> Result<String, Box<dyn Error>> {
    let own = || rows.iter().filter(|row| row.medium == medium.name);
    let most = own().map(|row| row.delay_ms_high).fold(f64::MIN_POSITIVE, f64::max) * 1.05;
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, (620, 400)).into_drawing_area();
        area.fill(&WHITE)?;
        let Medium { name, packets, bytes } = medium;
        let mut chart = ChartBuilder::on(&area)
            .caption(
                format!("{name}: {packets} packets of {bytes} bytes"),
                ("sans-serif", 18),
            )
            .margin(12)
            .x_label_area_size(38)
            .y_label_area_size(64)
            .build_cartesian_2d(0.0..f64::from(packets) * 1.02, 0.0..most)?;
        chart
            .configure_mesh()
            .light_line_style(TRANSPARENT)
            .x_desc("packets sent")
            .y_desc("ms since the start of sending")
            .draw()?;
        for (at, cipher) in result.ciphers.iter().enumerate() {
            let style = colour(at).stroke_width(2);
            let points = || own().filter(|row| row.cipher == *cipher);
            let curve = points().map(|row| (f64::from(row.packets), row.delay_ms));
            let drawn = chart.draw_series(LineSeries::new(curve, style))?;
            drawn
                .label(cipher)
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], style));
            let interval = |row: &Row| {
                let packets = f64::from(row.packets);
                PathElement::new([(packets, row.delay_ms_low), (packets, row.delay_ms_high)], style)
            };
            chart.draw_series(points().map(interval))?;
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperLeft)
            .background_style(WHITE.mix(0.85))
            .draw()?;
        area.present()?;
    }
    Ok(svg)
}
