//! The text of several registries as one, as OpenMetrics demands it: a family has one head, and all its samples stand
//! below it.

use std::collections::HashMap;

/// The end of a family and the beginning of the next one. No label value contains it, since those are [`escaped`].
const NEXT: &str = "\n# HELP ";

/// A name as the value of a label: the library writes it as it is.
pub(super) fn escaped(name: &str) -> String {
    name.replace('\\', r"\\").replace('"', r#"\""#).replace('\n', r"\n")
}

/// Joins what several registries with the same families were encoded to: the families in the order in which they first
/// come, and in each the samples of all registries.
pub(super) fn joined(texts: &[String]) -> String {
    let mut places: HashMap<&str, usize> = HashMap::new();
    let mut families: Vec<String> = Vec::new();
    for family in texts.iter().flat_map(|text| families_of(text)) {
        let samples = family.match_indices('\n').nth(1).map_or(family.len(), |(at, _)| at + 1);
        let place = *places.entry(&family[..samples]).or_insert(families.len());
        match families.get_mut(place) {
            Some(known) => known.push_str(&family[samples..]),
            None => families.push(family.to_owned()),
        }
    }
    families.concat()
}

/// The families of a text, each with its head of two lines, `HELP` and `TYPE`.
fn families_of(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let next = rest.find(NEXT).map_or(rest.len(), |at| at + 1);
        let family;
        (family, rest) = rest.split_at(next);
        (!family.is_empty()).then_some(family)
    })
}
