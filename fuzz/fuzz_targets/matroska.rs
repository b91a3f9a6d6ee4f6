//! Matroska of a hostile program before a pipe: whatever it is, and in whatever pieces it comes, reading it ends with
//! the same frames or words, no frame is longer than allowed, and nothing is kept but what is not whole.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sealcast_proto::container::matroska::{Damaged, MatroskaReader};
use sealcast_proto::container::{MAX_PICTURE, Piece, Track};
use sealcast_proto::unit::sound_headers::MAX_SOUND_BYTES;

/// Frames of a laced block repeat what was left out before each of them, in bytes.
const MOST_STRIPPED: usize = 64;

fn read(stream: &[u8], length: usize) -> (Vec<Piece>, Result<(), Damaged>) {
    let (mut reader, mut pieces) = (MatroskaReader::default(), Vec::new());
    for bytes in stream.chunks(length) {
        let pushed = reader.push(bytes);
        pieces.extend(std::iter::from_fn(|| reader.poll()));
        if pushed.is_err() {
            return (pieces, pushed);
        }
    }
    (pieces, Ok(()))
}

fuzz_target!(|input: (u8, &[u8])| {
    let (length, stream) = input;
    let whole = read(stream, stream.len().max(1));
    assert_eq!(read(stream, usize::from(length) + 1), whole);
    let mut made = 0;
    for piece in &whole.0 {
        let Piece::Frame(frame) = piece else {
            assert!(!matches!(piece, Piece::Sound(info) if !info.is_valid()));
            continue;
        };
        let most = match frame.track {
            Track::Picture => MAX_PICTURE,
            Track::Sound => MAX_SOUND_BYTES,
        };
        assert!((1..=most).contains(&frame.data.len()));
        made += frame.data.len().saturating_sub(MOST_STRIPPED);
    }
    assert!(made <= stream.len());
});
