//! MPEG-TS of a hostile program before a pipe, or of a stranger at a port: whatever it is, and in whatever pieces it
//! comes, it gives the same frames, which are no longer than it, and no longer than allowed.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sealcast_proto::container::ts::TsReader;
use sealcast_proto::container::{MAX_PICTURE, Piece, Track};
use sealcast_proto::unit::sound_headers::MAX_SOUND_BYTES;

fn read(stream: &[u8], length: usize) -> Vec<Piece> {
    let (mut reader, mut pieces) = (TsReader::default(), Vec::new());
    for bytes in stream.chunks(length) {
        reader.push(bytes);
        pieces.extend(std::iter::from_fn(|| reader.poll()));
    }
    reader.finish();
    pieces.extend(std::iter::from_fn(|| reader.poll()));
    pieces
}

fuzz_target!(|input: (u8, &[u8])| {
    let (length, stream) = input;
    let pieces = read(stream, stream.len().max(1));
    assert_eq!(read(stream, usize::from(length) + 1), pieces);
    let mut made = 0;
    for piece in &pieces {
        let Piece::Frame(frame) = piece else {
            assert!(!matches!(piece, Piece::Sound(info) if !info.is_valid()));
            continue;
        };
        let most = match frame.track {
            Track::Picture => MAX_PICTURE,
            Track::Sound => MAX_SOUND_BYTES,
        };
        assert!((1..=most).contains(&frame.data.len()));
        made += frame.data.len();
    }
    assert!(made <= stream.len());
});
