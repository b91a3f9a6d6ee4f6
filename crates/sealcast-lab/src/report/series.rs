//! A quantity over time, in a bounded number of points however long it was logged.

/// Most points of a curve. When there would be more, neighbours are joined, so that each stands for twice the time.
const MOST_POINTS: usize = 600;
/// Seconds that a point stands for at first.
const FIRST_WIDTH: f64 = 1.0;

/// Means over equal spans of time. A value holds for the time since the row before it, and counts by that time.
#[derive(Clone, Debug)]
pub(super) struct Series {
    /// Seconds that a point stands for.
    pub(super) width: f64,
    /// For each span the time that was logged, and the sum of the values times their durations.
    spans: Vec<(f64, f64)>,
}

impl Series {
    pub(super) fn new() -> Self {
        Self {
            width: FIRST_WIDTH,
            spans: Vec::new(),
        }
    }

    /// Adds a value that held for `seconds`, up to `at`.
    pub(super) fn add(&mut self, at: f64, seconds: f64, value: f64) {
        let middle = (at - seconds / 2.0).max(0.0);
        while middle / self.width >= MOST_POINTS as f64 {
            self.width *= 2.0;
            let joined = |pair: &[(f64, f64)]| {
                let both = pair.iter().copied();
                both.reduce(|one, other| (one.0 + other.0, one.1 + other.1))
                    .unwrap_or_default()
            };
            self.spans = self.spans.chunks(2).map(joined).collect();
        }
        let at = (middle / self.width) as usize;
        if at >= self.spans.len() {
            self.spans.resize(at + 1, (0.0, 0.0));
        }
        self.spans[at].0 += seconds;
        self.spans[at].1 += seconds * value;
    }

    /// The curve: the middle of each span, in seconds, and its mean. A span of which less than half was logged has no
    /// value; in a row of such spans the first is a point without a height, which breaks the line.
    pub(super) fn points(&self) -> Vec<(f64, f64)> {
        let mut points: Vec<(f64, f64)> = Vec::new();
        for (at, (seconds, sum)) in self.spans.iter().enumerate() {
            let middle = (at as f64 + 0.5) * self.width;
            let is_known = *seconds >= self.width / 2.0;
            if is_known {
                points.push((middle, sum / seconds));
            } else if points.last().is_some_and(|last| last.1.is_finite()) {
                points.push((middle, f64::NAN));
            }
        }
        if points.last().is_some_and(|last| last.1.is_nan()) {
            points.pop();
        }
        points
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_is_the_mean_of_its_second_by_time() {
        let mut series = Series::new();
        for (at, seconds, value) in [(0.75, 0.75, 4.0), (1.0, 0.25, 8.0), (2.0, 1.0, 1.0), (3.0, 0.1, 9.0)] {
            series.add(at, seconds, value);
        }
        assert_eq!(series.points(), [(0.5, 5.0), (1.5, 1.0)]);
    }

    #[test]
    fn a_pause_breaks_the_line_once() {
        let mut series = Series::new();
        [1.0, 5.0, 6.0].into_iter().for_each(|at| series.add(at, 1.0, 2.0));
        let points = series.points();
        assert_eq!(points.len(), 4);
        assert!(points[1].1.is_nan(), "{points:?}");
    }

    #[test]
    fn hours_have_no_more_points_than_minutes_and_the_same_mean() {
        let mut series = Series::new();
        (1..=100_000).for_each(|second| series.add(f64::from(second), 1.0, f64::from(second % 7)));
        let points = series.points();
        assert_eq!(series.width, 256.0);
        assert!(points.len() <= MOST_POINTS && points.len() > MOST_POINTS / 2);
        assert!(points.iter().all(|point| (point.1 - 3.0).abs() < 0.1), "{points:?}");
    }
}
