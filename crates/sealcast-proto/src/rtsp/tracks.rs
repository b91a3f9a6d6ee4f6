//! Tracks and their channels, numbered alike between the gateways whatever either plain side uses.

/// Most tracks of one camera.
pub const MAX_TRACKS: u8 = 16;

/// A track: the number of its `m=` line in the description, 0 to 15.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Track(u8);

impl Track {
    /// Track `number`, or `None` for 16 and above.
    pub fn new(number: usize) -> Option<Self> {
        u8::try_from(number)
            .ok()
            .filter(|number| *number < MAX_TRACKS)
            .map(Self)
    }

    /// Its number.
    pub fn index(self) -> usize {
        self.0.into()
    }
}

/// RTP or RTCP of one track.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Channel {
    /// Which track.
    pub track: Track,
    /// Whether it is RTCP rather than RTP.
    pub rtcp: bool,
}

impl Channel {
    /// The channel's number between the gateways.
    pub fn number(self) -> u8 {
        self.track.0 * 2 + u8::from(self.rtcp)
    }

    /// The channel of that number, or `None` if no track has it.
    pub fn from_number(number: u8) -> Option<Self> {
        let track = Track::new(usize::from(number / 2))?;
        Some(Self {
            track,
            rtcp: number % 2 == 1,
        })
    }
}

/// Some of a camera's tracks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TrackSet(u16);

impl TrackSet {
    /// The tracks whose bits are set: bit 0 is track 0.
    pub fn from_bits(bits: u16) -> Self {
        Self(bits)
    }

    /// One bit for each track.
    pub fn bits(self) -> u16 {
        self.0
    }

    /// Put a track in.
    pub fn insert(&mut self, track: Track) {
        self.0 |= 1 << track.0;
    }

    /// Take a track out.
    pub fn remove(&mut self, track: Track) {
        self.0 &= !(1 << track.0);
    }

    /// These and those.
    #[must_use]
    pub fn with(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }

    /// These without those.
    #[must_use]
    pub fn without(self, others: Self) -> Self {
        Self(self.0 & !others.0)
    }

    /// Those of these that are also among the others.
    #[must_use]
    pub fn only(self, others: Self) -> Self {
        Self(self.0 & others.0)
    }

    /// Whether a track is in it.
    pub fn contains(self, track: Track) -> bool {
        self.0 & (1 << track.0) != 0
    }

    /// Whether there is none.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The tracks, in order.
    pub fn iter(self) -> impl Iterator<Item = Track> {
        (0..MAX_TRACKS).map(Track).filter(move |track| self.contains(*track))
    }
}

/// Which interleaved channel of an RTSP connection is which track's. Each connection has its own.
#[derive(Clone, Debug, Default)]
pub struct Interleaving {
    /// By track: the number of its RTP channel, and of its RTCP channel.
    pairs: Vec<(Track, u8, u8)>,
}

impl Interleaving {
    /// Give a track its pair, instead of any it had. `false`, with nothing changed, if another track has one of them or
    /// both are the same.
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

    /// Take a track's pair from it, if it has one.
    pub fn release(&mut self, track: Track) {
        self.pairs.retain(|pair| pair.0 != track);
    }

    /// A pair that nobody has, even first.
    pub fn free_pair(&self) -> Option<(u8, u8)> {
        let taken = |number: u8| self.pairs.iter().any(|pair| pair.1 == number || pair.2 == number);
        let first = (0..=u8::MAX - 1)
            .step_by(2)
            .find(|first| !taken(*first) && !taken(first + 1))?;
        Some((first, first + 1))
    }

    /// The connection's number of a channel.
    pub fn number(&self, channel: Channel) -> Option<u8> {
        let pair = self.pairs.iter().find(|pair| pair.0 == channel.track)?;
        Some(if channel.rtcp { pair.2 } else { pair.1 })
    }

    /// The channel that a number of the connection stands for.
    pub fn channel(&self, number: u8) -> Option<Channel> {
        let pair = self.pairs.iter().find(|pair| pair.1 == number || pair.2 == number)?;
        Some(Channel {
            track: pair.0,
            rtcp: pair.2 == number,
        })
    }
}
