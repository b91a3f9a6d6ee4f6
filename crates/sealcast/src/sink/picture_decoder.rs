//! Decodes a stream of which frames may be missing, for sinks that show or examine pictures.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::codec::{Decoder, check_decoder};
use crate::failure::Result;
use crate::media::{Codec, Orientation, Picture, ReceivedFrame};

/// Minimum time between two requests for a keyframe after a frame that could not be decoded.
const ASK_INTERVAL: Duration = Duration::from_secs(1);

/// Outcome of decoding a frame.
pub(crate) enum Decoded {
    /// Its picture.
    Picture(Picture),
    /// It has none, or it is skipped because the picture was lost before.
    Nothing,
    /// It could not be decoded.
    Lost,
}

/// Skips from a frame that cannot be decoded to the next keyframe, and says when to ask for one.
///
/// Its decoder stays as the stream changes, because a publisher who changes it all the time must not make us start
/// processes all the time. Use one thread: the decoder's process ends with it.
#[derive(Default)]
pub(crate) struct PictureDecoder {
    h264: Option<Decoder>,
    mjpeg: Option<Decoder>,
    codec: Option<Codec>,
    /// Program file of the decoders' processes, if it is not this program.
    program: Option<PathBuf>,
    /// True after a frame that could not be decoded, until the next keyframe.
    lost: bool,
    /// When to ask for that keyframe, and when one was last asked for.
    ask: Option<Instant>,
    asked: Option<Instant>,
    time: Option<Duration>,
    orientation: Orientation,
}

impl PictureDecoder {
    /// Decode with this program file of sealcast instead of this program: for tests, which are other programs.
    pub(crate) fn set_program(&mut self, program: PathBuf) {
        self.program = Some(program);
    }

    /// A stream of this codec begins, to be decoded for `sink`, as messages name it.
    ///
    /// # Errors
    /// There is no decoder of this codec, or the decoder's process cannot start.
    pub(crate) fn start(&mut self, codec: Codec, sink: &str) -> Result<()> {
        check_decoder(codec, sink)?;
        let decoder = match codec {
            Codec::Mjpeg => &mut self.mjpeg,
            _ => &mut self.h264,
        };
        if decoder.is_none() {
            *decoder = Some(match &self.program {
                Some(program) => Decoder::by_program(program, codec)?,
                None => Decoder::new(codec)?,
            });
        }
        self.codec = Some(codec);
        self.lost = false;
        self.ask = None;
        Ok(())
    }

    /// Pictures that are decoded from here on are turned.
    pub(crate) fn orient(&mut self, orientation: Orientation) {
        self.orientation = orientation;
    }

    /// Decode a frame of the stream that began last.
    pub(crate) fn decode(&mut self, frame: &ReceivedFrame) -> Decoded {
        let decoder = match self.codec {
            Some(Codec::Mjpeg) => &mut self.mjpeg,
            Some(_) => &mut self.h264,
            None => return Decoded::Nothing,
        };
        let Some(decoder) = decoder else {
            return Decoded::Nothing;
        };
        if self.lost && !(frame.keyframe && decoder.rest().is_zero()) {
            return Decoded::Nothing;
        }
        let began = Instant::now();
        let decoded = decoder.decode(&frame.data);
        self.time = Some(began.elapsed());
        match decoded {
            Ok(picture) => {
                self.lost = false;
                self.ask = None;
                let picture = picture.map(|picture| picture.turned(self.orientation));
                picture.map_or(Decoded::Nothing, Decoded::Picture)
            }
            Err(failure) => {
                // An undecodable picture is no reason to end the stream: the next keyframe repairs it.
                tracing::warn!(number = frame.number, %failure, "a frame is not shown");
                let rest = decoder.rest();
                self.lose(rest);
                Decoded::Lost
            }
        }
    }

    /// Note that the picture is lost, and ask for a keyframe once the decoder can take it. A stream that never decodes
    /// costs its publisher one more keyframe, and one that rarely does at most one in [`ASK_INTERVAL`].
    fn lose(&mut self, rest: Duration) {
        let began = !std::mem::replace(&mut self.lost, true);
        if began || !rest.is_zero() {
            let ready = Instant::now() + rest;
            let allowed = self.asked.map(|asked| asked + ASK_INTERVAL);
            self.ask = Some(allowed.map_or(ready, |allowed| allowed.max(ready)));
        }
    }

    /// Time for decoding the last frame.
    pub(crate) fn time(&self) -> Option<Duration> {
        self.time
    }

    /// True if a keyframe should be requested now. The answer counts as one request.
    pub(crate) fn wants_keyframe(&mut self) -> bool {
        let due = self.ask.is_some_and(|at| at <= Instant::now());
        if due {
            self.ask = None;
            self.asked = Some(Instant::now());
        }
        due
    }
}
