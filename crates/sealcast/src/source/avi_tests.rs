use std::io::Cursor;

use super::*;

fn chunk(id: &[u8; 4], body: &[u8]) -> Vec<u8> {
    let size = u32::try_from(body.len()).expect("small").to_le_bytes();
    let padding = &[0][..body.len() % 2];
    [&id[..], &size, body, padding].concat()
}

fn list(kind: &[u8; 4], body: &[u8]) -> Vec<u8> {
    chunk(b"LIST", &[&kind[..], body].concat())
}

fn stream(kind: &[u8; 4], codec: &[u8; 4]) -> Vec<u8> {
    let mut head = [&kind[..], codec, &[0; 48]].concat();
    head[20..24].copy_from_slice(&1001u32.to_le_bytes());
    head[24..28].copy_from_slice(&30_000u32.to_le_bytes());
    let format = [&[0; 16][..], codec, &[0; 20]].concat();
    list(b"strl", &[chunk(b"strh", &head), chunk(b"strf", &format)].concat())
}

fn jpeg() -> Vec<u8> {
    let mut out = Vec::new();
    let encoder = jpeg_encoder::Encoder::new(&mut out, 60);
    encoder
        .encode(&[9; 256], 16, 16, jpeg_encoder::ColorType::Luma)
        .expect("a picture");
    out
}

/// A file with audio as the first and video as the second stream; the frames follow `chunks` in `movi`.
fn avi(codec: &[u8; 4], chunks: &[u8]) -> Vec<u8> {
    let header = list(
        b"hdrl",
        &[
            chunk(b"avih", &[0; 56]),
            stream(b"auds", b"\0\0\0\0"),
            stream(b"vids", codec),
        ]
        .concat(),
    );
    chunk(
        b"RIFF",
        &[b"AVI ", &header[..], &list(b"movi", chunks), &chunk(b"idx1", &[0; 32])].concat(),
    )
}

fn frames(file: Vec<u8>) -> Result<Vec<CodedFrame>> {
    let mut reader = AviReader::open(Cursor::new(file), None)?;
    let mut frames = Vec::new();
    while let Some(frame) = reader.next_frame()? {
        frames.push(frame);
    }
    Ok(frames)
}

#[test]
fn frames_are_found_between_audio_and_lists_of_records() {
    let record = list(b"rec ", &[chunk(b"00wb", &[5; 7]), chunk(b"01dc", &jpeg())].concat());
    let file = avi(
        b"MJPG",
        &[
            chunk(b"01dc", &jpeg()),
            record,
            chunk(b"JUNK", &[0; 3]),
            chunk(b"01db", &jpeg()),
        ]
        .concat(),
    );
    let found = frames(file).expect("frames");
    assert_eq!(found.len(), 3);
    assert!(found.iter().all(|frame| frame.keyframe && frame.data == jpeg()));
    let reader = AviReader::open(Cursor::new(avi(b"mjpg", &chunk(b"01dc", &jpeg()))), None).expect("a file");
    let info = reader.info();
    assert_eq!(
        (info.width, info.height, info.rate),
        (
            16,
            16,
            FrameRate {
                numerator: 30_000,
                denominator: 1001
            }
        )
    );
}

#[test]
fn an_empty_chunk_shows_the_picture_before_once_more() {
    let file = avi(
        b"MJPG",
        &[chunk(b"01dc", &jpeg()), chunk(b"01dc", &[]), chunk(b"01dc", &jpeg())].concat(),
    );
    let found = frames(file).expect("frames");
    assert_eq!(found.len(), 2);
    assert_eq!(
        found[1].presented,
        at_rate(
            2,
            FrameRate {
                numerator: 30_000,
                denominator: 1001
            }
        )
    );
}

#[test]
fn a_further_part_of_a_large_file_is_read_too() {
    let part = list(b"movi", &chunk(b"01dc", &jpeg()));
    let file = [
        avi(b"MJPG", &chunk(b"01dc", &jpeg())),
        chunk(b"RIFF", &[b"AVIX", &part[..]].concat()),
    ]
    .concat();
    assert_eq!(frames(file).expect("frames").len(), 2);
}

#[test]
fn a_recording_whose_sizes_were_never_written_plays() {
    let mut file = avi(b"MJPG", &[chunk(b"01dc", &jpeg()), chunk(b"01dc", &jpeg())].concat());
    let movi = file.windows(4).position(|word| word == b"movi").expect("movi");
    file[4..8].fill(0);
    file[movi - 4..movi].fill(0);
    file.truncate(file.len() - 40);
    assert_eq!(frames(file).expect("frames").len(), 2);
}

#[test]
fn a_file_that_breaks_off_says_so_after_its_last_frame() {
    let file = avi(b"MJPG", &[chunk(b"01dc", &jpeg()), chunk(b"01dc", &jpeg())].concat());
    for missing in [41, 60, jpeg().len()] {
        let mut reader = AviReader::open(Cursor::new(file[..file.len() - missing].to_vec()), None).expect("one frame");
        assert!(reader.next_frame().expect("a frame").is_some());
        let end = (0..2).map(|_| reader.next_frame()).find(Result::is_err);
        assert!(
            matches!(end, Some(Err(MediaError::Truncated(_)))),
            "{missing} bytes less"
        );
    }
}

#[test]
fn what_is_no_motion_jpeg_is_refused_by_name() {
    let other = |codec| frames(avi(codec, &chunk(b"01dc", &[0, 0, 0, 1]))).expect_err("no JPEG");
    assert_eq!(
        other(b"H264").to_string(),
        "is H264 video in AVI, which is not read here"
    );
    assert_eq!(
        other(b"DIVX").to_string(),
        "holds audio or text and DIVX video in AVI, not H.264, H.265, AV1 or Motion JPEG video"
    );
    let fake = frames(avi(b"MJPG", &chunk(b"01dc", b"no image"))).expect_err("no image");
    assert!(matches!(fake, MediaError::Damaged(_)));
    let empty = frames(avi(b"MJPG", &[])).expect_err("no frames");
    assert!(matches!(empty, MediaError::Empty(_)));
}

#[test]
fn endless_other_chunks_are_given_up() {
    let file = avi(b"MJPG", &chunk(b"00wb", &[]).repeat(MAX_CHUNKS_BETWEEN_FRAMES + 1));
    assert!(matches!(frames(file), Err(MediaError::Damaged(_))));
}
