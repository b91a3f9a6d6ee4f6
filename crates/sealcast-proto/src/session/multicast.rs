//! Multicast (groups.md §12): records of a group are sent once to a multicast group, where viewers hear them. Whatever
//! a viewer misses there, and all if it hears nothing, comes over its own session.

use std::time::Duration;

use super::machine::Session;
use super::{Event, Handled, Output, SessionError};
use crate::clock::Now;
use crate::wire::{Control, GroupMessage, Hearing, MulticastGroup};

/// Interval at which a viewer says what it hears.
const SAY_INTERVAL: Duration = Duration::from_millis(500);
/// Time for which a publisher believes it.
const SAID_FOR: Duration = Duration::from_millis(1500);
/// A viewer that heard nothing for so long, or for one and a half of the usual gaps and a little more, is sent all over
/// its session again. If that was too soon, a frame comes twice; if too late, it comes too late to be shown.
const SILENT_AFTER: Duration = Duration::from_millis(250);
/// The little more.
const GAP_SLACK: Duration = Duration::from_millis(20);
/// A viewer that hears nothing at all for so long listens no more.
const AWAY_AFTER: Duration = Duration::from_secs(5);
/// It listens again after this time.
const RETRY_AFTER: Duration = Duration::from_secs(60);

/// The publisher's half: what the viewer said.
pub(super) struct MulticastOffer {
    hearing: Hearing,
    /// Until when that is believed.
    until: Duration,
}

/// The viewer's half.
pub(super) struct MulticastView {
    group: MulticastGroup,
    hearing: Hearing,
    /// When this was last heard from there, or since when it listens.
    heard: Duration,
    /// The longest gap between two records lately.
    gap: Duration,
    /// True from [`Event::HearMulticast`] until the program has done it.
    opening: bool,
    /// When the hearing is said next, or where it does not listen, when it listens again.
    next: Duration,
}

impl MulticastView {
    /// Notes a record that came from there. Returns true if the hearing changed.
    fn heard(&mut self, now: Duration, new: bool) -> bool {
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
    fn tick(&mut self, now: Duration) -> bool {
        let silence = now.saturating_sub(self.heard);
        let next = match self.hearing {
            Hearing::Hearing if silence >= self.patience() => Hearing::Listening,
            Hearing::Listening if silence >= AWAY_AFTER => Hearing::Away,
            same => same,
        };
        std::mem::replace(&mut self.hearing, next) != next
    }

    fn deadline(&self) -> Duration {
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

impl Session {
    /// Publisher: true if the viewer may be told of a multicast group: it is a member, and gets its media in datagrams
    /// of UDP, which nothing hides in cells.
    pub fn may_hear_multicast(&self) -> bool {
        self.is_member() && self.says_twice() && !self.is_shaped() && self.multicast_offer.is_none()
    }

    /// Publisher: the viewer is told of a multicast group.
    pub(super) fn offer_multicast(&mut self) -> Result<(), SessionError> {
        if !self.may_hear_multicast() {
            return Err(SessionError::Misuse);
        }
        self.multicast_offer = Some(MulticastOffer {
            hearing: Hearing::Away,
            until: Duration::MAX,
        });
        Ok(())
    }

    /// Publisher: the viewer says what it hears.
    pub(super) fn hears(&mut self, now: Now, hearing: Hearing) -> Result<(), SessionError> {
        let offer = self.multicast_offer.as_mut().ok_or(SessionError::PeerMisbehaved)?;
        offer.until = match hearing {
            Hearing::Away => Duration::MAX,
            Hearing::Listening | Hearing::Hearing => now.monotonic + SAID_FOR,
        };
        if std::mem::replace(&mut offer.hearing, hearing) != hearing {
            if let Some(outbound) = &mut self.outbound {
                outbound.set_multicast(hearing == Hearing::Hearing);
            }
            self.out.push_back(Output::Event(Event::Hears(hearing)));
        }
        Ok(())
    }

    /// Publisher: a viewer that says nothing any more does not hear.
    fn hearing_expires(&mut self, now: Now) -> Result<(), SessionError> {
        match &self.multicast_offer {
            Some(offer) if now.monotonic >= offer.until => self.hears(now, Hearing::Away),
            _ => Ok(()),
        }
    }

    /// Viewer: the publisher sends to this group. It says so once.
    pub(super) fn told_of_multicast(&mut self, now: Now, group: MulticastGroup) -> Result<(), SessionError> {
        let joined = self.group_view.is_some() && self.says_twice();
        if !joined || self.multicast_view.is_some() {
            return Err(SessionError::PeerMisbehaved);
        }
        self.multicast_view = Some(MulticastView {
            group,
            hearing: Hearing::Away,
            heard: now.monotonic,
            gap: SILENT_AFTER,
            opening: true,
            next: Duration::MAX,
        });
        self.out.push_back(Output::Event(Event::HearMulticast(group)));
        Ok(())
    }

    /// Viewer: the program receives what is sent to the group from now on, or cannot.
    pub(super) fn listens_to_multicast(&mut self, now: Now, listens: bool) -> Result<(), SessionError> {
        let view = self.multicast_view.as_mut().filter(|view| view.opening);
        let view = view.ok_or(SessionError::Misuse)?;
        view.opening = false;
        view.heard = now.monotonic;
        view.hearing = if listens { Hearing::Listening } else { Hearing::Away };
        self.say_hearing(now)
    }

    fn say_hearing(&mut self, now: Now) -> Result<(), SessionError> {
        let Some(view) = &mut self.multicast_view else {
            return Ok(());
        };
        let away = view.hearing == Hearing::Away;
        view.next = now.monotonic + if away { RETRY_AFTER } else { SAY_INTERVAL };
        let message = GroupMessage::Hears(view.hearing);
        self.send_control(now, &Control::Group(message))?;
        // It is said as long as the session lasts, and uses up this end's control key.
        self.rekey_if_due(now)
    }

    /// Viewer: a record came from the multicast group. What is none of the group's media is ignored: anybody can send
    /// there.
    pub(super) fn multicast_came(&mut self, now: Now, record: &mut [u8]) -> Result<Handled, SessionError> {
        if self.multicast_view.as_ref().is_none_or(|view| view.opening) || !self.is_established() {
            return Ok(Handled::Done);
        }
        if let Some(group) = &mut self.group_view {
            group.opened_packet = false;
        }
        let Some(handled) = self.group_packet_came(now, record)? else {
            return Ok(Handled::Done);
        };
        let (Some(view), Some(group)) = (&mut self.multicast_view, &mut self.group_view) else {
            return Ok(handled);
        };
        // A record that waits for its key was not opened, and may be anybody's.
        let heard = match (std::mem::take(&mut group.opened_packet), handled) {
            (true, _) => view.heard(now.monotonic, true),
            (false, Handled::Duplicate) => view.heard(now.monotonic, false),
            (false, _) => false,
        };
        if heard {
            self.say_hearing(now)?;
        }
        Ok(handled)
    }

    /// Viewer: true if records of the group may come twice, from the multicast group and over the session.
    pub(super) fn hears_twice(&self) -> bool {
        self.multicast_view.is_some()
    }

    /// Both: what is due.
    pub(super) fn multicast_timeout(&mut self, now: Now) -> Result<(), SessionError> {
        self.hearing_expires(now)?;
        let Some(view) = self.multicast_view.as_mut().filter(|view| !view.opening) else {
            return Ok(());
        };
        let changed = view.tick(now.monotonic);
        if changed && view.hearing == Hearing::Away {
            self.out.push_back(Output::Event(Event::LeaveMulticast));
        } else if !changed && now.monotonic < view.next {
            return Ok(());
        } else if !changed && view.hearing == Hearing::Away {
            view.opening = true;
            let again = Event::HearMulticast(view.group);
            self.out.push_back(Output::Event(again));
            return Ok(());
        }
        self.say_hearing(now)
    }

    pub(super) fn multicast_deadline(&self) -> Duration {
        let offer = self.multicast_offer.as_ref().map_or(Duration::MAX, |offer| offer.until);
        let view = self.multicast_view.as_ref();
        offer.min(view.map_or(Duration::MAX, MulticastView::deadline))
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
