//! Streams of our own writer in pieces of any length, with losses, and damaged ones.

use super::super::{Sounds, TsWriter, ts_ticks};
use super::*;
use crate::container::tests::{draw, opus};
use crate::container::{Pictures, Tracks};
use crate::unit::{Codec, SoundInfo, sound_headers};

const DELIMITER: [u8; 6] = [0, 0, 0, 1, 9, 0xf0];

fn aac() -> SoundInfo {
    sound_headers::aac(&[0x11, 0x90], 2).expect("AAC")
}

/// A stream of pictures and sound, and what is in it.
fn stream(codec: Codec, sound: &SoundInfo) -> (Vec<u8>, Vec<Piece>) {
    let mut writer = TsWriter::begin(codec).expect("a form");
    writer.set_sound(Sounds::of(sound));
    let mut out = writer.head();
    let tracks = Tracks {
        picture: Some(Pictures { codec, private: None }),
        sound: true,
        left_out: Vec::new(),
    };
    let mut pieces = vec![Piece::Tracks(tracks), Piece::Sound(sound.clone())];
    for number in 0..100_u8 {
        let stamp = 40_000_000 * i64::from(number);
        let at = ts_ticks(std::time::Duration::from_nanos(stamp as u64));
        let (picture, keyframe) = (number % 2 == 0, number % 20 == 0);
        let data = match picture {
            true => [&DELIMITER[..], &vec![number; 1 + 50 * usize::from(number)]].concat(),
            // Of Opus the first byte says how long it is.
            false => vec![0xfc; 1 + usize::from(number)],
        };
        match picture {
            true => writer.picture((at, at), keyframe, &data, &mut out),
            false => assert!(writer.sound(at, &data, &mut out)),
        }
        pieces.push(Piece::Frame(Frame {
            track: if picture { Track::Picture } else { Track::Sound },
            stamp,
            keyframe: !picture || keyframe,
            lost: false,
            data,
        }));
    }
    (out, pieces)
}

fn read(stream: &[u8], mut length: impl FnMut() -> usize) -> Vec<Piece> {
    let (mut reader, mut pieces, mut rest) = (TsReader::default(), Vec::new(), stream);
    while !rest.is_empty() {
        let (bytes, more) = rest.split_at(length().clamp(1, rest.len()));
        reader.push(bytes);
        pieces.extend(std::iter::from_fn(|| reader.poll()));
        rest = more;
    }
    reader.finish();
    pieces.extend(std::iter::from_fn(|| reader.poll()));
    pieces
}

/// The frames of a track, with times from the first on.
fn frames(pieces: &[Piece], track: Track) -> Vec<Frame> {
    let frames = pieces.iter().filter_map(|piece| match piece {
        Piece::Frame(frame) if frame.track == track => Some(frame.clone()),
        _ => None,
    });
    frames.collect()
}

#[test]
fn what_was_written_is_read_in_pieces_of_any_length() {
    for (codec, sound) in [(Codec::H264, aac()), (Codec::H265, opus(0))] {
        let (stream, expected) = stream(codec, &sound);
        let mut state = 3;
        for length in [1, 7, 188, 1316, usize::MAX, 0] {
            let pieces = read(&stream, || if length == 0 { draw(&mut state, 3000) } else { length });
            assert_eq!(pieces[0], expected[0]);
            assert!(
                pieces
                    .iter()
                    .any(|piece| matches!(piece, Piece::Sound(info) if info.codec == sound.codec
                && info.channels == 2 && info.samples_per_second == 48_000))
            );
            for track in [Track::Picture, Track::Sound] {
                let (mut read, written) = (frames(&pieces, track), frames(&expected, track));
                let late = 20_000_000;
                for frame in &mut read {
                    frame.stamp -= late;
                    frame.data = match codec {
                        // A delimiter of H.265 is before that of H.264.
                        Codec::H265 if track == Track::Picture => frame.data.split_off(7),
                        _ => std::mem::take(&mut frame.data),
                    };
                }
                assert_eq!(read, written, "{codec:?} {track:?} {length}");
            }
        }
    }
}

#[test]
fn a_lost_packet_costs_the_frames_that_it_may_be_of_and_the_next_one_says_so() {
    let (stream, expected) = stream(Codec::H264, &aac());
    let packets = stream.as_chunks::<TS_PACKET>().0;
    for gone in 4..packets.len() {
        let rest: Vec<u8> = packets
            .iter()
            .enumerate()
            .filter(|(at, _)| *at != gone)
            .flat_map(|(_, packet)| *packet)
            .collect();
        let pieces = read(&rest, || 1316);
        for track in [Track::Picture, Track::Sound] {
            let (read, written) = (frames(&pieces, track), frames(&expected, track));
            // It may be the end of one picture or the beginning of the next.
            let most = if track == Track::Picture { 2 } else { 1 };
            assert!(read.len() + most >= written.len(), "{gone}");
            // The end of the stream ends its last picture.
            let cut = |data: &[u8]| written.last().is_some_and(|last| last.data.starts_with(data));
            for frame in &read {
                let known = written.iter().any(|other| other.data == frame.data);
                assert!(known || cut(&frame.data), "{gone}: another frame");
            }
            // Before the first frame nothing can be missed, and behind the last nobody is left to say so.
            let [first, last] = [(read.first(), written.first()), (read.last(), written.last())]
                .map(|(read, written)| read.map(|frame| &frame.data) == written.map(|frame| &frame.data));
            let told = read.iter().filter(|frame| frame.lost).count();
            let gaps = usize::from(read.len() < written.len());
            assert!(
                told == gaps || (told < gaps && !(first && last)),
                "{gone}: told {told} times"
            );
        }
    }
}

#[test]
fn a_packet_that_comes_twice_and_bytes_between_packets_change_nothing() {
    let (stream, expected) = stream(Codec::H264, &aac());
    let packets = stream.as_chunks::<TS_PACKET>().0;
    let twice: Vec<u8> = packets.iter().flat_map(|packet| [*packet, *packet]).flatten().collect();
    let noise = [&[0x47, 1, 2, 3][..], &[0x55; 500], &stream].concat();
    for bytes in [twice, noise] {
        let pieces = read(&bytes, || 1000);
        for track in [Track::Picture, Track::Sound] {
            let data = |frames: Vec<Frame>| frames.into_iter().map(|frame| frame.data).collect::<Vec<_>>();
            assert_eq!(data(frames(&pieces, track)), data(frames(&expected, track)));
        }
    }
}

#[test]
fn any_change_of_a_stream_gives_frames_that_are_bounded_and_keeps_no_memory() {
    let (stream, _) = stream(Codec::H264, &aac());
    let mut state = 5;
    for _ in 0..300 {
        let mut changed = stream.clone();
        for _ in 0..1 + draw(&mut state, 30) {
            let at = draw(&mut state, changed.len());
            changed[at] = draw(&mut state, 256) as u8;
        }
        let mut reader = TsReader::default();
        for bytes in changed.chunks(997) {
            reader.push(bytes);
            assert!(reader.buffer.len() <= TS_PACKET);
            while reader.poll().is_some() {}
        }
    }
}
