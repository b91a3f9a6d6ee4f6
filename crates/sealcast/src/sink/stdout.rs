//! Writes frames to standard output, to pipe them into a player.

use std::fs::File;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::os::fd::AsFd;

use super::live_reader::LiveReader;
use super::muxer::Muxer;
use super::{Sink, file::full_disk};
use crate::failure::{Failure, FailureKind, Result};
use crate::media::{Codec, Orientation, PipeFormat, ReceivedFrame, SoundInfo, StreamInfo};
use crate::source::Options;
use crate::source::av1::DELIMITER;

/// Options of standard output, for messages.
const OPTIONS: &str = "format=mkv, format=ts and whole";

/// Writes access units, temporal units or JPEG images back to back, each as soon as it arrives, or in a container with
/// times and sound.
#[derive(Debug)]
pub struct StdoutSink<W> {
    output: W,
    /// True for AV1, whose units begin with a delimiter in a byte stream.
    delimited: bool,
    timed: Option<(Muxer, LiveReader)>,
}

impl StdoutSink<File> {
    /// Opens standard output with what follows the `-` of a URL: `?format=mkv|ts[&whole]`, or nothing.
    ///
    /// # Errors
    /// Kind `Usage`: there is another option, or a terminal; kind `Sink`: standard output is closed.
    pub(super) fn open(rest: &str) -> Result<Self> {
        let (_, mut options) = Options::split(rest);
        let format = options
            .take("format")
            .map(|name| PipeFormat::named(&name))
            .transpose()?;
        let whole = options.flag("whole");
        options.finish(OPTIONS)?;
        if format.is_none() && whole {
            let what = "\"whole\" is for what has a format";
            return Err(Failure::new(FailureKind::Usage, what, "write '-?format=mkv&whole'"));
        }
        if format.is_some() && io::stdout().is_terminal() {
            let hint = "pipe it into a player, as in: sealcast watch TICKET --to '-?format=mkv' | mpv \
                        --profile=low-latency -";
            return Err(Failure::new(FailureKind::Usage, "standard output is a terminal", hint));
        }
        // The standard library's own handle searches all output for line ends; a second handle does not.
        let handle = io::stdout().as_fd().try_clone_to_owned().map_err(|e| told(&e))?;
        let mut sink = Self::to(handle.into());
        if let Some(format) = format {
            let mut reader = LiveReader::of(&sink.output);
            if whole {
                reader.wait();
            }
            sink.timed = Some((Muxer::new(format), reader));
        }
        Ok(sink)
    }
}

impl<W: Write> StdoutSink<W> {
    /// Writes to another output.
    pub fn to(output: W) -> Self {
        Self {
            output,
            delimited: false,
            timed: None,
        }
    }

    /// The same in a container.
    #[must_use]
    pub fn in_format(mut self, format: PipeFormat) -> Self {
        self.timed = Some((Muxer::new(format), LiveReader::new(None)));
        self
    }

    fn put(&mut self, parts: &[&[u8]]) -> Result<()> {
        let written = parts.iter().try_for_each(|part| self.output.write_all(part));
        written.and_then(|()| self.output.flush()).map_err(|e| told(&e))
    }
}

fn told(error: &io::Error) -> Failure {
    let (what, hint) = match error.kind() {
        ErrorKind::BrokenPipe => (
            "the program that read standard output has closed it",
            "start it again, and then this",
        ),
        _ if full_disk(error) => (
            "the disk behind standard output is full",
            "free some space, or write elsewhere",
        ),
        _ => {
            let what = format!("standard output cannot be written: {error}");
            return Failure::new(
                FailureKind::Sink,
                what,
                "pipe it into a player, as in: sealcast watch TICKET --to '-?format=mkv' | mpv --profile=low-latency -",
            );
        }
    };
    Failure::new(FailureKind::Sink, what, hint)
}

impl<W: Write + Send> Sink for StdoutSink<W> {
    fn orient(&mut self, orientation: Orientation) -> Result<()> {
        tracing::warn!(%orientation, "the picture is to be shown so, which a pipe cannot say: turn it in the player");
        Ok(())
    }

    fn start(&mut self, info: &StreamInfo) -> Result<()> {
        self.delimited = info.codec == Codec::Av1;
        match &mut self.timed {
            Some((muxer, _)) => muxer.start(info),
            None => Ok(()),
        }
    }

    fn start_sound(&mut self, info: &SoundInfo) -> Result<()> {
        match &mut self.timed {
            Some((muxer, _)) => muxer.start_sound(info),
            None => {
                let codec = info.codec.name();
                tracing::info!(
                    codec,
                    "the stream has sound, for which a stream of bytes has no place: watch it with '-?format=mkv'"
                );
            }
        }
        Ok(())
    }

    fn kept(&mut self) {
        if let Some((muxer, _)) = self.timed.as_mut().filter(|(_, reader)| reader.is_live()) {
            muxer.kept();
        }
    }

    fn leave_nothing_out(&mut self) {
        if let Some((_, reader)) = &mut self.timed {
            reader.wait();
        }
    }

    fn take_left_out(&mut self) -> u64 {
        self.timed.as_mut().map_or(0, |(_, reader)| reader.take_left_out())
    }

    fn wants_keyframe(&mut self) -> bool {
        self.timed.as_mut().is_some_and(|(_, reader)| reader.wants_keyframe())
    }

    fn write(&mut self, frame: &ReceivedFrame) -> Result<()> {
        let Some((muxer, _)) = &mut self.timed else {
            let delimiter = if self.delimited { &DELIMITER[..] } else { &[] };
            return self.put(&[delimiter, &frame.data]);
        };
        let head = muxer.begin(frame)?;
        if !head.is_empty() {
            self.put(&[&head])?;
        }
        let Some((muxer, reader)) = &mut self.timed else {
            return Ok(());
        };
        if !reader.takes(frame) {
            return Ok(());
        }
        let picture = muxer.picture(frame);
        self.put(&[&picture])
    }

    fn write_sound(&mut self, packet: &ReceivedFrame) -> Result<()> {
        let Some((muxer, _)) = self.timed.as_mut().filter(|(_, reader)| reader.takes_sound(packet)) else {
            return Ok(());
        };
        let bytes = muxer.packet(packet);
        self.put(&[&bytes])
    }

    fn finish(&mut self) -> Result<()> {
        self.output.flush().map_err(|e| told(&e))
    }
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;
    use std::time::{Duration, Instant};

    use super::*;

    fn frame() -> ReceivedFrame {
        let (media_time, opened) = (Duration::ZERO, Instant::now());
        ReceivedFrame {
            number: 0,
            keyframe: true,
            media_time,
            opened,
            data: vec![7; 1000].into(),
        }
    }

    #[test]
    fn frames_pass_as_they_are() {
        let mut out = Vec::new();
        let mut sink = StdoutSink::to(&mut out);
        sink.write(&frame()).expect("fine");
        sink.write(&frame()).expect("fine");
        sink.finish().expect("fine");
        assert_eq!(out, [7; 2000]);
    }

    #[test]
    fn a_reader_that_goes_ends_the_sink_in_words() {
        let (reader, writer) = io::pipe().expect("a pipe");
        drop(reader);
        let failure = StdoutSink::to(writer).write(&frame()).expect_err("a closed pipe");
        assert_eq!(failure.kind, FailureKind::Sink);
        assert!(failure.what.contains("has closed it"), "{failure}");
    }

    #[test]
    fn a_full_disk_is_told() {
        let full = OpenOptions::new().write(true).open("/dev/full").expect("/dev/full");
        let failure = StdoutSink::to(full).write(&frame()).expect_err("a full disk");
        assert_eq!(failure.kind, FailureKind::Sink);
        assert!(failure.what.contains("is full"), "{failure}");
    }
}
