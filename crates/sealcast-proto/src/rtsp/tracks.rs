//! Tracks and their channels. Their numbers between the gateways are independent of those that cameras and players use.

/// Maximum number of tracks of one camera.
pub const MAX_TRACKS: u8 = 16;

/// A track: the number of its `m=` line in the description, 0 to 15.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Track(u8);

impl Track {
    /// Returns track `number`, or `None` for 16 and above.
    pub fn new(number: usize) -> Option<Self> {
        u8::try_from(number)
            .ok()
            .filter(|number| *number < MAX_TRACKS)
            .map(Self)
    }

    /// The track's number.
    pub fn index(self) -> usize {
        self.0.into()
    }
}

/// RTP or RTCP of one track.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Channel {
    /// The track.
    pub track: Track,
    /// True for RTCP, false for RTP.
    pub rtcp: bool,
}

impl Channel {
    /// The channel's number between the gateways.
    pub fn number(self) -> u8 {
        self.track.0 * 2 + u8::from(self.rtcp)
    }

    /// Returns the channel with this number, or `None` if its track would be out of range.
    pub fn from_number(number: u8) -> Option<Self> {
        let track = Track::new(usize::from(number / 2))?;
        Some(Self {
            track,
            rtcp: number % 2 == 1,
        })
    }
}

/// A set of a camera's tracks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TrackSet(u16);

impl TrackSet {
    /// The set of one track.
    pub fn of(track: Track) -> Self {
        Self(1 << track.0)
    }

    /// The set of the tracks whose bits are set; bit 0 is track 0.
    pub fn from_bits(bits: u16) -> Self {
        Self(bits)
    }

    /// Returns the set as bits, one for each track.
    pub fn bits(self) -> u16 {
        self.0
    }

    /// Adds a track.
    pub fn insert(&mut self, track: Track) {
        self.0 |= 1 << track.0;
    }

    /// Removes a track.
    pub fn remove(&mut self, track: Track) {
        self.0 &= !(1 << track.0);
    }

    /// Union of two sets.
    #[must_use]
    pub fn with(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }

    /// This set without the tracks of `others`.
    #[must_use]
    pub fn without(self, others: Self) -> Self {
        Self(self.0 & !others.0)
    }

    /// Intersection of two sets.
    #[must_use]
    pub fn only(self, others: Self) -> Self {
        Self(self.0 & others.0)
    }

    /// Returns true if a track is in the set.
    pub fn contains(self, track: Track) -> bool {
        self.0 & (1 << track.0) != 0
    }

    /// Returns true if the set is empty.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The tracks, in order.
    pub fn iter(self) -> impl Iterator<Item = Track> {
        (0..MAX_TRACKS).map(Track).filter(move |track| self.contains(*track))
    }
}

/// Assignment of the interleaved channels of one RTSP connection to tracks.
#[derive(Clone, Debug, Default)]
pub struct Interleaving {
    /// By track: the numbers of its RTP channel and of its RTCP channel.
    pairs: Vec<(Track, u8, u8)>,
}

impl Interleaving {
    /// Assigns a pair of channels to a track, replacing any that it had. Returns false, and changes nothing, if another
    /// track has one of the numbers or both are equal.
    pub fn assign(&mut self, track: Track, rtp: u8, rtcp: u8) -> bool {
        let taken = |number: u8| {
            let others = self.pairs.iter().filter(|pair| pair.0 != track);
            others.into_iter().any(|pair| pair.1 == number || pair.2 == number)
        };
        if rtp == rtcp || taken(rtp) || taken(rtcp) {
            return false;
        }
        self.release(track);
        self.pairs.push((track, rtp, rtcp));
        true
    }

    /// Releases the pair of a track, if it has one.
    pub fn release(&mut self, track: Track) {
        self.pairs.retain(|pair| pair.0 != track);
    }

    /// Returns a pair of free numbers, the first of them even.
    pub fn free_pair(&self) -> Option<(u8, u8)> {
        let taken = |number: u8| self.pairs.iter().any(|pair| pair.1 == number || pair.2 == number);
        let first = (0..=u8::MAX - 1)
            .step_by(2)
            .find(|first| !taken(*first) && !taken(first + 1))?;
        Some((first, first + 1))
    }

    /// Number of a channel on the connection.
    pub fn number(&self, channel: Channel) -> Option<u8> {
        let pair = self.pairs.iter().find(|pair| pair.0 == channel.track)?;
        Some(if channel.rtcp { pair.2 } else { pair.1 })
    }

    /// The channel with a number on the connection.
    pub fn channel(&self, number: u8) -> Option<Channel> {
        let pair = self.pairs.iter().find(|pair| pair.1 == number || pair.2 == number)?;
        Some(Channel {
            track: pair.0,
            rtcp: pair.2 == number,
        })
    }
}
