//! Curves of delays as SVG.

use std::error::Error;

use plotters::prelude::*;

use super::figures::Figures;

/// What is drawn: delays in microseconds, and shares of the frames.
const DELAYS: std::ops::Range<f64> = 10.0..1e6;
const SHARES: std::ops::Range<f64> = 1e-4..1.0;
/// Points of a curve in each tenfold delay.
const STEPS: i32 = 40;

/// The colour of a curve, by its place.
pub(crate) fn colour(at: usize) -> RGBColor {
    [
        RGBColor(120, 120, 120),
        RGBColor(31, 120, 180),
        RGBColor(227, 26, 28),
        RGBColor(51, 160, 44),
        RGBColor(255, 127, 0),
        RGBColor(106, 61, 154),
    ][at % 6]
}

/// The share of frames that took longer, over the delay, of all systems with one load.
pub(super) fn delays(all: &[&Figures]) -> Result<String, Box<dyn Error>> {
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, (620, 400)).into_drawing_area();
        area.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&area)
            .caption(all.first().map_or("", |figures| figures.load.name), ("sans-serif", 18))
            .margin(12)
            .x_label_area_size(38)
            .y_label_area_size(64)
            .build_cartesian_2d(DELAYS.log_scale(), SHARES.log_scale())?;
        chart
            .configure_mesh()
            .light_line_style(TRANSPARENT)
            .x_desc("µs from camera to player")
            .x_label_formatter(&f64::to_string)
            .y_desc("share that took longer")
            .y_label_formatter(&|share| format!("{} %", share * 1e2))
            .draw()?;
        for (at, figures) in all.iter().enumerate() {
            let style = colour(at).stroke_width(2);
            let drawn = chart.draw_series(LineSeries::new(curve(figures), style))?;
            drawn
                .label(figures.system.to_string())
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], style));
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperRight)
            .background_style(WHITE.mix(0.85))
            .draw()?;
        area.present()?;
    }
    Ok(svg)
}

fn curve(figures: &Figures) -> Vec<(f64, f64)> {
    let all = figures.delays.len().max(1) as f64;
    let points = (STEPS..=6 * STEPS).map(|step| 10_f64.powf(f64::from(step) / f64::from(STEPS)));
    let longer = |us: f64| all - figures.delays.count_between(0, (us * 1e3) as u64) as f64;
    points.map(|us| (us, (longer(us) / all).max(SHARES.start))).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::drive::Outcome;
    use super::super::figures::Sample;
    use super::super::load::LOADS;
    use super::super::system::System;
    use super::*;

    #[test]
    fn a_curve_falls_where_delays_are() {
        let outcome = Outcome {
            delays: vec![50_000, 50_000, 50_000, 5_000_000],
            packets: 4,
            arrived: 4,
            cpu: Duration::from_micros(1),
            elapsed: Duration::from_millis(1),
        };
        let mut figures = Figures::new(LOADS[0], System::Relay);
        figures.add(Sample::new(0, &outcome), &outcome.delays);
        let shares = curve(&figures).into_iter().map(|(us, share)| {
            let wanted = match us {
                ..49.0 => 1.0,
                51.0..4900.0 => 0.25,
                5100.0.. => SHARES.start,
                _ => share,
            };
            (wanted, share)
        });
        let (wanted, drawn): (Vec<f64>, Vec<f64>) = shares.unzip();
        assert_eq!(wanted, drawn);
        assert!(delays(&[&figures]).expect("drawn").contains("relay"));
    }
}
