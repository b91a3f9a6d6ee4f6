//! Events in a simulated group, and their times.

use std::time::Duration;

use sealcast_proto::sim::Random;
use serde::Deserialize;

/// Time from one single change to the next: not a multiple of a group of pictures, so that each finds another moment of
/// it.
const APART: Duration = Duration::from_millis(1300);
/// Time within which a crowd comes.
const CROWD: Duration = Duration::from_secs(10);
/// Share of the members who leave in a second of churn; as many join.
const CHURN: f64 = 0.01;

/// Kind of change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(in super::super) enum Event {
    /// Viewers join one by one.
    Join,
    /// Members leave one by one.
    Leave,
    /// The camera draws new secrets.
    Rekey,
    /// All members join within ten seconds.
    Crowd,
    /// In each second one in a hundred leaves, and as many join.
    Churn,
}

/// A simulated case, as its definition names it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in super::super) struct Scenario {
    /// Number of members at the start; of a crowd, at the end.
    pub(in super::super) members: usize,
    pub(in super::super) event: Event,
    /// Number of single changes; the duration of churn in seconds. A crowd has neither.
    #[serde(default)]
    pub(in super::super) events: u32,
    /// Share of packets lost, in each direction.
    #[serde(default)]
    pub(in super::super) loss: f64,
}

/// A change that the camera is told of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    Join,
    Leave,
    Rekey,
}

impl Scenario {
    /// Number of members before the first change.
    pub(super) fn at_start(&self) -> usize {
        if self.event == Event::Crowd { 0 } else { self.members }
    }

    /// All changes in order, with their times.
    pub(super) fn changes(&self, random: &mut Random) -> Vec<(Duration, Change)> {
        let one_by_one = |change| (1..=self.events).map(move |number| (APART * number, change)).collect();
        let mut changes: Vec<_> = match self.event {
            Event::Join => one_by_one(Change::Join),
            Event::Leave => one_by_one(Change::Leave),
            Event::Rekey => one_by_one(Change::Rekey),
            Event::Crowd => (0..self.members)
                .map(|_| (CROWD.mul_f64(random.unit()), Change::Join))
                .collect(),
            Event::Churn => {
                let seconds = f64::from(self.events);
                let each = (self.members as f64 * CHURN * seconds).ceil() as usize;
                let both = [Change::Leave, Change::Join];
                both.into_iter()
                    .flat_map(|change| std::iter::repeat_n(change, each))
                    .map(|change| (Duration::from_secs_f64(seconds * random.unit()), change))
                    .collect()
            }
        };
        changes.sort_by_key(|(at, _)| *at);
        changes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changes(members: usize, event: Event, events: u32) -> Vec<(Duration, Change)> {
        let scenario = Scenario {
            members,
            event,
            events,
            loss: 0.0,
        };
        scenario.changes(&mut Random::new(1))
    }

    #[test]
    fn churn_replaces_a_hundredth_of_the_members_each_second() {
        let all = changes(1000, Event::Churn, 20);
        let leaves = all.iter().filter(|(_, change)| *change == Change::Leave).count();
        assert_eq!((all.len(), leaves), (400, 200));
        assert!(all.is_sorted_by_key(|(at, _)| *at) && all[399].0 < Duration::from_secs(20));
    }

    #[test]
    fn a_crowd_comes_within_ten_seconds() {
        let all = changes(300, Event::Crowd, 0);
        assert!(all.iter().all(|(at, change)| *at < CROWD && *change == Change::Join));
        assert_eq!(all.len(), 300);
    }
}
