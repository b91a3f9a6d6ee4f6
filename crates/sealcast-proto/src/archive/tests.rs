//! A segment is written, read back, and attacked.

use std::sync::Arc;

use super::*;
use crate::keys::{EpochKeys, EpochSecret, Identity, Secret, Side};
use crate::seal::suite::{AES_256_GCM, RECOMMENDED};
use crate::seal::{MediaKey, RecordMeta, SealLimits, SealedFrame, SealedRecord};
use crate::sign::{Certificate, GOP_KEY_LEN};
use crate::unit::{Codec, Description, FrameRate, Preamble, StreamInfo};
use crate::wire::{Flags, Orientation, PeerId};

const SECOND: u64 = 1_000_000_000;

fn camera() -> PeerId {
    Identity::from_seed(&[7; 32]).peer_id()
}

fn info() -> StreamInfo {
    StreamInfo {
        codec: Codec::Mjpeg,
        width: 640,
        height: 480,
        rate: FrameRate {
            numerator: 25,
            denominator: 1,
        },
        parameters: Vec::new(),
    }
}

/// A camera's session, as an archive sees it.
struct Camera {
    keys: EpochKeys,
    key: Arc<MediaKey>,
    frames: u64,
}

impl Camera {
    fn new(epoch: u64) -> Self {
        let secret = EpochSecret::new(Secret::from_bytes(&[epoch as u8; 32]), epoch);
        let key = secret.media_key(&AES_256_GCM, Side::Responder, camera());
        Self {
            keys: secret.keys(&AES_256_GCM, Side::Responder, SealLimits::COUNTER),
            key: Arc::new(key.expect("the key's length is the suite's")),
            frames: 0,
        }
    }

    fn seal(&mut self, flags: Flags, parts: &[&[u8]]) -> Arc<SealedRecord> {
        let meta = RecordMeta {
            flags,
            stream: 1,
            timestamp: 5,
        };
        let mut bytes = Vec::new();
        self.keys.media_sealer.seal(meta, parts, &mut bytes).expect("fresh");
        Arc::new(SealedRecord {
            key: Arc::clone(&self.key),
            bytes,
        })
    }

    /// The next frame, in two records.
    fn frame(&mut self, keyframe: bool, described: bool) -> SealedFrame {
        let mut records = Vec::new();
        if described {
            records.push(self.seal(Flags::CONFIG, &[&info().to_bytes()]));
        }
        let preamble = Preamble {
            frame: self.frames,
            ..Preamble::default()
        };
        records.push(self.seal(Flags::frame(keyframe, true, false), &[&preamble.to_bytes(), b"pict"]));
        records.push(self.seal(Flags::frame(keyframe, false, true), &[b"ure", &[self.frames as u8]]));
        self.frames += 1;
        SealedFrame { records, units: false }
    }
}

fn start(number: u64, previous: [u8; 32]) -> SegmentStart {
    SegmentStart {
        head: Head {
            archive: [3; ARCHIVE_ID_LEN],
            number,
            oldest: 1,
            previous,
            began: SECOND,
            key_file: b"an age file".to_vec(),
        },
        key: key(),
    }
}

fn key() -> SegmentKey {
    SegmentKey([9; 32])
}

/// A segment with four frames, and where its blocks end.
fn segment() -> (Vec<u8>, Vec<usize>) {
    let mut camera = Camera::new(4);
    let (mut bytes, mut ends) = (Vec::new(), Vec::new());
    let mut writer = SegmentWriter::begin(&start(1, [0; 32]), &mut bytes);
    for number in 0..4 {
        ends.push(bytes.len());
        let frame = camera.frame(number == 0, number == 0);
        writer.frame(number == 0, &frame, (SECOND + number, 7), &mut bytes);
    }
    ends.push(bytes.len());
    writer.end(EndCause::Full, &mut bytes);
    ends.push(bytes.len());
    (bytes, ends)
}

/// The pictures of a segment, whether its end was read, and why reading stopped.
type Played = (Vec<Vec<u8>>, bool, Option<Fault>);

/// Plays a segment as its recipient does.
fn play(bytes: &[u8]) -> Result<Played, Fault> {
    let mut segment = Segment::new(bytes)?;
    segment.unlock(&key(), &RECOMMENDED)?;
    let (mut player, mut pictures, mut fault) = (Player::new(), Vec::new(), None);
    while let Some(block) = segment.next_block() {
        match block {
            Ok(Block::Key(key)) => player.key(&key.expect("unlocked")),
            Ok(Block::Frame(frame)) => {
                let opened = player.frame(&frame).expect("what is linked and has its MAC opens");
                pictures.push(opened.frame.expect("decodable").data);
            }
            Ok(_) => {}
            Err(why) => fault = Some(why),
        }
    }
    Ok((pictures, segment.ended(), fault))
}

#[test]
fn frames_come_back_as_the_camera_sealed_them() {
    let (bytes, _) = segment();
    let (pictures, ended, fault) = play(&bytes).expect("a segment");
    assert_eq!(pictures[2], b"picture\x02");
    assert_eq!((pictures.len(), ended, fault), (4, true, None));
}

#[test]
fn a_segment_cut_at_any_byte_gives_all_blocks_before() {
    let (bytes, ends) = segment();
    for length in 0..bytes.len() {
        let cut = &bytes[..length];
        let whole = ends.iter().filter(|end| **end <= length).count();
        match play(cut) {
            Ok((pictures, ended, fault)) => {
                assert_eq!((pictures.len(), ended), ((whole - 1).min(4), false), "{length}");
                let between = ends.contains(&length);
                assert!(fault.is_none() || matches!(fault, Some(Fault::Cut { .. })), "{length}");
                assert!(!between || fault.is_none(), "{length}");
            }
            Err(fault) => assert!(
                whole == 0 && fault == Fault::Cut { at: 0 } || fault == Fault::Cut { at: 20 },
                "{length}"
            ),
        }
    }
}

#[test]
fn no_byte_can_be_altered_without_being_told() {
    let (bytes, ends) = segment();
    for at in 0..bytes.len() {
        let mut altered = bytes.clone();
        altered[at] ^= 0x40;
        let whole = ends.iter().filter(|end| **end <= at).count();
        match play(&altered) {
            Ok((pictures, ended, fault)) => {
                assert!(fault.is_some() && !ended, "byte {at}");
                assert!(pictures.len() <= whole.saturating_sub(1), "byte {at}");
            }
            Err(_) => assert_eq!(whole, 0, "byte {at}"),
        }
    }
}

#[test]
fn who_knows_no_key_cannot_make_a_block_that_a_recipient_takes() {
    let (honest, _) = segment();
    let mut camera = Camera::new(4);
    let mut forged = Vec::new();
    let begun = SegmentStart {
        key: SegmentKey([8; 32]),
        ..start(1, [0; 32])
    };
    let mut writer = SegmentWriter::begin(&begun, &mut forged);
    writer.frame(true, &camera.frame(true, true), (SECOND, 7), &mut forged);
    assert_eq!(play(&forged).err(), Some(Fault::Forged { at: 20 }));
    // Links need no key: without one, the forgery reads well.
    let mut segment = Segment::new(&forged).expect("a segment");
    assert!(std::iter::from_fn(|| segment.next_block()).all(|block| block.is_ok()));
    let mut other = Segment::new(&honest).expect("a segment");
    assert_eq!(other.unlock(&begun.key, &RECOMMENDED), Err(Fault::Forged { at: 20 }));
}

#[test]
fn a_later_segment_begins_with_the_description_that_came_before_and_follows_the_one_before() {
    let mut camera = Camera::new(4);
    let first = camera.frame(true, true);
    let description = first.description().expect("described");
    let mut bytes = Vec::new();
    let mut writer = SegmentWriter::begin(&start(1, [0; 32]), &mut bytes);
    writer.frame(true, &first, (SECOND, 7), &mut bytes);
    let link = writer.end(EndCause::Full, &mut Vec::new());
    let mut bytes = Vec::new();
    let mut writer = SegmentWriter::begin(&start(2, link), &mut bytes);
    writer.description(&description, (SECOND, 7), &mut bytes);
    writer.frame(true, &camera.frame(true, false), (2 * SECOND, 7), &mut bytes);
    let mut segment = Segment::new(&bytes).expect("a segment");
    assert_eq!(segment.head().previous, link);
    segment.unlock(&key(), &RECOMMENDED).expect("its key");
    let mut player = Player::new();
    let (mut described, mut frames) = (None, 0);
    while let Some(block) = segment.next_block() {
        match block.expect("whole") {
            Block::Key(key) => player.key(&key.expect("unlocked")),
            Block::Description(block) => described = player.description(&block).ok(),
            Block::Frame(frame) => frames += u32::from(player.frame(&frame).is_ok()),
            _ => {}
        }
    }
    assert_eq!((described, frames), (Some(vec![Description::Picture(info())]), 1));
}

#[test]
fn keys_of_another_session_need_another_segment() {
    let (mut camera, mut again) = (Camera::new(4), Camera::new(4));
    let mut bytes = Vec::new();
    let mut writer = SegmentWriter::begin(&start(1, [0; 32]), &mut bytes);
    let frame = camera.frame(true, true);
    assert!(writer.takes(&frame));
    writer.frame(true, &frame, (SECOND, 7), &mut bytes);
    assert!(writer.takes(&camera.frame(false, false)), "the same key");
    assert!(writer.takes(&Camera::new(5).frame(true, true)), "the next epoch's");
    assert!(
        !writer.takes(&again.frame(true, true)),
        "the same number in another session"
    );
}

#[test]
fn a_frame_sent_twice_in_a_segment_is_a_replay() {
    let mut camera = Camera::new(4);
    let mut bytes = Vec::new();
    let mut writer = SegmentWriter::begin(&start(1, [0; 32]), &mut bytes);
    let frame = camera.frame(true, true);
    writer.frame(true, &frame, (SECOND, 7), &mut bytes);
    writer.frame(true, &frame, (SECOND, 7), &mut bytes);
    let mut segment = Segment::new(&bytes).expect("a segment");
    segment.unlock(&key(), &RECOMMENDED).expect("its key");
    let (mut player, mut outcomes) = (Player::new(), Vec::new());
    while let Some(Ok(block)) = segment.next_block() {
        match block {
            Block::Key(key) => player.key(&key.expect("unlocked")),
            Block::Frame(frame) => outcomes.push(player.frame(&frame).err()),
            _ => {}
        }
    }
    assert_eq!(outcomes, [None, Some(Unplayable::Record(crate::seal::Refusal::Replay))]);
}

/// The records of a frame, as who has no key gets them.
fn unopened(frame: &SealedFrame) -> Vec<Vec<u8>> {
    frame.records.iter().map(|record| record.bytes.clone()).collect()
}

#[test]
fn records_are_gathered_into_frames_by_their_headers_and_open_with_the_wrapped_key() {
    let mut camera = Camera::new(70_004);
    let mut gather = Gather::new(false);
    let mut bytes = Vec::new();
    let mut writer = SegmentWriter::begin(&start(1, [0; 32]), &mut bytes);
    assert!(writer.takes_wrapped(70_004));
    writer.wrapped_key(70_004, b"an age file", &mut bytes);
    writer.wrapped_key(70_004, b"once is enough", &mut bytes);
    assert!(writer.takes_wrapped(70_004) && !writer.takes_wrapped(70_004 + 65_536));
    for number in 0..3 {
        let frame = camera.frame(number == 0, number == 0);
        let mut gathered = unopened(&frame)
            .into_iter()
            .filter_map(|record| gather.take(record).expect("it is media"));
        let gathered = gathered.next().expect("a whole frame");
        assert_eq!((gathered.keyframe, gathered.sealed_at), (number == 0, 5));
        assert_eq!(gathered.records, unopened(&frame));
        assert_eq!(gathered.description().is_some(), number == 0);
        assert!(gathered.epochs().all(|low| low == 70_004_u64 as u16));
        writer.gathered(&gathered, (SECOND + number, u64::MAX), &mut bytes);
    }
    assert_eq!(writer.frames(), 3);
    let mut segment = Segment::new(&bytes).expect("a segment");
    segment.unlock(&key(), &RECOMMENDED).expect("its key");
    let mut player = Player::new();
    let mut shown = 0;
    while let Some(block) = segment.next_block() {
        match block.expect("as it was written") {
            Block::WrappedKey { epoch, file } => {
                assert_eq!((epoch, file), (70_004, &b"an age file"[..]));
                let key = key_from_bytes(&key_to_bytes(&camera.key), &RECOMMENDED);
                player.key(&key.expect("it is one"));
            }
            Block::Frame(frame) => {
                assert!(player.frame(&frame).expect("it opens").frame.is_some());
                shown += 1;
            }
            _ => panic!("nothing else was written"),
        }
    }
    assert_eq!(shown, 3);
    assert!(key_from_bytes(&key_to_bytes(&camera.key)[1..], &RECOMMENDED).is_err());
}

#[test]
fn signatures_of_groups_of_pictures_stand_beside_frames_and_their_key_once() {
    let identity = Identity::from_seed(&[7; 32]);
    let certificate = Certificate::issue(&identity, &[1; GOP_KEY_LEN]).to_bytes();
    // The form is right: version, stream 1, one frame from index 0 on, and as many leaves.
    let mut message = vec![0; 3358 + 32];
    (message[0], message[2], message[4]) = (1, 1, 1);
    let mut camera = Camera::new(4);
    let mut bytes = Vec::new();
    let mut writer = SegmentWriter::begin(&start(1, [0; 32]), &mut bytes);
    writer.gop_key(&certificate, &mut bytes);
    writer.frame(true, &camera.frame(true, true), (SECOND, 7), &mut bytes);
    for _ in 0..2 {
        writer.gop_key(&certificate, &mut bytes);
        writer.gop_signature(&message, &mut bytes);
    }
    let before = bytes.clone();
    let mut segment = Segment::new(&bytes).expect("a segment");
    segment.unlock(&key(), &RECOMMENDED).expect("its key");
    let (mut keys, mut signatures) = (0, 0);
    while let Some(block) = segment.next_block() {
        match block.expect("as it was written") {
            Block::GopKey(read) => keys += u32::from(read == certificate),
            Block::GopSignature(read) => signatures += u32::from(read == message),
            _ => {}
        }
    }
    assert_eq!((keys, signatures), (1, 2));
    // One leaf too few is no signature.
    writer.gop_signature(&message[..3358], &mut bytes);
    let mut segment = Segment::new(&bytes).expect("a segment");
    let last = std::iter::from_fn(|| segment.next_block()).last().expect("some");
    assert_eq!(last.err(), Some(Fault::Altered { at: before.len() }));
}

#[test]
fn frames_come_in_one_piece_each_record_behind_its_length() {
    let mut camera = Camera::new(4);
    let frame = unopened(&camera.frame(true, true));
    let mut framed = Vec::new();
    for record in &frame {
        framed.extend_from_slice(&(record.len() as u32).to_be_bytes());
        framed.extend_from_slice(record);
    }
    let mut gather = Gather::new(false);
    let gathered = gather.take_framed(&framed).expect("records").expect("a whole frame");
    assert_eq!(gathered.records, frame);
    for cut in [1, 3, framed.len() - 1] {
        assert!(Gather::new(false).take_framed(&framed[..cut]).is_err(), "{cut}");
    }
    assert_eq!(Gather::new(false).take_framed(&[]), Ok(None));
    assert!(gather.take_framed(&[0, 0, 0, 0]).is_err(), "a record of no length");
}

#[test]
fn a_player_tells_how_many_frames_are_missing_but_not_from_one_session_to_the_next() {
    let mut camera = Camera::new(4);
    let mut frames: Vec<_> = (0..6)
        .map(|number| camera.frame(number == 0 || number == 4, number == 0))
        .collect();
    frames.drain(1..3);
    let mut bytes = Vec::new();
    let mut writer = SegmentWriter::begin(&start(1, [0; 32]), &mut bytes);
    for (at, frame) in frames.iter().enumerate() {
        writer.frame(at == 0 || at == 2, frame, (SECOND, 7), &mut bytes);
    }
    let missing = |resumes_at: usize| {
        let mut segment = Segment::new(&bytes).expect("a segment");
        segment.unlock(&key(), &RECOMMENDED).expect("its key");
        let (mut player, mut missing) = (Player::new(), Vec::new());
        while let Some(Ok(block)) = segment.next_block() {
            match block {
                Block::Key(key) => player.key(&key.expect("unlocked")),
                Block::Frame(frame) => {
                    if missing.len() == resumes_at {
                        player.resume();
                    }
                    missing.push(player.frame(&frame).expect("it opens").missing);
                }
                _ => {}
            }
        }
        missing
    };
    assert_eq!(missing(usize::MAX), [0, 2, 0, 0]);
    assert_eq!(missing(1), [0, 0, 0, 0]);
}

#[test]
fn what_is_incomplete_is_left_out_and_costs_only_its_own_frame() {
    let mut camera = Camera::new(4);
    let frames = [0, 1, 2, 3].map(|number| unopened(&camera.frame(number == 0, number == 0)));
    let [first, second, third, fourth] = &frames;
    let mut gather = Gather::new(false);
    // The first one loses its end, the third its beginning.
    let records = [&first[..2], &second[..], &third[1..], &fourth[..]].concat();
    let gathered: Vec<_> = records
        .into_iter()
        .filter_map(|record| gather.take(record).expect("it is media"))
        .collect();
    let gathered: Vec<_> = gathered.into_iter().map(|frame| frame.records).collect();
    assert_eq!(gathered, [second.clone(), fourth.clone()]);
    assert!(gather.take(vec![0; 50]).is_err());
    // Where proofs follow, a frame without one is no frame.
    let mut gather = Gather::new(true);
    let unproved = frames.concat().into_iter().map(|record| gather.take(record));
    assert!(unproved.into_iter().all(|taken| taken == Ok(None)));
}

#[test]
fn how_pictures_are_turned_stands_before_the_first_that_is_turned_so() {
    let (quarter, mirrored) = (Orientation::new(1, false), Orientation::new(2, true));
    let mut camera = Camera::new(4);
    let mut bytes = Vec::new();
    let mut writer = SegmentWriter::begin(&start(1, [0; 32]), &mut bytes);
    let turns = [
        Orientation::default(),
        quarter,
        quarter,
        mirrored,
        Orientation::default(),
    ];
    for (number, turn) in turns.into_iter().enumerate() {
        writer.orientation(turn, &mut bytes);
        writer.frame(
            number == 0,
            &camera.frame(number == 0, number == 0),
            (SECOND, 7),
            &mut bytes,
        );
    }
    let mut segment = Segment::new(&bytes).expect("a segment");
    segment.unlock(&key(), &RECOMMENDED).expect("its key");
    let (mut now, mut read, mut told) = (Orientation::default(), Vec::new(), 0);
    while let Some(block) = segment.next_block() {
        match block.expect("as it was written") {
            Block::Orientation(turned) => (now, told) = (turned, told + 1),
            Block::Frame(_) => read.push(now),
            _ => {}
        }
    }
    assert_eq!((read, told), (turns.to_vec(), 3));
}
