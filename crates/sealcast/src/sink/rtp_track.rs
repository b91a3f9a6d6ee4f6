//! One track of a stream that this program makes RTP packets of.

use std::time::{Duration, Instant};

use sealcast_proto::rtp::packetize::Packetizer;

use crate::failure::{Failure, FailureKind, Result};
use crate::keys::entropy;
use crate::media::{Codec, ReceivedFrame, SoundInfo};

/// Interval of reports that tie packets to the time of their capture.
const REPORT: Duration = Duration::from_secs(1);

/// Packets of the picture, or of the sound.
pub(crate) struct RtpTrack {
    packetizer: Packetizer,
    reported: Option<Instant>,
}

/// Packets of one frame.
pub(crate) struct CutFrame {
    pub(crate) packets: Vec<Vec<u8>>,
    /// Sender report about the frame, if one is due.
    pub(crate) report: Option<Vec<u8>>,
}

impl RtpTrack {
    /// A picture of which nothing was sent.
    ///
    /// # Errors
    /// RTP has no form for the codec.
    pub(crate) fn of_picture(codec: Codec) -> Result<Self> {
        let packetizer = Packetizer::for_picture(codec, entropy::random()?).ok_or_else(|| {
            let what = format!("RTP players have no form for {}", codec.title());
            Failure::new(FailureKind::Sink, what, "publish H.264 or H.265")
        })?;
        Ok(Self::new(packetizer))
    }

    /// Sound of which nothing was sent. `None` if players have no form for it, which is said.
    ///
    /// # Errors
    /// The system has no random bytes.
    pub(crate) fn of_sound(info: &SoundInfo) -> Result<Option<Self>> {
        let packetizer = Packetizer::for_sound(info, entropy::random()?);
        if packetizer.is_none() {
            let (codec, channels) = (info.codec.name(), info.channels);
            tracing::warn!(
                codec,
                channels,
                "players have no form for this sound: they get the picture alone"
            );
        }
        Ok(packetizer.map(Self::new))
    }

    fn new(packetizer: Packetizer) -> Self {
        Self {
            packetizer,
            reported: None,
        }
    }

    /// The same in payloads of so many bytes at most.
    pub(crate) fn in_payloads_of(mut self, longest: usize) -> Self {
        self.packetizer = self.packetizer.in_payloads_of(longest);
        self
    }

    /// Cuts a frame, which was captured then.
    ///
    /// # Errors
    /// It has no form in RTP.
    pub(crate) fn cut(&mut self, frame: &ReceivedFrame, captured: Option<Duration>) -> Result<CutFrame> {
        let mut packets = Vec::new();
        let cut = self.packetizer.cut(frame.media_time, &frame.data, &mut packets);
        cut.map_err(|why| {
            let what = format!("players cannot be sent this picture: {why}");
            Failure::new(FailureKind::Sink, what, "publish H.264, or watch it with another sink")
        })?;
        let now = Instant::now();
        let due = self.reported.is_none_or(|last| now.duration_since(last) >= REPORT);
        let report = captured.filter(|_| due).map(|captured| {
            self.reported = Some(now);
            self.packetizer.report(frame.media_time, captured)
        });
        Ok(CutFrame { packets, report })
    }
}
