//! Multicast (groups.md §12): records of a group are sent once to a multicast group, where viewers hear them. Whatever
//! a viewer misses there, and all if it hears nothing, comes over its own session.

use std::time::Duration;

use super::machine::Session;
use super::multicast_view::{MulticastOffer, MulticastView, SILENT_AFTER};
use super::{Event, Handled, Output, SessionError};
use crate::clock::Now;
use crate::wire::{Control, GroupMessage, Hearing, MulticastGroup};

/// Interval at which a viewer says what it hears.
const SAY_INTERVAL: Duration = Duration::from_millis(500);
/// Time for which a publisher believes it.
const SAID_FOR: Duration = Duration::from_millis(1500);
/// It listens again after this time.
const RETRY_AFTER: Duration = Duration::from_secs(60);

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
