//! Places of what was found in pictures.

/// Two things are the same if they have at least this share of their common area in common.
const SAME: f64 = 0.3;

/// A place: left, upper, right and lower edge in pixels.
pub(super) type Place = [f64; 4];

/// The share of the places in the original that were found in another picture too; `None` if the original has none.
pub(super) fn share_found(originals: &[Place], shown: &[Place]) -> Option<f64> {
    if originals.is_empty() {
        return None;
    }
    let found = originals
        .iter()
        .filter(|place| shown.iter().any(|other| overlap(place, other) >= SAME));
    Some(found.count() as f64 / originals.len() as f64)
}

/// Intersection over union.
fn overlap(a: &Place, b: &Place) -> f64 {
    let side = |from: usize| (a[from + 2].min(b[from + 2]) - a[from].max(b[from])).max(0.0);
    let area = |place: &Place| (place[2] - place[0]) * (place[3] - place[1]);
    let both = side(0) * side(1);
    both / (area(a) + area(b) - both)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn things_are_the_same_if_they_lie_on_each_other() {
        let place = [10.0, 10.0, 30.0, 30.0];
        assert_eq!(overlap(&place, &place), 1.0);
        assert_eq!(overlap(&place, &[30.0, 10.0, 50.0, 30.0]), 0.0);
        assert!((overlap(&place, &[10.0, 10.0, 30.0, 20.0]) - 0.5).abs() < 1e-9);
    }

    #[test]
    fn what_is_elsewhere_is_not_found() {
        let (here, there) = ([0.0, 0.0, 9.0, 9.0], [20.0, 0.0, 29.0, 9.0]);
        assert_eq!(share_found(&[here, there], &[there]), Some(0.5));
        assert_eq!(share_found(&[here], &[]), Some(0.0));
        assert_eq!(share_found(&[], &[here]), None);
    }
}
