//! Whether a camera sets the marker on the last packet of a picture, as it should, or on others too.

/// Meaning that the markers of a stream are taken for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Markers {
    /// They end pictures, as far as is known.
    #[default]
    Unknown,
    /// They end pictures; other markers on what stands before one are passed over.
    Right,
    /// There was one that ends no picture, so they are passed over until a picture shows whether its slices have one
    /// each.
    Doubtful,
    /// They stand inside pictures too: a picture ends where the next one begins.
    Wrong,
}

impl Markers {
    /// True if a marker behind a slice ends its picture.
    pub(super) fn end_pictures(self) -> bool {
        matches!(self, Self::Unknown | Self::Right)
    }

    /// There is a marker on what is no picture, or on a fragment that is not the last of its unit.
    pub(super) fn doubt(&mut self) {
        if *self == Self::Unknown {
            *self = Self::Doubtful;
        }
    }

    /// A marker has ended a picture.
    pub(super) fn ended_one(&mut self) {
        *self = Self::Right;
    }

    /// A picture went on after its marker.
    pub(super) fn disprove(&mut self) {
        *self = Self::Wrong;
    }

    /// A picture of so many slices has ended, of whose packets so many had the marker, and the last did or did not.
    pub(super) fn judge(&mut self, slices: usize, marks: usize, last: bool) {
        let once = marks == 1 && last;
        *self = match *self {
            Self::Doubtful if once => Self::Right,
            Self::Doubtful if marks > 0 => Self::Wrong,
            Self::Wrong if once && slices > 1 => Self::Right,
            unchanged => unchanged,
        };
    }
}
