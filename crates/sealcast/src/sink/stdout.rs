//! Writes frames to standard output, to pipe them into a player.

use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::os::fd::AsFd;

use super::Sink;
use super::file::full_disk;
use crate::failure::{Failure, FailureKind, Result};
use crate::media::{Codec, ReceivedFrame, SoundInfo, StreamInfo};
use crate::source::av1::DELIMITER;

/// Writes access units, temporal units or JPEG images back to back, each as soon as it arrives.
#[derive(Debug)]
pub struct StdoutSink<W> {
    output: W,
    /// True for AV1, whose units begin with a delimiter in a byte stream.
    delimited: bool,
}

impl StdoutSink<File> {
    /// Opens standard output.
    ///
    /// # Errors
    /// Standard output is closed.
    pub fn open() -> Result<Self> {
        // The standard library's own handle searches all output for line ends; a second handle does not.
        let handle = io::stdout().as_fd().try_clone_to_owned().map_err(|e| told(&e))?;
        Ok(Self::to(handle.into()))
    }
}

impl<W: Write> StdoutSink<W> {
    /// Writes to another output.
    pub fn to(output: W) -> Self {
        Self {
            output,
            delimited: false,
        }
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
                "pipe it into a player, as in: sealcast watch TICKET --to - | ffplay -",
            );
        }
    };
    Failure::new(FailureKind::Sink, what, hint)
}

impl<W: Write + Send> Sink for StdoutSink<W> {
    fn start(&mut self, info: &StreamInfo) -> Result<()> {
        self.delimited = info.codec == Codec::Av1;
        Ok(())
    }

    fn start_sound(&mut self, info: &SoundInfo) -> Result<()> {
        let codec = info.codec.name();
        tracing::info!(
            codec,
            "the stream has sound, for which a stream of bytes has no place: record to .mp4"
        );
        Ok(())
    }

    fn write(&mut self, frame: &ReceivedFrame) -> Result<()> {
        let delimiter = if self.delimited { &DELIMITER[..] } else { &[] };
        self.output
            .write_all(delimiter)
            .and_then(|()| self.output.write_all(&frame.data))
            .and_then(|()| self.output.flush())
            .map_err(|e| told(&e))
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
