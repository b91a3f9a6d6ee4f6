//! The state of a session's data channels.

use std::time::Duration;

use super::counts::DataCounts;
use super::lane::Lane;
use super::pace::Pace;
use crate::wire::{DataChannel, DataName, DataStanding};

/// The state of a session's data channels.
pub(in crate::session) struct DataPart {
    /// The channels, in the publisher's order.
    pub(super) lanes: Vec<Lane>,
    /// The viewer's last message.
    pub(super) wished: Vec<DataChannel>,
    /// The publisher's last message.
    pub(super) told: Option<Vec<DataChannel>>,
    /// Viewer: when it says its message again. Publisher: the earliest time at which it does, to who does not heed it.
    pub(super) say_at: Duration,
    /// Viewer: messages without an answer.
    pub(super) unanswered: u8,
    pub(super) sending: Pace,
    pub(super) receiving: Pace,
    /// The carrier takes no data now.
    pub(super) held: bool,
    /// The channel that is the first to send next.
    pub(super) turn: usize,
    pub(super) counts: DataCounts,
}

impl DataPart {
    pub(super) fn new(room: Option<u64>) -> Self {
        Self {
            lanes: Vec::new(),
            wished: Vec::new(),
            told: None,
            say_at: Duration::MAX,
            unanswered: 0,
            sending: Pace::sending(room),
            receiving: Pace::receiving(),
            held: false,
            turn: 0,
            counts: DataCounts::default(),
        }
    }

    pub(super) fn wish(&self, name: DataName) -> Option<&DataChannel> {
        self.wished.iter().find(|wish| wish.name == name)
    }

    /// The publisher's channels are these. False if they were others before.
    pub(super) fn set_lanes(&mut self, channels: &[DataChannel]) -> bool {
        if self.told.is_none() {
            self.lanes = channels.iter().map(|channel| Lane::new(channel.name)).collect();
        }
        let names = self.lanes.iter().map(|lane| lane.name);
        names.eq(channels.iter().map(|channel| channel.name))
    }

    /// Applies what both ends said last, once both have.
    pub(super) fn agree(&mut self, publisher: bool) {
        let Some(told) = self.told.take() else { return };
        for (index, channel) in told.iter().enumerate() {
            let wish = self.wish(channel.name).copied();
            let Some(lane) = self.lanes.get_mut(index) else {
                continue;
            };
            let viewers =
                wish.filter(|wish| wish.standing == DataStanding::Sends && channel.standing == DataStanding::Sends);
            let of_viewer = viewers.map(|wish| wish.order);
            let of_publisher = wish.map(|_| channel.order);
            let (sends, hears) = if publisher {
                (of_publisher, of_viewer)
            } else {
                (of_viewer, of_publisher)
            };
            lane.send_as(sends);
            lane.hears = hears;
        }
        self.told = Some(told);
    }

    /// True if the viewer wishes to send on a channel that there is, and may not.
    pub(super) fn wishes_more(&self) -> bool {
        let told = self.told.iter().flatten();
        let mut unfulfilled = told.filter(|channel| channel.standing != DataStanding::Sends);
        unfulfilled.any(|channel| {
            self.wish(channel.name)
                .is_some_and(|wish| wish.standing == DataStanding::Sends)
        })
    }

    /// The next channel that has something to send, in turn, if the pace allows it.
    pub(super) fn next_lane(&mut self, now: Duration) -> Option<usize> {
        let count = self.lanes.len();
        let mut places = (0..count).map(|step| (self.turn + step) % count);
        let place = places.find(|place| self.lanes[*place].next_length().is_some())?;
        let length = self.lanes[place].next_length()?;
        self.sending.take(now, length).then(|| {
            self.turn = place + 1;
            place
        })
    }
}
