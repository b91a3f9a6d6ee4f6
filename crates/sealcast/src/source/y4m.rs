//! Raw video in YUV4MPEG2, as ffmpeg and most tools of the field write it: a line of text for the stream, and for each
//! picture a line and its planes. The format is described with `mjpegtools` (yuv4mpeg(5)).

use std::io::{BufRead, BufReader, ErrorKind, Read};

use super::coded::{MediaError, Result, sane_rate};
use crate::codec::{MAX_PIXELS, MAX_SIDE};
use crate::media::{FrameRate, Picture};

/// The first bytes of a stream.
pub(super) const MAGIC: &[u8] = b"YUV4MPEG2";

/// The first bytes of a picture.
const FRAME: &[u8] = b"FRAME";

/// Longest line of text, in bytes. Real ones have some dozens.
const MAX_LINE: usize = 1024;

/// Names of 4:2:0 with 8 bits. They differ in where the samples of chroma lie, by half a pixel, which nobody keeps.
const CHROMA_420: [&str; 4] = ["420", "420jpeg", "420mpeg2", "420paldv"];

/// Reads the pictures of a stream.
#[derive(Debug)]
pub(super) struct Y4mReader<R> {
    input: BufReader<R>,
    pub(super) width: usize,
    pub(super) height: usize,
    /// Pictures per second, if stated.
    pub(super) rate: Option<FrameRate>,
}

impl<R: Read> Y4mReader<R> {
    /// Reads the line that describes the stream.
    ///
    /// # Errors
    /// It is damaged, or describes other pictures than progressive ones in 4:2:0 with 8 bits and video range.
    pub(super) fn open(input: R) -> Result<Self> {
        let mut input = BufReader::new(input);
        let line = line(&mut input)?.unwrap_or_default();
        let mut words = line.split(' ');
        if words.next().map(str::as_bytes) != Some(MAGIC) {
            return Err(MediaError::Damaged("it does not begin with YUV4MPEG2".into()));
        }
        let (mut width, mut height, mut rate) = (None, None, None);
        for word in words.filter(|word| !word.is_empty()) {
            let (key, value) = word.split_at(word.chars().next().map_or(0, char::len_utf8));
            match key {
                "W" => width = Some(side(value)?),
                "H" => height = Some(side(value)?),
                "F" => rate = frames_a_second(value),
                "C" if !CHROMA_420.contains(&value) => return Err(unsupported("chroma", value)),
                // Unknown interlacing ("?") is left to the user: cameras' pictures are progressive.
                "I" if !matches!(value, "p" | "?") => return Err(unsupported("interlaced pictures", value)),
                "X" if value == "COLORRANGE=FULL" => return Err(unsupported("full range", value)),
                _ => {}
            }
        }
        let (Some(width), Some(height)) = (width, height) else {
            return Err(MediaError::Damaged("it does not say how large its pictures are".into()));
        };
        if width * height > MAX_PIXELS {
            let what = format!("raw pictures of {width}x{height} pixels");
            return Err(MediaError::Unsupported(what));
        }
        Ok(Self {
            input,
            width,
            height,
            rate,
        })
    }

    /// Returns the next picture, or `None` at the end of the stream.
    ///
    /// # Errors
    /// Reading fails, or the stream breaks off or is damaged.
    pub(super) fn next_picture(&mut self) -> Result<Option<Picture>> {
        let Some(line) = line(&mut self.input)? else {
            return Ok(None);
        };
        if !line.as_bytes().starts_with(FRAME) {
            let what = "a picture does not begin with FRAME".to_owned();
            return Err(MediaError::Damaged(what));
        }
        let mut picture = Picture::black(self.width, self.height);
        for plane in [&mut picture.y, &mut picture.u, &mut picture.v] {
            self.input.read_exact(plane).map_err(|error| match error.kind() {
                ErrorKind::UnexpectedEof => MediaError::Truncated("it ends in the middle of a picture".into()),
                _ => error.into(),
            })?;
        }
        Ok(Some(picture))
    }
}

/// A line of text without its end; `None` at the end of the input.
fn line(input: &mut impl BufRead) -> Result<Option<String>> {
    let mut line = Vec::new();
    let limit = MAX_LINE as u64 + 1;
    if input.by_ref().take(limit).read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    if line.pop() != Some(b'\n') {
        return Err(match line.len() {
            MAX_LINE => MediaError::Damaged(format!("a line has more than {MAX_LINE} bytes")),
            _ => MediaError::Truncated("it ends in the middle of a line".into()),
        });
    }
    let text = String::from_utf8(line).map_err(|_| MediaError::Damaged("a line is no text".into()))?;
    Ok(Some(text))
}

fn side(value: &str) -> Result<usize> {
    let side = value.parse().ok().filter(|side| (2..=MAX_SIDE).contains(side));
    let even = side.filter(|side: &usize| side.is_multiple_of(2));
    even.ok_or_else(|| MediaError::Unsupported(format!("raw pictures with a side of {value:?} pixels")))
}

/// A rate such as `30000:1001`; `None` for `0:0`, which stands for an unknown one.
fn frames_a_second(value: &str) -> Option<FrameRate> {
    let (numerator, denominator) = value.split_once(':')?;
    sane_rate(numerator.parse().ok()?, denominator.parse().ok()?)
}

fn unsupported(what: &str, value: &str) -> MediaError {
    MediaError::Unsupported(format!(
        "raw video with {what} ({value:?}), where 4:2:0, 8 bits, progressive and video range are needed,"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(header: &str, pictures: usize) -> Vec<u8> {
        let mut bytes = format!("{header}\n").into_bytes();
        for shade in 0..pictures {
            bytes.extend_from_slice(b"FRAME Ixyz\n");
            bytes.extend([shade as u8; 6]);
        }
        bytes
    }

    #[test]
    fn pictures_come_out_as_they_were_written() {
        let bytes = stream("YUV4MPEG2 W2 H2 F30000:1001 Ip A1:1 C420mpeg2 XYSCSS=420MPEG2", 3);
        let mut reader = Y4mReader::open(&bytes[..]).expect("a stream");
        let rate = FrameRate {
            numerator: 30_000,
            denominator: 1001,
        };
        assert_eq!((reader.width, reader.height, reader.rate), (2, 2, Some(rate)));
        for shade in 0..3 {
            let picture = reader.next_picture().expect("a picture").expect("no end");
            assert_eq!(
                (&picture.y[..], &picture.u[..], &picture.v[..]),
                (&[shade; 4][..], &[shade][..], &[shade][..])
            );
        }
        assert_eq!(reader.next_picture().expect("the end"), None);
    }

    #[test]
    fn other_pictures_are_refused_in_words() {
        for (header, word) in [
            ("YUV4MPEG2 W2 H2 C444", "444"),
            ("YUV4MPEG2 W2 H2 C420p10", "8 bits"),
            ("YUV4MPEG2 W2 H2 Cmono", "mono"),
            ("YUV4MPEG2 W2 H2 It", "interlaced"),
            ("YUV4MPEG2 W2 H2 XCOLORRANGE=FULL", "full range"),
            ("YUV4MPEG2 W3 H2", "\"3\""),
            ("YUV4MPEG2 W99999999 H2", "99999999"),
            ("YUV4MPEG2 W-2 H2", "-2"),
            ("YUV4MPEG2 W8192 H8192", "8192x8192"),
            ("YUV4MPEG2 H2", "how large"),
            ("YUV4MPEG3 W2 H2", "YUV4MPEG2"),
            ("", "YUV4MPEG2"),
        ] {
            let told = Y4mReader::open(&stream(header, 1)[..]).expect_err(header).to_string();
            assert!(told.contains(word), "{header}: {told}");
        }
    }

    #[test]
    fn a_stream_that_breaks_off_or_never_ends_a_line_is_told() {
        let whole = stream("YUV4MPEG2 W2 H2", 2);
        let header = whole.iter().position(|byte| *byte == b'\n').expect("a line") + 1;
        for cut in header..whole.len() {
            let mut reader = Y4mReader::open(&whole[..cut]).expect("a header");
            let end = loop {
                match reader.next_picture() {
                    Ok(Some(_)) => {}
                    other => break other,
                }
            };
            let between = (cut - header).is_multiple_of(whole[header..].len() / 2);
            assert_eq!(end.is_ok(), between, "{cut}: {end:?}");
        }
        let endless = [MAGIC, &[b' '; 4096]].concat();
        let told = Y4mReader::open(&endless[..]).expect_err("no end").to_string();
        assert!(told.contains("1024"), "{told}");
        let lost = [&whole[..header], b"FRAMES\n"].concat();
        assert!(Y4mReader::open(&lost[..]).expect("a header").next_picture().is_err());
        let other = [&whole[..header], b"PICTURE\n"].concat();
        assert!(Y4mReader::open(&other[..]).expect("a header").next_picture().is_err());
    }
}
