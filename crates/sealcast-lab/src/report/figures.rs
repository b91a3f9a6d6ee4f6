//! The curves: rates and resources over time, and cumulative distributions of latencies.

use sealcast::failure::Result;

use super::beside_shown;
use super::end::{End, Role};
use super::figure::{Figure, STEPS, axis, class};
use super::latency::{FRAMES, KINDS, Latency};
use super::resources::{self, QUANTITIES};
use super::series::Series;
use super::table::figure;
use crate::harness::Axis;
use crate::harness::chart::{Curve, Names, Plot};

/// Where a logarithmic axis of milliseconds begins: a microsecond.
const SHORTEST_MS: f64 = 1e-3;
/// Shares of the frames stages that the publisher's chart has; the others are the viewer's.
const PUBLISHERS_STAGES: usize = 6;

/// Key, quantity, title, and whose.
type OverTime = (&'static str, usize, &'static str, fn(&End) -> bool);

/// Charts over time, in the order of the paper's.
const OVER_TIME: [OverTime; 9] = [
    ("sent-frames", resources::FRAMES, "Frames sent (as Fig. 2a)", |end| {
        end.role == Role::Publisher
    }),
    ("sent-bundles", resources::FRAMES, "Bundles of packets sent", |end| {
        end.role == Role::CameraGateway
    }),
    ("sent-rate", resources::THROUGHPUT, "Output (as Fig. 2b)", |end| {
        end.role.sends()
    }),
    ("received-rate", resources::THROUGHPUT, "Received (as Fig. 3a)", |end| {
        end.role.receives()
    }),
    (
        "received-frames",
        resources::FRAMES,
        "Frames received (as Fig. 3b)",
        |end| end.role == Role::Viewer,
    ),
    (
        "received-bundles",
        resources::FRAMES,
        "Bundles of packets received",
        |end| end.role == Role::ViewerGateway,
    ),
    (
        "temperature",
        resources::TEMPERATURE,
        "Temperature (as Fig. 3c)",
        |_| true,
    ),
    ("cpu", resources::CPU, "Processor time", |_| true),
    ("power", resources::POWER, "Power", |_| true),
];

/// Charts over time.
pub(super) fn over_time(ends: &[End]) -> Vec<Figure> {
    // One axis for all, so that they can be compared.
    let series = ends.iter().flat_map(|end| &end.resources.series);
    let last = series.flat_map(Series::points).map(|point| point.0).fold(1.0, f64::max);
    let figures = OVER_TIME.iter().filter_map(|of| quantity_over_time(ends, *of, last));
    figures.chain(ends.iter().filter_map(beside_shown::over_time)).collect()
}

fn quantity_over_time(ends: &[End], (key, quantity, title, whose): OverTime, last: f64) -> Option<Figure> {
    let own = ends.iter().filter(|end| whose(end));
    let unit = match (quantity, own.clone().next()) {
        (resources::FRAMES, Some(end)) => end.role.frame_rate()[1],
        _ => QUANTITIES[quantity].unit,
    };
    let curves: Vec<Curve> = own
        .enumerate()
        .map(|(at, end)| Curve {
            name: end.name.clone(),
            class: class(at),
            points: end.resources.series[quantity].points(),
        })
        .filter(|curve| !curve.points.is_empty())
        .collect();
    let heights = || curves.iter().flat_map(|curve| &curve.points).map(|point| point.1);
    let least = heights().fold(f64::INFINITY, f64::min);
    let most = heights().fold(f64::NEG_INFINITY, f64::max);
    let y = match quantity {
        // A temperature has no natural zero.
        resources::TEMPERATURE => axis(unit, (least - 1.0).floor(), (most + 1.0).ceil()),
        _ => axis(unit, 0.0, (most * 1.1).max(1e-9)),
    };
    (!curves.is_empty()).then(|| Figure {
        key: key.to_owned(),
        plot: Plot {
            title: title.to_owned(),
            x: axis("seconds from the start of the first log", 0.0, last),
            y,
            marks: Vec::new(),
            curves,
        },
    })
}

/// Cumulative distributions of latencies.
pub(super) fn latencies(ends: &[End]) -> Vec<Figure> {
    let all = ends
        .iter()
        .flat_map(|end| end.latencies.iter().map(move |latency| (end, latency)));
    all.filter(|(_, latency)| latency.count() > 0)
        .flat_map(|(end, latency)| of_one(end, latency))
        .chain(ends.iter().filter_map(beside_shown::distribution))
        .collect()
}

fn of_one(end: &End, latency: &Latency) -> Vec<Figure> {
    let of = latency.kind.of;
    let is_frames = latency.kind.file == KINDS[FRAMES].file;
    let split = if is_frames {
        PUBLISHERS_STAGES
    } else {
        latency.stages.len()
    };
    let whole = whole(end, latency, if is_frames { " (as Fig. 4)" } else { "" });
    let parts = [
        (0..split, "to the network"),
        (split..latency.stages.len(), "after the network"),
    ];
    let parts = parts.into_iter().filter_map(|(range, words)| {
        let words = if is_frames {
            format!("stages {words}")
        } else {
            "stages".to_owned()
        };
        stages(end, latency, range, format!("Latency of a {of}, {words}, {}", end.name))
    });
    whole.into_iter().chain(parts).collect()
}

/// The whole latency, with its median and tail marked.
fn whole(end: &End, latency: &Latency, like: &str) -> Option<Figure> {
    let total = &latency.total;
    let milliseconds = |share| total.quantile(share) / 1e3;
    let points: Vec<(f64, f64)> = total
        .cumulative(STEPS)
        .into_iter()
        .map(|(us, share)| (us / 1e3, share))
        .collect();
    let (least, most) = (points.first()?.0, points.last()?.0);
    let tail = milliseconds(0.99);
    // A few outliers would squeeze everything else to the left; the curve then leaves the chart below 100 %.
    let to = if most > 1.5 * tail && tail > 0.0 {
        1.3 * tail
    } else {
        most
    };
    let marks = [("median", 0.5), ("95 %", 0.95), ("99 %", 0.99)];
    let marks = marks.map(|(name, share)| {
        (
            milliseconds(share),
            format!("{name} {} ms", figure(milliseconds(share))),
        )
    });
    Some(Figure {
        key: format!("{}-latency {}", latency.kind.of, end.name),
        plot: Plot {
            title: format!("Latency of a {}, {}{like}", latency.kind.of, end.name),
            x: axis("milliseconds", least.min(0.0), to.max(least + 1e-3)),
            y: shares(),
            marks: marks.to_vec(),
            curves: vec![Curve {
                name: "whole".to_owned(),
                class: class(0),
                points,
            }],
        },
    })
}

fn stages(end: &End, latency: &Latency, range: std::ops::Range<usize>, title: String) -> Option<Figure> {
    let first = range.start;
    let curves: Vec<Curve> = range
        .filter(|at| latency.stages[*at].count() > 0)
        .map(|at| Curve {
            name: latency.kind.stages[at].replace('_', " "),
            class: class(at - first),
            points: in_milliseconds(latency, at),
        })
        .collect();
    let longest = curves
        .iter()
        .filter_map(|curve| curve.points.last())
        .map(|point| point.0);
    let to = longest.fold(SHORTEST_MS * 10.0, f64::max);
    (!curves.is_empty()).then(|| Figure {
        key: format!("{}-stages {}", latency.kind.of, end.name),
        plot: Plot {
            title,
            x: Axis {
                log: true,
                ..axis(
                    "milliseconds, logarithmic; what is shorter stands at the left edge",
                    SHORTEST_MS,
                    to,
                )
            },
            y: shares(),
            marks: Vec::new(),
            curves,
        },
    })
}

fn in_milliseconds(latency: &Latency, stage: usize) -> Vec<(f64, f64)> {
    let points = latency.stages[stage].cumulative(STEPS).into_iter();
    points.map(|(us, share)| (us / 1e3, share)).collect()
}

fn shares() -> Axis {
    Axis {
        percent: true,
        ..axis("share that took no longer", 0.0, 1.0)
    }
}

impl Figure {
    /// The chart; a curve that leaves it on the right is cut there.
    pub(super) fn draw(&self, names: Names) -> String {
        let mut plot = self.plot.clone();
        for curve in &mut plot.curves {
            curve.points.retain(|point| point.0 <= plot.x.to);
        }
        plot.draw(names).unwrap_or_default()
    }
}

/// `figures.csv`: the numbers behind each curve.
pub(super) fn csv(figures: &[Figure]) -> Result<Vec<u8>, csv::Error> {
    let mut out = csv::Writer::from_writer(Vec::new());
    out.write_record(["figure", "curve", "x", "x_axis", "y", "y_axis"])?;
    for Figure { key, plot } in figures {
        for curve in &plot.curves {
            for (x, y) in curve.points.iter().filter(|point| point.1.is_finite()) {
                let [x, y] = [x, y].map(ToString::to_string);
                out.write_record([key, &curve.name, &x, plot.x.title, &y, plot.y.title])?;
            }
        }
    }
    out.into_inner().map_err(|error| error.into_error().into())
}
