//! Curves and bars as SVG.

use std::error::Error;

use plotters::prelude::*;

use super::figures::{Figures, deadline};
use super::plan::LinkResult;
use super::system::{Point, System};

type Drawn = Result<String, Box<dyn Error>>;

/// The longest delay that is drawn, in milliseconds.
const MOST_MS: f64 = 240.0;
/// The least share that is drawn.
const LEAST: f64 = 1e-4;

fn colour(system: System) -> RGBColor {
    match system {
        System::SealcastNone => RGBColor(166, 206, 227),
        System::SealcastFec => RGBColor(106, 61, 154),
        System::SealcastNack => RGBColor(51, 160, 44),
        System::Sealcast => RGBColor(31, 120, 180),
        System::Srt => RGBColor(227, 26, 28),
        System::SrtAes => RGBColor(255, 127, 0),
        System::Rtp => RGBColor(120, 120, 120),
    }
}

/// The share of frames that cannot be shown yet, over the time since they were sent.
pub(super) fn delays(result: &LinkResult, point: Point) -> Drawn {
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, (620, 400)).into_drawing_area();
        area.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&area)
            .caption(point.to_string(), ("sans-serif", 18))
            .margin(12)
            .x_label_area_size(38)
            .y_label_area_size(64)
            .build_cartesian_2d(0.0..MOST_MS, (LEAST..1.0).log_scale())?;
        chart
            .configure_mesh()
            .light_line_style(TRANSPARENT)
            .x_desc("ms since it was sent")
            .y_desc("share not shown yet")
            .y_label_formatter(&|share| format!("{} %", share * 1e2))
            .draw()?;
        let limit = deadline().as_secs_f64() * 1e3;
        chart.draw_series(LineSeries::new([(limit, LEAST), (limit, 1.0)], BLACK.mix(0.5)))?;
        for figures in result.figures.iter().filter(|figures| figures.point == point) {
            let style = colour(figures.system).stroke_width(2);
            let drawn = chart.draw_series(LineSeries::new(steps(figures), style))?;
            drawn
                .label(figures.system.name())
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], style));
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::LowerLeft)
            .background_style(WHITE.mix(0.85))
            .draw()?;
        area.present()?;
    }
    Ok(svg)
}

/// The curve, with as many points as can be seen.
fn steps(figures: &Figures) -> Vec<(f64, f64)> {
    let all = f64::from(figures.frames.max(1));
    let left = |ms: f64| 1.0 - figures.delays.partition_point(|&delay| delay <= ms) as f64 / all;
    (0..=480)
        .map(|step| MOST_MS * f64::from(step) / 480.0)
        .map(|ms| (ms, left(ms).max(LEAST)))
        .collect()
}

/// The share shown in time of each system at each point, with its interval.
pub(super) fn bars(result: &LinkResult) -> Drawn {
    let mut points: Vec<Point> = result.figures.iter().map(|figures| figures.point).collect();
    points.dedup();
    let mut systems: Vec<System> = result.figures.iter().map(|figures| figures.system).collect();
    systems.sort_unstable();
    systems.dedup();
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, (1240, 380)).into_drawing_area();
        area.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&area)
            .margin(12)
            .x_label_area_size(30)
            .y_label_area_size(56)
            // One place more, for the names.
            .build_cartesian_2d(0.0..points.len() as f64 + 1.0, 0.0..105.0)?;
        let name = |at: &f64| {
            points
                .get(*at as usize)
                .filter(|_| at.fract() > 0.4)
                .map(Point::to_string)
        };
        chart
            .configure_mesh()
            .disable_x_mesh()
            .light_line_style(TRANSPARENT)
            .x_labels(2 * points.len() + 3)
            .x_label_formatter(&|at| name(at).unwrap_or_default())
            .y_desc("shown in time, %")
            .draw()?;
        let width = 0.9 / systems.len() as f64;
        for (index, &system) in systems.iter().enumerate() {
            let style = colour(system).filled();
            let of_system = result.figures.iter().filter(|figures| figures.system == system);
            let placed = of_system.filter_map(|figures| {
                let at = points.iter().position(|point| *point == figures.point)?;
                Some((at as f64 + 0.05 + index as f64 * width, figures.shown))
            });
            let placed: Vec<_> = placed.collect();
            let bar = |&(left, shown): &(f64, super::Share)| {
                Rectangle::new([(left, 0.0), (left + width * 0.9, shown.share * 1e2)], style)
            };
            let drawn = chart.draw_series(placed.iter().map(bar))?;
            drawn
                .label(system.name())
                .legend(move |(x, y)| Rectangle::new([(x, y - 5), (x + 12, y + 5)], style));
            let whisker = |&(left, shown): &(f64, super::Share)| {
                let middle = left + width * 0.45;
                PathElement::new([(middle, shown.low * 1e2), (middle, shown.high * 1e2)], BLACK)
            };
            chart.draw_series(placed.iter().map(whisker))?;
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::LowerRight)
            .background_style(WHITE.mix(0.85))
            .draw()?;
        area.present()?;
    }
    Ok(svg)
}
