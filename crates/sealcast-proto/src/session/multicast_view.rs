//! Hearing of a multicast group, at both ends.

use std::time::Duration;

use crate::wire::{Hearing, MulticastGroup};

/// A viewer that heard nothing for so long, or for one and a half of the usual gaps and a little more, is sent all over
/// its session again. If that was too soon, a frame comes twice; if too late, it comes too late to be shown.
pub(super) const SILENT_AFTER: Duration = Duration::from_millis(250);
/// The little more.
const GAP_SLACK: Duration = Duration::from_millis(20);
/// A viewer that hears nothing at all for so long listens no more.
const AWAY_AFTER: Duration = Duration::from_secs(5);

/// The publisher's half: what the viewer said.
pub(super) struct MulticastOffer {
    pub(super) hearing: Hearing,
    /// Until when that is believed.
    pub(super) until: Duration,
}

/// The viewer's half.
pub(super) struct MulticastView {
    pub(super) group: MulticastGroup,
    pub(super) hearing: Hearing,
    /// When this was last heard from there, or since when it listens.
    pub(super) heard: Duration,
    /// The longest gap between two records lately.
    pub(super) gap: Duration,
    /// True from [`Event::HearMulticast`](super::Event::HearMulticast) until the program has done it.
    pub(super) opening: bool,
    /// When the hearing is said next, or where it does not listen, when it listens again.
    pub(super) next: Duration,
}

impl MulticastView {
    /// Notes a record that came from there. Returns true if the hearing changed.
    pub(super) fn heard(&mut self, now: Duration, new: bool) -> bool {
        match self.hearing {
            Hearing::Away => false,
            Hearing::Listening => {
                (self.hearing, self.heard) = (Hearing::Hearing, now);
                self.gap = SILENT_AFTER;
                true
            }
            // A repeated record would prove nothing.
            Hearing::Hearing => {
                if new {
                    // Between the records of a frame there is nearly none, so this falls from frame to frame.
                    let gap = now.saturating_sub(self.heard);
                    self.gap = gap.max(self.gap - self.gap / 64);
                    self.heard = now;
                }
                false
            }
        }
    }

    /// Makes the changes that time alone makes. Returns true if the hearing changed.
    pub(super) fn tick(&mut self, now: Duration) -> bool {
        let silence = now.saturating_sub(self.heard);
        let next = match self.hearing {
            Hearing::Hearing if silence >= self.patience() => Hearing::Listening,
            Hearing::Listening if silence >= AWAY_AFTER => Hearing::Away,
            same => same,
        };
        std::mem::replace(&mut self.hearing, next) != next
    }

    pub(super) fn deadline(&self) -> Duration {
        if self.opening {
            return Duration::MAX;
        }
        match self.hearing {
            Hearing::Away => self.next,
            Hearing::Listening => self.next.min(self.heard + AWAY_AFTER),
            Hearing::Hearing => self.next.min(self.heard + self.patience()),
        }
    }

    /// Silence after which nothing is expected any more.
    fn patience(&self) -> Duration {
        (self.gap * 3 / 2 + GAP_SLACK).min(SILENT_AFTER)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn view(hearing: Hearing) -> MulticastView {
        MulticastView {
            group: MulticastGroup {
                tag: 1,
                address: [239, 0, 0, 1].into(),
                port: 1,
            },
            hearing,
            heard: MS * 1000,
            gap: SILENT_AFTER,
            opening: false,
            next: Duration::MAX,
        }
    }

    #[test]
    fn a_viewer_hears_from_the_first_record_on_until_none_comes() {
        let mut view = view(Hearing::Listening);
        assert!(
            !view.tick(MS * 1100) && view.heard(MS * 1200, false),
            "the first record"
        );
        assert!(!view.heard(MS * 1300, true) && !view.tick(MS * 1549));
        assert!(view.tick(MS * 1550), "250 ms after the last one");
        assert_eq!(view.hearing, Hearing::Listening);
        assert!(view.heard(MS * 1600, true), "the next one");
    }

    #[test]
    fn a_repeated_record_does_not_keep_a_viewer_hearing() {
        let mut view = view(Hearing::Hearing);
        assert!(!view.heard(MS * 1200, false));
        assert!(view.tick(MS * 1250));
    }

    #[test]
    fn silence_is_noticed_sooner_where_records_come_often() {
        let mut view = view(Hearing::Listening);
        for at in 0..1000 {
            // Frames of two records, 40 ms apart.
            view.heard(MS * (1000 + at / 2 * 40), true);
        }
        let last = MS * (1000 + 499 * 40);
        assert!(!view.tick(last + MS * 79) && view.tick(last + MS * 80));
    }

    #[test]
    fn a_viewer_that_hears_nothing_listens_no_more() {
        let mut view = view(Hearing::Listening);
        assert_eq!(view.deadline(), MS * 6000);
        assert!(!view.tick(MS * 5999) && view.tick(MS * 6000));
        assert_eq!(view.hearing, Hearing::Away);
        assert!(!view.heard(MS * 6001, true), "what still comes is not asked for");
    }
}
