//! Streams of our own writer in pieces of any length, and damaged ones.

use std::time::Duration;

use super::super::{MatroskaWriter, PictureTrack};
use super::*;
use crate::container::tests::{draw, opus};
use crate::container::{Pictures, Tracks};
use crate::unit::Codec;

/// A stream of pictures and Opus, and what is in it.
fn stream() -> (Vec<u8>, Vec<Piece>) {
    let sound = opus(0);
    let picture = PictureTrack {
        codec: Codec::H264,
        private: &[1, 2, 3],
        size: [640, 480],
    };
    let (mut writer, mut out) = MatroskaWriter::begin(picture, Some(&sound));
    let tracks = Tracks {
        picture: Some(Pictures {
            codec: Codec::H264,
            private: Some(vec![1, 2, 3]),
        }),
        sound: true,
        left_out: Vec::new(),
    };
    let mut pieces = vec![Piece::Tracks(tracks), Piece::Sound(sound)];
    for number in 0..100_u8 {
        let at = Duration::from_millis(100 + 40 * u64::from(number));
        let picture = number % 2 == 0;
        let data = vec![number; 1 + 50 * usize::from(number)];
        let keyframe = !picture || number % 20 == 0;
        match picture {
            true => writer.picture(at, keyframe, &data, &mut out),
            false => writer.sound(at, &data, &mut out),
        }
        pieces.push(Piece::Frame(Frame {
            track: if picture { Track::Picture } else { Track::Sound },
            stamp: at.as_nanos() as i64,
            keyframe,
            lost: false,
            data,
        }));
    }
    (out, pieces)
}

fn read(stream: &[u8], mut length: impl FnMut() -> usize) -> Result<Vec<Piece>, Damaged> {
    let (mut reader, mut pieces, mut rest) = (MatroskaReader::default(), Vec::new(), stream);
    while !rest.is_empty() {
        let (bytes, more) = rest.split_at(length().clamp(1, rest.len()));
        reader.push(bytes)?;
        pieces.extend(std::iter::from_fn(|| reader.poll()));
        rest = more;
    }
    Ok(pieces)
}

#[test]
fn what_was_written_is_read_in_pieces_of_any_length() {
    let (stream, expected) = stream();
    // Times are rounded to a millisecond, those of sound with what a decoder leaves out.
    let near = |read: &Piece, written: &Piece| match (read.clone(), written) {
        (Piece::Frame(read), Piece::Frame(written)) => {
            let stamp = written.stamp;
            read.stamp.abs_diff(stamp) <= 500_000 && Frame { stamp, ..read } == *written
        }
        (read, written) => read == *written,
    };
    let mut state = 3;
    for length in [1, 2, 7, 1000, usize::MAX, 0] {
        let pieces = read(&stream, || if length == 0 { draw(&mut state, 3000) } else { length });
        let pieces = pieces.expect("whole");
        assert_eq!(pieces.len(), expected.len());
        let same = pieces.iter().zip(&expected).all(|(read, written)| near(read, written));
        assert!(same, "in pieces of {length}");
    }
}

#[test]
fn an_element_that_is_too_long_or_none_is_refused_before_memory_is_taken() {
    const HEAD: &[u8] = b"\x1a\x45\xdf\xa3\x87\x42\x82\x84webm";
    for (bytes, why) in [
        (&[0x1a, 0x45, 0xdf, 0xa3, 0x08, 1, 0, 0, 0][..], "too long"),
        (
            &[HEAD, &[0xa3, 0x01, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]].concat(),
            "too long",
        ),
        (&[HEAD, &[0xa3, 0x01, 0, 0, 0, 0x10, 0, 0, 0]].concat(), "too long"),
        (&[HEAD, &[0xec, 0x01, 0, 0, 0x10, 0, 0, 0, 0]].concat(), "gigabyte"),
        (&[HEAD, &[0xec, 0xff]].concat(), "without an end"),
        (&[HEAD, &[0, 0, 0, 1, 0x65, 1, 2, 3, 4]].concat(), "is none"),
        (&[0x1a, 0x45, 0xdf, 0xa3, 0x80], "another kind"),
        (&[0x47, 0x40, 0x11, 0x10, 0, 0x42], "does not begin"),
    ] {
        let told = MatroskaReader::default().push(bytes).expect_err(why).to_string();
        assert!(told.contains(why), "{told}");
    }
}

#[test]
fn any_change_of_a_stream_gives_pieces_or_words_and_keeps_no_memory() {
    let (stream, _) = stream();
    let mut state = 11;
    for _ in 0..300 {
        let mut changed = stream.clone();
        for _ in 0..1 + draw(&mut state, 8) {
            let at = draw(&mut state, changed.len());
            changed[at] = draw(&mut state, 256) as u8;
        }
        let mut reader = MatroskaReader::default();
        for bytes in changed.chunks(997) {
            if reader.push(bytes).is_err() {
                break;
            }
            assert!(reader.buffer.len() <= changed.len());
            while let Some(piece) = reader.poll() {
                assert!(!matches!(piece, Piece::Frame(frame) if frame.data.is_empty()));
            }
        }
    }
}
