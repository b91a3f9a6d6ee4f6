//! Tests that say that they are skipped, because this machine lacks what they need.

use std::collections::BTreeMap;

/// Beginning of a line about one, and what stands before the reason in it: `sealcast_testkit::skips`, and Node's.
const SAID: [(&str, &str); 2] = [("SKIPPED ", ": "), ("\u{fe63} ", " # ")];
/// Most reasons in a note; all of them are in the output of the tests.
const MOST_REASONS: usize = 4;

/// Numbers of skipped tests, by reason.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Skips(BTreeMap<String, usize>);

impl Skips {
    /// Those that this output of tests tells of.
    pub(crate) fn of(said: &str) -> Self {
        let mut skips = Self::default();
        for line in said.lines().map(str::trim_start) {
            let rest = SAID
                .iter()
                .find_map(|(begins, before)| Some((line.strip_prefix(begins)?, before)));
            if let Some((test, before)) = rest {
                let reason = test.split_once(before).map_or(test, |(_, reason)| reason);
                *skips.0.entry(reason.to_owned()).or_default() += 1;
            }
        }
        skips
    }

    pub(crate) fn add(&mut self, others: Self) {
        for (reason, count) in others.0 {
            *self.0.entry(reason).or_default() += count;
        }
    }

    /// For the table of the steps; empty if there are none.
    pub(crate) fn note(&self) -> String {
        if self.0.is_empty() {
            return String::new();
        }
        let mut reasons: Vec<(&String, &usize)> = self.0.iter().collect();
        reasons.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        let named = reasons.iter().take(MOST_REASONS);
        let mut named: Vec<String> = named.map(|(reason, count)| format!("{reason} ({count})")).collect();
        if reasons.len() > MOST_REASONS {
            named.push(format!("{} more reasons", reasons.len() - MOST_REASONS));
        }
        format!(
            "{} skipped in tests: {}",
            self.0.values().sum::<usize>(),
            named.join("; ")
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_tests_say_they_skip_is_counted_by_reason() {
        let mut skips = Skips::of(
            "test a::b ... ok\nSKIPPED a::b: no IPv6: the address\nSKIPPED c: no IPv6: the address\n\
             \u{fe63} x of y (0.1ms) # not run: no relay\n\u{2714} skipped (0.2ms)\nSKIPPED alone\n",
        );
        assert_eq!(
            skips.note(),
            "4 skipped in tests: no IPv6: the address (2); alone (1); not run: no relay (1)"
        );
        skips.add(Skips::of("  \u{fe63} inner (1ms) # not run: no relay"));
        assert!(skips.note().starts_with("5 skipped") && skips.note().contains("no relay (2)"));
        assert_eq!(Skips::of("running 3 tests\n3 passed").note(), "");
    }

    #[test]
    fn a_note_names_the_most_frequent_reasons_alone() {
        let said: String = (1..=6)
            .map(|count| format!("SKIPPED t: reason {count}\n").repeat(count))
            .collect();
        let note = Skips::of(&said).note();
        assert!(
            note.starts_with("21 skipped in tests: reason 6 (6); reason 5 (5);"),
            "{note}"
        );
        assert!(
            note.ends_with("; 2 more reasons") && !note.contains("reason 2"),
            "{note}"
        );
    }
}
