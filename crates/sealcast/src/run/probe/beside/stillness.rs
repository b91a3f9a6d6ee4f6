//! The other half of the alarm: one way stands still while the other goes on, so that no pairs tell of it. It reads no
//! clock.

use std::time::Duration;

use super::pairing::Side;

/// Time without a picture that is told of at the least: a decoder or a network may hesitate.
const LEAST: Duration = Duration::from_secs(2);
/// The same for a way that gave no picture yet: its decoder waits for the next keyframe.
const FIRST: Duration = Duration::from_secs(30);
/// Number of pictures that the other way gave meanwhile, below which nothing is said: cameras may have one in seconds.
const ENOUGH: u32 = 5;

/// A change of a way. The instants are those of pictures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum StillChange {
    /// This way gave no picture since then, for so long.
    Raised(Side, Duration, Duration),
    /// It gives pictures again, after this time.
    Over(Side, Duration),
}

/// Watches when pictures of each way come.
#[derive(Debug)]
pub(super) struct Stillness {
    limit: Duration,
    /// The first picture of either way.
    began: Option<Duration>,
    ways: [Pictures; 2],
}

/// The pictures of a way.
#[derive(Debug, Default)]
pub(super) struct Pictures {
    last: Option<Duration>,
    /// Number of those of the other way since then.
    others: u32,
    still: bool,
    /// Number of times that it stood still.
    pub(super) times: u64,
    /// For how long at most.
    pub(super) longest: Duration,
}

impl Stillness {
    pub(super) fn new(limit: Duration) -> Self {
        Self {
            limit: limit.max(LEAST),
            began: None,
            ways: Default::default(),
        }
    }

    /// Everything that there was to tell of a way.
    pub(super) fn of(&self, side: Side) -> &Pictures {
        &self.ways[side as usize]
    }

    /// Take the time of a picture of this way.
    pub(super) fn take(&mut self, side: Side, at: Duration) -> impl Iterator<Item = StillChange> + use<> {
        let began = *self.began.get_or_insert(at);
        let own = &mut self.ways[side as usize];
        let over = std::mem::take(&mut own.still).then(|| at.saturating_sub(own.last.unwrap_or(began)));
        (own.last, own.others) = (Some(at), 0);
        let other = &mut self.ways[side.other() as usize];
        other.others = other.others.saturating_add(1);
        let (since, limit) = match other.last {
            Some(last) => (last, self.limit),
            None => (began, self.limit.max(FIRST)),
        };
        let lasts = at.saturating_sub(since);
        let raised = !other.still && other.others >= ENOUGH && lasts > limit;
        if raised {
            other.still = true;
            other.times += 1;
        }
        if other.still {
            other.longest = other.longest.max(lasts);
        }
        let over = over.map(|lasted| StillChange::Over(side, lasted));
        let raised = raised.then_some(StillChange::Raised(side.other(), since, lasts));
        over.into_iter().chain(raised)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The changes that pictures at these times in ms make, in their order.
    fn changes(limit_ms: u64, a: &[u64], b: &[u64]) -> (Vec<StillChange>, Stillness) {
        let mut still = Stillness::new(Duration::from_millis(limit_ms));
        let of = |side, times: &[u64]| -> Vec<(u64, Side)> { times.iter().map(|&at| (at, side)).collect() };
        let mut all = [of(Side::A, a), of(Side::B, b)].concat();
        all.sort_by_key(|(at, _)| *at);
        let told = all
            .into_iter()
            .flat_map(|(at, side)| still.take(side, Duration::from_millis(at)));
        let told: Vec<StillChange> = told.collect();
        (told, still)
    }

    /// Pictures at 25 a second from one second to another.
    fn pictures(from: u64, to: u64) -> Vec<u64> {
        (from * 25..to * 25).map(|number| number * 40).collect()
    }

    #[test]
    fn the_way_that_stands_still_is_told_once_with_when_it_began_and_when_it_is_over() {
        let frozen = [pictures(0, 10), pictures(30, 40)].concat();
        let whole = pictures(0, 40);
        for (side, a, b) in [(Side::A, &frozen, &whole), (Side::B, &whole, &frozen)] {
            let (told, still) = changes(20, a, b);
            let [
                StillChange::Raised(raised, since, lasts),
                StillChange::Over(over, lasted),
            ] = told[..]
            else {
                panic!("{told:?}");
            };
            assert_eq!((raised, over, since.as_millis()), (side, side, 9960));
            assert!(lasts > LEAST && lasts < LEAST + Duration::from_millis(80), "{lasts:?}");
            assert_eq!((lasted.as_millis(), still.of(side).times), (20_040, 1));
            assert!(still.of(side).longest > Duration::from_secs(19), "{still:?}");
            assert_eq!(still.of(side.other()).times, 0);
        }
    }

    #[test]
    fn a_camera_of_few_pictures_and_a_short_pause_are_no_way_that_stands_still() {
        let rare: Vec<u64> = (0..20).map(|number| number * 3000).collect();
        let later: Vec<u64> = rare.iter().map(|at| at + 50).collect();
        assert_eq!(changes(20, &rare, &later).0, []);
        let paused = [pictures(0, 10), pictures(12, 20)].concat();
        assert_eq!(
            changes(20, &pictures(0, 20), &paused).0.len(),
            2,
            "just above the limit"
        );
        assert_eq!(changes(3000, &pictures(0, 20), &paused).0, [], "and below this one");
        let both = [pictures(0, 10), pictures(30, 40)].concat();
        assert_eq!(changes(20, &both, &both).0, [], "the camera itself was away");
    }

    #[test]
    fn a_way_that_never_gave_a_picture_has_the_time_until_a_keyframe() {
        assert_eq!(changes(20, &pictures(0, 29), &[]).0, []);
        let (told, _) = changes(20, &pictures(0, 40), &[]);
        let [StillChange::Raised(Side::B, since, _)] = told[..] else {
            panic!("{told:?}");
        };
        assert_eq!(since, Duration::ZERO);
    }
}
