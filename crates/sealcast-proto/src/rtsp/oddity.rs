//! Deviations of a camera from the standard, and what the client makes of them.

use std::fmt;

/// A deviation from the standard that was passed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Oddity {
    /// Bytes between two messages that belong to none.
    Junk,
    /// A head that the standard does not allow, or a length of a body that is no number.
    Head,
    /// A description that is longer or shorter than its answer says.
    DescriptionLength,
    /// Answers without CSeq.
    Unnumbered,
    /// Answers with the CSeq of another request.
    Misnumbered,
    /// OPTIONS is not answered.
    OptionsUnanswered,
    /// PLAY is not answered, and packets come.
    PlayUnanswered,
    /// Keep-alives are not answered, and packets come.
    KeepAliveUnanswered,
    /// A keep-alive is answered with an error.
    KeepAliveRefused,
    /// The answer to SETUP has no Session.
    SessionLate,
    /// An answer has another Session than its request.
    SessionChanges,
    /// Each track has a session of its own.
    SessionPerTrack,
    /// The answer to SETUP has no Transport.
    NoTransport,
    /// The answer to SETUP has no ports of the camera, or no usable ones.
    NoPorts,
    /// The answer to SETUP gives a track the channels of another.
    ChannelsTaken,
    /// The transport that was asked for first is refused.
    OtherTransport,
    /// A request was answered with another place.
    Redirect,
}

impl Oddity {
    /// All of them.
    const ALL: [Self; 17] = [
        Self::Junk,
        Self::Head,
        Self::DescriptionLength,
        Self::Unnumbered,
        Self::Misnumbered,
        Self::OptionsUnanswered,
        Self::PlayUnanswered,
        Self::KeepAliveUnanswered,
        Self::KeepAliveRefused,
        Self::SessionLate,
        Self::SessionChanges,
        Self::SessionPerTrack,
        Self::NoTransport,
        Self::NoPorts,
        Self::ChannelsTaken,
        Self::OtherTransport,
        Self::Redirect,
    ];
}

impl fmt::Display for Oddity {
    /// Writes what the camera does, and what is made of it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Junk => "bytes of no message come between its answers: they are skipped",
            Self::Head => "the heads of its answers are not as the standard says: what can be read of them counts",
            Self::DescriptionLength => "its description has another length than it says: it ends with its last line",
            Self::Unnumbered => "its answers have no number: each counts for the request before",
            Self::Misnumbered => "its answers have wrong numbers: each counts for the request before, after a second",
            Self::OptionsUnanswered => "it does not answer OPTIONS: it is asked for its description all the same",
            Self::PlayUnanswered => "it does not answer PLAY: the packets that come are the answer",
            Self::KeepAliveUnanswered => "it does not answer keep-alives: it counts as there while packets come",
            Self::KeepAliveRefused => "it refuses a keep-alive: the next one is another request",
            Self::SessionLate => "it names no session before it plays: that of the later answer counts",
            Self::SessionChanges => "its session changes its name: the new one is used, then the one before",
            Self::SessionPerTrack => "each track has a session of its own: each is played, and kept alive",
            Self::NoTransport => "its answer says nothing of the transport: that which was asked for counts",
            Self::NoPorts => "it names no ports to send from: packets from its address count",
            Self::ChannelsTaken => "it gives a track the channels of another: those that were asked for count",
            Self::OtherTransport => "it refuses the transport asked for first: the other was taken",
            Self::Redirect => "it refers to another place: it was asked there",
        })
    }
}

/// A set of oddities.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Oddities(u32);

impl Oddities {
    /// Adds one.
    pub(super) fn note(&mut self, oddity: Oddity) {
        self.0 |= 1 << oddity as u32;
    }

    /// The union of two sets.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Each of them once.
    pub fn iter(self) -> impl Iterator<Item = Oddity> {
        Oddity::ALL
            .into_iter()
            .filter(move |oddity| self.0 & 1 << *oddity as u32 != 0)
    }
}
