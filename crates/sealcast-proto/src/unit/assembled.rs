//! Frames that were put together from media records, and what is known of those that are missing.

use std::fmt;
use std::time::Duration;

use super::jpeg_split::join;
use super::{Description, Layout, MAX_UNITS_TOLD, Preamble, SoundInfo, StreamInfo, UnitArrival};
use crate::seal::SealedFrame;
use crate::wire::Malformed;

/// A complete, verified frame.
#[derive(Clone)]
pub struct AssembledFrame {
    /// Its stream, 1 to 15.
    pub stream: u32,
    /// Its number and timestamps.
    pub preamble: Preamble,
    /// True if it can be decoded without earlier frames.
    pub keyframe: bool,
    /// Timestamp of its last record: the sender's wall clock (ns) just before sealing.
    pub sealed_at: u64,
    /// Time on this end's monotonic clock when its last record arrived or could be recovered.
    pub arrived: Duration,
    /// Number of frames missing between this one and the one before it, decodable or not. They were lost, dropped, or
    /// never sent.
    pub skipped: u64,
    /// The access unit.
    pub data: Vec<u8>,
    /// Arrival of its units, the first [`MAX_UNITS_TOLD`] in order, if the session was asked to report it
    /// ([`Delivery::tell_units`](crate::session::Delivery::tell_units)).
    pub units: Vec<UnitArrival>,
    /// Its records as they came, if the session was asked to keep them
    /// ([`Delivery::keep_sealed`](crate::session::Delivery::keep_sealed)).
    pub sealed: SealedFrame,
}

impl AssembledFrame {
    /// Restores the frame as the source gave it: cuts off the padding, and joins the parts of an image.
    pub(super) fn restore(&mut self) -> Result<(), Malformed> {
        let padding = self.preamble.padding as usize;
        let end = self.data.len().checked_sub(padding).ok_or(Malformed)?;
        if self.data[end..].iter().any(|&byte| byte != 0) {
            return Err(Malformed);
        }
        self.data.truncate(end);
        if self.preamble.layout == Layout::SplitScan {
            self.data = join(&self.data).map_err(|_| Malformed)?;
        }
        Ok(())
    }

    /// Appends the arrivals of its next units, in any order, as far as there is room. Their indices count from 0.
    pub(crate) fn tell_units(&mut self, mut units: Vec<UnitArrival>) {
        let before = self.units.len();
        units.sort_unstable_by_key(|unit| unit.index);
        units.truncate(MAX_UNITS_TOLD - before);
        if before == 0 {
            self.units = units;
            return;
        }
        self.units.extend(units.into_iter().map(|unit| UnitArrival {
            index: before as u32 + unit.index,
            ..unit
        }));
    }
}

impl fmt::Debug for AssembledFrame {
    /// Shows only the length of the picture, not the picture itself.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AssembledFrame")
            .field("stream", &self.stream)
            .field("preamble", &self.preamble)
            .field("keyframe", &self.keyframe)
            .field("sealed_at", &self.sealed_at)
            .field("arrived", &self.arrived)
            .field("skipped", &self.skipped)
            .field("data", &self.data.len())
            .field("units", &self.units.len())
            .field("sealed", &self.sealed.records.len())
            .finish()
    }
}

/// Output of a viewer's session for media records.
#[derive(Clone, Debug)]
pub enum Assembled {
    /// The picture's description, new or changed.
    Info(StreamInfo),
    /// The sound's description, new or changed. From here on a loss is known by the frame numbers of each stream, and
    /// no longer by [`Lost`](Self::Lost): what is missing may be sound, and the picture whole.
    Sound(SoundInfo),
    /// A frame that can be decoded after those handed out before it.
    Frame(AssembledFrame),
    /// A frame that cannot be decoded because an earlier one is missing. A keyframe should be requested.
    Undecodable {
        /// Its number.
        frame: u64,
        /// Number of frames missing between this one and the one before it.
        skipped: u64,
    },
    /// Something is lost for good. Nothing is handed out before the next keyframe, which should be requested.
    Lost,
}

impl From<Description> for Assembled {
    fn from(description: Description) -> Self {
        match description {
            Description::Picture(info) => Self::Info(info),
            Description::Sound(info) => Self::Sound(info),
        }
    }
}
